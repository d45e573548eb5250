//! `#[jsonp]`: public data as scripts, for pages of any origin.

area! { $ jsonp
    rules {
        /// JSONP without a query parameter for the name of the function.
        JsonpParameterMissing Error "jsonp.parameter-missing",
            "the query parameter that names the function to call is missing",
            "write `callback = \"callback\"`",
            builder "write `JsonpPolicy::callback(\"callback\")`";
        /// A parameter name that has to be percent-encoded.
        JsonpParameterName Error "jsonp.parameter-name",
            "the name of this parameter can have only letters, digits, `-`, `.`, `_` and `~`",
            "write what partners send, such as `callback`";
        /// JSONP on a route for another method than GET.
        JsonpMethod Error "jsonp.method",
            "a script element sends only GET requests",
            "write `#[jsonp]` on a separate handler for GET";
        /// JSONP on a route that is not public.
        JsonpNotPublic Error "jsonp.not-public",
            "every page can read a script, so it may contain only public data",
            "write `#[auth(public)]`; for data of a user, write `#[cors]` instead of `#[jsonp]`";
        /// JSONP on a route that reads the session.
        JsonpWithSession Error "jsonp.with-session",
            "every page can read a script, so it may not contain data of a session",
            "remove the argument, or write `#[cors]` instead of `#[jsonp]`";
        /// CSRF protection of a JSONP route.
        JsonpWithCsrf Error "jsonp.with-csrf",
            "JSONP only reads public data, so there is no request to forge",
            "remove `#[csrf]`";
    }

    refusals {
        /// A JSONP callback that is repeated, or is not a valid name.
        CallbackInvalid 400 "jsonp.callback-invalid", "The name of the callback is invalid";
    }
}
