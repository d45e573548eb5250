//! Generated policies, handlers and requests: mostly valid, often similar to each other.

use std::time::Duration;

use http::{HeaderValue, Method};
use policy_core::{
    cache::CachePolicyBuilder,
    headers::csp::{Directive, Name, Source},
};
use policy_server::{policy::Frame, prelude::*};
use proptest::{collection::vec, prelude::*};

use super::{
    handlers::{Content, Plan},
    site::{Level, Said, Scenario},
};
use crate::{auth::test_server::OWN, exchange::Request};

/// The origin that some policies name.
pub(crate) const PAGE: &str = "https://app.shop.example";

const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
const LISTED: CorsPolicy = CorsPolicy::origins(&[PAGE]).expose(&["etag"]).build();
/// A policy that pages with a session need.
pub(crate) const TRUSTED: CorsPolicy = CorsPolicy::origins(&[PAGE]).credentials().build();

const EMBEDDED: HeadersPolicy =
    HeadersPolicy::builder().frame(Frame::Anybody).corp("cross-origin").every_response().build();
const NONCE: HeadersPolicy = HeadersPolicy::builder()
    .csp(&[Directive(Name::ScriptSrc, &[Source::Nonce])])
    .coop("same-origin")
    .build();

/// Picks nothing, `Not`, or one of these policies by a number: proptest takes longer for a choice
/// than the server for a request.
fn pick<T: Copy>(number: usize, policies: &[T]) -> Said<T> {
    match number.checked_sub(POLICIES) {
        None if number == 0 => Said::Nothing,
        None => Said::This(policies[number % policies.len()]),
        Some(0) => Said::Not,
        Some(_) => Said::Nothing,
    }
}

/// Numbers up to this one stand for a policy.
const POLICIES: usize = 13;

/// A cache policy that breaks no rule.
fn cache([begin, max_age, s_maxage, stale, flags, vary]: [usize; 6]) -> CachePolicy {
    let begin = match begin % 7 {
        0 => return CachePolicy::no_store().build(),
        1 | 2 => CachePolicy::private(),
        3 => CachePolicy::unstated(),
        _ => CachePolicy::public(),
    };
    let age = |number: usize| [None, Some(0), Some(60), Some(31_536_000)][number % 4];
    let vary = [&[][..], &["accept-language"], &["X-Region", "cookie"]][vary % 3];
    let flag = |builder: CachePolicyBuilder, bit: usize, then: fn(CachePolicyBuilder) -> _| {
        if flags & bit == 0 { builder } else { then(builder) }
    };
    let mut builder = begin.vary(vary);
    builder = age(max_age).map_or(builder, |age| builder.max_age(age));
    builder = age(s_maxage).map_or(builder, |age| builder.s_maxage(age));
    builder = age(stale).map_or(builder, |age| builder.stale_while_revalidate(age));
    builder = flag(builder, 1, CachePolicyBuilder::no_cache);
    builder = flag(builder, 2, CachePolicyBuilder::must_revalidate);
    builder = flag(builder, 4, CachePolicyBuilder::immutable);
    builder.try_build().unwrap_or(CachePolicy::private().max_age(600).build())
}

fn level(has_nonces: bool) -> impl Strategy<Value = Level> {
    let said_of = 0..POLICIES * 2;
    let said_of = || (said_of.clone(), said_of.clone(), said_of.clone(), said_of.clone());
    (said_of(), any::<[u8; 6]>()).prop_map(move |((cors, caching, headers, isolation), cached)| {
        let mut cached = cached.map(usize::from);
        let all: &[HeadersPolicy] = if has_nonces {
            // Nonces cannot be cached for others, so such an app does not start.
            cached[0] %= 3;
            &[HeadersPolicy::PAGES, NONCE, HeadersPolicy::DEFAULT]
        } else {
            &[HeadersPolicy::DEFAULT, HeadersPolicy::API, EMBEDDED]
        };
        Level {
            cors: pick(cors, &[EVERYBODY, LISTED, TRUSTED]),
            cache: pick(caching, &[cache(cached)]),
            headers: pick(headers, all),
            isolation: pick(isolation, &[Isolation::SameOrigin, Isolation::SameSite]),
            limits: None,
        }
    })
}

pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
    prop::bool::weighted(0.3).prop_flat_map(|has_nonces| {
        let level = || level(has_nonces);
        (level(), level(), level()).prop_map(|(app, group, mount)| Scenario { app, group, mount })
    })
}

type Field = (&'static str, &'static str);

/// Headers of a handler: cache fields, validators and fields of the policies.
const WRITTEN: [Field; 28] = [
    ("cache-control", "public"),
    ("cache-control", "public"),
    ("cache-control", "public, max-age=60"),
    ("cache-control", "s-maxage=600"),
    ("cache-control", "max-age=60, must-revalidate"),
    ("cache-control", "private, max-age=60"),
    ("cache-control", "private=\"set-cookie\", max-age=60"),
    ("cache-control", "no-cache"),
    ("cache-control", "no-store"),
    ("cache-control", "immutable, Max-Age=\"60\", public"),
    ("cache-control", "ext=\"a, no-store\", max-age=1"),
    ("cdn-cache-control", "public"),
    ("surrogate-control", "max-age=600"),
    ("expires", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ("content-location", "/files/1"),
    ("vary", "*"),
    ("vary", "accept"),
    ("vary", "Cookie"),
    ("vary", "origin, cookie"),
    ("etag", "\"1\""),
    ("etag", "\"1\""),
    ("etag", "W/\"1\""),
    ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("accept-ranges", "bytes"),
    ("accept-ranges", "bytes"),
    ("access-control-allow-origin", "*"),
    ("content-security-policy", "default-src 'none'"),
    ("x-content-type-options", "maybe"),
];

const STATUSES: [u16; 15] =
    [201, 203, 204, 206, 301, 302, 304, 400, 404, 405, 410, 416, 500, 501, 503];

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let parts = (0..STATUSES.len() * 4, 0_usize..14, 0_usize..200, vec(0..WRITTEN.len(), 0..5));
    parts.prop_map(|(status, content, len, written)| {
        let content = match content {
            0..3 => Content::Whole(len),
            3..5 => Content::Stream(len),
            5..7 => Content::Json,
            7..9 => Content::Page,
            9..12 => Content::Problem,
            12 => Content::Nothing,
            _ => Content::Panic,
        };
        let mut fields: Vec<Field> = written.into_iter().map(|field| WRITTEN[field]).collect();
        // A field that may not be repeated occurs once.
        let mut seen = Vec::new();
        fields.retain(|(name, _)| {
            let is_first = !seen.contains(name);
            seen.push(*name);
            is_first || matches!(*name, "cache-control" | "vary")
        });
        let status = STATUSES.get(status.wrapping_sub(STATUSES.len() * 3)).copied();
        Plan { status: status.unwrap_or(200), fields, content, state: None }
    })
}

/// Every path that serves GET, and others.
const PATHS: [&str; 24] = [
    "/open",
    "/open",
    "/declared",
    "/script",
    "/script?cb=f",
    "/script?cb=1",
    "/chosen",
    "/token",
    "/maybe",
    "/my/session",
    "/my/session",
    "/my/held",
    "/in/open",
    "/in/chosen",
    "/in/maybe",
    "/files",
    "/files/a/b",
    "/",
    "/unknown",
    "/in",
    "/in/state",
    "/in/bytes",
    "/open/",
    "/%2e/open",
];

