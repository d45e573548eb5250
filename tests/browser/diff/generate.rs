//! Generated cases: mostly common configurations, often close to a boundary.
//!
//! Not generated, since the behaviour of browsers depends on more than the input of the model:
//! - lifetimes that end while a case runs: `max-age` and `Max-Age` of a few seconds
//! - a second `<img>` or `<script>` with the same URL in one document, which reuses the first
//! - streams as request bodies, which Chromium sends over HTTP/2 only and Firefox not at all
//! - documents that scripts and images request: Chromium blocks them by their content (Opaque
//!   Response Blocking)
//! - stored responses with another status than 200: their lifetimes, and whether they are
//!   revalidated, differ by status
//! - ranges of stored responses, which Chromium serves itself
//! - responses without type to `XMLHttpRequest` and to elements with `crossorigin`: Chromium reads
//!   their content to guess the type before it asks whether the page may see them, and has stored
//!   all of it if the first bytes say nothing
//! - redirects of a page to its own origin with a password, which `fetch()` of Chromium refuses and
//!   its `XMLHttpRequest` follows
//! - two `Content-Type` of one request: Firefox sends one of them
//! - 206 to a request without `Range`
//! - downloads and 204 in frames and windows, for which no event fires
//! - `document.cookie` of sandboxed pages, which throws
//! - windows that navigate to `http`: browsers ask the user, or try `https` first
//! - windows of sandboxed pages, which are sandboxed too

use policy_core::browser::{
    CacheMode, Credentials, Destination, Fetch, Mode, Redirect, ReferrerPolicy,
};

use crate::diff::{
    case::{Body, Canned, Case, Place, Route, Step},
    random::Random,
};

/// The hosts, of which `shop.test`, `evil.test`, `shop.co.uk` and `evil.co.uk` are sites.
pub(crate) const HOSTS: &[&str] = &[
    "app.shop.test",
    "api.shop.test",
    "shop.test",
    "evil.test",
    "shop.co.uk",
    "evil.co.uk",
    "localhost",
];

const PATHS: &[&str] = &["a", "b", "c"];

/// A page for many cases.
pub(crate) fn place(random: &mut Random) -> Place {
    let secure = |host: &str| format!("https://{host}:{{P}}");
    let top = match random.below(20) {
        0..12 => secure("app.shop.test"),
        12..14 => secure("shop.test"),
        14..16 => secure("shop.co.uk"),
        16 => secure("localhost"),
        17..19 => "http://app.shop.test:{P}".into(),
        _ => "http://localhost:{P}".into(),
    };
    let is_secure = top.starts_with("https");
    let mut origins = vec![top];
    let mut is_sandboxed = false;
    match random.below(10) {
        0..6 => {}
        6 => {
            is_sandboxed = true;
            origins.push(origins[0].clone());
        }
        7 if is_secure => origins.push(secure("api.shop.test")),
        8 if is_secure => origins.push(secure("evil.test")),
        9 if is_secure => origins.extend([secure("evil.test"), origins[0].clone()]),
        _ => {}
    }
    let referrer_policy = match random.below(3) {
        0 => *random.of(&[
            ReferrerPolicy::NoReferrer,
            ReferrerPolicy::NoReferrerWhenDowngrade,
            ReferrerPolicy::Origin,
            ReferrerPolicy::OriginWhenCrossOrigin,
            ReferrerPolicy::SameOrigin,
            ReferrerPolicy::StrictOrigin,
            ReferrerPolicy::UnsafeUrl,
        ]),
        _ => ReferrerPolicy::StrictOriginWhenCrossOrigin,
    };
    Place { origins, is_sandboxed, referrer_policy }
}

/// A case at a page.
pub(crate) fn case(random: &mut Random, place: &Place) -> Case {
    let length = *random.of(&[1, 1, 1, 1, 2, 2, 3, 4]);
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..length {
        let earlier = steps.iter().rev().find_map(|step| match step {
            Step::Load(fetch) => Some(fetch.clone()),
            _ => None,
        });
        let step = match earlier {
            Some(fetch) if is_script(&fetch) && random.below(3) > 0 => again(random, fetch),
            _ => anew(random, place, &steps),
        };
        steps.push(step);
    }
    let mut case = Case { place: place.clone(), steps, routes: Vec::new() };
    case.routes = PATHS.iter().map(|path| route(random, &case, path)).collect();
    case
}

