use http::HeaderMap;

use super::*;
use crate::{
    Page, PageOrigin,
    cache_partition::LoadKind,
    stored::LONGEST,
    trial::{page, response, url},
};

const ASSET: &str = "https://api.shop.example/asset";
const TEN_HOURS_AGO: &str = "Sat, 05 Nov 1994 22:49:37 GMT";
const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
const MAX_AGE: (&str, &str) = ("cache-control", "max-age=60");
const TAG: (&str, &str) = ("etag", "\"1\"");

type Fields<'a> = &'a [(&'a str, &'a str)];

fn fields(fields: Fields<'_>) -> HeaderMap {
    response(200, fields).headers
}

fn request(method: Method, address: &str, headers: Fields<'_>) -> SentRequest {
    SentRequest { headers: fields(headers), ..SentRequest::new(method, url(address)) }
}

fn get(headers: Fields<'_>) -> SentRequest {
    request(Method::GET, ASSET, headers)
}

/// A browser with a cache only, and one page.
struct Browser {
    store: Store,
    profile: Profile,
    now: Duration,
    key: Partition,
}

impl Browser {
    fn new(profile: Profile) -> Self {
        let page = page("https://app.shop.example/");
        let key =
            Partition::for_load(&profile, Some(&page), LoadKind::Subresource, &page.url, true);
        Self { store: Store::default(), profile, now: Duration::from_secs(784_111_777), key }
    }

    fn keeps(mut self, request: &SentRequest, response: &ServerResponse) -> Self {
        let mode = CacheMode::Default;
        self.store.keep(&self.profile, self.now, &self.key, mode, request, response);
        self
    }

    fn waits(mut self, seconds: u64) -> Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    /// Gets the status 304 with these fields for a request.
    fn revalidates(&mut self, request: &SentRequest, fields: Fields<'_>) -> Option<ServerResponse> {
        let holds = ServerResponse { body: Vec::new(), ..response(304, fields) };
        self.store.revalidated(&self.profile, self.now, &self.key, request, &holds)
    }

    fn looks(&mut self, mode: CacheMode, request: &SentRequest) -> Lookup {
        self.store.lookup(&self.profile, self.now, &self.key, mode, request)
    }

    fn finds(&mut self, request: &SentRequest) -> &'static str {
        name(&self.looks(CacheMode::Default, request))
    }
}

fn name(lookup: &Lookup) -> &'static str {
    match lookup {
        Lookup::Miss => "miss",
        Lookup::Fresh(_) => "fresh",
        Lookup::Refresh(..) => "refresh",
        Lookup::Stale(_) => "stale",
    }
}

/// How a request uses the stored response of another one, in a browser by the standards.
fn after(request: &SentRequest, response: &ServerResponse, then: &SentRequest) -> &'static str {
    Browser::new(Profile::STANDARD).keeps(request, response).finds(then)
}

#[test]
fn only_final_responses_to_get_are_stored() {
    for (method, status, is_stored) in [
        (Method::GET, 200, true),
        (Method::GET, 404, true),
        (Method::GET, 302, true),
        (Method::GET, 500, true),
        (Method::GET, 206, false),
        (Method::GET, 304, false),
        (Method::GET, 101, false),
        (Method::HEAD, 200, false),
        (Method::OPTIONS, 200, false),
        (Method::POST, 200, false),
    ] {
        let found =
            after(&request(method.clone(), ASSET, &[]), &response(status, &[MAX_AGE]), &get(&[]));
        assert_eq!(found == "fresh", is_stored, "{method} {status}");
    }
}

#[test]
fn storability_depends_on_request_and_response() {
    let stored = |status, request_fields: Fields<'_>, response_fields: Fields<'_>| {
        let browser = Browser::new(Profile::STANDARD)
            .keeps(&get(request_fields), &response(status, response_fields));
        !browser.store.entries.is_empty()
    };
    assert!(stored(200, &[], &[]));
    assert!(stored(200, &[("authorization", "Bearer x")], &[]));
    assert!(stored(200, &[], &[("cache-control", "private")]));
    assert!(!stored(200, &[], &[("cache-control", "max-age=60, no-store")]));
    assert!(!stored(200, &[("cache-control", "no-store")], &[MAX_AGE]));
    assert!(!stored(302, &[], &[]));
    assert!(stored(302, &[], &[("expires", "0")]));
    assert!(stored(302, &[], &[("cache-control", "public")]));
}

