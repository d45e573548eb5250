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
    };
    /// Chromium as it is installed.
    pub const CHROMIUM: Self = Self {
        name: "Chromium",
        preflight_cap: Duration::from_secs(7200),
        star_allows_authorization: true,
        third_party: ThirdParty::Blocked,
        lax_allows_unsafe_for: Duration::from_secs(120),
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
        ..Self::STANDARD
    };
    /// WebKit as it is installed.
    pub const WEBKIT: Self = Self {
        name: "WebKit",
        preflight_cap: Duration::from_secs(600),
        star_allows_authorization: true,
        third_party: ThirdParty::Blocked,
        lax_by_default: false,
        ..Self::STANDARD
    };

    /// The same with another setting for the cookies of other sites.
    #[must_use]
    pub const fn third_party(self, third_party: ThirdParty) -> Self {
        Self { third_party, ..self }
    }
}