fn is_script(fetch: &Fetch) -> bool {
    matches!(fetch.mode, Mode::Cors | Mode::NoCors | Mode::SameOrigin)
        && fetch.destination == Default::default()
}

/// A repetition of the last step, or one with a small change.
fn again(random: &mut Random, mut fetch: Fetch) -> Step {
    match random.below(6) {
        0 if !fetch.watches_upload => fetch.credentials = credentials(random),
        1 => fetch.headers = headers(random, fetch.body.is_some()),
        2 if !fetch.watches_upload => fetch.cache = cache(random),
        3 if fetch.body.is_none() && !fetch.watches_upload => fetch.method = method(random).into(),
        _ => {}
    }
    Step::Load(fetch)
}

fn anew(random: &mut Random, place: &Place, earlier: &[Step]) -> Step {
    let url = url(random, place);
    let has_element = earlier.iter().any(|step| match step {
        Step::Load(fetch) => {
            matches!(fetch.destination, Destination::Script | Destination::Image)
        }
        _ => false,
    });
    let opens_window = !place.is_sandboxed && !has_element && url.starts_with("https:");
    match random.below(100) {
        0..6 => Step::Load(upload(random, url)),
        6..11 => Step::Load(element(random, Fetch::script(url), earlier)),
        11..14 => Step::Load(element(random, Fetch::image(url), earlier)),
        14..17 if !has_element => Step::Load(Fetch::frame(url)),
        17..19 if !has_element => {
            let mut fetch = Fetch::form(url, [("field", "a value")]);
            fetch.destination = Destination::Frame;
            Step::Load(fetch)
        }
        19 if opens_window => Step::Load(Fetch::navigate(url)),
        20 if opens_window => Step::Load(Fetch::form(url, [("field", "a value")])),
        21..23 => Step::Load(Fetch::websocket(url)),
        23..26 if !place.is_sandboxed => Step::WriteCookie(cookie(random)),
        26..29 if !place.is_sandboxed => Step::ReadCookies,
        _ => Step::Load(fetch(random, url)),
    }
}

fn url(random: &mut Random, place: &Place) -> String {
    let page = place.origins.last().expect("a page");
    let origin = match random.below(20) {
        0..4 => page.clone(),
        4..10 => "https://api.shop.test:{P}".into(),
        10..13 => "https://evil.test:{P}".into(),
        13 => "https://shop.test:{P}".into(),
        14 => "https://app.shop.test:{P}".into(),
        15 => "https://shop.co.uk:{P}".into(),
        16 => "https://evil.co.uk:{P}".into(),
        17 => "https://localhost:{P}".into(),
        18 => "http://api.shop.test:{P}".into(),
        _ => "http://localhost:{P}".into(),
    };
    let path = random.of(PATHS);
    let more = *random.of(&["", "", "", "", "", "?q=1", "#part"]);
    format!("{origin}/{{ID}}/{path}{more}")
}

fn fetch(random: &mut Random, mut url: String) -> Fetch {
    if random.below(40) == 0 {
        url = url.replacen("://", "://user:password@", 1);
    }
    let mut fetch = Fetch::new(method(random), url)
        .credentials(credentials(random))
        .mode(match random.below(10) {
            0 => Mode::NoCors,
            1 => Mode::SameOrigin,
            _ => Mode::Cors,
        })
        .redirect(match random.below(10) {
            0 => Redirect::Error,
            1 => Redirect::Manual,
            _ => Redirect::Follow,
        })
        .cache(if random.below(4) == 0 { cache(random) } else { CacheMode::Default });
    let reads = ["GET", "HEAD"].iter().any(|one| fetch.method.eq_ignore_ascii_case(one));
    if random.below(if reads { 50 } else { 2 }) == 0 {
        fetch = fetch.body("content");
    }
    fetch.headers = headers(random, fetch.body.is_some());
    fetch
}