#[test]
fn in_firefox_a_change_invalidates_its_location() {
    let change = request(Method::POST, "https://api.shop.example/orders", &[]);
    let finds = |profile| {
        Browser::new(profile)
            .keeps(&get(&[]), &response(200, &[MAX_AGE]))
            .keeps(&change, &response(303, &[("location", "/asset")]))
            .finds(&get(&[]))
    };
    assert_eq!(finds(Profile::FIREFOX), "miss");
    assert_eq!(finds(Profile::CHROMIUM), "fresh");
}

#[test]
fn a_large_response_is_not_stored() {
    let large = ServerResponse { body: vec![0; LONGEST + 1], ..response(200, &[MAX_AGE]) };
    assert_eq!(after(&get(&[]), &large, &get(&[])), "miss");
}

#[test]
fn the_one_that_was_used_the_longest_ago_makes_room() {
    let of = |number| request(Method::GET, &format!("{ASSET}/{number}"), &[]);
    let mut browser = Browser::new(Profile::STANDARD);
    for number in 0..MOST {
        browser = browser.keeps(&of(number), &response(200, &[MAX_AGE]));
    }
    assert_eq!(browser.finds(&of(0)), "fresh");
    browser = browser.keeps(&of(MOST), &response(200, &[MAX_AGE]));
    assert_eq!(browser.store.entries.len(), MOST);
    assert_eq!((browser.finds(&of(0)), browser.finds(&of(1))), ("fresh", "miss"));
}

#[test]
fn large_responses_make_others_go() {
    let of = |number| request(Method::GET, &format!("{ASSET}/{number}"), &[]);
    let large = ServerResponse { body: vec![0; LONGEST], ..response(200, &[MAX_AGE]) };
    let mut browser = Browser::new(Profile::STANDARD);
    for number in 0..=ROOM / LONGEST {
        browser = browser.keeps(&of(number), &large);
    }
    assert_eq!(browser.store.entries.len(), ROOM / LONGEST);
    assert_eq!((browser.finds(&of(0)), browser.finds(&of(1))), ("miss", "fresh"));
}

#[test]
fn cookies_are_not_stored() {
    let mut browser = Browser::new(Profile::STANDARD)
        .keeps(&get(&[]), &response(200, &[MAX_AGE, ("set-cookie", "a=1")]));
    let Lookup::Fresh(found) = browser.looks(CacheMode::Default, &get(&[])) else { panic!() };
    assert!(!found.headers.contains_key(SET_COOKIE));
}

#[test]
fn a_stale_response_is_revalidated_with_its_validators() {
    let modified = ("last-modified", TEN_HOURS_AGO);
    let response = response(200, &[("cache-control", "no-cache"), TAG, modified]);
    let mut browser = Browser::new(Profile::STANDARD).keeps(&get(&[]), &response);
    let Lookup::Stale(conditions) = browser.looks(CacheMode::Default, &get(&[])) else { panic!() };
    assert_eq!(
        conditions,
        fields(&[("if-none-match", "\"1\""), ("if-modified-since", TEN_HOURS_AGO)])
    );
}

#[test]
fn the_status_304_makes_a_response_new_again() {
    let stored_fields =
        [MAX_AGE, TAG, ("x-version", "1"), ("content-length", "7"), ("set-cookie", "a=1")];
    let mut browser =
        Browser::new(Profile::STANDARD).keeps(&get(&[]), &response(200, &stored_fields)).waits(60);
    assert_eq!(browser.finds(&get(&[])), "stale");
    let again = [("x-version", "2"), ("content-length", "0"), ("set-cookie", "b=2")];
    let updated = browser.revalidates(&get(&[]), &again).unwrap();
    assert_eq!((updated.status, updated.body.as_slice()), (200, &b"content"[..]));
    assert_eq!(
        updated.headers,
        fields(&[MAX_AGE, TAG, ("x-version", "2"), ("content-length", "7")])
    );
    assert_eq!(browser.finds(&get(&[])), "fresh");
}

