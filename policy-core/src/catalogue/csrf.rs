//! `#[csrf]`: requests that other pages forge.

area! { $ csrf
    rules {
        /// A way out of the protection without a reason.
        ExemptWithoutReason Error "csrf.exempt-without-reason",
            "whoever reads this has to know why a page of anybody may send this request",
            "write why, such as `exempt = \"state checked\"`";
        /// A protection of what browsers do not send by themselves.
        NothingToForge Error "csrf.nothing-to-forge",
            "nothing that browsers send by themselves counts here, so no other page can forge a request",
            "remove `#[csrf]`";
        /// A protection where no session can be seen.
        CsrfWithoutSession Warning "csrf.without-session",
            "this route asks for no session, so there may be nothing to protect",
            "remove `#[csrf]`, unless an argument of your own takes `Sessions`";
    }

    refusals {
        /// RFC 6749 10.12: the request came from a page that is not trusted, or could have.
        CsrfOrigin 403 "csrf.origin", "The request did not come from a page of this service";
        /// The request does not carry the session's CSRF token.
        CsrfToken 403 "csrf.token", "The CSRF token is missing or wrong";
    }
}
