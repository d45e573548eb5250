//! What a page asks for: addresses, methods, fields and settings of `fetch()`,
//! `XMLHttpRequest` and elements.

use policy_browser::{CacheMode, Credentials, Fetch, Mode, Redirect};

use super::PATHS;
use crate::diff::{
    case::{Place, Step},
    random::Random,
};

pub(super) fn url(random: &mut Random, place: &Place) -> String {
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
    let path = random.choose(PATHS);
    let more = *random.choose(&["", "", "", "", "", "?q=1", "#part"]);
    format!("{origin}/{{ID}}/{path}{more}")
}

pub(super) fn fetch(random: &mut Random, mut url: String) -> Fetch {
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

/// `fetch()` with `keepalive`.
pub(super) fn keepalive(random: &mut Random, url: String) -> Fetch {
    let credentials = *random.choose(&[Credentials::SameOrigin, Credentials::Omit]);
    let redirect = *random.choose(&[Redirect::Error, Redirect::Manual]);
    let fetch = fetch(random, url).credentials(credentials);
    fetch.mode(Mode::Cors).redirect(redirect)
}

/// `navigator.sendBeacon()` with a `Blob` of some type (Beacon, 3.2).
pub(super) fn beacon(random: &mut Random, url: String) -> Fetch {
    let kind = *random.choose(&[
        "",
        "text/plain",
        "text/plain;charset=utf-8",
        "application/x-www-form-urlencoded",
        "application/json",
    ]);
    Fetch::beacon(url, kind, "content")
}

/// `XMLHttpRequest` with a listener for its upload.
pub(super) fn upload(random: &mut Random, url: String) -> Fetch {
    let credentials = *random.choose(&[Credentials::SameOrigin, Credentials::Include]);
    let method = *random.choose(&["POST", "POST", "GET", "PUT", "delete"]);
    let mut fetch = Fetch::new(method, url).credentials(credentials).watch_upload();
    if matches!(method, "POST" | "PUT") {
        fetch = fetch.body("content");
    }
    fetch.headers = headers(random, true);
    fetch
}

pub(super) fn element(random: &mut Random, element: Fetch, earlier: &[Step]) -> Fetch {
    let is_used = earlier
        .iter()
        .filter_map(Step::load)
        .any(|fetch| fetch.destination == element.destination || fetch.mode == Mode::Navigate);
    if is_used {
        return Fetch::get(element.url);
    }
    match random.below(4) {
        0 => element.mode(Mode::Cors).credentials(Credentials::SameOrigin),
        1 => element.mode(Mode::Cors),
        _ => element,
    }
}

pub(super) fn method(random: &mut Random) -> &'static str {
    const ODD: &[&str] = &[
        "get", "Post", "patch", "Put", "delete", "OPTIONS", "TRACE", "connect", "TrAcK", "PURGE",
        "a b", "", "M-SEARCH", "query", "x*y",
    ];
    match random.below(10) {
        0..4 => "GET",
        4..6 => "POST",
        6 => random.choose::<&str>(&["PUT", "PATCH", "DELETE"]),
        7 => "HEAD",
        8 => random.choose::<&str>(&["PUT", "QUERY"]),
        _ => random.choose::<&str>(ODD),
    }
}

pub(super) fn credentials(random: &mut Random) -> Credentials {
    *random.choose(&[
        Credentials::Include,
        Credentials::Include,
        Credentials::SameOrigin,
        Credentials::Omit,
    ])
}

pub(super) fn cache(random: &mut Random) -> CacheMode {
    *random.choose(&[
        CacheMode::Default,
        CacheMode::NoStore,
        CacheMode::Reload,
        CacheMode::NoCache,
        CacheMode::ForceCache,
    ])
}

/// Client hints, which Chromium lets scripts set (RFC 8942, and what it has of older drafts).
const HINTS: &[(&str, &str)] = &[
    ("DPR", "2"),
    ("DPR", "1.5"),
    ("DPR", "x"),
    ("Device-Memory", "8"),
    ("device-memory", "0.5"),
    ("Downlink", "1.7"),
    ("Downlink", "fast"),
    ("ECT", "4g"),
    ("ect", "5g"),
    ("RTT", "100"),
    ("RTT", "1.5"),
    ("Save-Data", "on"),
    ("save-data", "ON"),
    ("Save-Data", "off"),
    ("Viewport-Width", "640"),
    ("Viewport-Width", "-1"),
    ("Width", "320"),
    ("Width", ""),
];

/// Whether a field is a client hint.
pub(crate) fn is_hint(name: &str) -> bool {
    HINTS.iter().any(|(hint, _)| hint.eq_ignore_ascii_case(name))
}

pub(super) fn headers(random: &mut Random, has_body: bool) -> Vec<(String, String)> {
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
    let count = *random.choose(&[0, 0, 0, 0, 1, 1, 1, 2, 3]);
    let mut headers: Vec<(String, String)> = (0..count)
        .map(|_| {
            let (name, value) = random.choose(fields);
            ((*name).into(), (*value).into())
        })
        .collect();
    if random.below(12) == 0 {
        let (name, value) = random.choose(HINTS);
        headers.push(((*name).into(), (*value).into()));
    }
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