/// `XMLHttpRequest` with a listener for its upload.
fn upload(random: &mut Random, url: String) -> Fetch {
    let credentials = *random.of(&[Credentials::SameOrigin, Credentials::Include]);
    let method = *random.of(&["POST", "POST", "GET", "PUT", "delete"]);
    let mut fetch = Fetch::new(method, url).credentials(credentials).watch_upload();
    if matches!(method, "POST" | "PUT") {
        fetch = fetch.body("content");
    }
    fetch.headers = headers(random, true);
    fetch
}

fn element(random: &mut Random, element: Fetch, earlier: &[Step]) -> Fetch {
    let is_used = earlier.iter().any(|step| match step {
        Step::Load(fetch) => {
            fetch.destination == element.destination || fetch.mode == Mode::Navigate
        }
        _ => false,
    });
    if is_used {
        return Fetch::get(element.url);
    }
    match random.below(4) {
        0 => element.mode(Mode::Cors).credentials(Credentials::SameOrigin),
        1 => element.mode(Mode::Cors),
        _ => element,
    }
}

fn method(random: &mut Random) -> &'static str {
    const ODD: &[&str] = &[
        "get", "Post", "patch", "Put", "delete", "OPTIONS", "TRACE", "connect", "TrAcK", "PURGE",
        "a b", "", "M-SEARCH", "QUERY", "x*y",
    ];
    match random.below(10) {
        0..4 => "GET",
        4..6 => "POST",
        6 => random.of::<&str>(&["PUT", "PATCH", "DELETE"]),
        7 => "HEAD",
        8 => "PUT",
        _ => random.of::<&str>(ODD),
    }
}

fn credentials(random: &mut Random) -> Credentials {
    *random.of(&[
        Credentials::Include,
        Credentials::Include,
        Credentials::SameOrigin,
        Credentials::Omit,
    ])
}

fn cache(random: &mut Random) -> CacheMode {
    *random.of(&[
        CacheMode::Default,
        CacheMode::NoStore,
        CacheMode::Reload,
        CacheMode::NoCache,
        CacheMode::ForceCache,
    ])
}

fn headers(random: &mut Random, has_body: bool) -> Vec<(String, String)> {
    let long = "a".repeat(129);
    let fields: &[(&str, &str)] = &[
        ("X-A", "1"),
        ("x-b", "2"),
        ("x-a", "3"),
        ("Authorization", "Bearer token"),
        ("Accept", "application/json"),
        ("Accept", "a\"b"),
        ("Accept", &long),
        ("Accept-Language", "de"),
        ("Accept-Language", "de@"),
        ("Content-Language", "en, de;q=0.5"),
        ("Content-Language", "en_"),
        ("Range", "bytes=0-"),
        ("Range", "bytes=0-99"),
        ("Range", "bytes=-5"),
        ("Range", "bytes=9-1"),
        ("Content-Type", "text/plain"),
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Type", "TEXT/PLAIN;x=(y)"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Type", "multipart/form-data; boundary=b"),
        ("Content-Type", "application/json"),
        ("Content-Type", "text/plain, application/json"),
        ("Content-Type", "text"),
        ("Content-Type", ""),
        ("Cookie", "a=1"),
        ("Origin", "https://evil.test"),
        ("Host", "evil.test"),
        ("Sec-Fetch-Site", "none"),
        ("Sec-X", "1"),
        ("Proxy-Authorization", "x"),
        ("Access-Control-Request-Method", "GET"),
        ("DNT", "1"),
        ("X-HTTP-Method-Override", "PUT"),
        ("X-HTTP-Method-Override", "TRACE"),
        ("X-Empty", ""),
        ("X-Space", "  a b\t"),
        ("X-Bytes", "\u{e4}\u{ff}"),
        ("X-Bad", "\u{100}"),
        ("X-Bad", "a\nb"),
        ("bad name", "1"),
        ("*", "1"),
        ("If-None-Match", "\"other\""),
        ("Cache-Control", "no-cache"),
        ("Pragma", "no-cache"),
        ("Referer", "https://evil.test/"),
        ("User-Agent", "another"),
    ];
    let count = *random.of(&[0, 0, 0, 0, 1, 1, 1, 2, 3]);
    let mut headers: Vec<(String, String)> = (0..count)
        .map(|_| {
            let (name, value) = random.of(fields);
            ((*name).into(), (*value).into())
        })
        .collect();
    if has_body && random.below(3) == 0 {
        headers.push(("Content-Type".into(), "application/json".into()));
    }
    let mut has_type = false;
    headers.retain(|(name, _)| {
        let is_second = has_type && name == "Content-Type";
        has_type |= name == "Content-Type";
        !is_second
    });
    headers
}

