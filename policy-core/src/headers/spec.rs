//! What a policy about security fields says, before anybody checked it.

use super::csp::Directive;

/// Who may show a page in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Nobody.
    Nobody,
    /// Pages of the same origin.
    SameOrigin,
    /// Everybody.
    Anybody,
    /// Pages of these origins, or patterns of origins.
    Listed(&'a [&'a str]),
}

/// A part of a policy, by the name it has in the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `csp`
    Csp,
    /// `frame`
    Frame,
    /// `referrer`
    Referrer,
    /// `permissions`
    Permissions,
    /// `coop`
    Coop,
    /// `coep`
    Coep,
    /// `corp`
    Corp,
    /// `hsts`
    Hsts,
    /// `include_subdomains`
    IncludeSubdomains,
    /// `preload`
    Preload,
}

impl Part {
    /// Every part, in the order in which violations are reported.
    pub const ALL: [Self; 10] = [
        Self::Csp,
        Self::Frame,
        Self::Referrer,
        Self::Permissions,
        Self::Coop,
        Self::Coep,
        Self::Corp,
        Self::Hsts,
        Self::IncludeSubdomains,
        Self::Preload,
    ];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csp => "csp",
            Self::Frame => "frame",
            Self::Referrer => "referrer",
            Self::Permissions => "permissions",
            Self::Coop => "coop",
            Self::Coep => "coep",
            Self::Corp => "corp",
            Self::Hsts => "hsts",
            Self::IncludeSubdomains => "include_subdomains",
            Self::Preload => "preload",
        }
    }
}

/// The security fields of an answer, unchecked, and what they have to agree with. A part that is
/// not stated is as in [`HeadersPolicy::DEFAULT`](super::HeadersPolicy::DEFAULT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersSpec<'a> {
    /// What a page may load and run.
    pub csp: Option<&'a [Directive<'a>]>,
    /// Who may show a page in a frame.
    pub frame: Option<Frame<'a>>,
    /// What of its address a page tells to others.
    pub referrer: Option<&'a str>,
    /// What a page may use of the device, such as `camera=()`.
    pub permissions: &'a [&'a str],
    /// `Cross-Origin-Opener-Policy`
    pub coop: Option<&'a str>,
    /// `Cross-Origin-Embedder-Policy`
    pub coep: Option<&'a str>,
    /// `Cross-Origin-Resource-Policy`
    pub corp: Option<&'a str>,
    /// The seconds of `Strict-Transport-Security`; 0 ends what was said before.
    pub hsts: Option<i64>,
    /// `includeSubDomains`
    pub include_subdomains: bool,
    /// `preload`
    pub preload: bool,
    /// Answers that are no pages have the fields of pages, too.
    pub every_answer: bool,
    /// Whether pages of other origins may read the route, by CORS or JSONP.
    pub is_shared: bool,
}

impl HeadersSpec<'static> {
    /// A spec that says nothing.
    pub const NOTHING: Self = Self {
        csp: None,
        frame: None,
        referrer: None,
        permissions: &[],
        coop: None,
        coep: None,
        corp: None,
        hsts: None,
        include_subdomains: false,
        preload: false,
        every_answer: false,
        is_shared: false,
    };
}
