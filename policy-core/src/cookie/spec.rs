//! The attributes of a cookie, for setting and removing it.

use std::{borrow::Cow, fmt::Write, time::Duration};

use http::HeaderValue;

use super::{
    CookieError,
    rules::{Prefix, is_cookie_octet, is_domain, is_path},
};
use crate::{grammar::is_token, head::OwnOrigin};

/// Which requests of other sites carry a cookie (RFC 6265bis 5.6.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SameSite {
    /// Sent with top-level navigations: links, but not forms with POST.
    #[default]
    Lax,
    /// Sent with no cross-site request, not even a link.
    Strict,
    /// Sent with every request, if the browser allows third-party cookies at all.
    None,
}

impl SameSite {
    /// The value of the attribute.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lax => "Lax",
            Self::Strict => "Strict",
            Self::None => "None",
        }
    }
}

/// The attributes of a cookie. One specification both sets and removes the cookie, because a
/// browser removes only a cookie with the same domain and path, and accepts a `__Host-` name only
/// with all its attributes.
///
/// ```
/// use std::time::Duration;
/// use policy_core::cookie::{CookieError, CookieSpec};
///
/// let theme = CookieSpec::new("__Host-theme").path("/").secure().max_age(Duration::from_secs(60));
/// assert_eq!(theme.set("dark")?, "__Host-theme=dark; Path=/; Max-Age=60; Secure; SameSite=Lax");
/// assert_eq!(
///     theme.remove()?,
///     "__Host-theme=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; SameSite=Lax",
/// );
/// assert_eq!(theme.set("a; Domain=example.com"), Err(CookieError::Value));
/// assert_eq!(CookieSpec::new("__Host-theme").path("/").check(), Err(CookieError::PrefixHost));
/// # Ok::<(), CookieError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieSpec {
    name: Cow<'static, str>,
    domain: Option<Cow<'static, str>>,
    path: Option<Cow<'static, str>>,
    max_age: Option<Duration>,
    same_site: SameSite,
    is_secure: bool,
    is_http_only: bool,
    is_partitioned: bool,
}

impl CookieSpec {
    /// The maximum length of name and value together, in bytes (RFC 6265bis 5.6).
    pub const MAX_LEN: usize = 4096;

    /// The maximum length of the value of an attribute, in bytes (RFC 6265bis 5.6).
    pub(super) const MAX_ATTRIBUTE_LEN: usize = 1024;

    /// The maximum time for which browsers keep a cookie: 400 days (RFC 6265bis 5.5).
    pub const MAX_AGE: Duration = Duration::from_secs(34_560_000);

