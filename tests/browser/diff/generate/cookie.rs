//! Cookies, as a server or a script sets them.

use crate::diff::random::Random;

pub(super) fn cookie(random: &mut Random) -> String {
    let pair: String = match random.below(12) {
        0..8 => (*random.choose(&["a{ID}=1", "b{ID}=2", "a{ID}=3", " c{ID} = 4 "])).into(),
        8 => format!("__Secure-{{ID}}={}", random.below(3)),
        9 => format!("__Host-{{ID}}={}", random.below(3)),
        10 => (*random.choose(&[
            "__secure-{ID}=1",
            "__HOST-{ID}=1",
            "__Http-{ID}=1",
            "__Host-Http-{ID}=1",
        ]))
        .into(),
        _ => (*random.choose(&[
            "{ID}",
            "={ID}",
            "a{ID}",
            "a{ID}=",
            "a{ID}=\"x y\"",
            "a{ID}=x=y",
            "a{ID}=x,y",
        ]))
        .into(),
    };
    let mut cookie = pair;
    let attributes = [
        ("; Secure", 2),
        ("; HttpOnly", 4),
        ("; SameSite=None", 3),
        ("; SameSite=Lax", 6),
        ("; SameSite=Strict", 6),
        ("; SameSite=x", 30),
        ("; Path=/", 3),
        ("; Path=/{ID}", 10),
        ("; Path=/{ID}/a", 10),
        ("; Path=/x", 20),
        ("; Path=x", 30),
        ("; Domain=shop.test", 6),
        ("; Domain=.shop.test", 20),
        ("; Domain=api.shop.test", 20),
        ("; Domain=evil.test", 20),
        ("; Domain=co.uk", 20),
        ("; Domain=shop.co.uk", 20),
        ("; Domain=", 30),
        ("; Max-Age=600", 5),
        ("; Max-Age=0", 12),
        ("; Max-Age=-1", 30),
        ("; Max-Age=x", 30),
        ("; Expires={T600}", 10),
        ("; Expires={T-600}", 20),
        ("; Expires=x", 30),
        ("; Partitioned", 8),
        ("; priority=high", 30),
        (";secure", 20),
    ];
    for (attribute, rarity) in attributes {
        if random.below(rarity) == 0 {
            cookie.push_str(attribute);
        }
    }
    cookie
}
