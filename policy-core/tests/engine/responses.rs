//! Whole responses: every header of a few policies that use all features between them.

use http::{HeaderMap, HeaderValue, Method};
use policy_core::{
    Refusal,
    cors::{Cors, CorsPolicy, OriginLists},
    head::Single,
};

const ANYBODY: CorsPolicy = CorsPolicy::origins(&["*"])
    .methods(&["*"])
    .headers(&["*", "Authorization"])
    .expose(&["*"])
    .max_age(0)
    .build();

const MEMBERS: CorsPolicy = CorsPolicy::origins(&["https://a.test", "https://*.b.test"])
    .credentials()
    .headers(&["X-B", "authorization", "x-a", "X-A"])
    .expose(&["X-Total", "Content-Type", "etag"])
    .max_age(-1)
    .build();

#[test]
fn a_preflight_of_a_wildcard_policy_gets_stars() {
    let headers = preflight(&ANYBODY, "https://a.test", &[Method::GET]).expect("allowed");
    let want = "access-control-allow-headers: *,authorization
access-control-allow-methods: *
access-control-allow-origin: *
access-control-max-age: 0";
    assert_eq!(text(&headers), want);
}

#[test]
fn a_preflight_of_a_granted_origin_is_answered_with_full_sorted_lists() {
    let served = [Method::PUT, Method::GET];
    let headers = preflight(&MEMBERS, "https://x.b.test", &served).expect("allowed");
    let want = "access-control-allow-credentials: true
access-control-allow-headers: authorization,content-type,x-a,x-b
access-control-allow-methods: GET,PUT
access-control-allow-origin: https://x.b.test
access-control-max-age: 0
vary: origin";
    assert_eq!(text(&headers), want);
}

#[test]
fn a_preflight_with_credentials_lists_methods_and_headers() {
    const APP: &[&str] = &["https://a.test"];
    const COOKIES: CorsPolicy = CorsPolicy::origins(APP).credentials().build();
    const LISTED: CorsPolicy = CorsPolicy::origins(APP).credentials().methods(&["PUT"]).build();
    const TOKENS: CorsPolicy = CorsPolicy::origins(APP).build();
    const STARS: CorsPolicy = CorsPolicy::origins(&["*"]).headers(&["*"]).build();
    let allowed = |policy: &CorsPolicy, by_credentials: &[&str]| {
        let headers = preflight_of(policy, "https://a.test", &[Method::PUT], by_credentials);
        let headers = headers.expect("allowed");
        let names = headers.get("access-control-allow-headers").expect("names");
        names.to_str().expect("text").to_owned()
    };
    let both = &["authorization", "x-csrf-token", "authorization"];
    assert_eq!(allowed(&COOKIES, both), "authorization,content-type,x-csrf-token");
    assert_eq!(allowed(&COOKIES, &["x-csrf-token"]), "content-type,x-csrf-token");
    assert_eq!(allowed(&LISTED, both), "authorization,x-csrf-token");
    assert_eq!(allowed(&TOKENS, both), "authorization,content-type");
    assert_eq!(allowed(&STARS, both), "*,authorization");
    assert_eq!(allowed(&STARS, &[]), "*");
}

#[test]
fn a_refused_preflight_names_its_error() {
    let asks = |origins: &[&'static str], methods: &[&'static str]| {
        let cors = compiled(&MEMBERS);
        let plan = cors.preflight(&[Method::GET], &[]);
        let (origins, methods) = (values(origins), values(methods));
        plan.answer(&cors, single(&origins), single(&methods)).expect_err("refused")
    };
    let granted = "https://a.test";
    assert_eq!(asks(&["https://b.test"], &["GET"]), Refusal::PreflightOrigin);
    assert_eq!(asks(&["null"], &["GET"]), Refusal::PreflightOrigin);
    assert_eq!(asks(&[granted, granted], &["GET"]), Refusal::PreflightOriginRepeated);
    assert_eq!(asks(&[granted], &["GET", "GET"]), Refusal::PreflightMethod);
    assert_eq!(asks(&[granted], &[""]), Refusal::PreflightMethod);
    assert_eq!(asks(&[granted], &["PU T"]), Refusal::PreflightMethod);
    assert_eq!(asks(&[granted], &["GET,PUT"]), Refusal::PreflightMethod);
}

/// Without the header, every method would be allowed to a page that observes its upload: Fetch then
/// falls back to the requested method (CORS-preflight fetch, step 7).
#[test]
fn an_empty_list_of_methods_allows_none() {
    let policy = CorsPolicy::origins(&["*"]).methods(&[]).try_build();
    if let Ok(policy) = policy {
        let headers = preflight(&policy, "https://a.test", &[Method::GET]).expect("allowed");
        assert!(headers.contains_key("access-control-allow-methods"), "{headers:?}");
    }
}

