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
    /// What becomes of cookies of another site than the window's.
    pub third_party: ThirdParty,
    /// Whether a cookie without `SameSite` is as with `Lax`.
    pub lax_by_default: bool,
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
    /// Chromium as it is installed.
    pub const CHROMIUM: Self = Self {
        name: "Chromium",
        preflight_cap: Duration::from_secs(7200),
        third_party: ThirdParty::Blocked,
        lax_by_default: true,
    };
    /// Firefox as it is installed.
    pub const FIREFOX: Self = Self {
        name: "Firefox",
        preflight_cap: Duration::from_secs(86_400),
        third_party: ThirdParty::Partitioned,
        lax_by_default: false,
    };
    /// WebKit as it is installed.
    pub const WEBKIT: Self = Self {
        name: "WebKit",
        preflight_cap: Duration::from_secs(600),
        third_party: ThirdParty::Blocked,
        lax_by_default: false,
    };

    /// The same with another setting for the cookies of other sites.
    #[must_use]
    pub const fn third_party(self, third_party: ThirdParty) -> Self {
        Self { third_party, ..self }
    }
}
