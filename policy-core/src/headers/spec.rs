//! What a policy about security fields says, before anybody checked it.

use super::csp::Directive;
use crate::{route::RouteFacts, validator::parts};

/// Who may show a page in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

parts! {
    /// A part of a policy, by the name it has in the attribute.
    "headers" {
        /// `csp`
        Csp = "csp",
        /// `frame`
        Frame = "frame",
        /// `referrer`
        Referrer = "referrer",
        /// `permissions`
        Permissions = "permissions"[..],
        /// `coop`
        Coop = "coop",
        /// `coep`
        Coep = "coep",
        /// `corp`
        Corp = "corp",
        /// `hsts`
        Hsts = "hsts",
        /// `include_subdomains`
        IncludeSubdomains = "include_subdomains",
        /// `preload`
        Preload = "preload",
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
    /// The route.
    pub route: RouteFacts<'a>,
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
        route: RouteFacts::UNKNOWN,
    };
}