fn route(random: &mut Random, case: &Case, path: &'static str) -> Route {
    let count = *random.of(&[1, 1, 1, 1, 2, 3]);
    let preflights = (0..count).map(|_| preflight(random, case)).collect();
    let responses = (0..count).map(|_| response(random, case)).collect();
    Route { path, preflights, responses }
}

fn preflight(random: &mut Random, case: &Case) -> Canned {
    let mut headers = Vec::new();
    grant(random, case, &mut headers);
    let asked: Vec<&Fetch> = case.loads().collect();
    let methods: Vec<&str> = asked.iter().map(|fetch| &*fetch.method).collect();
    let right = methods.join(", ");
    match random.below(10) {
        0..5 => add(&mut headers, "access-control-allow-methods", right.to_uppercase()),
        5 => add(&mut headers, "access-control-allow-methods", right),
        6 => add(&mut headers, "access-control-allow-methods", "*".into()),
        7 => {
            let odd = *random.of(&[
                "",
                "GET",
                "put",
                "PUT,",
                ", DELETE , PATCH",
                "PUT DELETE",
                "\"PUT\"",
                "PATCH, *",
                "P@T",
                "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
            ]);
            add(&mut headers, "access-control-allow-methods", odd.into());
        }
        8 => {
            add(&mut headers, "access-control-allow-methods", "PATCH".into());
            add(&mut headers, "access-control-allow-methods", "PUT,DELETE".into());
        }
        _ => {}
    }
    let names: Vec<&str> = asked
        .iter()
        .flat_map(|fetch| fetch.headers.iter().map(|(name, _)| &**name))
        .filter(|name| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-*".contains(&byte))
        })
        .collect();
    let right = names.join(",");
    match random.below(10) {
        0..4 => add(&mut headers, "access-control-allow-headers", right),
        4 => add(&mut headers, "access-control-allow-headers", right.to_uppercase()),
        5 => add(&mut headers, "access-control-allow-headers", "*".into()),
        6 => add(&mut headers, "access-control-allow-headers", "*, Authorization".into()),
        7 => {
            let odd = *random.of(&[
                "",
                "x-a",
                "x-a x-b",
                "content-type;",
                "x-a,,x-b",
                " content-type , x-a ",
                "X-B, \u{e4}",
                "authorization",
                "content-type, accept, range, x-a",
            ]);
            add(&mut headers, "access-control-allow-headers", odd.into());
        }
        8 => {
            add(&mut headers, "access-control-allow-headers", "x-a".into());
            add(&mut headers, "access-control-allow-headers", "content-type, X-B".into());
        }
        _ => {}
    }
    if random.below(2) == 0 {
        let age = *random.of(&[
            "600",
            "600",
            "86400",
            "0",
            "-1",
            "abc",
            "",
            "600 ",
            "+600",
            "600, 600",
            "\"600\"",
            "600.5",
            "99999999999999999999",
            "00600",
            "-0",
        ]);
        add(&mut headers, "access-control-max-age", age.into());
        if random.below(20) == 0 {
            add(&mut headers, "access-control-max-age", "0".into());
        }
    }
    if random.below(10) == 0 {
        add(&mut headers, "set-cookie", cookie(random));
    }
    if random.below(20) == 0 {
        add(&mut headers, "location", "/{ID}/b".into());
    }
    let status = match random.below(10) {
        0..5 => 204,
        5..9 => 200,
        _ => *random.of(&[201, 299, 301, 302, 307, 400, 401, 403, 404, 405, 500]),
    };
    Canned { status, headers, body: Body::Script }
}