/// Request fields that a response may depend on, with values that some part of the app reads.
pub(crate) const ASKED: [(&str, &[&str]); 15] = [
    (
        "accept",
        &[
            "*/*",
            "application/json",
            "text/html",
            "text/plain, */*;q=0.1",
            "text/html;q=0.5, application/json;q=0.4",
            "image/png",
        ],
    ),
    ("origin", &[PAGE, OWN, "https://evil.example", "null"]),
    ("cookie", &["a=1", "__Host-sid=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "SESSION"]),
    ("sec-fetch-site", &["same-origin", "same-site", "cross-site", "none", "?"]),
    ("sec-fetch-mode", &["navigate", "cors", "no-cors"]),
    ("sec-fetch-dest", &["document", "image", "empty", "iframe"]),
    ("sec-fetch-user", &["?1"]),
    ("x-region", &["eu", "us"]),
    ("x-requested-with", &["XMLHttpRequest"]),
    ("x-csrf-token", &["A"]),
    ("x-forwarded-host", &["evil.example"]),
    ("x-http-method-override", &["DELETE"]),
    ("accept-language", &["de", "en"]),
    ("user-agent", &["Mozilla/5.0"]),
    ("referer", &["https://app.shop.example/", "https://api.shop.example/open"]),
];

pub(crate) fn request(methods: &'static [Method]) -> impl Strategy<Value = Request> {
    let fields = vec((0..ASKED.len() + 8, any::<u8>()), 0..6);
    (0..methods.len(), 0..PATHS.len(), fields).prop_map(|(method, path, fields)| {
        let mut request = Request::new(methods[method].clone(), PATHS[path]);
        for (field, value) in fields {
            // Mostly the first few.
            let (name, values) = ASKED[field.checked_sub(ASKED.len()).unwrap_or(field)];
            let value = values[usize::from(value) % values.len()];
            request.headers.insert(name, HeaderValue::from_static(value));
        }
        request
    })
}

/// Conditional request fields, and ranges.
const CONDITIONS: [(&str, &[&str]); 7] = [
    ("if-none-match", TAGS),
    ("if-match", TAGS),
    ("range", RANGES),
    ("if-modified-since", DATES),
    ("if-unmodified-since", DATES),
    ("if-range", &["\"1\"", "W/\"1\"", "\"2\"", "?", "Sun, 06 Nov 1994 08:49:37 GMT"]),
    ("if-range", DATES),
];

const DATES: &[&str] = &[
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "Sun, 06 Nov 1994 08:49:36 GMT",
    "Sun, 06 Nov 1994 08:49:38 GMT",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "yesterday",
];

const TAGS: &[&str] = &[
    "*",
    "\"1\"",
    "W/\"1\"",
    "\"2\"",
    "\"2\", \"1\"",
    ",\"2\" ,, W/\"1\"\t,",
    "\"a,b\"",
    "\"a,\\\", \"1\"",
];

const RANGES: &[&str] = &[
    "bytes=0-",
    "bytes=0-0",
    "bytes=-1",
    "bytes=-0",
    "bytes=3-9",
    "Bytes=5-100000",
    "bytes=100000-",
    "bytes=0-1,2-3",
    "bytes=0-1, 8-9",
    "bytes=-5,0-2",
    "bytes=9-3",
    "bytes=",
    "lines=1-2",
    "bytes=0-18446744073709551615",
    "bytes=18446744073709551616-",
];

pub(crate) fn conditions() -> impl Strategy<Value = Vec<Field>> {
    let fields = vec((0..CONDITIONS.len(), any::<u8>()), 0..4);
    fields.prop_map(|fields| {
        let field = |(field, value): (usize, u8)| {
            let (name, values): (_, &[_]) = CONDITIONS[field];
            (name, values[usize::from(value) % values.len()])
        };
        fields.into_iter().map(field).collect()
    })
}

/// A rate that a few requests use up.
pub(crate) fn rate() -> impl Strategy<Value = Rate> {
    (1_u32..6, 200_u64..4_000, any::<bool>()).prop_map(|(count, millis, by_principal)| {
        let rate = Rate::new(count, Duration::from_millis(millis));
        if by_principal { rate.by_principal() } else { rate }
    })
}
