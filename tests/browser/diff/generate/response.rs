//! Responses: status, redirects, types, exposed fields.

use policy_browser::{Destination, Fetch, Mode};

use super::{PATHS, add, cookie::cookie, grant::grant, store::store};
use crate::diff::{
    case::{Body, Canned, Case},
    random::Random,
};

pub(super) fn response(random: &mut Random, case: &Case) -> Canned {
    let mut headers = Vec::new();
    grant(random, case, &mut headers);
    let mut status = match random.below(10) {
        0..7 => 200,
        7..9 => *random.choose(&[301, 302, 303, 307, 308]),
        _ => *random.choose(&[201, 204, 300, 400, 401, 403, 404, 405, 410, 418, 500, 503]),
    };
    if (301..=308).contains(&status) {
        if let Some(target) = location(random, case) {
            add(&mut headers, "location", target);
        }
    } else if random.below(30) == 0 {
        add(&mut headers, "location", "/{ID}/b".into());
    }
    let opens = case.loads().any(|fetch| fetch.mode == Mode::Navigate);
    if opens && status == 204 {
        status = 200;
    }
    let images = case.loads().any(|fetch| fetch.destination == Destination::Image);
    let mut body = if opens { Body::Document } else { Body::Script };
    if images {
        body = Body::Image;
        if status == 204 {
            status = 200;
        }
    }
    if case.loads().any(|fetch| fetch.mode == Mode::WebSocket) && status == 200 {
        // A browser that did not open a WebSocket cannot use a 101.
        status = if case.loads().all(|fetch| fetch.mode == Mode::WebSocket) { 101 } else { 200 };
    }
    content_type(random, opens, images, &mut headers);
    if case.loads().any(|fetch| fetch.watches_upload || is_cors_element(fetch)) {
        type_all(&mut headers);
    }
    expose(random, &mut headers);
    store(random, case, status, &mut headers);
    while random.below(4) == 0 {
        add(&mut headers, "set-cookie", cookie(random));
    }
    if random.below(15) == 0 {
        let policy =
            *random.choose(&["same-origin", "same-site", "cross-origin", "Same-Site", "x", ""]);
        add(&mut headers, "cross-origin-resource-policy", policy.into());
    }
    if random.below(15) == 0 {
        let policy =
            *random.choose(&["no-referrer", "origin", "unsafe-url", "x", "same-origin, x", ""]);
        add(&mut headers, "referrer-policy", policy.into());
    }
    if opens && !(300..400).contains(&status) && random.below(6) == 0 {
        let frames =
            *random.choose(&["DENY", "sameorigin", "SAMEORIGIN, DENY", "ALLOW-FROM x", "x"]);
        add(&mut headers, "x-frame-options", frames.into());
    }
    Canned { status, headers, body }
}

fn location(random: &mut Random, case: &Case) -> Option<String> {
    let page = case.place.origins.last().expect("a page");
    let path = random.choose(PATHS);
    let opens_window = case.loads().any(|fetch| fetch.destination == Destination::Document);
    let has_images = case.loads().any(|fetch| fetch.destination == Destination::Image);
    Some(match random.below(20) {
        0..5 => format!("/{{ID}}/{path}"),
        5 => (*path).into(),
        6..9 => format!("https://api.shop.test:{{P}}/{{ID}}/{path}"),
        9..12 => format!("https://evil.test:{{P}}/{{ID}}/{path}"),
        12..15 => format!("{page}/{{ID}}/{path}"),
        15 if !opens_window && !has_images => format!("http://api.shop.test:{{P}}/{{ID}}/{path}"),
        16 if page.contains("api.shop.test") => {
            format!("https://user:password@evil.test:{{P}}/{{ID}}/{path}")
        }
        16 => format!("https://user:password@api.shop.test:{{P}}/{{ID}}/{path}"),
        17 => format!("/{{ID}}/{path}#other"),
        18 => {
            (*random.choose(&["https://[", "javascript:1", "data:text/plain,a", "", "?q=2", "//"]))
                .into()
        }
        _ => return None,
    })
}

fn content_type(
    random: &mut Random,
    opens: bool,
    images: bool,
    headers: &mut Vec<(&'static str, String)>,
) {
    const TYPE: &str = "content-type";
    if opens {
        return add(headers, TYPE, "text/html".into());
    }
    if images {
        return add(headers, TYPE, "image/gif".into());
    }
    match random.below(10) {
        0..6 => add(headers, TYPE, "text/javascript".into()),
        6 => add(headers, TYPE, "application/json".into()),
        7 => {
            let other = *random.choose(&[
                "text/plain",
                "text/html",
                "image/png",
                "text/csv",
                "application/octet-stream",
                "audio/mp4",
                "video/mp4",
                "TEXT/JAVASCRIPT; charset=utf-8",
                "x",
                "",
            ]);
            add(headers, TYPE, other.into());
        }
        _ => {}
    }
    if random.below(6) == 0 {
        let nosniff = *random.choose(&["nosniff", "NOSNIFF", "nosniff, x", "x, nosniff", ""]);
        add(headers, "x-content-type-options", nosniff.into());
    }
}

fn is_cors_element(fetch: &Fetch) -> bool {
    fetch.mode == Mode::Cors
        && matches!(fetch.destination, Destination::Script | Destination::Image)
}

/// Adds a type to a response that has none, or one that Chromium ignores.
fn type_all(headers: &mut Vec<(&'static str, String)>) {
    const TYPE: &str = "content-type";
    const GUESSED: &[&str] = &["", "x", "text/plain", "application/octet-stream"];
    headers.retain(|(name, value)| *name != TYPE || !GUESSED.contains(&&**value));
    if !headers.iter().any(|(name, _)| *name == TYPE) {
        add(headers, TYPE, "text/javascript".into());
    }
}

fn expose(random: &mut Random, headers: &mut Vec<(&'static str, String)>) {
    const EXPOSE: &str = "access-control-expose-headers";
    if random.below(2) == 0 {
        add(headers, "x-total", "7".into());
        add(headers, "x-trace", "a, b".into());
        if random.below(3) == 0 {
            add(headers, "x-total", " 8 ".into());
        }
    }
    if random.below(6) == 0 {
        add(
            headers,
            random.choose::<&str>(&["content-language", "last-modified", "pragma", "x-empty"]),
            "".into(),
        );
    }
    match random.below(10) {
        0..2 => add(headers, EXPOSE, "X-Total".into()),
        2 => add(headers, EXPOSE, "*".into()),
        3 => {
            let odd = *random.choose(&[
                "x-total, x-trace",
                "x-total x-trace",
                "x-trace,",
                "*, x-total",
                "",
                "\"x-total\"",
                "set-cookie, x-total",
                "x-total;",
                "etag,location, vary",
                "x-\u{e4}, x-total",
                "access-control-allow-origin, access-control-expose-headers",
            ]);
            add(headers, EXPOSE, odd.into());
        }
        4 => {
            add(headers, EXPOSE, "x-total".into());
            add(headers, EXPOSE, random.choose(&["x-trace", "*", "", "etag"]).to_string());
        }
        _ => {}
    }
}
