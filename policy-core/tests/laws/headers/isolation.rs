//! The resource isolation policy of <https://web.dev/articles/fetch-metadata>, implemented a second
//! time.

use http::{HeaderMap, HeaderValue, Method};
use policy_core::{
    Refusal,
    isolation::{FetchMetadata, Isolation, StatedOrigin},
};

const SITES: [&[&str]; 11] = [
    &[],
    &["same-origin"],
    &["none"],
    &["same-site"],
    &["cross-site"],
    &["other"],
    &[""],
    &["SAME-ORIGIN"],
    &["same-origin, none"],
    &["same-origin", "same-origin"],
    &["same-origin", "cross-site"],
];
const MODES: [&[&str]; 9] = [
    &[],
    &["navigate"],
    &["no-cors"],
    &["cors"],
    &["websocket"],
    &["other"],
    &["navigate", "cors"],
    &["navigate", "navigate"],
    &["cors", "cors"],
];
const DESTS: [&[&str]; 12] = [
    &[],
    &["document"],
    &["iframe"],
    &["frame"],
    &["fencedframe"],
    &["object"],
    &["embed"],
    &["image"],
    &["empty"],
    &["other"],
    &[""],
    &["document", "document"],
];

const ORIGINS: [&[&str]; 4] = [&[], &["https://a.test"], &["null"], &["null", "null"]];
const MEANINGS: [StatedOrigin; 3] = [StatedOrigin::Granted, StatedOrigin::Own, StatedOrigin::Other];

/// Every combination of values of the fields.
#[test]
fn a_request_is_admitted_exactly_if_the_policy_says_so() {
    let (mut admitted, mut refused) = (0, 0);
    for ((site, mode), (dest, origin)) in combinations() {
        let mut headers = HeaderMap::new();
        let lines = [
            ("sec-fetch-site", site),
            ("sec-fetch-mode", mode),
            ("sec-fetch-dest", dest),
            ("origin", origin),
        ];
        for (name, values) in lines {
            for value in values {
                headers.append(name, HeaderValue::from_static(value));
            }
        }
        let metadata = FetchMetadata::read(&headers);
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::OPTIONS] {
            for meaning in MEANINGS {
                for isolation in [Isolation::SameOrigin, Isolation::SameSite] {
                    let found = isolation.admit(&metadata, &method, meaning);
                    let is_due = oracle(isolation, &headers, method.as_str(), meaning);
                    let due = if is_due { Ok(()) } else { Err(Refusal::CrossSite) };
                    assert_eq!(found, due, "{isolation:?} {method} {headers:?} {meaning:?}");
                    if is_due { admitted += 1 } else { refused += 1 }
                }
            }
        }
    }
    println!("isolation: {admitted} admitted, {refused} refused");
    assert!(admitted > 1000 && refused > 1000);
}

type Lines = &'static [&'static str];

fn combinations() -> impl Iterator<Item = ((Lines, Lines), (Lines, Lines))> {
    let first = SITES.into_iter().flat_map(|site| MODES.map(|mode| (site, mode)));
    first.flat_map(|first| {
        let second = DESTS.into_iter().flat_map(|dest| ORIGINS.map(|origin| (dest, origin)));
        second.map(move |second| (first, second))
    })
}

fn oracle(isolation: Isolation, headers: &HeaderMap, method: &str, meaning: StatedOrigin) -> bool {
    let of = |name: &str| {
        let lines: Vec<_> = headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect();
        lines.join(" and ")
    };
    let granted = meaning == StatedOrigin::Granted;
    if !headers.contains_key("sec-fetch-site") {
        let origin_speaks = headers.contains_key("origin");
        return !origin_speaks || granted || meaning == StatedOrigin::Own;
    }
    let site = of("sec-fetch-site");
    if !["same-origin", "same-site", "cross-site", "none"].contains(&site.as_str()) {
        return false;
    }
    // No browser sends two modes: the strictest one counts.
    let mode = of("sec-fetch-mode");
    let is_cors = mode == "cors" || mode.contains(" and ");
    let is_tainted = site == "same-origin" && of("origin") == "null" && is_cors;
    let is_own = (site == "same-origin" && !is_tainted) || site == "none";
    let is_neighbour = site == "same-site" && isolation == Isolation::SameSite;
    let is_link = mode == "navigate"
        && of("sec-fetch-dest") == "document"
        && (method == "GET" || method == "HEAD");
    is_own || is_neighbour || is_link || granted
}
