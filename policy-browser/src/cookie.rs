//! One cookie: when it is valid, and with which requests it is sent (RFC 6265bis, 5.7 and 5.8.3).

use std::{borrow::Cow, time::Duration};

use url::Url;

use crate::{
    Profile, SameSite, ThirdParty, Withheld,
    cookie_context::{CookieContext, Partition, Relation},
    set_cookie::{MaxAge, ParsedCookie, Path},
    site::{is_address, is_public_suffix},
};

/// The maximum lifetime of a cookie (5.5): 400 days.
const LONGEST_LIFE: Duration = Duration::from_secs(400 * 86_400);

/// A stored cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) domain: String,
    is_host_only: bool,
    pub(crate) path: Vec<u8>,
    expires: Option<Duration>,
    pub(crate) is_secure: bool,
    pub(crate) is_http_only: bool,
    same_site: Option<SameSite>,
    pub(crate) partition: Option<Partition>,
    /// When it was created.
    pub(crate) created_at: Duration,
    /// Its number in the order of creation.
    pub(crate) number: u64,
    pub(crate) last_access: u64,
}

/// The API that stores or reads a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Http,
    /// A "non-HTTP" API.
    Script,
}

impl Cookie {
    /// The cookie of a line, if a browser stores it (5.7). `number` is unique. If the page is the
    /// reason why it is not stored, the error is that reason.
    pub(crate) fn received(
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
        line: &ParsedCookie<'_>,
        number: u64,
    ) -> Result<Self, Option<Withheld>> {
        let (domain, is_host_only) = domain(line, request.url).ok_or(None)?;
        let cookie = Self {
            name: line.name.to_vec(),
            value: line.value.to_vec(),
            domain,
            is_host_only,
            path: match line.path {
                Some(Path::Given(path)) => path.to_vec(),
                Some(Path::Default) | None => default_path(request.url).to_vec(),
            },
            expires: expiry(now, line),
            is_secure: line.is_secure,
            is_http_only: line.is_http_only,
            same_site: line.same_site,
            partition: request.partition(profile, line.is_partitioned),
            created_at: now,
            number,
            last_access: number,
        };
        let needs_secure = line.is_partitioned || line.same_site == Some(SameSite::None);
        let is_valid = (cookie.is_secure || !needs_secure)
            && (!cookie.is_secure || request.is_secure(profile))
            && (!cookie.is_http_only || access == Access::Http)
            && cookie.keeps_prefix(profile, line.path.is_some());
        let same_site = cookie.effective_same_site(profile);
        let is_for_site =
            same_site == SameSite::None || request.relation(profile) != Relation::CrossSite;
        if !is_valid {
            Err(None)
        } else if !is_for_site {
            Err(Some(Withheld::SameSite(same_site)))
        } else if !cookie.is_for_window(profile, request) {
            Err(Some(Withheld::ThirdParty(profile.third_party)))
        } else {
            Ok(cookie)
        }
    }

    /// Its name, which may be empty; invalid UTF-8 is replaced.
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Its value; invalid UTF-8 is replaced.
    pub fn value(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }

    /// Its domain.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Whether subdomains do not receive it.
    pub fn is_host_only(&self) -> bool {
        self.is_host_only
    }

