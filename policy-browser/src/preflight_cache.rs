//! CORS-preflight cache (Fetch, 4.10): one entry for each method and each header name, and in some
//! engines one for the response.

use std::time::Duration;

use http::Method;
use url::Url;

use crate::{Credentials, PageOrigin, Profile, profile::WatchedUploads, request::Request};

/// The results of preflights.
#[derive(Clone, Debug, Default)]
pub(crate) struct PreflightCache {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The site of the window.
    partition: String,
    /// The `Origin` of the preflight: all opaque origins are `null`.
    origin: String,
    /// Whether only this load has that origin, where opaque origins differ.
    is_of_one_load: bool,
    url: Url,
    with_credentials: bool,
    /// When the entry expires, since 1970.
    expires: Duration,
    allowed: Item,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    /// Some response arrived, whatever it allowed.
    Grant,
    Method(String),
    /// In lower case.
    Name(String),
}

/// What a preflight allowed, to be stored in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    pub(crate) methods: Vec<String>,
    pub(crate) names: Vec<String>,
    /// In seconds, as the server sent it.
    pub(crate) max_age: u64,
}

/// The entries that match a request.
#[derive(Debug)]
pub(crate) struct Matching<'a>(Vec<&'a Item>);

impl Matching<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PreflightCache {
    /// Drops entries that have expired at `now`.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.entries.retain(|entry| entry.expires > now);
    }

    pub(crate) fn matching(&self, profile: &Profile, request: &Request) -> Matching<'_> {
        if self.entries.is_empty() {
            return Matching(Vec::new());
        }
        let partition = request.partition();
        let entries =
            self.entries.iter().filter(|entry| entry.matches(profile, request, &partition));
        Matching(entries.map(|entry| &entry.allowed).collect())
    }

    /// Stores what a preflight has allowed. Entries that already match get the same expiry.
    pub(crate) fn keep(
        &mut self,
        profile: &Profile,
        request: &Request,
        allowed: Allowed,
        now: Duration,
    ) {
        let partition = request.partition();
        let expires = now + Duration::from_secs(allowed.max_age).min(profile.preflight_cap);
        let methods = allowed.methods.into_iter().map(Item::Method);
        let names = allowed.names.into_iter().map(|name| Item::Name(name.to_ascii_lowercase()));
        let keeps_grants = profile.watched_uploads == WatchedUploads::Anything;
        let grant = keeps_grants.then_some(Item::Grant);
        for item in methods.chain(names).chain(grant) {
            let mut is_known = false;
            for entry in &mut self.entries {
                if entry.allowed == item && entry.matches(profile, request, &partition) {
                    entry.expires = expires;
                    is_known = true;
                }
            }
            if !is_known && expires > now {
                self.entries.push(Entry {
                    partition: partition.clone(),
                    origin: request.preflight_origin(profile).into_owned(),
                    is_of_one_load: has_own_origin(profile, request),
                    url: request.url.clone(),
                    with_credentials: request.fetch.credentials == Credentials::Include,
                    expires,
                    allowed: item,
                });
            }
        }
        self.expire(now);
    }

    /// Drops the entries of opaque origins, which no later load has.
    pub(crate) fn clear_opaque(&mut self, profile: &Profile) {
        if !profile.sandboxed_preflights_are_kept {
            self.entries.retain(|entry| entry.origin != "null");
        }
        self.entries.retain(|entry| !entry.is_of_one_load);
    }

    /// Drops the entries of an origin for a URL, because a request ended in a network error.
    pub(crate) fn clear(&mut self, profile: &Profile, request: &Request, url: &Url) {
        if self.entries.is_empty() {
            return;
        }
        let partition = request.partition();
        self.entries.retain(|entry| !entry.is_of(profile, request, url, &partition));
    }
}

impl Entry {
    fn is_of(&self, profile: &Profile, request: &Request, url: &Url, partition: &str) -> bool {
        self.url == *url
            && self.origin == request.preflight_origin(profile)
            && self.partition == partition
    }

    /// Cache entry match: an entry with credentials also matches requests without them.
    fn matches(&self, profile: &Profile, request: &Request, partition: &str) -> bool {
        let is_included = request.fetch.credentials == Credentials::Include;
        let covers = self.with_credentials && profile.permissions_cover_fewer_credentials;
        (covers || self.with_credentials == is_included)
            && self.is_of_one_load == has_own_origin(profile, request)
            && self.is_of(profile, request, &request.url, partition)
    }
}

