//! The cookies of a browser: which it stores, and to whom it sends them (RFC 6265bis, 5.7, 5.8).

use std::{cmp::Reverse, collections::HashSet, time::Duration};

use http::HeaderValue;

use super::{
    Cookie, Page, PageOrigin, Profile,
    cookie::Access,
    cookie_context::{CookieContext, Partition},
    set_cookie,
    site::registrable,
};

/// The most that are kept in all (5.7: at least 3000).
const MOST: usize = 3300;
/// How many stay when there are too many.
const KEPT: usize = 3000;

/// The cookies of all sites.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    /// Counts what happens, since the clock may stand still meanwhile.
    ticks: u64,
}

impl Jar {
    /// All cookies, in the order in which they were stored first.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie> {
        self.cookies.iter()
    }

    /// The value of the field `Cookie` of a request.
    pub(super) fn header(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> Option<HeaderValue> {
        self.drop_expired(now);
        self.ticks += 1;
        let mut sent = Vec::new();
        for cookie in &mut self.cookies {
            if cookie.is_for(profile, now, request, Access::Http) {
                cookie.last_access = self.ticks;
                sent.push(&*cookie);
            }
        }
        HeaderValue::from_bytes(&cookie_string(sent)?).ok()
    }

    /// Takes one line of the field `Set-Cookie` in the answer to a request.
    pub(super) fn store(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        set_cookie: &[u8],
    ) {
        self.receive(profile, now, request, Access::Http, set_cookie);
    }

    /// `document.cookie = text`
    pub(super) fn write(&mut self, profile: &Profile, now: Duration, page: &Page, text: &str) {
        if page.origin != PageOrigin::Opaque {
            let request = CookieContext::of(page);
            self.receive(profile, now, &request, Access::Script, text.as_bytes());
        }
    }

    /// `document.cookie`
    pub(super) fn read(&self, profile: &Profile, now: Duration, page: &Page) -> String {
        if page.origin == PageOrigin::Opaque {
            return String::new();
        }
        let request = CookieContext::of(page);
        let seen =
            self.iter().filter(|cookie| cookie.is_for(profile, now, &request, Access::Script));
        let text = cookie_string(seen.collect()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// "Store a cookie" (5.7).
    fn receive(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
        line: &[u8],
    ) {
        self.drop_expired(now);
        self.ticks += 1;
        let Some(mut new) = set_cookie::parse(line, profile.nameless)
            .and_then(|line| Cookie::received(profile, now, request, access, &line, self.ticks))
        else {
            return;
        };
        if !request.is_secure(profile) && self.iter().any(|old| new.overlays(old)) {
            return;
        }
        if let Some(old) = self.cookies.iter().find(|old| new.is_same(old)) {
            if access == Access::Script && old.is_http_only {
                return;
            }
            (new.created_at, new.number) = (old.created_at, old.number);
        }
        self.cookies.retain(|old| !new.is_same(old));
        if !new.is_expired(now) {
            let place = self.cookies.partition_point(|old| old.number < new.number);
            let (domain, partition) = (new.domain.clone(), new.partition.clone());
            self.cookies.insert(place, new);
            self.drop_excess(profile, registrable(&domain), partition.as_ref());
        }
    }

    /// Forgets what is over.
    pub(super) fn drop_expired(&mut self, now: Duration) {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
    }

    /// "Remove excess cookies" (5.7): of one owner those without `Secure` first, of all those that
    /// nobody asked for the longest.
    fn drop_excess(&mut self, profile: &Profile, owner: &str, partition: Option<&Partition>) {
        let is_of_owner = |cookie: &Cookie| {
            cookie.domain.ends_with(owner)
                && registrable(&cookie.domain) == owner
                && cookie.partition.as_ref() == partition
        };
        let number = self.cookies.iter().filter(|cookie| is_of_owner(cookie)).count();
        if number > profile.cookies_per_domain {
            self.drop_oldest(number - profile.cookies_kept_per_domain, |cookie| {
                is_of_owner(cookie).then_some((cookie.is_secure, cookie.last_access))
            });
        }
        if self.cookies.len() > MOST {
            self.drop_oldest(self.cookies.len() - KEPT, |cookie| Some((true, cookie.last_access)));
        }
    }

    /// Drops as many as are said, of those with a rank those with the least ones.
    fn drop_oldest(&mut self, number: usize, rank: impl Fn(&Cookie) -> Option<(bool, u64)>) {
        let mut order: Vec<_> =
            self.cookies.iter().filter_map(|cookie| Some((rank(cookie)?, cookie.number))).collect();
        order.sort_unstable();
        order.truncate(number);
        let dropped: HashSet<u64> = order.into_iter().map(|(_, number)| number).collect();
        self.cookies.retain(|cookie| !dropped.contains(&cookie.number));
    }
}

/// Longer paths first, and of equal ones those that were stored first (5.8.3); `None` without
/// cookies.
fn cookie_string(mut cookies: Vec<&Cookie>) -> Option<Vec<u8>> {
    cookies.sort_by_key(|cookie| (Reverse(cookie.path.len()), cookie.number));
    let pairs: Vec<_> = cookies.into_iter().map(Cookie::pair).collect();
    (!pairs.is_empty()).then(|| pairs.join(&b"; "[..]))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use url::Url;

    use super::*;
    use crate::browser::{SameSite, ThirdParty};

    const NOW: Duration = Duration::from_secs(1_700_000_000);
    const DAY: Duration = Duration::from_secs(86_400);
    const SHOP: &str = "https://shop.example/";

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// A browser with nothing but cookies.
    struct Browser {
        jar: Jar,
        profile: Profile,
        now: Duration,
    }

    /// Whose page asks, and what for.
    #[derive(Clone)]
    struct Ask {
        url: Url,
        method: Method,
        page: Option<Page>,
        leaves: bool,
        was_elsewhere: bool,
    }

    impl Ask {
        /// The address bar.
        fn at(address: &str) -> Self {
            let url = url(address);
            Self { url, method: Method::GET, page: None, leaves: true, was_elsewhere: false }
        }

        /// Something that a page in a window loads.
        fn from(page: &str, address: &str) -> Self {
            Self { page: Some(Page::at(url(page))), leaves: false, ..Self::at(address) }
        }

        /// Something that a page leaves its window for.
        fn leaving(page: &str, method: Method, address: &str) -> Self {
            Self { method, leaves: true, ..Self::from(page, address) }
        }

        fn context(&self) -> CookieContext<'_> {
            let page = self.page.as_ref();
            CookieContext {
                url: &self.url,
                method: &self.method,
                top_level: page.map(|page| &page.top_level),
                initiator: page.map(|page| &page.origin),
                has_same_site_ancestors: page.is_none_or(|page| page.has_same_site_ancestors),
                is_top_level_navigation: self.leaves,
                was_cross_site_redirected: self.was_elsewhere,
            }
        }
    }

    impl Browser {
        fn new(profile: Profile) -> Self {
            Self { jar: Jar::default(), profile, now: NOW }
        }

        fn gets(mut self, ask: &Ask, lines: &[&str]) -> Self {
            for line in lines {
                self.jar.store(&self.profile, self.now, &ask.context(), line.as_bytes());
            }
            self
        }

        fn sends(&mut self, ask: &Ask) -> String {
            let value = self.jar.header(&self.profile, self.now, &ask.context());
            value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        }

        fn waits(mut self, time: Duration) -> Self {
            self.now += time;
            self
        }

        fn writes(mut self, page: &Page, text: &str) -> Self {
            self.jar.write(&self.profile, self.now, page, text);
            self
        }

        fn reads(&self, page: &Page) -> String {
            self.jar.read(&self.profile, self.now, page)
        }
    }

    /// What comes back to an address of what another one set, both in the address bar.
    fn back(from: &str, line: &str, to: &str) -> String {
        Browser::new(Profile::STANDARD).gets(&Ask::at(from), &[line]).sends(&Ask::at(to))
    }

    #[test]
    fn a_cookie_comes_back_to_its_host_alone() {
        for (to, expected) in [
            ("https://shop.example/any?thing", "a=1"),
            ("https://shop.example:8443/", "a=1"),
            ("http://shop.example/", "a=1"),
            ("https://app.shop.example/", ""),
            ("https://example/", ""),
            ("https://notshop.example/", ""),
        ] {
            assert_eq!(back(SHOP, "a=1", to), expected, "{to}");
        }
    }

    #[test]
    fn a_domain_lets_it_come_to_the_hosts_below() {
        let set = |domain: &str, to: &str| {
            back("https://app.shop.example/", &format!("a=1; Domain={domain}"), to)
        };
        for domain in ["shop.example", ".Shop.EXAMPLE"] {
            assert_eq!(set(domain, SHOP), "a=1");
            assert_eq!(set(domain, "https://x.api.shop.example/"), "a=1");
            assert_eq!(set(domain, "https://notshop.example/"), "");
        }
        for foreign in
            ["other.example", "x.app.shop.example", "pp.shop.example", "sh\u{f6}p.example"]
        {
            assert_eq!(set(foreign, "https://app.shop.example/"), "", "{foreign}");
        }
    }

    #[test]
    fn a_public_suffix_is_nobodys_domain() {
        let set =
            |from: &str, domain: &str, to: &str| back(from, &format!("a=1; Domain={domain}"), to);
        assert_eq!(set("https://alice.github.io/", "github.io", "https://alice.github.io/"), "");
        assert_eq!(set(SHOP, "example", SHOP), "");
        assert_eq!(set("https://github.io/", "github.io", "https://github.io/"), "a=1");
        assert_eq!(set("https://github.io/", "github.io", "https://alice.github.io/"), "");
        assert_eq!(set("http://localhost/", "localhost", "http://localhost:3000/"), "a=1");
    }

    #[test]
    fn an_address_is_a_domain_by_itself() {
        let own = "http://127.0.0.1/";
        assert_eq!(back(own, "a=1; Domain=127.0.0.1", own), "a=1");
        assert_eq!(back(own, "a=1; Domain=0.0.1", own), "");
    }

    #[test]
    fn a_path_reaches_what_is_below_it() {
        let at = |path: &str| format!("https://shop.example{path}");
        for (from, line, to, is_sent) in [
            ("/a/b", "a=1", "/a/c", true),
            ("/a/b", "a=1", "/a", true),
            ("/a/b", "a=1", "/", false),
            ("/a/b", "a=1", "/ab", false),
            ("/a/", "a=1", "/a/b", true),
            ("/a", "a=1", "/", true),
            ("/a/b", "a=1; Path=/", "/", true),
            ("/a/b", "a=1; Path=c", "/a", true),
            ("/", "a=1; Path=/c", "/c/d", true),
            ("/", "a=1; Path=/c/", "/c", false),
            ("/", "a=1; Path=/c", "/C", false),
            ("/", "a=1; Path=/c", "/cd", false),
        ] {
            let expected = if is_sent { "a=1" } else { "" };
            assert_eq!(back(&at(from), line, &at(to)), expected, "{from} {line} {to}");
        }
    }

    #[test]
    fn longer_paths_come_first_and_then_older_cookies() {
        let mut browser = Browser::new(Profile::STANDARD).gets(
            &Ask::at(SHOP),
            &["a=1", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/x", "a=5"],
        );
        assert_eq!(browser.sends(&Ask::at("https://shop.example/x/y")), "b=2; c=3; d=4; a=5");
    }

    #[test]
    fn one_of_the_same_name_domain_and_path_is_replaced() {
        let ask = Ask::at("https://app.shop.example/");
        let mut browser = Browser::new(Profile::STANDARD).gets(
            &ask,
            &["a=1", "b=1", "a=2", "A=3", "a=4; Path=/x", "a=5; Domain=app.shop.example"],
        );
        assert_eq!(browser.sends(&ask), "a=2; b=1; A=3; a=5");
    }

    #[test]
    fn a_cookie_ends_with_its_time() {
        let lasts = |attribute: &str, time| {
            let ask = Ask::at(SHOP);
            let line = format!("a=1; {attribute}");
            let mut browser = Browser::new(Profile::STANDARD).gets(&ask, &[&line]).waits(time);
            !browser.sends(&ask).is_empty()
        };
        let second = Duration::from_secs(1);
        assert!(lasts("Max-Age=60", 59 * second) && !lasts("Max-Age=60", 60 * second));
        assert!(lasts("Expires=Wed, 15 Nov 2023 00:00:00 GMT", second));
        assert!(!lasts("Expires=Wed, 15 Nov 2023 00:00:00 GMT", DAY));
        assert!(lasts("Max-Age=60; Expires=Wed, 15 Nov 2000 00:00:00 GMT", second));
        assert!(lasts("Secure", 10_000 * DAY));
        assert!(lasts("Max-Age=99999999", 399 * DAY) && !lasts("Max-Age=99999999", 400 * DAY));
        assert!(!lasts("Expires=Fri, 15 Nov 2099 00:00:00 GMT", 400 * DAY));
    }

    #[test]
    fn a_time_that_is_over_removes_a_cookie() {
        for attribute in ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            let ask = Ask::at(SHOP);
            let line = format!("a=; {attribute}");
            let mut browser = Browser::new(Profile::STANDARD).gets(&ask, &["a=1", &line]);
            assert_eq!(browser.sends(&ask), "");
            assert_eq!(browser.jar.iter().count(), 0);
        }
    }

    #[test]
    fn secure_ones_travel_by_tls_or_within_the_machine() {
        let plain = "http://shop.example/";
        assert_eq!(back(SHOP, "a=1; Secure", plain), "");
        assert_eq!(back(plain, "a=1; Secure", SHOP), "");
        assert_eq!(back("http://localhost/", "a=1; Secure", "http://localhost/"), "a=1");
        assert_eq!(back("http://127.0.0.1/", "a=1; Secure", "http://127.0.0.1/"), "a=1");
    }

    #[test]
    fn secure_ones_are_left_alone() {
        let then = |line: &str, path: &str| {
            let plain = Ask::at("http://app.shop.example/");
            let mut browser = Browser::new(Profile::STANDARD)
                .gets(&Ask::at("https://app.shop.example/"), &["a=1; Secure; Path=/login"])
                .gets(&plain, &[line]);
            browser.sends(&Ask::at(&format!("https://app.shop.example{path}")))
        };
        assert_eq!(then("a=2; Path=/login", "/login"), "a=1");
        assert_eq!(then("a=2; Path=/login/en", "/login/en"), "a=1");
        assert_eq!(then("a=2; Path=/login; Domain=shop.example", "/login"), "a=1");
        assert_eq!(then("a=2; Path=/", "/login"), "a=1; a=2");
        assert_eq!(then("a=2; Path=/foo", "/foo"), "a=2");
        assert_eq!(then("b=2; Path=/login", "/login"), "a=1; b=2");
    }

    #[test]
    fn scripts_see_and_touch_nothing_that_is_http_only() {
        let page = Page::at(url(SHOP));
        let mut browser = Browser::new(Profile::STANDARD)
            .gets(&Ask::at(SHOP), &["a=1; HttpOnly", "b=2"])
            .writes(&page, "a=3")
            .writes(&page, "b=4; Path=/")
            .writes(&page, "c=5; HttpOnly")
            .writes(&page, "d=6; Secure; SameSite=Strict");
        assert_eq!(browser.reads(&page), "b=4; d=6");
        assert_eq!(browser.sends(&Ask::at(SHOP)), "a=1; b=4; d=6");
    }

    #[test]
    fn a_sandboxed_page_has_no_cookies() {
        let page = Page { origin: PageOrigin::Opaque, ..Page::at(url(SHOP)) };
        let browser =
            Browser::new(Profile::STANDARD).gets(&Ask::at(SHOP), &["a=1"]).writes(&page, "b=2");
        assert_eq!(browser.reads(&page), "");
        assert_eq!(browser.jar.iter().count(), 1);
    }

    /// All four kinds of `SameSite`.
    const KINDS: [&str; 4] = [
        "strict=1; Secure; SameSite=Strict",
        "lax=1; Secure; SameSite=Lax",
        "none=1; Secure; SameSite=None",
        "default=1; Secure",
    ];
    const EVIL: &str = "https://evil.test/";

    fn with_kinds(profile: Profile) -> Browser {
        Browser::new(profile).gets(&Ask::at(SHOP), &KINDS)
    }

    #[test]
    fn same_site_keeps_cookies_from_other_sites() {
        let all = "strict=1; lax=1; none=1; default=1";
        for (ask, expected) in [
            (Ask::at(SHOP), all),
            (Ask::from("https://app.shop.example/", SHOP), all),
            (Ask { method: Method::POST, ..Ask::from(SHOP, SHOP) }, all),
            (Ask::leaving(SHOP, Method::POST, SHOP), all),
            (Ask::from(EVIL, SHOP), "none=1"),
            (Ask::leaving(EVIL, Method::GET, SHOP), "lax=1; none=1; default=1"),
            (Ask::leaving(EVIL, Method::POST, SHOP), "none=1"),
            (Ask::leaving("http://shop.example", Method::POST, SHOP), "none=1"),
        ] {
            assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), expected, "{:?}", ask.context());
        }
    }

    #[test]
    fn a_frame_within_another_site_is_of_another_site() {
        let page =
            Page { top_level: url(EVIL), has_same_site_ancestors: false, ..Page::at(url(SHOP)) };
        let ask = Ask { page: Some(page.clone()), ..Ask::from(SHOP, SHOP) };
        assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), "none=1");
        assert_eq!(with_kinds(Profile::STANDARD).reads(&page), "none=1");
        let sandwiched = Page { has_same_site_ancestors: false, ..Page::at(url(SHOP)) };
        assert_eq!(with_kinds(Profile::STANDARD).reads(&sandwiched), "none=1");
    }

    #[test]
    fn an_answer_to_another_site_sets_what_it_may_send_there() {
        let set =
            |ask: &Ask| Browser::new(Profile::STANDARD).gets(ask, &KINDS).sends(&Ask::at(SHOP));
        assert_eq!(set(&Ask::from(EVIL, SHOP)), "none=1");
        assert_eq!(
            set(&Ask::leaving(EVIL, Method::POST, SHOP)),
            "strict=1; lax=1; none=1; default=1",
        );
    }

    #[test]
    fn without_lax_by_default_the_default_is_none() {
        for profile in [Profile::FIREFOX, Profile::WEBKIT] {
            let profile = profile.third_party(ThirdParty::Sent);
            assert_eq!(with_kinds(profile).sends(&Ask::from(EVIL, SHOP)), "none=1; default=1");
        }
    }

    #[test]
    fn a_new_cookie_goes_with_posts_for_two_minutes_in_chromium() {
        let ask = Ask::leaving(EVIL, Method::POST, SHOP);
        let young = Duration::from_secs(119);
        assert_eq!(with_kinds(Profile::CHROMIUM).waits(young).sends(&ask), "none=1; default=1");
        let old = Duration::from_secs(120);
        assert_eq!(with_kinds(Profile::CHROMIUM).waits(old).sends(&ask), "none=1");
        assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), "none=1");
    }

    #[test]
    fn a_redirect_by_another_site_counts_where_the_profile_says_so() {
        let ask = Ask { was_elsewhere: true, ..Ask::from(SHOP, SHOP) };
        let counting = Profile { redirects_count: true, ..Profile::STANDARD };
        assert_eq!(with_kinds(counting).sends(&ask), "none=1");
        assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), "strict=1; lax=1; none=1; default=1",);
    }

    #[test]
    fn none_without_secure_is_refused() {
        let set = |profile| {
            Browser::new(profile)
                .gets(&Ask::at(SHOP), &["a=1; SameSite=None"])
                .sends(&Ask::at(SHOP))
        };
        assert_eq!(set(Profile::STANDARD), "");
        let lenient = Profile { none_requires_secure: false, ..Profile::STANDARD };
        assert_eq!(set(lenient), "a=1");
    }

    #[test]
    fn a_prefix_is_a_promise() {
        for (line, is_kept) in [
            ("__Secure-a=1", false),
            ("__Secure-a=1; Secure", true),
            ("__Secure-a=1; Secure; Domain=shop.example", true),
            ("__Host-a=1; Secure; Path=/", true),
            ("__Host-a=1; Path=/", false),
            ("__Host-a=1; Secure", false),
            ("__Host-a=1; Secure; Path=/x", false),
            ("__Host-a=1; Secure; Path=/; Domain=shop.example", false),
            ("__Http-a=1; Secure; HttpOnly", true),
            ("__Http-a=1; Secure", false),
            ("__Host-Http-a=1; Secure; HttpOnly; Path=/", true),
            ("__Host-Http-a=1; Secure; Path=/", false),
            ("__Host-Http-a=1; Secure; HttpOnly", false),
            ("__hOsT-a=1", false),
            ("__Host-a; Secure; Path=/", false),
            ("=__Secure-a=1; Secure", false),
            ("__Hosta=1", true),
        ] {
            let sent = back(SHOP, line, SHOP);
            assert_eq!(!sent.is_empty(), is_kept, "{line}");
        }
    }

    #[test]
    fn prefixes_are_read_exactly_where_the_profile_says_so() {
        let set = |profile: Profile, line| {
            !Browser::new(profile).gets(&Ask::at(SHOP), &[line]).sends(&Ask::at(SHOP)).is_empty()
        };
        assert!(set(Profile::FIREFOX, "__host-a=1"));
        assert!(!set(Profile::FIREFOX, "__Host-a=1"));
        assert!(!set(Profile::CHROMIUM, "__host-a=1"));
        assert!(!set(Profile::STANDARD, "__Http-a=1"));
        let older = Profile { has_http_prefixes: false, ..Profile::STANDARD };
        assert!(set(older, "__Http-a=1"));
    }

    #[test]
    fn a_cookie_without_name_is_sent_as_the_engine_sees_it() {
        let set = |profile, line| {
            Browser::new(profile).gets(&Ask::at(SHOP), &[line]).sends(&Ask::at(SHOP))
        };
        for profile in [Profile::STANDARD, Profile::CHROMIUM, Profile::WEBKIT] {
            assert_eq!(set(profile, "foo"), "foo");
            assert_eq!(set(profile, "=v"), "v");
        }
        assert_eq!(set(Profile::FIREFOX, "foo"), "foo=");
        assert_eq!(set(Profile::FIREFOX, "=v"), "");
    }

    const FRAMED: &str = "https://widget.test/";

    /// What is set in the window of one site and sent in those of three, a fourth being its own.
    fn framed(profile: Profile, line: &str) -> [String; 3] {
        let mut browser = Browser::new(profile).gets(&Ask::from(SHOP, FRAMED), &[line]);
        [
            browser.sends(&Ask::from(SHOP, FRAMED)),
            browser.sends(&Ask::from(EVIL, FRAMED)),
            browser.sends(&Ask::at(FRAMED)),
        ]
    }

    #[test]
    fn third_parties_have_their_cookies_as_the_setting_says() {
        let line = "a=1; Secure; SameSite=None";
        let with = |third_party| framed(Profile::STANDARD.third_party(third_party), line);
        assert_eq!(with(ThirdParty::Sent), ["a=1", "a=1", "a=1"]);
        assert_eq!(with(ThirdParty::Partitioned), ["a=1", "", ""]);
        assert_eq!(with(ThirdParty::Blocked), ["", "", ""]);
    }

    #[test]
    fn partitioned_ones_are_for_one_site_of_windows_in_any_setting() {
        let line = "a=1; Secure; SameSite=None; Partitioned";
        for third_party in [ThirdParty::Sent, ThirdParty::Partitioned, ThirdParty::Blocked] {
            let profile = Profile::STANDARD.third_party(third_party);
            assert_eq!(framed(profile, line), ["a=1", "", ""]);
        }
        assert_eq!(framed(Profile::STANDARD, "a=1; SameSite=None; Partitioned"), ["", "", ""]);
    }

    #[test]
    fn what_is_set_in_its_own_window_stays_out_of_others() {
        let line = "a=1; Secure; SameSite=None";
        for third_party in [ThirdParty::Partitioned, ThirdParty::Blocked] {
            let profile = Profile::STANDARD.third_party(third_party);
            let mut browser = Browser::new(profile).gets(&Ask::at(FRAMED), &[line]);
            assert_eq!(browser.sends(&Ask::from(SHOP, FRAMED)), "");
            assert_eq!(browser.sends(&Ask::leaving(SHOP, Method::GET, FRAMED)), "a=1");
        }
    }

    #[test]
    fn a_frame_of_the_windows_own_site_has_its_own_partition_behind_another_site() {
        let line = "a=1; Secure; SameSite=None; Partitioned";
        let behind = Page { has_same_site_ancestors: false, ..Page::at(url(SHOP)) };
        let ask = Ask { page: Some(behind), ..Ask::from(SHOP, SHOP) };
        let mut browser = Browser::new(Profile::CHROMIUM).gets(&Ask::from(SHOP, SHOP), &[line]);
        assert_eq!(browser.sends(&ask), "");
        assert_eq!(browser.sends(&Ask::at(SHOP)), "a=1");
    }

    #[test]
    fn one_owner_has_180_cookies_at_the_most_and_secure_ones_stay() {
        let mut browser = Browser::new(Profile::CHROMIUM);
        for number in 0..180 {
            let host = if number % 2 == 0 { SHOP } else { "https://app.shop.example/" };
            let secure = if number < 100 { "; Secure" } else { "" };
            browser = browser.gets(&Ask::at(host), &[&format!("a{number}=1{secure}")]);
        }
        let other = Ask::at("https://other.example/");
        let mut browser = browser.gets(&other, &["b=1"]);
        assert_eq!(browser.jar.iter().count(), 181);
        browser.sends(&Ask::at("http://app.shop.example/"));
        let browser = browser.gets(&Ask::at(SHOP), &["c=1"]);
        assert_eq!(browser.jar.iter().count(), 151);
        let is_left = |name: &str| browser.jar.iter().any(|cookie| cookie.name() == name);
        assert!(is_left("a0") && is_left("a99"), "those with Secure");
        assert!(!is_left("a100") && is_left("a101"), "the one that was asked for");
        assert!(is_left("b") && is_left("c"));
    }

    #[test]
    fn there_are_3300_cookies_at_the_most() {
        let mut browser = Browser::new(Profile::STANDARD);
        for number in 0..=MOST {
            let ask = Ask::at(&format!("https://shop{number}.example/"));
            browser = browser.gets(&ask, &["a=1"]);
        }
        assert_eq!(browser.jar.iter().count(), KEPT);
        assert!(browser.jar.iter().all(|cookie| cookie.domain() != "shop0.example"));
    }

    #[test]
    fn a_cookie_says_what_it_is() {
        let line = "a=1; Domain=shop.example; Path=/x; Max-Age=60; Secure; HttpOnly; SameSite=Lax";
        let browser = Browser::new(Profile::STANDARD).gets(&Ask::at(SHOP), &[line]);
        let cookie = browser.jar.iter().next().unwrap();
        assert_eq!((cookie.name(), cookie.value()), ("a".into(), "1".into()));
        assert_eq!((cookie.domain(), cookie.is_host_only()), ("shop.example", false));
        assert_eq!(cookie.path(), "/x");
        assert_eq!(cookie.expires(), Some(NOW + Duration::from_secs(60)));
        assert!(cookie.is_secure() && cookie.is_http_only());
        assert_eq!(cookie.same_site(), Some(SameSite::Lax));
        assert_eq!(cookie.partition(), None);
    }
}
