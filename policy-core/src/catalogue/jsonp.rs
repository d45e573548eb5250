//! `#[jsonp]`: scripts for pages of everybody.

area! { $ jsonp
    rules {
        /// A script without a parameter that names its function.
        JsonpParameterMissing Error "jsonp.parameter-missing",
            "nothing here says which parameter of the query names the function to call",
            "write `callback = \"callback\"`";
        /// A parameter that nobody can write as it is.
        JsonpParameterName Error "jsonp.parameter-name",
            "the name of this parameter has letters, digits, `-`, `.`, `_` and `~` only",
            "write what partners send, such as `callback`";
        /// A script that is asked for in another way than scripts are.
        JsonpMethod Error "jsonp.method",
            "a script element sends GET, and nothing else",
            "write `#[jsonp]` on a handler of its own that serves GET";
        /// A script for some.
        JsonpNotPublic Error "jsonp.not-public",
            "every page can read a script, so it is for data that everybody may have",
            "write `#[auth(public)]`; for a page that shows who its user is, `#[cors]` in place of `#[jsonp]`";
        /// A script about the visitor of a page.
        JsonpWithSession Error "jsonp.with-session",
            "every page can read a script, so it cannot have in it what is in the session of a visitor",
            "remove the argument, or write `#[cors]` in place of `#[jsonp]`";
        /// A protection of what is for every page.
        JsonpWithCsrf Error "jsonp.with-csrf",
            "a script changes nothing and is for every page, so no page can forge a request for it",
            "remove `#[csrf]`";
    }

    refusals {
        /// A JSONP callback that is repeated, or no name that may be called.
        CallbackInvalid 400 "jsonp.callback-invalid", "The name of the callback is invalid";
    }
}
