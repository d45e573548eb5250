//! Where engines differ.

use std::time::Duration;

/// One browser engine, as far as engines differ; the source of each difference stands at its
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The name of the engine.
    pub name: &'static str,
    /// The longest that the result of a preflight is kept.
    pub preflight_cap: Duration,
    /// Whether `Access-Control-Allow-Headers: *` allows `Authorization`. Fetch says no (4.8, step
    /// 7.6: "CORS non-wildcard request-header name"); Chromium 156, Firefox 153 and WebKitGTK 2.50
    /// let it through.
    pub star_allows_authorization: bool,
    /// What becomes of cookies of another site than the window's.
    pub third_party: ThirdParty,
    /// Whether a cookie without `SameSite` is as with `Lax`.
    pub lax_by_default: bool,
    /// How long a new cookie without `SameSite` is sent by navigations with an unsafe method too,
    /// where it is as with `Lax`.
    pub lax_allows_unsafe_for: Duration,
    /// Whether `SameSite=None` without `Secure` is refused.
    pub none_requires_secure: bool,
    /// Whether a request that another site has redirected is cross-site to cookies.
    pub redirects_count: bool,
    /// What becomes of a cookie without `=`.
    pub nameless: Nameless,
    /// Whether `__host-` is as `__Host-`.
    pub prefixes_ignore_case: bool,
    /// Whether `__Http-` and `__Host-Http-` promise anything.
    pub has_http_prefixes: bool,
    /// Whether `Partitioned` is known.
    pub has_partitioned: bool,
    /// Whether the local machine may set and get cookies with `Secure` without TLS.
    pub secure_on_loopback: bool,
    /// The longest that a cookie lasts.
    pub cookie_lifetime_cap: Duration,
    /// The most cookies of one registrable domain.
    pub cookies_per_domain: usize,
    /// How many of them stay when there are more.
    pub cookies_kept_per_domain: usize,
    /// Whether the site of a frame parts what is cached, besides the site of the window.
    pub caches_by_frame: bool,
    /// Whether what was loaded without credentials is cached apart.
    pub caches_by_credentials: bool,
    /// How the cache obeys `Vary`.
    pub variants: Variants,
    /// What `Pragma: no-cache` of an answer means.
    pub pragma: Pragma,
    /// The statuses that are used without asking, if not all.
    pub fresh_statuses: Option<&'static [u16]>,
    /// The statuses that are fresh for a tenth of their age, if they do not say how long.
    pub heuristic_statuses: &'static [u16],
    /// The longest that they are.
    pub heuristic_cap: Duration,
    /// The statuses that are fresh for ever, if they do not say how long.
    pub permanent_statuses: &'static [u16],
    /// The fields of a stored answer that a status of 304 does not replace.
    pub kept_by_304: &'static [&'static str],
}

/// What a cache does about `Vary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variants {
    /// It stores all variants of an address (RFC 9111, 4.1).
    Kept,
    /// It stores one, and asks for another with the `ETag` of that.
    AskedByTag,
    /// It stores one.
    Replaced,
}

/// What `Pragma: no-cache` means in an answer, where no standard gives it a meaning (RFC 9111,
/// 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pragma {
    /// Nothing.
    Ignored,
    /// The same as in `Cache-Control`, if there is none.
    WithoutCacheControl,
    /// The same as in `Cache-Control`.
    Obeyed,
}

/// What becomes of a cookie whose pair has no `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nameless {
    /// It is the value of a cookie with an empty name, and sent as it is; `=v` is the same as `v`.
    Value,
    /// It is the name of a cookie with an empty value, and sent with `=`; `=v` is refused.
    Name,
}

/// What becomes of the cookies of a site in a window of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThirdParty {
    /// They are sent and stored, as far as `SameSite` lets them.
    Sent,
    /// Each window's site has its own.
    Partitioned,
    /// They are neither sent nor stored, but for those with `Partitioned`.
    Blocked,
}