/// The response to the CORS check.
fn grant(random: &mut Random, case: &Case, headers: &mut Vec<(&'static str, String)>) {
    const ORIGIN: &str = "access-control-allow-origin";
    const CREDENTIALS: &str = "access-control-allow-credentials";
    let page = case.place.origins.last().expect("a page").clone();
    let own = if case.place.is_sandboxed { "null".into() } else { page.clone() };
    match random.below(20) {
        0..13 => add(headers, ORIGIN, own.clone()),
        13..15 => add(headers, ORIGIN, "*".into()),
        15 => add(headers, ORIGIN, "null".into()),
        16 => {}
        17 => {
            add(headers, ORIGIN, own.clone());
            add(headers, ORIGIN, random.of(&[own.clone(), "*".into(), String::new()]).clone());
        }
        _ => {
            let wrong = [
                page.to_uppercase(),
                format!("{page}/"),
                format!(" {own} "),
                format!("{own}, {own}"),
                format!("{own} *"),
                "*, *".into(),
                "*.shop.test".into(),
                "true".into(),
                String::new(),
                "https://api.shop.test:{P}".into(),
                page.replace("https:", "http:"),
                page.replace(":{P}", ""),
                page.replace("https://", ""),
                "Null".into(),
                format!("{page}\u{e4}"),
                "\"*\"".into(),
            ];
            add(headers, ORIGIN, random.of(&wrong).clone());
        }
    }
    match random.below(10) {
        0..6 => add(headers, CREDENTIALS, "true".into()),
        6 => {
            let wrong = *random.of(&[
                "True",
                "TRUE",
                "false",
                "1",
                "true, true",
                " true ",
                "\"true\"",
                "",
                "true;",
                "*",
            ]);
            add(headers, CREDENTIALS, wrong.into());
        }
        7 if random.below(5) == 0 => {
            add(headers, CREDENTIALS, "true".into());
            add(headers, CREDENTIALS, "true".into());
        }
        _ => {}
    }
}

fn response(random: &mut Random, case: &Case) -> Canned {
    let mut headers = Vec::new();
    grant(random, case, &mut headers);
    let mut status = match random.below(10) {
        0..7 => 200,
        7..9 => *random.of(&[301, 302, 303, 307, 308]),
        _ => *random.of(&[201, 204, 300, 400, 401, 403, 404, 405, 410, 418, 500, 503]),
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
            *random.of(&["same-origin", "same-site", "cross-origin", "Same-Site", "x", ""]);
        add(&mut headers, "cross-origin-resource-policy", policy.into());
    }
    if random.below(15) == 0 {
        let policy =
            *random.of(&["no-referrer", "origin", "unsafe-url", "x", "same-origin, x", ""]);
        add(&mut headers, "referrer-policy", policy.into());
    }
    if opens && random.below(6) == 0 {
        let frames = *random.of(&["DENY", "sameorigin", "SAMEORIGIN, DENY", "ALLOW-FROM x", "x"]);
        add(&mut headers, "x-frame-options", frames.into());
    }
    Canned { status, headers, body }
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
            let other = *random.of(&[
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
        let nosniff = *random.of(&["nosniff", "NOSNIFF", "nosniff, x", "x, nosniff", ""]);
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
            random.of::<&str>(&["content-language", "last-modified", "pragma", "x-empty"]),
            "".into(),
        );
    }
    match random.below(10) {
        0..2 => add(headers, EXPOSE, "X-Total".into()),
        2 => add(headers, EXPOSE, "*".into()),
        3 => {
            let odd = *random.of(&[
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
            add(headers, EXPOSE, random.of(&["x-trace", "*", "", "etag"]).to_string());
        }
        _ => {}
    }
}

/// Fields for caches.
fn store(random: &mut Random, case: &Case, status: u16, headers: &mut Vec<(&'static str, String)>) {
    const CONTROL: &str = "cache-control";
    let has_range = |fetch: &Fetch| fetch.headers.iter().any(|(name, _)| name == "Range");
    if status != 200 || case.loads().any(has_range) {
        return add(headers, CONTROL, "no-store".into());
    }
    match random.below(12) {
        0..6 => return add(headers, CONTROL, "no-store".into()),
        6..8 => add(headers, CONTROL, "max-age=600".into()),
        8..10 => {
            let control = *random.of(&[
                "no-cache",
                "max-age=0",
                "private, max-age=600",
                "max-age=600, must-revalidate",
                "public",
                "max-age=x",
                "MAX-AGE=600",
                "max-age=\"600\"",
                "no-cache, max-age=600",
                "max-age=600, no-store",
                "immutable, max-age=600",
                "max-age=0, max-age=600",
            ]);
            add(headers, CONTROL, control.into());
        }
        10 => {
            let expires = *random.of(&["{T600}", "{T-600}", "0", "soon"]);
            add(headers, "expires", expires.into());
        }
        _ => {}
    }
    if random.below(2) == 0 {
        add(headers, "etag", (*random.of(&["\"1\"", "W/\"1\"", "\"2\""])).into());
    }
    if random.below(3) == 0 {
        add(headers, "last-modified", (*random.of(&["{T-86400}", "{T-86400}", "x"])).into());
    }
    if random.below(3) == 0 {
        add(headers, "date", (*random.of(&["{T0}", "{T0}", "{T-3600}"])).into());
    }
    if random.below(4) == 0 {
        let vary = *random.of(&["origin", "*", "x-a", "Cookie", "accept, Origin", "authorization"]);
        add(headers, "vary", vary.into());
    }
    if random.below(12) == 0 {
        add(headers, "age", (*random.of(&["0", "300", "6000", "x"])).into());
    }
}

fn location(random: &mut Random, case: &Case) -> Option<String> {
    let page = case.place.origins.last().expect("a page");
    let path = random.of(PATHS);
    let opens_window = case.loads().any(|fetch| fetch.destination == Destination::Document);
    Some(match random.below(20) {
        0..5 => format!("/{{ID}}/{path}"),
        5 => (*path).into(),
        6..9 => format!("https://api.shop.test:{{P}}/{{ID}}/{path}"),
        9..12 => format!("https://evil.test:{{P}}/{{ID}}/{path}"),
        12..15 => format!("{page}/{{ID}}/{path}"),
        15 if !opens_window => format!("http://api.shop.test:{{P}}/{{ID}}/{path}"),
        16 if page.contains("api.shop.test") => {
            format!("https://user:password@evil.test:{{P}}/{{ID}}/{path}")
        }
        16 => format!("https://user:password@api.shop.test:{{P}}/{{ID}}/{path}"),
        17 => format!("/{{ID}}/{path}#other"),
        18 => (*random.of(&["https://[", "javascript:1", "data:text/plain,a", "", "?q=2", "//"]))
            .into(),
        _ => return None,
    })
}

fn cookie(random: &mut Random) -> String {
    let pair: String = match random.below(12) {
        0..8 => (*random.of(&["a{ID}=1", "b{ID}=2", "a{ID}=3", " c{ID} = 4 "])).into(),
        8 => format!("__Secure-{{ID}}={}", random.below(3)),
        9 => format!("__Host-{{ID}}={}", random.below(3)),
        10 => (*random.of(&[
            "__secure-{ID}=1",
            "__HOST-{ID}=1",
            "__Http-{ID}=1",
            "__Host-Http-{ID}=1",
        ]))
        .into(),
        _ => (*random.of(&[
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

fn add(headers: &mut Vec<(&'static str, String)>, name: &'static str, value: String) {
    headers.push((name, value));
}