    /// A cookie for the host that sets it and the folder of the request's path, until the
    /// browser closes, with `SameSite=Lax`.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            domain: None,
            path: None,
            max_age: None,
            same_site: SameSite::default(),
            is_secure: false,
            is_http_only: false,
            is_partitioned: false,
        }
    }

    /// `Secure`: only over `https`.
    #[must_use]
    pub fn secure(mut self) -> Self {
        self.is_secure = true;
        self
    }

    /// `HttpOnly`: out of reach of scripts.
    #[must_use]
    pub fn http_only(mut self) -> Self {
        self.is_http_only = true;
        self
    }

    /// `SameSite`; it is always written, since browsers disagree about the default.
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// `Path`: the paths below this one.
    #[must_use]
    pub fn path(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// `Domain`: this host and every host below it. Each of them can then read the cookie, and set
    /// another one with its name.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<Cow<'static, str>>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// `Max-Age`: the cookie outlives the browser, for this long; a fraction of a second counts as
    /// one second.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }

    /// `Partitioned`: a separate cookie for each top-level site (CHIPS).
    #[must_use]
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// Adapts the cookie to the server's own origin. In the development profile, over plain HTTP on
    /// loopback, it loses its prefix, `Domain`, `Secure`, and everything that needs `Secure`:
    /// browsers disagree about these on loopback. The result depends only on the configured origin, never on
    /// a socket or a header.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check), and a domain that does not cover the origin.
    ///
    /// ```
    /// use policy_core::{cookie::CookieSpec, head::OwnOrigin};
    ///
    /// let spec = CookieSpec::new("__Host-sid").path("/").secure().http_only();
    /// let local = spec.at(&OwnOrigin::Development)?;
    /// assert_eq!(local.set("x")?, "sid=x; Path=/; HttpOnly; SameSite=Lax");
    /// # Ok::<(), policy_core::cookie::CookieError>(())
    /// ```
    pub fn at(mut self, own: &OwnOrigin) -> Result<Self, CookieError> {
        self.check()?;
        match own {
            OwnOrigin::Public(origin) => {
                let covers = |domain: &str| {
                    let above = origin.host().strip_suffix(domain);
                    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
                };
                if self.domain.as_deref().is_some_and(|domain| !covers(domain)) {
                    return Err(CookieError::Domain);
                }
            }
            OwnOrigin::Development => {
                if let Some(prefix) = Prefix::find(&self.name) {
                    let bare = self.name.strip_prefix(prefix.as_str()).unwrap_or_default();
                    self.name = Cow::Owned(bare.to_owned());
                }
                self.domain = None;
                self.is_secure = false;
                self.is_partitioned = false;
                if self.same_site == SameSite::None {
                    self.same_site = SameSite::Lax;
                }
            }
        }
        self.check()?;
        Ok(self)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The `SameSite` that makes browsers withhold the cookie from requests of pages of other
    /// sites; `None` if they send it.
    pub fn withheld(&self) -> Option<SameSite> {
        Some(self.same_site).filter(|same_site| *same_site != SameSite::None)
    }

    /// Checks everything except a value.
    ///
    /// # Errors
    ///
    /// Everything that browsers would refuse, truncate or ignore.
    pub fn check(&self) -> Result<(), CookieError> {
        if !is_token(self.name.as_bytes()) {
            return Err(CookieError::Name);
        }
        if self.name.len() > Self::MAX_LEN {
            return Err(CookieError::TooLarge);
        }
        if self.path.as_deref().is_some_and(|path| !is_path(path)) {
            return Err(CookieError::Path);
        }
        if self.domain.as_deref().is_some_and(|domain| !is_domain(domain)) {
            return Err(CookieError::Domain);
        }
        if self.max_age.is_some_and(|max_age| max_age > Self::MAX_AGE) {
            return Err(CookieError::MaxAge);
        }
        self.check_prefix()?;
        match (self.is_secure, self.same_site, self.is_partitioned) {
            (false, SameSite::None, _) => Err(CookieError::SameSiteNoneInsecure),
            (false, _, true) => Err(CookieError::PartitionedInsecure),
            _ => Ok(()),
        }
    }

    /// RFC 6265bis 4.1.3, and the two prefixes that draft-ietf-httpbis-layered-cookies adds.
    fn check_prefix(&self) -> Result<(), CookieError> {
        let Some(prefix) = Prefix::find(&self.name) else { return Ok(()) };
        let is_host = self.is_secure && self.path.as_deref() == Some("/") && self.domain.is_none();
        let is_http = self.is_secure && self.is_http_only;
        let broken = match prefix {
            Prefix::Secure => (!self.is_secure).then_some(CookieError::PrefixSecure),
            Prefix::Host => (!is_host).then_some(CookieError::PrefixHost),
            Prefix::Http => (!is_http).then_some(CookieError::PrefixHttp),
            Prefix::HostHttp if !is_host => Some(CookieError::PrefixHost),
            Prefix::HostHttp => (!is_http).then_some(CookieError::PrefixHttp),
        };
        // Browsers compare prefixes without case, servers compare the case, too.
        let broken =
            broken.or((!self.name.starts_with(prefix.as_str())).then_some(CookieError::PrefixCase));
        broken.map_or(Ok(()), Err)
    }

    /// The `Set-Cookie` that sets the cookie, marked as sensitive.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check), and a value that has to be encoded first or is too
    /// long: a cookie is never truncated or repaired.
    pub fn set(&self, value: &str) -> Result<HeaderValue, CookieError> {
        self.write(value, self.max_age)
    }

    /// The `Set-Cookie` that removes the cookie.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check).
    pub fn remove(&self) -> Result<HeaderValue, CookieError> {
        self.write("", Some(Duration::ZERO))
    }

    fn write(&self, value: &str, max_age: Option<Duration>) -> Result<HeaderValue, CookieError> {
        self.check()?;
        if !value.bytes().all(is_cookie_octet) {
            return Err(CookieError::Value);
        }
        if self.name.len() + value.len() > Self::MAX_LEN {
            return Err(CookieError::TooLarge);
        }
        let mut text = format!("{}={value}", self.name);
        if let Some(domain) = &self.domain {
            text.extend(["; Domain=", domain]);
        }
        if let Some(path) = &self.path {
            text.extend(["; Path=", path]);
        }
        if let Some(max_age) = max_age {
            let seconds = max_age.as_secs() + u64::from(max_age.subsec_nanos() > 0);
            // Writing to a `String` does not fail.
            let _ = write!(text, "; Max-Age={seconds}");
            if seconds == 0 {
                text.push_str("; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
            }
        }
        if self.is_secure {
            text.push_str("; Secure");
        }
        if self.is_http_only {
            text.push_str("; HttpOnly");
        }
        text.extend(["; SameSite=", self.same_site.as_str()]);
        if self.is_partitioned {
            text.push_str("; Partitioned");
        }
        let mut header = HeaderValue::try_from(text).map_err(|_error| CookieError::Value)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::PublicOrigin;

    fn at(domain: &'static str, origin: &str) -> Result<CookieSpec, CookieError> {
        let own = OwnOrigin::Public(PublicOrigin::parse(origin).unwrap());
        CookieSpec::new("a").domain(domain).secure().at(&own)
    }

    #[test]
    fn a_domain_is_the_own_host_or_above_it() {
        assert!(at("shop.example", "https://shop.example").is_ok());
        assert!(at("shop.example", "https://api.shop.example:8443").is_ok());
        for (domain, origin) in [
            ("shop.example", "https://otherxshop.example"),
            ("otherxshop.example", "https://shop.example"),
            ("api.shop.example", "https://shop.example"),
            ("shop.example", "https://shop.example.com"),
        ] {
            assert_eq!(at(domain, origin), Err(CookieError::Domain), "{domain} at {origin}");
        }
    }

    #[test]
    fn a_domain_is_below_a_public_suffix() {
        let check = |domain: &str| CookieSpec::new("a").domain(domain.to_owned()).check();
        for domain in ["example.com", "a-b.co.uk", "xn--bcher-kva.example"] {
            assert_eq!(check(domain), Ok(()), "{domain}");
        }
        for domain in [
            "",
            "com",
            "co.uk",
            "github.io",
            "1.2.3.4",
            "a..b",
            "example.com.",
            "-a.example",
            "a;b.example",
            "[::1]",
            "a b.example",
            "example.123",
        ] {
            assert_eq!(check(domain), Err(CookieError::Domain), "{domain}");
        }
    }

    #[test]
    fn attributes_and_names_have_limits() {
        let path = |len: usize| CookieSpec::new("a").path(format!("/{}", "p".repeat(len - 1)));
        assert_eq!(path(1024).check(), Ok(()));
        assert_eq!(path(1025).check(), Err(CookieError::Path));
        for path in ["", "a", "/a;b", "/é", "/a ", "/\t"] {
            assert_eq!(CookieSpec::new("a").path(path).check(), Err(CookieError::Path), "{path}");
        }
        assert_eq!(CookieSpec::new("n".repeat(4097)).check(), Err(CookieError::TooLarge));
    }

    #[test]
    fn every_prefix_demands_its_attributes() {
        let full = |name| CookieSpec::new(name).secure().http_only().path("/");
        for name in ["__Secure-a", "__Host-a", "__Http-a", "__Host-Http-a", "__hosta"] {
            assert_eq!(full(name).check(), Ok(()), "{name}");
        }
        for name in ["__secure-a", "__HOST-a", "__http-a", "__Host-http-a", "__host-Http-a"] {
            assert_eq!(full(name).check(), Err(CookieError::PrefixCase), "{name}");
        }
        let script = CookieSpec::new("__Host-Http-a").secure().path("/");
        assert_eq!(script.check(), Err(CookieError::PrefixHttp));
        assert_eq!(full("__Host-Http-a").domain("a.example").check(), Err(CookieError::PrefixHost));
    }

    #[test]
    fn parts_of_a_second_do_not_remove() {
        let cookie = CookieSpec::new("a").max_age(Duration::from_millis(1)).set("b").unwrap();
        assert_eq!(cookie, "a=b; Max-Age=1; SameSite=Lax");
    }

    #[test]
    fn loopback_cookies_work_without_https() {
        let spec = CookieSpec::new("__Host-Http-a")
            .secure()
            .http_only()
            .path("/")
            .same_site(SameSite::None)
            .partitioned();
        let local = spec.at(&OwnOrigin::Development).unwrap();
        assert_eq!(local.set("b").unwrap(), "a=b; Path=/; HttpOnly; SameSite=Lax");
        // A name that consists only of a prefix.
        let bare = CookieSpec::new("__Secure-").secure().at(&OwnOrigin::Development);
        assert_eq!(bare, Err(CookieError::Name));
    }
}