impl Profile {
    /// The texts of the standards, where they leave no choice; where they do, what engines have in
    /// common.
    pub const STANDARD: Self = Self {
        name: "the standards",
        preflight_cap: Duration::from_secs(86_400),
        star_allows_authorization: false,
        third_party: ThirdParty::Sent,
        lax_by_default: true,
        lax_allows_unsafe_for: Duration::ZERO,
        none_requires_secure: true,
        redirects_count: false,
        nameless: Nameless::Value,
        prefixes_ignore_case: true,
        has_http_prefixes: true,
        has_partitioned: true,
        secure_on_loopback: true,
        cookie_lifetime_cap: Duration::from_secs(400 * 86_400),
        cookies_per_domain: 180,
        cookies_kept_per_domain: 150,
        caches_by_frame: false,
        caches_by_credentials: false,
        variants: Variants::Kept,
        pragma: Pragma::Ignored,
        fresh_statuses: None,
        heuristic_statuses: &[200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501],
        heuristic_cap: Duration::MAX,
        permanent_statuses: &[],
        kept_by_304: &[
            "connection",
            "content-encoding",
            "content-length",
            "content-range",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authentication-info",
            "proxy-authorization",
            "te",
            "transfer-encoding",
            "upgrade",
        ],
    };
    /// Chromium as it is installed.
    pub const CHROMIUM: Self = Self {
        name: "Chromium",
        preflight_cap: Duration::from_secs(7200),
        star_allows_authorization: true,
        third_party: ThirdParty::Blocked,
        lax_allows_unsafe_for: Duration::from_secs(120),
        caches_by_frame: true,
        variants: Variants::AskedByTag,
        pragma: Pragma::Obeyed,
        heuristic_statuses: &[200, 203],
        permanent_statuses: &[300, 301, 308, 410],
        kept_by_304: &[
            "connection",
            "content-encoding",
            "content-length",
            "content-location",
            "content-md5",
            "content-range",
            "content-type",
            "etag",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "www-authenticate",
            "x-content-",
            "x-frame-options",
            "x-webkit-",
            "x-xss-protection",
        ],
        ..Self::STANDARD
    };
    /// Firefox as it is installed.
    pub const FIREFOX: Self = Self {
        name: "Firefox",
        preflight_cap: Duration::from_secs(86_400),
        star_allows_authorization: true,
        third_party: ThirdParty::Partitioned,
        lax_by_default: false,
        nameless: Nameless::Name,
        prefixes_ignore_case: false,
        caches_by_credentials: true,
        variants: Variants::AskedByTag,
        pragma: Pragma::WithoutCacheControl,
        fresh_statuses: Some(&[200, 203, 204, 300, 301, 302, 307, 308, 410]),
        heuristic_statuses: &[200, 203, 204, 300, 301, 302, 307, 308, 410],
        heuristic_cap: Duration::from_secs(7 * 86_400),
        permanent_statuses: &[300, 301, 308, 410],
        kept_by_304: &[
            "connection",
            "content-encoding",
            "content-length",
            "content-location",
            "content-md5",
            "content-range",
            "content-type",
            "etag",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ],
        ..Self::STANDARD
    };
    /// WebKit as it is installed.
    pub const WEBKIT: Self = Self {
        name: "WebKit",
        preflight_cap: Duration::from_secs(600),
        star_allows_authorization: true,
        third_party: ThirdParty::Blocked,
        lax_by_default: false,
        variants: Variants::Replaced,
        pragma: Pragma::WithoutCacheControl,
        permanent_statuses: &[301, 410],
        kept_by_304: &[
            "allow",
            "connection",
            "content-",
            "etag",
            "keep-alive",
            "last-modified",
            "proxy-authenticate",
            "proxy-connection",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "www-authenticate",
            "x-content-",
            "x-frame-options",
            "x-webkit-",
            "x-xss-protection",
        ],
        ..Self::STANDARD
    };

    /// The same with another setting for the cookies of other sites.
    #[must_use]
    pub const fn third_party(self, third_party: ThirdParty) -> Self {
        Self { third_party, ..self }
    }
}
