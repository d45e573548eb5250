//! Resource isolation, as <https://web.dev/articles/fetch-metadata> puts it, written down once
//! more.

use http::{HeaderMap, HeaderValue, Method};
use policy_core::isolation::{FetchMetadata, Isolation};

const SITES: [&[&str]; 9] = [
    &[],
    &["same-origin"],
    &["none"],
    &["same-site"],
    &["cross-site"],
    &["other"],
    &[""],
    &["SAME-ORIGIN"],
    &["same-origin", "cross-site"],
];
const MODES: [&[&str]; 7] = [
    &[],
    &["navigate"],
    &["no-cors"],
    &["cors"],
    &["websocket"],
    &["other"],
    &["navigate", "cors"],
];
const DESTS: [&[&str]; 9] = [
    &[],
    &["document"],
    &["iframe"],
    &["object"],
    &["embed"],
    &["image"],
    &["empty"],
    &["other"],
    &["document", "document"],
];

/// Every combination of what the fields can say.
#[test]
fn a_request_is_admitted_exactly_if_the_policy_says_so() {
    let (mut admitted, mut refused) = (0, 0);
    for site in SITES {
        for mode in MODES {
            for dest in DESTS {
                let mut headers = HeaderMap::new();
                let lines = [("sec-fetch-site", site), ("sec-fetch-mode", mode)];
                for (name, values) in lines.into_iter().chain([("sec-fetch-dest", dest)]) {
                    for value in values {
                        headers.append(name, HeaderValue::from_static(value));
                    }
                }
                let metadata = FetchMetadata::read(&headers);
                for method in [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS] {
                    for granted in [false, true] {
                        for isolation in [Isolation::SameOrigin, Isolation::SameSite] {
                            let found = isolation.admit(&metadata, &method, granted).is_ok();
                            let due = oracle(isolation, &headers, method.as_str(), granted);
                            assert_eq!(
                                found, due,
                                "{isolation:?} {method} {headers:?} granted: {granted}"
                            );
                            if due { admitted += 1 } else { refused += 1 }
                        }
                    }
                }
            }
        }
    }
    println!("isolation: {admitted} admitted, {refused} refused");
    assert!(admitted > 1000 && refused > 1000);
}

fn oracle(isolation: Isolation, headers: &HeaderMap, method: &str, granted: bool) -> bool {
    let of = |name: &str| {
        let lines: Vec<_> = headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect();
        lines.join(" and ")
    };
    if !headers.contains_key("sec-fetch-site") {
        return true;
    }
    let site = of("sec-fetch-site");
    if !["same-origin", "same-site", "cross-site", "none"].contains(&site.as_str()) {
        return false;
    }
    let is_own = site == "same-origin" || site == "none";
    let is_neighbour = site == "same-site" && isolation == Isolation::SameSite;
    let is_link = of("sec-fetch-mode") == "navigate"
        && of("sec-fetch-dest") == "document"
        && (method == "GET" || method == "HEAD");
    is_own || is_neighbour || is_link || granted
}
