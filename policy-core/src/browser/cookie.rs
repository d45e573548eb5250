//! One cookie: what makes it one, and for which requests it is (RFC 6265bis, 5.7 and 5.8.3).

use std::{borrow::Cow, time::Duration};

use url::Url;

use super::{
    Profile, SameSite, ThirdParty,
    cookie_context::{CookieContext, Partition, Relation},
    set_cookie::{MaxAge, Parsed, Path},
    site::{is_address, is_public_suffix},
};

/// A stored cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    pub(super) domain: String,
    is_host_only: bool,
    pub(super) path: Vec<u8>,
    expires: Option<Duration>,
    pub(super) is_secure: bool,
    pub(super) is_http_only: bool,
    same_site: Option<SameSite>,
    pub(super) partition: Option<Partition>,
    /// When it was stored first.
    pub(super) created_at: Duration,
    /// Which one it was then.
    pub(super) number: u64,
    pub(super) last_access: u64,
}

/// Who stores or reads a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Http,
    /// A "non-HTTP" API.
    Script,
}

impl Cookie {
    /// What a browser makes of a line, if it is one that it stores (5.7). `number` is that of no
    /// other cookie.
    pub(super) fn received(
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
        line: &Parsed<'_>,
        number: u64,
    ) -> Option<Self> {
        let (domain, is_host_only) = domain(line, request.url)?;
        let is_partitioned = line.is_partitioned && profile.has_partitioned;
        let cookie = Self {
            name: line.name.to_vec(),
            value: line.value.to_vec(),
            domain,
            is_host_only,
            path: match line.path {
                Some(Path::Given(path)) => path.to_vec(),
                Some(Path::Default) | None => default_path(request.url).to_vec(),
            },
            expires: expiry(profile, now, line),
            is_secure: line.is_secure,
            is_http_only: line.is_http_only,
            same_site: line.same_site,
            partition: request.partition(profile, is_partitioned),
            created_at: now,
            number,
            last_access: number,
        };
        let needs_secure = is_partitioned
            || profile.none_requires_secure && line.same_site == Some(SameSite::None);
        let is_stored = (cookie.is_secure || !needs_secure)
            && (!cookie.is_secure || request.is_secure(profile))
            && (!cookie.is_http_only || access == Access::Http)
            && (cookie.effective_same_site(profile) == SameSite::None
                || request.relation(profile) != Relation::CrossSite)
            && cookie.is_for_window(profile, request)
            && cookie.keeps_prefix(profile, line.path.is_some());
        is_stored.then_some(cookie)
    }

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

    /// As the field `Cookie` says it.
    pub(super) fn pair(&self) -> Vec<u8> {
        match self.name.as_slice() {
            b"" => self.value.clone(),
            name => [name, &self.value].join(&b'='),
        }
    }

    pub(super) fn is_expired(&self, now: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// "Retrieve cookies" (5.8.3).
    pub(super) fn is_for(
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
            && !self.is_expired(now)
            && path_matches(request.url.path().as_bytes(), &self.path)
            && (!self.is_secure || request.is_secure(profile))
            && (!self.is_http_only || access == Access::Http)
            && self.is_for_window(profile, request)
            && self.is_for_relation(profile, now, request)
    }

    fn is_for_window(&self, profile: &Profile, request: &CookieContext<'_>) -> bool {
        match &self.partition {
            Some(partition) => *partition == request.window(),
            None => profile.third_party == ThirdParty::Sent || !request.is_third_party(),
        }
    }

    fn is_for_relation(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> bool {
        match (request.relation(profile), self.effective_same_site(profile)) {
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

    /// Whether it is what its name promises (5.7, steps 20 to 22). One without name whose value
    /// looks like such a name would be sent as one with it.
    fn keeps_prefix(&self, profile: &Profile, has_path: bool) -> bool {
        let name = if self.name.is_empty() { &self.value } else { &self.name };
        let starts = |prefix: &str| {
            name.get(..prefix.len()).is_some_and(|start| {
                start == prefix.as_bytes()
                    || profile.prefixes_ignore_case && start.eq_ignore_ascii_case(prefix.as_bytes())
            })
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

    /// "Leave Secure Cookies Alone": whether, set without TLS, it would stand before one with
    /// `Secure` (5.7, step 16).
    pub(super) fn overlays(&self, old: &Self) -> bool {
        let is_near =
            domain_matches(&old.domain, &self.domain) || domain_matches(&self.domain, &old.domain);
        old.is_secure && old.name == self.name && is_near && path_matches(&self.path, &old.path)
    }

    /// Whether both are one to the store.
    pub(super) fn is_same(&self, old: &Self) -> bool {
        old.name == self.name
            && old.domain == self.domain
            && old.is_host_only == self.is_host_only
            && old.path == self.path
            && old.partition == self.partition
    }
}

/// The domain of a cookie, and whether it is for this host only; `None` where a host may not set
/// it (5.7, steps 8 to 11).
fn domain(line: &Parsed<'_>, url: &Url) -> Option<(String, bool)> {
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

/// 5.7, step 6, and 5.6.1 and 5.6.2 for the limit.
fn expiry(profile: &Profile, now: Duration, line: &Parsed<'_>) -> Option<Duration> {
    let expires = match line.max_age {
        Some(MaxAge::Over) => Some(Duration::ZERO),
        Some(MaxAge::Lasts(age)) => Some(now.saturating_add(age)),
        None => line.expires,
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