/// Whether a request has an opaque origin that no other load has. A sandboxed page keeps its own.
fn has_own_origin(profile: &Profile, request: &Request) -> bool {
    let has_tuple = matches!(request.origin, PageOrigin::Tuple(_));
    !profile.tainted_preflights_are_kept && request.is_redirect_tainted && has_tuple
}

impl Matching<'_> {
    /// `by_star`: whether `*` matches all methods.
    pub(crate) fn has_method(&self, method: &Method, by_star: bool) -> bool {
        let allows = |one: &str| (by_star && one == "*") || one == method.as_str();
        self.0.iter().any(|item| matches!(item, Item::Method(one) if allows(one)))
    }

    /// `by_star`: whether `*` matches this name.
    pub(crate) fn has_name(&self, name: &str, by_star: bool) -> bool {
        let allows = |one: &str| one == name || (by_star && one == "*");
        self.0.iter().any(|item| matches!(item, Item::Name(one) if allows(one)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        CacheMode, Credentials, Event, Fetch, Page, PageOrigin, Profile, Redirect, ServerResponse,
        State, Url, run, step,
        trial::{app, browser, engine, load_in, response},
    };
    use std::time::Duration;

    const URL: &str = "https://api.test/";

    /// How many preflights a load sends, if everything is granted.
    fn preflights(state: State, fetch: Fetch) -> (State, usize) {
        let mut count = 0;
        let (state, _) = run(state, Some(&app()), fetch, |request| {
            let origin =
                request.headers.get("origin").map_or("*", |origin| origin.to_str().unwrap());
            count += usize::from(request.is_preflight);
            let fields = [
                ("access-control-allow-origin", origin),
                ("access-control-allow-credentials", "true"),
                ("access-control-allow-methods", "PUT"),
            ];
            response(200, &fields)
        });
        (state, count)
    }

    #[test]
    fn firefox_caches_preflights_by_credentials() {
        for (profile, again) in [(Profile::STANDARD, 0), (Profile::FIREFOX, 1)] {
            let with = Fetch::put(URL).credentials(Credentials::Include);
            let (state, count) = preflights(engine(profile), with);
            assert_eq!(count, 1);
            let without = Fetch::put(URL).credentials(Credentials::Omit);
            assert_eq!(preflights(state, without).1, again, "{}", profile.name);
        }
    }

    /// Whether a fetch sends a preflight; it is then allowed for `age` seconds.
    fn asks(state: State, page: &Page, url: &str, age: &str) -> (State, bool) {
        let fetch = || Fetch::put(url);
        let (_, outputs) = step(
            state.clone(),
            Event::Start { id: crate::LoadId(0), page: Some(page.clone()), fetch: fetch() },
        );
        let asks = format!("{outputs:?}").contains("is_preflight: true");
        let allowed = response(
            200,
            &[
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "PUT"),
                ("access-control-max-age", age),
            ],
        );
        let responses = if asks { vec![allowed.clone(), allowed] } else { vec![allowed] };
        (load_in(state, Some(page), fetch(), &responses).state, asks)
    }

    #[test]
    fn preflights_are_cached_by_window_origin_and_address() {
        let (state, first) = asks(browser(), &app(), URL, "60");
        let (state, again) = asks(state, &app(), URL, "60");
        let framed = Page { top_level: Url::parse("https://other.test").unwrap(), ..app() };
        let (state, in_frame) = asks(state, &framed, URL, "60");
        let (state, elsewhere) = asks(state, &app(), "https://api.test/b", "60");
        let (_, once_more) = asks(state, &app(), URL, "60");
        assert_eq!(
            [first, again, in_frame, elsewhere, once_more],
            [true, false, true, true, false]
        );
    }

    #[test]
    fn it_is_over_to_the_second() {
        let (state, _) = asks(browser(), &app(), URL, "60");
        let (state, _) = step(state, Event::Elapse(Duration::from_secs(59)));
        let (state, young) = asks(state, &app(), URL, "60");
        let (state, _) = step(state, Event::Elapse(Duration::from_secs(1)));
        assert_eq!([young, asks(state, &app(), URL, "60").1], [false, true]);
    }

    #[test]
    fn a_malformed_max_age_counts_as_five_seconds() {
        for age in ["-1", "1.5", "", "1, 2"] {
            let (state, _) = asks(browser(), &app(), URL, age);
            let (state, _) = step(state, Event::Elapse(Duration::from_secs(4)));
            let (state, young) = asks(state, &app(), URL, age);
            let (state, _) = step(state, Event::Elapse(Duration::from_secs(1)));
            assert_eq!([young, asks(state, &app(), URL, age).1], [false, true], "{age}");
        }
    }

    #[test]
    fn an_error_makes_it_forget_that_address_only() {
        let (state, _) = asks(browser(), &app(), URL, "60");
        let (state, _) = asks(state, &app(), "https://api.test/b", "60");
        let refused = response(200, &[]);
        let state = load_in(state, Some(&app()), Fetch::put(URL), &[refused]).state;
        let (state, forgotten) = asks(state, &app(), URL, "60");
        assert_eq!([forgotten, asks(state, &app(), "https://api.test/b", "60").1], [true, false]);
    }

    #[test]
    fn a_redirect_that_is_refused_makes_engines_forget_nothing() {
        let forgets = |profile| {
            let (state, _) = asks(engine(profile), &app(), URL, "60");
            let granted = ("access-control-allow-origin", "https://app.test");
            let away = response(302, &[granted, ("location", "/b")]);
            let fetch = Fetch::put(URL).redirect(Redirect::Error);
            let state = load_in(state, Some(&app()), fetch, &[away]).state;
            asks(state, &app(), URL, "60").1
        };
        assert!(forgets(Profile::STANDARD));
        assert!(!forgets(Profile::CHROMIUM) && !forgets(Profile::FIREFOX));
    }

    #[test]
    fn chromium_forgets_before_it_asks_if_it_looked() {
        let forgets = |then: Fetch, allowed: &ServerResponse| {
            let (state, _) = asks(engine(Profile::CHROMIUM), &app(), URL, "60");
            let state = run(state, Some(&app()), then, |_| allowed.clone()).0;
            asks(state, &app(), URL, "60").1
        };
        let origin = ("access-control-allow-origin", "*");
        let put = response(200, &[origin, ("access-control-allow-methods", "PUT")]);
        let patch = response(200, &[origin, ("access-control-allow-methods", "PATCH")]);
        assert!(forgets(Fetch::patch(URL), &response(403, &[])));
        assert!(forgets(Fetch::patch(URL).cache(CacheMode::NoCache), &patch));
        assert!(!forgets(Fetch::patch(URL).cache(CacheMode::NoCache), &response(403, &[])));
        assert!(!forgets(Fetch::put(URL).cache(CacheMode::NoStore), &put));
    }

    /// How many preflights two loads of a page send if the responses have these fields, besides a
    /// grant to the origin that asks; with a `location`, that of [`URL`] is a redirect.
    fn preflights_of_two(
        profile: Profile,
        page: &Page,
        loads: [Fetch; 2],
        fields: &[(&str, &str)],
    ) -> usize {
        let mut state = engine(profile);
        let mut count = 0;
        for fetch in loads {
            state = run(state, Some(page), fetch, |request| {
                count += usize::from(request.is_preflight);
                let origin = request.headers["origin"].to_str().unwrap();
                let granted = [
                    ("access-control-allow-origin", origin),
                    ("access-control-allow-credentials", "true"),
                ];
                let is_first = request.url.as_str() == URL && !request.is_preflight;
                response(if is_first { 307 } else { 200 }, &[&granted[..], fields].concat())
            })
            .0;
        }
        count
    }

    #[test]
    fn webkit_keeps_a_permission_for_a_tainted_origin_only_during_its_load() {
        let fields = [("access-control-allow-methods", "PUT"), ("location", "https://b.test/")];
        let loads = || [Fetch::put(URL), Fetch::put(URL)];
        let sandboxed = Page { origin: PageOrigin::Opaque, ..app() };
        for (profile, tainted) in [(Profile::STANDARD, 2), (Profile::WEBKIT, 3)] {
            let name = profile.name;
            assert_eq!(preflights_of_two(profile, &app(), loads(), &fields), tainted, "{name}");
            assert_eq!(preflights_of_two(profile, &sandboxed, loads(), &fields), 2, "{name}");
        }
        let mut count = 0;
        let mut led_back = false;
        let _ = run(engine(Profile::WEBKIT), Some(&app()), Fetch::put(URL), |request| {
            count += usize::from(request.is_preflight);
            let origin = request.headers["origin"].to_str().unwrap();
            let granted = ("access-control-allow-origin", origin);
            let goes_on = !request.is_preflight && !led_back;
            led_back |= goes_on && request.url.as_str() != URL;
            let status = if goes_on { 307 } else { 200 };
            response(status, &[granted, fields[0], fields[1]])
        });
        assert_eq!(count, 2, "the second URL is requested twice");
    }

    #[test]
    fn webkit_caches_the_methods_that_a_preflight_allowed() {
        let loads = || [Fetch::put(URL), Fetch::patch(URL)];
        for (profile, count) in [(Profile::STANDARD, 2), (Profile::WEBKIT, 1)] {
            let fields = [("access-control-allow-methods", "PATCH")];
            assert_eq!(preflights_of_two(profile, &app(), loads(), &fields), count);
        }
        let upload = || Fetch::post(URL).body("x").watch_upload();
        let any = preflights_of_two(Profile::WEBKIT, &app(), [Fetch::put(URL), upload()], &[]);
        assert_eq!(any, 1);
    }

    #[test]
    fn a_star_in_the_cache_of_webkit_is_one_without_credentials() {
        let with = |method| Fetch::new(method, URL).credentials(Credentials::Include);
        let fields = [("access-control-allow-methods", "PUT, *")];
        let fetches = || [with("PUT"), with("PATCH")];
        for (profile, count) in [(Profile::STANDARD, 1), (Profile::WEBKIT, 2)] {
            assert_eq!(preflights_of_two(profile, &app(), fetches(), &fields), count);
        }
        let fields = [("access-control-allow-headers", "*, authorization")];
        let get = |name| Fetch::get(URL).header(name, "1");
        let loads = || [get("x-a"), get("authorization")];
        assert_eq!(preflights_of_two(Profile::WEBKIT, &app(), loads(), &fields[..]), 1);
        let fields = [("access-control-allow-headers", "*")];
        assert_eq!(preflights_of_two(Profile::WEBKIT, &app(), loads(), &fields), 1);
    }

    #[test]
    fn webkit_keeps_the_last_response_of_a_url() {
        let forgets = |profile| {
            let (state, _) = asks(engine(profile), &app(), URL, "60");
            let granted =
                [("access-control-allow-origin", "*"), ("access-control-allow-methods", "PATCH")];
            let state = run(state, Some(&app()), Fetch::patch(URL), |_| response(200, &granted)).0;
            asks(state, &app(), URL, "60").1
        };
        assert!(forgets(Profile::WEBKIT) && !forgets(Profile::STANDARD));
    }

    #[test]
    fn engines_keep_that_an_upload_was_granted() {
        let loads = || [(); 2].map(|()| Fetch::post(URL).body("x").watch_upload());
        for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
            let count = preflights_of_two(profile, &app(), loads(), &[]);
            assert_eq!(count, 1, "{}", profile.name);
        }
    }

    #[test]
    fn firefox_repeats_a_preflight_for_an_unlisted_head() {
        let loads = || [(); 2].map(|()| Fetch::new("HEAD", URL).header("x-a", "1"));
        let fields = [("access-control-allow-headers", "x-a")];
        for (profile, count) in [(Profile::STANDARD, 1), (Profile::FIREFOX, 2)] {
            let preflights = preflights_of_two(profile, &app(), loads(), &fields);
            assert_eq!(preflights, count, "{}", profile.name);
        }
    }

    #[test]
    fn in_firefox_a_cross_origin_redirect_uses_the_cached_preflight_of_the_page() {
        for (profile, again) in [(Profile::STANDARD, true), (Profile::FIREFOX, false)] {
            let (state, _) = preflights(engine(profile), Fetch::put(URL));
            let mut asks = false;
            run(state, Some(&app()), Fetch::put("https://evil.test/"), |request| {
                let is_target = request.url.as_str() == URL;
                asks |= is_target && request.is_preflight;
                let methods = ("access-control-allow-methods", "PUT");
                let fields = [("access-control-allow-origin", "*"), methods, ("location", URL)];
                response(if is_target || request.is_preflight { 200 } else { 307 }, &fields)
            });
            assert_eq!(asks, again, "{}", profile.name);
        }
    }

    #[test]
    fn in_firefox_a_blocked_redirect_drops_the_cached_preflight() {
        for (profile, forgets) in [(Profile::STANDARD, false), (Profile::FIREFOX, true)] {
            let (state, _) = asks(engine(profile), &app(), URL, "60");
            let star = ("access-control-allow-origin", "*");
            let away = response(307, &[star, ("location", "http://api.test/b")]);
            let state = load_in(state, Some(&app()), Fetch::put(URL), &[away]).state;
            assert_eq!(asks(state, &app(), URL, "60").1, forgets, "{}", profile.name);
        }
    }

    #[test]
    fn in_firefox_a_refused_request_without_preflight_makes_it_forget() {
        for (profile, forgets) in [(Profile::STANDARD, false), (Profile::FIREFOX, true)] {
            let (state, _) = asks(engine(profile), &app(), URL, "60");
            let state = load_in(state, Some(&app()), Fetch::get(URL), &[response(200, &[])]).state;
            assert_eq!(asks(state, &app(), URL, "60").1, forgets, "{}", profile.name);
        }
    }
}