#[test]
fn engines_keep_other_fields_in_spite_of_304() {
    for (profile, expected) in [
        (Profile::STANDARD, [true, true, true]),
        (Profile::CHROMIUM, [false, false, true]),
        (Profile::FIREFOX, [false, true, true]),
        (Profile::WEBKIT, [false, false, false]),
    ] {
        let names = ["content-type", "x-frame-options", "content-security-policy"];
        let stored_fields = names.map(|name| (name, "old"));
        let mut browser = Browser::new(profile).keeps(&get(&[]), &response(200, &stored_fields));
        let updated = browser.revalidates(&get(&[]), &names.map(|name| (name, "new"))).unwrap();
        assert_eq!(names.map(|name| updated.headers[name] == "new"), expected, "{}", profile.name);
    }
}

#[test]
fn nothing_is_made_new_that_is_not_stored() {
    assert!(Browser::new(Profile::STANDARD).revalidates(&get(&[]), &[]).is_none());
}

#[test]
fn a_newer_response_takes_the_place_of_an_older_one() {
    let browser = Browser::new(Profile::STANDARD).keeps(&get(&[]), &response(200, &[MAX_AGE]));
    let forbidden = response(200, &[("cache-control", "no-store")]);
    assert_eq!(browser.keeps(&get(&[]), &forbidden).finds(&get(&[])), "miss");
}

#[test]
fn an_unsafe_method_makes_the_address_forget() {
    for (method, status, expected) in [
        (Method::POST, 200, "miss"),
        (Method::DELETE, 204, "miss"),
        (Method::PUT, 303, "miss"),
        (Method::POST, 400, "fresh"),
        (Method::POST, 500, "fresh"),
        (Method::OPTIONS, 200, "fresh"),
    ] {
        let mut browser = Browser::new(Profile::STANDARD)
            .keeps(&get(&[]), &response(200, &[MAX_AGE]))
            .keeps(&request(method.clone(), ASSET, &[]), &response(status, &[]));
        assert_eq!(browser.finds(&get(&[])), expected, "{method} {status}");
    }
    let elsewhere = request(Method::POST, "https://api.shop.example/orders", &[]);
    let mut browser = Browser::new(Profile::STANDARD)
        .keeps(&get(&[]), &response(200, &[MAX_AGE]))
        .keeps(&elsewhere, &response(200, &[]));
    assert_eq!(browser.finds(&get(&[])), "fresh");
}

#[test]
fn head_is_answered_from_get_without_content() {
    let head = request(Method::HEAD, ASSET, &[]);
    let mut browser =
        Browser::new(Profile::STANDARD).keeps(&get(&[]), &response(200, &[MAX_AGE, TAG]));
    let Lookup::Fresh(found) = browser.looks(CacheMode::Default, &head) else { panic!() };
    assert!(found.body.is_empty());
    let mut browser = browser.waits(60);
    let Lookup::Stale(conditions) = browser.looks(CacheMode::Default, &head) else { panic!() };
    assert_eq!(conditions, fields(&[("if-none-match", "\"1\"")]));
    assert!(browser.revalidates(&head, &[MAX_AGE]).unwrap().body.is_empty());
    let Lookup::Fresh(found) = browser.looks(CacheMode::Default, &get(&[])) else { panic!() };
    assert_eq!(found.body, b"content");
}

#[test]
fn a_field_without_value_of_304_is_not_stored_in_firefox() {
    let has = |profile| {
        let mut browser = Browser::new(profile).keeps(&get(&[]), &response(200, &[TAG]));
        let updated = browser.revalidates(&get(&[]), &[("x-empty", "")]).unwrap();
        updated.headers.contains_key("x-empty")
    };
    assert!(has(Profile::STANDARD) && !has(Profile::FIREFOX));
}

