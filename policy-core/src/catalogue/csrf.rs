//! `#[csrf]`: requests that other pages forge.

area! { $ csrf
    rules {
        /// An exemption without a reason.
        ExemptWithoutReason Error "csrf.exempt-without-reason",
            "an exemption must state why any page may send this request",
            "write the reason, such as `exempt = \"state checked\"`";
        /// CSRF protection of a route that uses no ambient credentials.
        NothingToForge Error "csrf.nothing-to-forge",
            "this route uses no credential that browsers send automatically, so no other page can forge a request",
            "remove `#[csrf]`";
        /// CSRF protection of a route that names no session.
        CsrfWithoutSession Warning "csrf.without-session",
            "this route requires no session, so there may be nothing to protect",
            "remove `#[csrf]`, unless an extractor of your own uses `Sessions`";
        /// A handler that is exempt because its group or app says so.
        ExemptByDefault Warning "csrf.exempt-by-default",
            "this handler acts with a session for any page, because its group or the app is exempt",
            "write `#[csrf(exempt = \"why\")]` at the handler, or state the exemption where only mounts are";
        /// A CSRF token in front of a service that has no sessions of an app.
        CsrfTokenOfLayer Error "csrf.token-of-layer",
            "a layer has no sessions to which a CSRF token could be bound",
            "write `CsrfPolicy::Origin`, or put the service into an app with sessions";
    }

    refusals {
        /// RFC 6749 10.12: the request came, or may have come, from an untrusted page.
        CsrfOrigin 403 "csrf.origin", "The request did not come from a page of this service";
        /// A login by a link that a browser loads for a page, and not for a window of its user.
        LoginNavigation 403 "csrf.login-navigation", "A login or elevation by this method is only for navigations of a window";
        /// The request does not carry the session's CSRF token.
        CsrfToken 403 "csrf.token", "The CSRF token is missing or wrong";
    }
}