#[test]
fn a_response_exposes_sorted_names_that_are_not_safelisted() {
    let headers = finished(&MEMBERS, &["https://a.test"]);
    let want = "access-control-allow-credentials: true
access-control-allow-origin: https://a.test
access-control-expose-headers: etag,x-total
vary: origin";
    assert_eq!(text(&headers), want);
}

#[test]
fn a_wildcard_response_does_not_depend_on_origin() {
    let want = "access-control-allow-origin: *\naccess-control-expose-headers: *";
    assert_eq!(text(&finished(&ANYBODY, &[])), want);
    assert_eq!(text(&finished(&ANYBODY, &["null"])), want);
    assert_eq!(text(&finished(&ANYBODY, &["https://a.test", "https://a.test"])), want);
}

#[test]
fn a_response_to_anybody_else_says_only_that_it_varies() {
    assert_eq!(text(&finished(&MEMBERS, &[])), "vary: origin");
    assert_eq!(text(&finished(&MEMBERS, &["https://b.test"])), "vary: origin");
    assert_eq!(text(&finished(&MEMBERS, &["https://a.test", "https://a.test"])), "vary: origin");
}

/// Browsers apply a cached preflight to every method of a URL, so routes of one path may share
/// their preflights only if these agree.
#[test]
fn routes_share_preflights_if_origins_credentials_and_headers_agree() {
    const ALIKE: CorsPolicy = CorsPolicy::origins(&["https://*.b.test", "https://a.test"])
        .credentials()
        .headers(&["x-a", "x-b", "authorization"])
        .build();
    // The first entry covers the last.
    const SAME_ORIGINS: CorsPolicy =
        CorsPolicy::origins(&["https://*.b.test", "https://a.test", "https://c.b.test"])
            .credentials()
            .headers(&["x-a", "x-b", "authorization"])
            .build();
    const OTHER_ORIGINS: CorsPolicy = CorsPolicy::origins(&["https://a.test"])
        .credentials()
        .headers(&["x-a", "x-b", "authorization"])
        .build();
    const OTHER_HEADERS: CorsPolicy =
        CorsPolicy::origins(&["https://*.b.test", "https://a.test"]).credentials().build();
    const NO_CREDENTIALS: CorsPolicy = CorsPolicy::origins(&["https://*.b.test", "https://a.test"])
        .headers(&["x-a", "x-b", "authorization"])
        .build();
    let members = compiled(&MEMBERS);
    for alike in [ALIKE, SAME_ORIGINS] {
        assert!(members.shares_preflight(&compiled(&alike)), "{alike:?}");
    }
    for other in [OTHER_ORIGINS, OTHER_HEADERS, NO_CREDENTIALS, ANYBODY] {
        assert!(!members.shares_preflight(&compiled(&other)), "{other:?}");
    }
}

fn compiled(policy: &CorsPolicy) -> Cors {
    Cors::new("the test", policy, &OriginLists::new()).expect("a policy")
}

fn preflight(
    policy: &CorsPolicy,
    origin: &'static str,
    served: &[Method],
) -> Result<HeaderMap, Refusal> {
    preflight_of(policy, origin, served, &[])
}

fn preflight_of(
    policy: &CorsPolicy,
    origin: &'static str,
    served: &[Method],
    by_credentials: &[&str],
) -> Result<HeaderMap, Refusal> {
    let cors = compiled(policy);
    let origin = HeaderValue::from_static(origin);
    let method = HeaderValue::from_static("PURGE");
    let plan = cors.preflight(served, by_credentials);
    plan.answer(&cors, Single::One(&origin), Single::One(&method)).map(|(_, headers)| headers)
}

/// The fields of a response whose handler wrote all those of CORS.
fn finished(policy: &CorsPolicy, origins: &[&'static str]) -> HeaderMap {
    let cors = compiled(policy);
    let mut headers = HeaderMap::new();
    for name in [
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "access-control-max-age",
    ] {
        headers.insert(name, HeaderValue::from_static("forged"));
    }
    cors.apply(cors.decide_origin(single(&values(origins))), &mut headers);
    headers
}

fn values(texts: &[&'static str]) -> Vec<HeaderValue> {
    texts.iter().map(|text| HeaderValue::from_static(text)).collect()
}

fn single(lines: &[HeaderValue]) -> Single<'_> {
    match lines {
        [] => Single::Absent,
        [line] => Single::One(line),
        _ => Single::Repeated,
    }
}

/// The fields, sorted by name.
fn text(headers: &HeaderMap) -> String {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    lines.sort();
    lines.join("\n")
}