#[test]
fn in_chromium_head_invalidates_the_stored_response() {
    let finds = |profile, status, mode| {
        let head = request(Method::HEAD, ASSET, &[]);
        let mut browser =
            Browser::new(profile).keeps(&get(&[]), &response(200, &[MAX_AGE])).waits(30);
        let Browser { store, now, key, .. } = &mut browser;
        store.keep(&profile, *now, key, mode, &head, &response(status, &[]));
        browser.finds(&get(&[]))
    };
    assert_eq!(finds(Profile::CHROMIUM, 200, CacheMode::NoCache), "miss");
    assert_eq!(finds(Profile::CHROMIUM, 404, CacheMode::Default), "miss");
    assert_eq!(finds(Profile::CHROMIUM, 401, CacheMode::NoCache), "fresh");
    assert_eq!(finds(Profile::CHROMIUM, 200, CacheMode::Reload), "fresh");
    assert_eq!(finds(Profile::STANDARD, 200, CacheMode::NoCache), "fresh");
}

#[test]
fn other_methods_and_addresses_find_nothing() {
    let response = response(200, &[MAX_AGE]);
    for then in [
        request(Method::POST, ASSET, &[]),
        request(Method::OPTIONS, ASSET, &[]),
        request(Method::GET, "https://api.shop.example/asset?", &[]),
        request(Method::GET, "https://api.shop.example/Asset", &[]),
    ] {
        assert_eq!(after(&get(&[]), &response, &then), "miss", "{} {}", then.method, then.url);
    }
}

#[test]
fn the_cache_mode_decides_whether_a_response_is_stored() {
    let stored = |mode| {
        let mut browser = Browser::new(Profile::STANDARD);
        let (store, now, response) = (&mut browser.store, browser.now, response(200, &[MAX_AGE]));
        store.keep(&browser.profile, now, &browser.key, mode, &get(&[]), &response);
        !store.entries.is_empty()
    };
    assert!(stored(CacheMode::Reload) && stored(CacheMode::NoCache));
    assert!(stored(CacheMode::ForceCache) && !stored(CacheMode::NoStore));
}

#[test]
fn requests_with_conditions_or_a_range_bypass_the_cache() {
    let response = response(200, &[MAX_AGE, TAG]);
    for (own, is_stored) in [
        ("if-match", true),
        ("if-none-match", true),
        ("if-modified-since", true),
        ("if-unmodified-since", true),
        ("if-range", true),
        ("range", false),
    ] {
        let own = get(&[(own, "x")]);
        assert_eq!(after(&get(&[]), &response, &own), "miss", "{own:?}");
        assert_eq!(after(&own, &response, &get(&[])) == "fresh", is_stored, "{own:?}");
        let mut chromium = Browser::new(Profile::CHROMIUM).keeps(&own, &response);
        assert_eq!(chromium.finds(&get(&[])), "miss", "{own:?}");
    }
}

#[test]
fn firefox_revalidates_for_an_authorization_that_the_first_request_lacked() {
    let with = get(&[("authorization", "Bearer x")]);
    let finds = |profile, first: &SentRequest, mode| {
        let mut browser = Browser::new(profile).keeps(first, &response(200, &[MAX_AGE, TAG]));
        name(&browser.looks(mode, &with))
    };
    for mode in [CacheMode::Default, CacheMode::ForceCache] {
        assert_eq!(finds(Profile::STANDARD, &get(&[]), mode), "fresh");
        assert_eq!(finds(Profile::FIREFOX, &get(&[]), mode), "stale");
        assert_eq!(finds(Profile::FIREFOX, &with, mode), "fresh");
    }
}

#[test]
fn only_force_cache_serves_a_request_with_conditions() {
    let response = response(200, &[MAX_AGE, TAG]);
    let own = get(&[("if-none-match", "\"x\"")]);
    for (profile, expected) in [(Profile::STANDARD, "fresh"), (Profile::CHROMIUM, "miss")] {
        let mut browser = Browser::new(profile).keeps(&get(&[]), &response);
        assert_eq!(name(&browser.looks(CacheMode::ForceCache, &own)), expected);
        assert_eq!(name(&browser.looks(CacheMode::NoCache, &own)), "miss");
    }
}