    /// Its path, which also matches the paths below.
    pub fn path(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.path)
    }

    /// When it expires, since 1970; without this it lasts until the browser is closed.
    pub fn expires(&self) -> Option<Duration> {
        self.expires
    }

    /// Whether it is sent over TLS only.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Whether scripts cannot read it.
    pub fn is_http_only(&self) -> bool {
        self.is_http_only
    }

    /// Its `SameSite`, if it has one.
    pub fn same_site(&self) -> Option<SameSite> {
        self.same_site
    }

    /// The top-level site of its partition, if it is partitioned.
    pub fn partition(&self) -> Option<&str> {
        self.partition.as_ref().map(|partition| partition.site.as_str())
    }

    /// As in the field `Cookie`.
    pub(crate) fn pair(&self) -> Vec<u8> {
        match self.name.as_slice() {
            b"" => self.value.clone(),
            name => [name, &self.value].join(&b'='),
        }
    }

    pub(crate) fn is_expired(&self, now: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// "Retrieve cookies" (5.8.3).
    pub(crate) fn is_for(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
    ) -> bool {
        self.is_for_url(profile, request, access)
            && self.is_for_window(profile, request)
            && self.is_for_relation(profile, now, request)
    }

    /// Why a request that could carry the cookie does not: the page that sends it.
    pub(crate) fn withheld(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> Option<Withheld> {
        if !self.is_for_url(profile, request, Access::Http) {
            None
        } else if !self.is_for_relation(profile, now, request) {
            Some(Withheld::SameSite(self.effective_same_site(profile)))
        } else if self.is_for_window(profile, request) {
            None
        } else if self.partition.is_some() {
            Some(Withheld::Partition)
        } else {
            Some(Withheld::ThirdParty(profile.third_party))
        }
    }

    fn is_for_url(&self, profile: &Profile, request: &CookieContext<'_>, access: Access) -> bool {
        let host = request.url.host_str().unwrap_or_default();
        let is_for_host =
            host == self.domain || !self.is_host_only && domain_matches(host, &self.domain);
        is_for_host
            && path_matches(request.url.path().as_bytes(), &self.path)
            && (!self.is_secure || request.is_secure(profile))
            && (!self.is_http_only || access == Access::Http)
    }

    fn is_for_window(&self, profile: &Profile, request: &CookieContext<'_>) -> bool {
        match &self.partition {
            Some(partition) => *partition == request.window(profile),
            None => profile.third_party == ThirdParty::Sent || !request.is_third_party(profile),
        }
    }

    fn is_for_relation(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> bool {
        match (request.relation_of_sending(profile), self.effective_same_site(profile)) {
            (Relation::SameSite, _) | (_, SameSite::None) => true,
            (Relation::Navigation, SameSite::Lax) => {
                let age = now.saturating_sub(self.created_at);
                request.method.is_safe()
                    || self.same_site.is_none() && age < profile.lax_allows_unsafe_for
            }
            (Relation::Navigation | Relation::CrossSite, _) => false,
        }
    }

    fn effective_same_site(&self, profile: &Profile) -> SameSite {
        let default = if profile.lax_by_default { SameSite::Lax } else { SameSite::None };
        self.same_site.unwrap_or(default)
    }

    /// Whether it meets the requirements of its name prefix (5.7, steps 20 to 22). A value with a
    /// prefix and without a name would be sent like a name with that prefix.
    fn keeps_prefix(&self, profile: &Profile, has_path: bool) -> bool {
        let name = if self.name.is_empty() { &self.value } else { &self.name };
        let starts = |prefix: &str| {
            name.get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        let is_bound = self.is_secure && self.is_host_only && has_path && self.path == b"/";
        let is_kept = if starts("__Secure-") {
            self.is_secure
        } else if profile.has_http_prefixes && starts("__Host-Http-") {
            is_bound && self.is_http_only
        } else if profile.has_http_prefixes && starts("__Http-") {
            self.is_secure && self.is_http_only
        } else if starts("__Host-") {
            is_bound
        } else {
            return true;
        };
        is_kept && !self.name.is_empty()
    }

    /// "Leave Secure Cookies Alone": whether, set without TLS, it would shadow a cookie with
    /// `Secure` (5.7, step 16).
    pub(crate) fn overlays(&self, old: &Self) -> bool {
        let is_near =
            domain_matches(&old.domain, &self.domain) || domain_matches(&self.domain, &old.domain);
        old.is_secure && old.name == self.name && is_near && path_matches(&self.path, &old.path)
    }

    /// Whether one replaces the other in the store.
    pub(crate) fn is_same(&self, old: &Self) -> bool {
        old.name == self.name
            && old.domain == self.domain
            && old.is_host_only == self.is_host_only
            && old.path == self.path
            && old.partition == self.partition
    }
}

/// The domain of a cookie, and whether it is host-only; `None` if the host may not set this domain
/// (5.7, steps 8 to 11).
fn domain(line: &ParsedCookie<'_>, url: &Url) -> Option<(String, bool)> {
    let host = url.host_str()?;
    let domain = str::from_utf8(&line.domain).ok().filter(|domain| domain.is_ascii())?;
    if domain.is_empty() || is_public_suffix(domain) && domain == host {
        Some((host.to_owned(), true))
    } else if is_public_suffix(domain) || !domain_matches(host, domain) {
        None
    } else {
        Some((domain.to_owned(), false))
    }
}

/// The expiry time: 5.7, step 6, and 5.6.1 and 5.6.2 for the limit.
fn expiry(now: Duration, line: &ParsedCookie<'_>) -> Option<Duration> {
    let expires = match line.max_age {
        Some(MaxAge::Over) => Some(Duration::ZERO),
        Some(MaxAge::Lasts(age)) => Some(now.saturating_add(age)),
        None => line.expires,
    };
    expires.map(|expires| expires.min(now.saturating_add(LONGEST_LIFE)))
}

/// 5.1.3: "domain-matches".
fn domain_matches(host: &str, domain: &str) -> bool {
    let is_below = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    host == domain || is_below && !is_address(host)
}

/// 5.1.4: "default-path".
fn default_path(url: &Url) -> &[u8] {
    let path = url.path().as_bytes();
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => b"/",
        Some(last) => path.get(..last).unwrap_or(b"/"),
    }
}

/// 5.1.4: "path-matches".
fn path_matches(path: &[u8], cookie_path: &[u8]) -> bool {
    path.strip_prefix(cookie_path).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(b"/") || cookie_path.ends_with(b"/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie_trial::{Ask, Browser, DAY, NOW, SHOP, back, back_by};

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
    fn a_domain_sends_the_cookie_to_subdomains() {
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
    fn a_public_suffix_is_rejected_as_a_domain() {
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
    fn a_path_covers_the_paths_below_it() {
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
    fn secure_ones_travel_by_tls_or_within_the_machine() {
        let plain = "http://shop.example/";
        assert_eq!(back(SHOP, "a=1; Secure", plain), "");
        assert_eq!(back(plain, "a=1; Secure", SHOP), "");
        assert_eq!(back("http://localhost/", "a=1; Secure", "http://localhost/"), "a=1");
        assert_eq!(back("http://127.0.0.1/", "a=1; Secure", "http://127.0.0.1/"), "a=1");
    }

    #[test]
    fn webkit_does_not_trust_the_local_machine() {
        let local = "http://localhost/";
        let set = |profile| back_by(profile, local, "a=1; Secure", local);
        assert_eq!(set(Profile::WEBKIT), "");
        assert_eq!(set(Profile::FIREFOX), "a=1");
    }

    #[test]
    fn none_without_secure_is_refused() {
        assert_eq!(back(SHOP, "a=1; SameSite=None", SHOP), "");
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
    fn webkit_supports_only_two_prefixes() {
        let set = |profile, line| !back_by(profile, SHOP, line, SHOP).is_empty();
        for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
            assert!(!set(profile, "__Http-a=1") && !set(profile, "__Host-Http-a=1; HttpOnly"));
        }
        assert!(set(Profile::WEBKIT, "__Http-a=1") && !set(Profile::WEBKIT, "__host-a=1"));
    }

    #[test]
    fn a_cookie_without_name_is_sent_as_the_engine_sees_it() {
        let set = |profile, line| back_by(profile, SHOP, line, SHOP);
        for profile in [Profile::STANDARD, Profile::CHROMIUM, Profile::WEBKIT] {
            assert_eq!(set(profile, "foo"), "foo");
            assert_eq!(set(profile, "=v"), "v");
        }
        assert_eq!(set(Profile::FIREFOX, "foo"), "foo=");
        assert_eq!(set(Profile::FIREFOX, "=v"), "");
    }

    #[test]
    fn chromium_refuses_tabs() {
        let set = |profile, line| back_by(profile, SHOP, line, SHOP);
        assert_eq!(set(Profile::CHROMIUM, "a=1\t2"), "");
        assert_eq!(set(Profile::CHROMIUM, "\ta=1"), "a=1");
        assert_eq!(set(Profile::FIREFOX, "a=1\t2"), "a=1\t2");
    }

    #[test]
    fn a_cookie_has_its_attributes() {
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
