//! Policies that live in constants.

use super::{
    csp::{Directive, Name, Source},
    spec::{Frame, HeadersPart, HeadersSpec},
};
#[cfg(feature = "engine")]
use crate::facet::{FacetPolicy, RouteFacts};
use crate::validator::policy;

/// The validated security headers of a response.
///
/// Parts that a policy does not state are as in [`DEFAULT`](Self::DEFAULT), and every response has
/// `X-Content-Type-Options: nosniff`.
///
/// ```
/// use policy_core::headers::{
///     Frame, HeadersPolicy,
///     csp::{Directive, Name, Source},
/// };
///
/// const SHOP: HeadersPolicy = HeadersPolicy::builder()
///     .csp(&[
///         Directive(Name::DefaultSrc, &[Source::SelfOrigin]),
///         Directive(Name::ScriptSrc, &[Source::SelfOrigin, Source::Nonce]),
///         Directive(Name::ImgSrc, &[Source::SelfOrigin, Source::Host("https://cdn.example")]),
///     ])
///     .frame(Frame::Nobody)
///     .permissions(&["camera=()"])
///     .build();
/// assert_eq!(SHOP.spec().frame, Some(Frame::Nobody));
/// ```
///
/// A wrong one does not compile:
///
/// ```compile_fail
/// # use policy_core::headers::HeadersPolicy;
/// const LOOSE: HeadersPolicy = HeadersPolicy::builder().referrer("sometimes").build();
/// # LOOSE.spec();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersPolicy(HeadersSpec<'static>);

impl HeadersPolicy {
    /// The policy of an app that states none.
    ///
    /// | on | fields |
    /// |---|---|
    /// | every answer | `X-Content-Type-Options: nosniff`; over TLS, of a service with a public origin, also `Strict-Transport-Security: max-age=31536000` |
    /// | pages | `Content-Security-Policy: base-uri 'self'; object-src 'none'; frame-ancestors 'self'`, `X-Frame-Options: SAMEORIGIN`, `Referrer-Policy: strict-origin-when-cross-origin` |
    ///
    /// It breaks no page: except for plugins, pages can load everything that they could load
    /// without it.
    pub const DEFAULT: Self = Self(HeadersSpec::NOTHING);

    /// For responses that are data: a browser that shows one as a page runs nothing.
    ///
    /// Every response has `Content-Security-Policy: default-src 'none'; base-uri 'none';
    /// frame-ancestors 'none'`, `X-Frame-Options: DENY`, `Referrer-Policy: no-referrer`, and the
    /// headers that [`DEFAULT`](Self::DEFAULT) sets for every response.
    pub const API: Self = Self::builder()
        .csp(&[
            Directive(Name::DefaultSrc, &[Source::None]),
            Directive(Name::BaseUri, &[Source::None]),
        ])
        .frame(Frame::Nobody)
        .referrer("no-referrer")
        .every_response()
        .build();

    /// For pages that are written for it: they load only from their own origin, scripts and styles
    /// also by a nonce, and no other page can frame them or open them with a reference.
    pub const PAGES: Self = Self::builder()
        .csp(&[
            Directive(Name::DefaultSrc, &[Source::SelfOrigin]),
            Directive(Name::ScriptSrc, &[Source::SelfOrigin, Source::Nonce]),
            Directive(Name::StyleSrc, &[Source::SelfOrigin, Source::Nonce]),
            Directive(Name::ImgSrc, &[Source::SelfOrigin, Source::Scheme("data:")]),
            Directive(Name::ObjectSrc, &[Source::None]),
            Directive(Name::BaseUri, &[Source::None]),
            Directive(Name::FormAction, &[Source::SelfOrigin]),
        ])
        .frame(Frame::Nobody)
        .permissions(&["camera=()", "geolocation=()", "microphone=()"])
        .coop("same-origin")
        .build();

    /// Begins a policy.
    pub const fn builder() -> HeadersPolicyBuilder {
        HeadersPolicyBuilder(HeadersSpec::NOTHING)
    }
}

#[cfg(feature = "engine")]
impl FacetPolicy for HeadersPolicy {
    type Compiled = super::SecurityHeaders;

    fn violations<'a>(&'a self, route: RouteFacts<'a>) -> Vec<crate::Violation<'a, &'static str>> {
        HeadersSpec { route, ..self.0 }.violations().map(crate::Violation::into_named).collect()
    }

    fn compile(&self) -> Self::Compiled {
        super::SecurityHeaders::new(self)
    }
}

/// Builds a [`HeadersPolicy`], which both final methods check.
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy exists once `build` or `try_build` has checked it"]
pub struct HeadersPolicyBuilder(HeadersSpec<'static>);

impl HeadersPolicyBuilder {
    /// Sets what a page may load and run. Directives that are not stated are as in
    /// [`DEFAULT`](HeadersPolicy::DEFAULT): `base-uri 'self'`, and without a `default-src` also
    /// `object-src 'none'`. Which pages may frame it is set by [`frame`](Self::frame), or by a
    /// directive here.
    pub const fn csp(mut self, directives: &'static [Directive<'static>]) -> Self {
        self.0.csp = Some(directives);
        self
    }

    /// Sets which pages may show this one in a frame.
    pub const fn frame(mut self, frame: Frame<'static>) -> Self {
        self.0.frame = Some(frame);
        self
    }

    /// Sets how much of its address a page sends as the referrer (Referrer Policy 3).
    pub const fn referrer(mut self, policy: &'static str) -> Self {
        self.0.referrer = Some(policy);
        self
    }

    /// Sets the device features that a page may use, each as `feature=(allowed)`.
    pub const fn permissions(mut self, entries: &'static [&'static str]) -> Self {
        self.0.permissions = entries;
        self
    }

    /// Separates a page from pages that opened it or that it opens (HTML 7.1.3).
    pub const fn coop(mut self, policy: &'static str) -> Self {
        self.0.coop = Some(policy);
        self
    }

    /// Sets which resources of other origins a page may embed (HTML 7.1.4).
    pub const fn coep(mut self, policy: &'static str) -> Self {
        self.0.coep = Some(policy);
        self
    }

    /// Sets which sites may embed a response without CORS (Fetch 3.7).
    pub const fn corp(mut self, policy: &'static str) -> Self {
        self.0.corp = Some(policy);
        self
    }

    /// Sets for how many seconds browsers use only `https` (RFC 6797).
    pub const fn hsts(mut self, seconds: i64) -> Self {
        self.0.hsts = Some(seconds);
        self
    }

    /// Extends [`hsts`](Self::hsts), which is a year unless it is set, to all subdomains.
    pub const fn include_subdomains(mut self) -> Self {
        self.0.include_subdomains = true;
        self
    }

    /// Consents to the preload lists of browsers. Removal from them takes months.
    pub const fn preload(mut self) -> Self {
        self.0.preload = true;
        self
    }

    /// Writes the page headers onto responses that are not pages, too, except a `csp` with a nonce.
    pub const fn every_response(mut self) -> Self {
        self.0.every_response = true;
        self
    }
}

policy!(HeadersPolicy, HeadersPolicyBuilder, HeadersSpec, HeadersPart);