#[test]
fn a_request_may_want_a_younger_response() {
    let response = response(200, &[MAX_AGE, TAG, ("age", "10")]);
    for (wanted, expected) in [
        ("no-cache", "stale"),
        ("max-age=0", "stale"),
        ("max-age=9", "stale"),
        ("max-age=10", "fresh"),
    ] {
        assert_eq!(
            after(&get(&[]), &response, &get(&[("cache-control", wanted)])),
            expected,
            "{wanted}"
        );
    }
}

#[test]
fn vary_keeps_responses_apart() {
    let varied = response(200, &[MAX_AGE, ("vary", "Accept-Language, Origin")]);
    let request = get(&[("origin", "https://app.shop.example")]);
    assert_eq!(after(&request, &varied, &request), "fresh");
    let more = get(&[("origin", "https://app.shop.example"), ("cookie", "a=1")]);
    assert_eq!(after(&request, &varied, &more), "fresh");
    for other in [
        get(&[("origin", "https://admin.shop.example")]),
        get(&[]),
        get(&[("origin", "https://app.shop.example"), ("accept-language", "de")]),
    ] {
        assert_eq!(after(&request, &varied, &other), "miss");
    }
    let star = response(200, &[MAX_AGE, ("vary", "*")]);
    assert_eq!(after(&request, &star, &request), "miss");
}

#[test]
fn engines_do_differently_with_another_variant() {
    let (one, other) =
        (get(&[("origin", "https://a.example")]), get(&[("origin", "https://b.example")]));
    let response =
        response(200, &[MAX_AGE, ("vary", "origin"), TAG, ("last-modified", TEN_HOURS_AGO)]);
    let finds = |profile| {
        let mut browser = Browser::new(profile).keeps(&one, &response);
        let first = browser.looks(CacheMode::Default, &other);
        let mut browser = browser.keeps(&other, &response);
        (first, browser.finds(&one))
    };
    let (Lookup::Miss, "fresh") = finds(Profile::STANDARD) else { panic!("all are kept") };
    let (Lookup::Miss, "miss") = finds(Profile::WEBKIT) else { panic!("one is kept") };
    for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
        let (Lookup::Stale(conditions), "stale") = finds(profile) else { panic!() };
        assert_eq!(conditions, fields(&[("if-none-match", "\"1\"")]), "the tag alone");
    }
}

#[test]
fn stale_while_revalidate_uses_and_revalidates_the_response() {
    let response =
        response(200, &[("cache-control", "max-age=10, stale-while-revalidate=20"), TAG]);
    let finds = |seconds| {
        Browser::new(Profile::STANDARD).keeps(&get(&[]), &response).waits(seconds).finds(&get(&[]))
    };
    assert_eq!([0, 10, 29, 30].map(finds), ["fresh", "refresh", "refresh", "stale"]);
}

#[test]
fn engines_obey_pragma_and_no_standard_does() {
    for (profile, expected) in [
        (Profile::STANDARD, "fresh"),
        (Profile::CHROMIUM, "stale"),
        (Profile::FIREFOX, "stale"),
        (Profile::WEBKIT, "stale"),
    ] {
        let response = response(200, &[MAX_AGE, TAG, ("pragma", "no-cache")]);
        let found = Browser::new(profile).keeps(&get(&[]), &response).finds(&get(&[]));
        assert_eq!(found, expected, "{}", profile.name);
    }
}

#[test]
fn of_two_ages_engines_take_the_first_or_the_last() {
    let response =
        response(200, &[("cache-control", "max-age=0"), ("cache-control", "max-age=60")]);
    let finds = |profile| Browser::new(profile).keeps(&get(&[]), &response).finds(&get(&[]));
    assert_eq!(finds(Profile::STANDARD), "miss");
    assert_eq!(finds(Profile::CHROMIUM), "miss");
    assert_eq!(finds(Profile::FIREFOX), "fresh");
}

