//! A policy about security headers as written, before validation.

use super::csp::Directive;
use crate::{facet::RouteFacts, validator::parts};

/// Which pages may show this one in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// No page.
    Nobody,
    /// Pages of the same origin.
    SameOrigin,
    /// Any page.
    Anybody,
    /// Pages of these origins, or patterns of origins. A Content-Security-Policy states them, which
    /// has no `*` inside a label and no IPv6 addresses.
    Listed(&'a [&'a str]),
}

parts! {
    /// A part of a policy, by the name it has in the attribute.
    HeadersPart: "headers" {
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

/// The security headers of a response before validation, with the facts about the route that they
/// must fit. A part that is not stated is as in
/// [`HeadersPolicy::DEFAULT`](super::HeadersPolicy::DEFAULT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersSpec<'a> {
    /// What a page may load and run.
    pub csp: Option<&'a [Directive<'a>]>,
    /// Which pages may show this one in a frame.
    pub frame: Option<Frame<'a>>,
    /// How much of its address a page sends as the referrer.
    pub referrer: Option<&'a str>,
    /// The device features that a page may use, such as `camera=()`.
    pub permissions: &'a [&'a str],
    /// `Cross-Origin-Opener-Policy`
    pub coop: Option<&'a str>,
    /// `Cross-Origin-Embedder-Policy`
    pub coep: Option<&'a str>,
    /// `Cross-Origin-Resource-Policy`
    pub corp: Option<&'a str>,
    /// The seconds of `Strict-Transport-Security`, a year if they are not stated; 0 revokes an
    /// earlier value.
    pub hsts: Option<i64>,
    /// `includeSubDomains`
    pub include_subdomains: bool,
    /// `preload`
    pub preload: bool,
    /// Whether responses that are not pages have the page headers, too.
    pub every_response: bool,
    /// The route.
    pub route: RouteFacts<'a>,
}

impl HeadersSpec<'static> {
    /// An empty spec.
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
        every_response: false,
        route: RouteFacts::UNKNOWN,
    };
}
