//! The cookies of a browser: which it stores, and to whom it sends them (RFC 6265bis, 5.7, 5.8).

use std::{borrow::Cow, cmp::Reverse, collections::HashSet, time::Duration};

use http::{HeaderValue, Method};
use url::Url;

use super::{
    Page, PageOrigin, Profile, SameSite, ThirdParty,
    cookie::{self, MaxAge, Parsed, Path},
    site::{is_address, is_loopback, is_public_suffix, is_same_site, registrable, site},
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

/// A stored cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    domain: String,
    is_host_only: bool,
    path: Vec<u8>,
    expires: Option<Duration>,
    is_secure: bool,
    is_http_only: bool,
    same_site: Option<SameSite>,
    partition: Option<Partition>,
    created_at: Duration,
    created: u64,
    last_access: u64,
}

/// A request, as far as cookies depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CookieContext<'a> {
    /// Where it goes.
    pub(super) url: &'a Url,
    pub(super) method: &'a Method,
    /// The page in the window.
    pub(super) top_level: Option<&'a Url>,
    /// The origin of who asks; without one it is the person in front of the browser.
    pub(super) initiator: Option<&'a PageOrigin>,
    /// Whether the page that asks, and all that it stands in, are of one site.
    pub(super) has_same_site_ancestors: bool,
    /// Whether the page in the window is left for the answer.
    pub(super) is_top_level_navigation: bool,
    /// Whether another site redirected to here.
    pub(super) was_cross_site_redirected: bool,
}

/// The window that a cookie is for, if it is not for all (Cookies Having Independent Partitioned
/// State): the site of its page, and whether the cookie's own site stands there in a foreign one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    site: String,
    is_foreign: bool,
}

/// How a request stands to the site that it goes to (5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    SameSite,
    /// Another site, which is left for this one in its window.
    Navigation,
    CrossSite,
}