#[test]
fn in_chromium_no_cache_of_a_script_bypasses_the_cache() {
    let response = response(200, &[MAX_AGE, TAG]);
    let finds = |profile, mode, wanted| {
        let then = get(&[("cache-control", wanted)]);
        name(&Browser::new(profile).keeps(&get(&[]), &response).looks(mode, &then))
    };
    for mode in [CacheMode::Default, CacheMode::NoCache, CacheMode::ForceCache] {
        assert_eq!(finds(Profile::CHROMIUM, mode, "no-cache"), "miss", "{mode:?}");
    }
    assert_eq!(finds(Profile::CHROMIUM, CacheMode::Default, "max-age=0"), "stale");
    assert_eq!(finds(Profile::FIREFOX, CacheMode::Default, "no-cache"), "stale");
}

#[test]
fn firefox_keeps_responses_to_head_by_themselves() {
    let (head, response) = (request(Method::HEAD, ASSET, &[]), response(200, &[MAX_AGE]));
    let mut browser = Browser::new(Profile::FIREFOX).keeps(&get(&[]), &response);
    assert_eq!(browser.finds(&head), "miss");
    let mut browser = browser.keeps(&head, &response);
    assert_eq!((browser.finds(&head), browser.finds(&get(&[]))), ("fresh", "fresh"));
    let deleted = request(Method::DELETE, ASSET, &[]);
    let mut browser = browser.keeps(&deleted, &response);
    assert_eq!((browser.finds(&head), browser.finds(&get(&[]))), ("fresh", "miss"));
}

#[test]
fn in_firefox_a_change_keeps_cached_cross_site_fetches() {
    let finds = |profile, page: Page| {
        let mut browser = Browser::new(profile);
        let url = url(ASSET);
        browser.key = Partition::for_load(&profile, Some(&page), LoadKind::Fetch, &url, true);
        let response = response(200, &[MAX_AGE]);
        let change = request(Method::DELETE, ASSET, &[]);
        browser.keeps(&get(&[]), &response).keeps(&change, &response).finds(&get(&[]))
    };
    let (own, other) = ("https://app.shop.example/", "https://other.example/");
    for (profile, kept) in [(Profile::STANDARD, "miss"), (Profile::FIREFOX, "fresh")] {
        assert_eq!(finds(profile, page(own)), "miss", "{}", profile.name);
        assert_eq!(finds(profile, page(other)), kept, "{}", profile.name);
    }
}

#[test]
fn engines_use_other_statuses_without_asking() {
    let finds = |profile, status, fields: Fields<'_>| {
        Browser::new(profile).keeps(&get(&[]), &response(status, fields)).finds(&get(&[]))
            == "fresh"
    };
    let modified = [DATE, ("last-modified", TEN_HOURS_AGO)];
    for (profile, error, guess, moved, moved_for_now) in [
        (Profile::STANDARD, true, true, false, false),
        (Profile::CHROMIUM, true, false, true, true),
        (Profile::FIREFOX, false, false, true, true),
        (Profile::WEBKIT, true, true, true, false),
    ] {
        assert_eq!(finds(profile, 404, &[MAX_AGE]), error, "{}", profile.name);
        assert_eq!(finds(profile, 404, &modified), guess, "{}", profile.name);
        assert_eq!(finds(profile, 301, &[]), moved, "{}", profile.name);
        assert_eq!(finds(profile, 308, &[]), moved_for_now, "{}", profile.name);
    }
}

#[test]
fn a_sandboxed_page_caches_nothing_in_chromium() {
    let sandboxed = Page { origin: PageOrigin::Opaque, ..page("https://app.shop.example/") };
    let finds = |profile| {
        let mut browser = Browser::new(profile);
        let url = url(ASSET);
        browser.key =
            Partition::for_load(&profile, Some(&sandboxed), LoadKind::Subresource, &url, true);
        browser.keeps(&get(&[]), &response(200, &[MAX_AGE])).finds(&get(&[]))
    };
    let url = url(ASSET);
    let load = |kind| Partition::for_load(&Profile::CHROMIUM, Some(&sandboxed), kind, &url, true);
    assert!(load(LoadKind::Subresource).is_transient && !load(LoadKind::Frame).is_transient);
    assert_eq!(finds(Profile::CHROMIUM), "miss");
    assert_eq!(finds(Profile::STANDARD), "fresh");
}
