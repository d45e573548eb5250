//! `cargo policy explain`.

use crate::run::run;

#[test]
fn a_websocket_over_http_2_is_an_extended_connect() {
    let evil = "CONNECT /prices --protocol websocket -H origin:https://evil.example";
    let partner = "CONNECT /prices --protocol websocket -H origin:https://a.partner.example";
    for (line, code, words) in [
        (evil, 1, "is refused: 403 cors.websocket-origin-not-granted"),
        (partner, 0, "CONNECT https://api.shop.example/prices is let through\nby the route GET"),
        ("CONNECT /prices --protocol webtransport", 1, "is refused: 501 route.protocol-unknown"),
        ("CONNECT /prices", 1, "is refused: 400 wire.target-form"),
        ("GET /prices --protocol websocket", 2, "only CONNECT has a `:protocol`"),
        ("CONNECT /prices --protocol websocket -H host:a{", 2, "is no URL"),
    ] {
        let ran = run(&format!("explain {line} --from shop.json"));
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!((ran.out + &ran.err).contains(words), "{line}");
    }
}
