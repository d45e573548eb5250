//! Generated loads of pages.

use policy_browser::{CacheMode, Credentials, Fetch, Mode, Redirect};
use proptest::{
    option,
    prelude::*,
    sample::{select, subsequence},
};

/// A load from an address: mostly a call of `fetch()` with any method, headers and modes, and
/// sometimes a script, an image, a link, a frame, a form or a WebSocket. No browser sends some of
/// them: TRACE, or an invalid method.
///
/// ```
/// use policy_server::testing::strategies::any_fetch;
/// use proptest::prelude::*;
///
/// proptest!(|(fetch in any_fetch("https://api.shop.example/orders"))| {
///     prop_assert_eq!(fetch.url, "https://api.shop.example/orders");
/// });
/// ```
pub fn any_fetch(url: impl Into<String>) -> impl Strategy<Value = Fetch> + Clone {
    let url = url.into();
    let elements: [fn(&str) -> Fetch; 6] = [
        |url| Fetch::script(url),
        |url| Fetch::image(url),
        |url| Fetch::navigate(url),
        |url| Fetch::frame(url),
        |url| Fetch::form(url, [("a", "1")]),
        |url| Fetch::websocket(url),
    ];
    let of = url.clone();
    let element = (0..elements.len()).prop_map(move |element| {
        elements.get(element).map_or_else(|| Fetch::get(&*of), |element| element(&of))
    });
    let simple = (select(&["GET", "HEAD", "POST"][..]), credentials()).prop_map({
        let url = url.clone();
        move |(method, credentials)| {
            Fetch::new(method, &*url).mode(Mode::NoCors).credentials(credentials)
        }
    });
    prop_oneof![16 => script_call(url), 2 => simple, 3 => element]
}

/// `fetch()` in mode `cors`.
fn script_call(url: String) -> impl Strategy<Value = Fetch> + Clone {
    let method = select(METHODS);
    let headers = subsequence(HEADERS, 0..4);
    let body = option::weighted(0.3, select(&["", "{}", "a=1"][..]));
    let redirect = prop_oneof![
        8 => Just(Redirect::Follow),
        1 => Just(Redirect::Error),
        1 => Just(Redirect::Manual),
    ];
    let cache = prop_oneof![
        6 => Just(CacheMode::Default),
        1 => Just(CacheMode::NoStore),
        1 => Just(CacheMode::Reload),
        1 => Just(CacheMode::NoCache),
        1 => Just(CacheMode::ForceCache),
    ];
    let rare = || prop::bool::weighted(0.1);
    let parts = (method, headers, body, credentials(), redirect, cache, rare(), rare());
    parts.prop_map(
        move |(method, headers, body, credentials, redirect, cache, watches, streams)| {
            let has_content = body.is_some() && !matches!(method, "GET" | "get" | "HEAD");
            let mut fetch =
                Fetch::new(method, &*url).credentials(credentials).redirect(redirect).cache(cache);
            for (name, value) in headers {
                fetch = fetch.header(name, value);
            }
            fetch.body = body.filter(|_| has_content).map(Into::into);
            fetch.watches_upload = watches;
            fetch.streams_body = streams && has_content;
            fetch
        },
    )
}

const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "get", "PUT", "put", "DELETE", "PATCH", "patch", "QUERY", "query",
    "PURGE", "OPTIONS", "TRACE", "b@d",
];

/// Safelisted request headers, and similar ones.
const HEADERS: &[(&str, &str)] = &[
    ("X-A", "1"),
    ("x-b", "2"),
    ("Authorization", "Bearer x"),
    ("Content-Type", "application/json"),
    ("content-type", "text/plain;charset=utf-8"),
    ("Accept", "(x)"),
    ("Accept", "text/html"),
    ("Range", "bytes=0-9"),
    ("Range", "bytes=-9"),
    ("Cookie", "a=b"),
];

fn credentials() -> impl Strategy<Value = Credentials> + Clone {
    select(&[Credentials::SameOrigin, Credentials::Omit, Credentials::Include][..])
}