/// Who stores or reads a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Http,
    /// A "non-HTTP" API.
    Script,
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
        let ticks = self.ticks;
        let mut sent = Vec::new();
        for cookie in &mut self.cookies {
            if cookie.is_for(profile, now, request, Access::Http) {
                cookie.last_access = ticks;
                sent.push(&*cookie);
            }
        }
        HeaderValue::from_bytes(&serialized(sent)?).ok()
    }

    /// Takes one line of the field `Set-Cookie` in the answer to a request.
    pub(super) fn store(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        line: &[u8],
    ) {
        self.receive(profile, now, request, Access::Http, line);
    }

    /// `document.cookie = text`
    pub(super) fn write(&mut self, profile: &Profile, now: Duration, page: &Page, text: &str) {
        if page.origin != PageOrigin::Opaque {
            self.receive(profile, now, &own(page), Access::Script, text.as_bytes());
        }
    }

    /// `document.cookie`
    pub(super) fn read(&self, profile: &Profile, now: Duration, page: &Page) -> String {
        if page.origin == PageOrigin::Opaque {
            return String::new();
        }
        let request = own(page);
        let seen = self
            .cookies
            .iter()
            .filter(|cookie| !cookie.is_expired(now))
            .filter(|cookie| cookie.is_for(profile, now, &request, Access::Script))
            .collect();
        serialized(seen).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// "Store a cookie" (5.7), without what the parser has judged.
    fn receive(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
        line: &[u8],
    ) -> Option<()> {
        let parsed = cookie::parse(line, profile.nameless)?;
        let (domain, is_host_only) = domain(&parsed, request.url)?;
        let path = match parsed.path {
            Some(Path::Given(path)) => path.to_vec(),
            Some(Path::Default) | None => default_path(request.url).to_vec(),
        };
        self.ticks += 1;
        let mut new = Cookie {
            name: parsed.name.to_vec(),
            value: parsed.value.to_vec(),
            domain,
            is_host_only,
            path,
            expires: expiry(&parsed, now, profile),
            is_secure: parsed.is_secure,
            is_http_only: parsed.is_http_only,
            same_site: parsed.same_site,
            partition: partition(profile, request, parsed.is_partitioned)?,
            created_at: now,
            created: self.ticks,
            last_access: self.ticks,
        };
        let is_secure = is_secure(profile, request.url);
        let is_relation_enough = new.effective_same_site(profile) == SameSite::None
            || relation(profile, request) != Relation::CrossSite;
        let is_refused = new.is_secure && !is_secure
            || new.is_http_only && access == Access::Script
            || parsed.is_partitioned && profile.has_partitioned && !new.is_secure
            || new.same_site == Some(SameSite::None)
                && profile.none_requires_secure
                && !new.is_secure
            || !is_relation_enough
            || !new.keeps_prefix(profile, parsed.path.is_some());
        self.drop_expired(now);
        if is_refused || !is_secure && self.cookies.iter().any(|old| new.overlays(old)) {
            return None;
        }
        if let Some(place) = self.cookies.iter().position(|old| new.replaces(old)) {
            let old = self.cookies.get(place)?;
            if access == Access::Script && old.is_http_only {
                return None;
            }
            (new.created_at, new.created) = (old.created_at, old.created);
            self.cookies.remove(place);
        }
        if !new.is_expired(now) {
            let place = self.cookies.partition_point(|old| old.created < new.created);
            let (domain, partition) = (new.domain.clone(), new.partition.clone());
            self.cookies.insert(place, new);
            self.drop_excess(profile, registrable(&domain), partition.as_ref());
        }
        Some(())
    }

    fn drop_expired(&mut self, now: Duration) {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
    }

    /// "Remove excess cookies" (5.7): of one owner those without `Secure` first, of all those that
    /// nobody asked for the longest.
    fn drop_excess(&mut self, profile: &Profile, owner: &str, partition: Option<&Partition>) {
        let is_of_owner = |cookie: &Cookie| {
            registrable(&cookie.domain) == owner && cookie.partition.as_ref() == partition
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
        let mut order: Vec<_> = self
            .cookies
            .iter()
            .filter_map(|cookie| Some((rank(cookie)?, cookie.created)))
            .collect();
        order.sort_unstable();
        order.truncate(number);
        let dropped: HashSet<u64> = order.into_iter().map(|(_, created)| created).collect();
        self.cookies.retain(|cookie| !dropped.contains(&cookie.created));
    }
}

impl Cookie {
    /// Its name, which may be empty; what is not UTF-8 is replaced.
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Its value; what is not UTF-8 is replaced.
    pub fn value(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }

    /// The host that it is for.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Whether it is not for the hosts below this one.
    pub fn is_host_only(&self) -> bool {
        self.is_host_only
    }

    /// The path that it is for, with those below.
    pub fn path(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.path)
    }

    /// When it is over, since 1970; without one it lasts as long as the browser.
    pub fn expires(&self) -> Option<Duration> {
        self.expires
    }

    /// Whether it is for TLS only.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Whether it is kept from scripts.
    pub fn is_http_only(&self) -> bool {
        self.is_http_only
    }

    /// Its `SameSite`, if it has said one.
    pub fn same_site(&self) -> Option<SameSite> {
        self.same_site
    }

    /// The site of the windows that it is for, if it is not for all.
    pub fn partition(&self) -> Option<&str> {
        self.partition.as_ref().map(|partition| partition.site.as_str())
    }

    fn is_expired(&self, now: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// "Retrieve cookies" (5.8.3).
    fn is_for(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
    ) -> bool {
        let host = request.url.host_str().unwrap_or_default();
        let is_for_host =
            host == self.domain || !self.is_host_only && domain_matches(host, &self.domain);
        is_for_host
            && path_matches(request.url.path().as_bytes(), &self.path)
            && (!self.is_secure || is_secure(profile, request.url))
            && (!self.is_http_only || access == Access::Http)
            && self.is_for_partition(profile, request)
            && self.is_for_relation(profile, now, request)
    }

    fn is_for_partition(&self, profile: &Profile, request: &CookieContext<'_>) -> bool {
        match &self.partition {
            Some(partition) => *partition == window(request),
            None => profile.third_party == ThirdParty::Sent || !is_third_party(request),
        }
    }

    fn is_for_relation(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> bool {
        match (relation(profile, request), self.effective_same_site(profile)) {
            (Relation::SameSite, _) | (_, SameSite::None) => true,
            (Relation::Navigation, SameSite::Lax) => {
                let is_young = self.same_site.is_none()
                    && now.saturating_sub(self.created_at) < profile.lax_allows_unsafe_for;
                request.method.is_safe() || is_young
            }
            (Relation::Navigation | Relation::CrossSite, _) => false,
        }
    }

    fn effective_same_site(&self, profile: &Profile) -> SameSite {
        let default = if profile.lax_by_default { SameSite::Lax } else { SameSite::None };
        self.same_site.unwrap_or(default)
    }

    /// Whether it is what its name promises (5.7, steps 20 to 22).
    fn keeps_prefix(&self, profile: &Profile, has_path: bool) -> bool {
        let is_bound = self.is_secure && self.is_host_only && has_path && self.path == b"/";
        // A cookie without name whose value looks like such a name is sent as one with it.
        let name = if self.name.is_empty() { &self.value } else { &self.name };
        let starts = |prefix: &str| {
            name.get(..prefix.len()).is_some_and(|start| {
                start == prefix.as_bytes()
                    || profile.prefixes_ignore_case && start.eq_ignore_ascii_case(prefix.as_bytes())
            })
        };
        let is_promised = if starts("__Secure-") {
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
        is_promised && !self.name.is_empty()
    }

    /// "Leave Secure Cookies Alone": whether, set without TLS, it would stand before one with
    /// `Secure` (5.7, step 16).
    fn overlays(&self, old: &Self) -> bool {
        old.is_secure
            && old.name == self.name
            && (domain_matches(&old.domain, &self.domain)
                || domain_matches(&self.domain, &old.domain))
            && path_matches(&self.path, &old.path)
    }

    fn replaces(&self, old: &Self) -> bool {
        old.name == self.name
            && old.domain == self.domain
            && old.is_host_only == self.is_host_only
            && old.path == self.path
            && old.partition == self.partition
    }
}

/// The request by which a page came, which is how it stands to its own cookies.
fn own(page: &Page) -> CookieContext<'_> {
    CookieContext {
        url: &page.url,
        method: &Method::GET,
        top_level: Some(&page.top_level),
        initiator: Some(&page.origin),
        has_same_site_ancestors: page.has_same_site_ancestors,
        is_top_level_navigation: false,
        was_cross_site_redirected: false,
    }
}

/// Longer paths first, and of equal ones those that were stored first (5.8.3).
fn serialized(mut cookies: Vec<&Cookie>) -> Option<Vec<u8>> {
    cookies.sort_by_key(|cookie| (Reverse(cookie.path.len()), cookie.created));
    let pairs: Vec<Vec<u8>> = cookies
        .into_iter()
        .map(|cookie| match cookie.name.as_slice() {
            b"" => cookie.value.clone(),
            name => [name, &cookie.value].join(&b'='),
        })
        .collect();
    (!pairs.is_empty()).then(|| pairs.join(&b"; "[..]))
}

/// The domain of a cookie, and whether it is for this host only; `None` where a host may not set
/// it (5.7, steps 8 to 11).
fn domain(parsed: &Parsed<'_>, url: &Url) -> Option<(String, bool)> {
    let host = url.host_str()?;
    let domain = str::from_utf8(&parsed.domain).ok().filter(|domain| domain.is_ascii())?;
    if domain.is_empty() || is_public_suffix(domain) && domain == host {
        Some((host.to_owned(), true))
    } else if is_public_suffix(domain) || !domain_matches(host, domain) {
        None
    } else {
        Some((domain.to_owned(), false))
    }
}

/// The partition that a cookie is stored in; `None` where it is not stored.
fn partition(
    profile: &Profile,
    request: &CookieContext<'_>,
    is_asked_for: bool,
) -> Option<Option<Partition>> {
    let is_asked_for = is_asked_for && profile.has_partitioned;
    match profile.third_party {
        _ if is_asked_for => Some(Some(window(request))),
        ThirdParty::Partitioned if is_third_party(request) => Some(Some(window(request))),
        ThirdParty::Blocked if is_third_party(request) => None,
        _ => Some(None),
    }
}

/// The window that a request belongs to; one that leaves the page belongs to the next.
fn window(request: &CookieContext<'_>) -> Partition {
    let top_level = request.top_level.filter(|_| !request.is_top_level_navigation);
    Partition { site: site(top_level.unwrap_or(request.url)), is_foreign: is_third_party(request) }
}

/// Whether another site than the request's stands between it and the window, or owns that.
fn is_third_party(request: &CookieContext<'_>) -> bool {
    let is_of_window = request.top_level.is_none_or(|top| site(top) == site(request.url));
    let is_sandboxed = request.initiator == Some(&PageOrigin::Opaque);
    !request.is_top_level_navigation
        && (!is_of_window || !request.has_same_site_ancestors || is_sandboxed)
}

/// "Same-site" and "cross-site" requests (5.2).
fn relation(profile: &Profile, request: &CookieContext<'_>) -> Relation {
    let is_asked_by_site =
        request.initiator.is_none_or(|initiator| is_same_site(initiator, request.url));
    let was_elsewhere = profile.redirects_count && request.was_cross_site_redirected;
    if is_asked_by_site && !is_third_party(request) && !was_elsewhere {
        Relation::SameSite
    } else if request.is_top_level_navigation {
        Relation::Navigation
    } else {
        Relation::CrossSite
    }
}

/// Whether cookies with `Secure` may travel to and from there.
fn is_secure(profile: &Profile, url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss") || profile.secure_on_loopback && is_loopback(url)
}

fn expiry(parsed: &Parsed<'_>, now: Duration, profile: &Profile) -> Option<Duration> {
    let expires = match parsed.max_age {
        Some(MaxAge::Over) => Some(Duration::ZERO),
        Some(MaxAge::Lasts(age)) => Some(now.saturating_add(age)),
        None => parsed.expires,
    };
    expires.map(|expires| expires.min(now.saturating_add(profile.cookie_lifetime_cap)))
}

/// 5.1.3.
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
