//! `#[cors]`: which origins may read responses, and what browsers ask in preflights.

area! { $ cors
    rules {
        /// A policy without origins.
        OriginsMissing Error "cors.origins-missing",
            "the list of origins is empty",
            "name at least one origin, such as `https://app.example.com`, or write `*` for everybody";
        /// `*` next to other origins.
        AnyOriginNotAlone Error "cors.any-origin-not-alone",
            "`*` already covers the other origins in this list",
            "keep `*` alone, or list only the origins that may read the response";
        /// `*` with credentials.
        AnyOriginWithCredentials Error "cors.any-origin-with-credentials",
            "`*` cannot be combined with `credentials`",
            "list the origins that may send cookies";
        /// `*` in a list that is given at run time.
        AnyOriginAtRunTime Error "cors.any-origin-at-run-time",
            "`*` cannot come from a list given at run time",
            "write `origins = [\"*\"]` in the attribute, where readers of the code see it";
        /// The origin `null`.
        NullOrigin Error "cors.null-origin",
            "`null` is the origin of every sandboxed frame and `data:` URL, so it admits anybody",
            "serve the page from a real origin and list that one";
        /// The scheme `file`.
        FileOrigin Error "cors.file-origin",
            "browsers send `null` for pages opened from a file, never a `file:` origin",
            "serve the page from `http://localhost` during development";
        /// An origin that is longer than any origin can be.
        OriginTooLong Error "cors.origin-too-long",
            "an origin has at most 326 bytes",
            "write scheme, host and port only";
        /// No `://`, or an invalid scheme.
        OriginScheme Error "cors.origin-scheme",
            "an origin begins with a lower-case scheme and `://`",
            "write it in full, such as `https://app.example.com`";
        /// Something after host and port.
        OriginPath Error "cors.origin-path",
            "an origin is scheme, host and port only",
            "remove everything from the first `/`, `?` or `#` after the host";
        /// A user name or password.
        OriginUserInfo Error "cors.origin-userinfo",
            "an origin has no user name or password",
            "remove everything up to and including the `@`";
        /// White space inside or around.
        OriginSpace Error "cors.origin-space",
            "an origin has no white space",
            "remove the spaces";
        /// Upper-case letters.
        OriginUpperCase Error "cors.origin-upper-case",
            "an origin is compared byte for byte, and browsers send scheme and host in lower case",
            "write it in lower case";
        /// Bytes outside ASCII.
        OriginNotAscii Error "cors.origin-not-ascii",
            "browsers send international names in their ASCII form",
            "write the `xn--` form of the name";
        /// An invalid host.
        OriginHost Error "cors.origin-host",
            "the host is not a name or address that a browser would send",
            "write labels of letters, digits, `-` and `_` with single dots between them, or an IP address";
        /// A malformed `xn--` label.
        OriginPunycode Error "cors.origin-punycode",
            "the host has an `xn--` label that decodes to nothing",
            "write the `xn--` form that a browser shows for the name";
        /// An IP address in another form than the one browsers send.
        OriginAddress Error "cors.origin-address",
            "an IP address is compared byte for byte, and this is not the form that browsers send",
            "write IPv4 as four decimal numbers, IPv6 in brackets, lower case and shortest form";
        /// An IPv4 address inside of an IPv6 one.
        OriginMappedAddress Error "cors.origin-mapped-address",
            "an IPv4 address inside of an IPv6 address names one machine in two ways, and few pages have it",
            "write the IPv4 address, as in `https://192.0.2.1`";
        /// A `*` in a position where it matches nothing.
        OriginWildcard Error "cors.origin-wildcard",
            "`*` stands for whole labels in front of a name, for the part of the first label before a `-` and a fixed end, or for a whole port, and nothing else",
            "write `https://*.example.com`, `https://shop-*-acme.example.com` or `https://example.com:*`";
        /// An invalid port.
        OriginPort Error "cors.origin-port",
            "the port is not a number from 1 to 65535 without leading zeros",
            "write the port in decimal, or `:*` for any port";
        /// The default port of the scheme.
        OriginDefaultPort Error "cors.origin-default-port",
            "browsers never send the default port of a scheme",
            "leave the port out";
        /// An origin whose pages travel without TLS, with credentials.
        InsecureOriginWithCredentials Error "cors.insecure-origin-with-credentials",
            "anybody on the network can inject a script into a page of this origin, which travels without TLS, and it would act with the user's cookies",
            "use `https://`, or state the risk with `dangerous_insecure_origins`";
        /// An origin of a scheme that is not known, with credentials.
        UnknownSchemeWithCredentials Error "cors.unknown-scheme-with-credentials",
            "it is not known how pages of this scheme reach the browser, so that somebody on the way may be able to inject a script, which would act with the user's cookies",
            "use `https://`, or the scheme of an app or extension (`app`, `capacitor`, `ionic`, `tauri`, `vscode-webview`, `wails`, `chrome-extension`, `moz-extension`, `safari-web-extension`), or state the risk with `dangerous_insecure_origins`";
        /// A wildcard that covers a public suffix, with credentials.
        PublicSuffixWithCredentials Error "cors.public-suffix-with-credentials",
            "anybody can register a name under this public suffix, and could read responses with the user's cookies",
            "name your own domain below it, or what all names of your account there end with, such as `https://shop-*-acme.vercel.app`, or state the risk with `dangerous_public_suffix`";
        /// A `*` inside a label directly below a public suffix, with credentials.
        PlatformNamesWithCredentials Warning "cors.platform-names-with-credentials",
            "names below this public suffix belong to different people, and only the platform decides who gets one that ends like this; that person could read responses with the user's cookies",
            "make sure that the platform gives such names to your account alone, or serve these pages below a domain of your own";
        /// An origin that is listed twice.
        OriginRepeated Warning "cors.origin-repeated",
            "this origin is listed twice",
            "remove one of them";
        /// An origin that another entry covers.
        OriginCovered Warning "cors.origin-covered",
            "another entry of the list already covers this origin",
            "remove it";
        /// Run-time origins without a bound, with credentials.
        BoundMissing Error "cors.bound-missing",
            "origins that are given at run time need a bound if they may send cookies",
            "add `within = [\"https://*.your-domain.example\"]`; a product that its customers install on their own domains states `dangerous_configured_bound`",
            builder "add `.within(&[\"https://*.your-domain.example\"])`; a product that its customers install on their own domains states `.dangerous_configured_bound()`";
        /// A route that takes the bound of its origins from a configuration that has none.
        BoundUnset Error "cors.bound-unset",
            "the bound of this list of origins comes from the configuration, which states none",
            "set it with `App::origin_bound`, `App::origin_bound_from_env` or `[bounds]` in the configuration file";
        /// A bound in the configuration that no route takes.
        BoundUnused Error "cors.bound-unused",
            "no route takes the bound of this list of origins from the configuration",
            "state `dangerous_configured_bound` in the `#[cors]` that names the list, or remove the bound";
        /// A bound that comes from the configuration.
        BoundConfigured Warning "cors.bound-configured",
            "the bound of these origins comes from the configuration, so that whoever writes it decides whose pages read responses",
            "keep the configuration with those who may change the app, or state the bound with `within`";
        /// A run-time origin outside of its bound.
        OriginOutsideBound Error "cors.origin-outside-bound",
            "this origin is outside of the bound that the route states with `within`",
            "remove it, or widen the bound in the attribute";
        /// A run-time list that the app does not have.
        OriginListMissing Error "cors.origin-list-missing",
            "the app has no list of origins with this name",
            "set it with `App::origins`, `App::origins_from_env` or a configuration file";
        /// A run-time list that no route uses.
        OriginListUnused Error "cors.origin-list-unused",
            "no route names this list of origins",
            "use it as `origins = config(\"..\")`, or remove it";
        /// A key of a list of origins that no path segment can equal.
        OriginListKey Error "cors.list-key",
            "the key of a list is the value of a parameter of the path as it is sent, and this would be encoded there",
            "write letters, digits, `-`, `.`, `_` and `~` only";
        /// A route without the parameter that chooses its origins.
        OriginListBy Error "cors.list-by",
            "the path of the route has no parameter with the name by which its list of origins is chosen",
            "name a parameter of the path in `by`, or state another policy for the routes that have none";
        /// An entry of `methods` that is not a method token.
        MethodInvalid Error "cors.method-invalid",
            "this is not a method name",
            "write a method such as `PUT`";
        /// A method that browsers do not let pages use.
        MethodForbidden Error "cors.method-forbidden",
            "browsers never send CONNECT, TRACE or TRACK for a page",
            "remove it";
        /// `*` for methods, with credentials.
        AnyMethodWithCredentials Error "cors.any-method-with-credentials",
            "`*` for methods is no wildcard when cookies are sent",
            "list the methods, or remove `methods` to allow what the router serves";
        /// An entry of `headers` that is not a field name.
        HeaderInvalid Error "cors.header-invalid",
            "this is not a header name",
            "write a name such as `x-request-id`";
        /// Request headers that scripts cannot set.
        HeaderForbidden Error "cors.header-forbidden",
            "browsers never let a script set this request header",
            "remove it";
        /// A response header among the request headers.
        HeaderOfResponse Error "cors.header-of-response",
            "this is a response header of CORS itself, not a header that a request carries",
            "remove it";
        /// `*` for request headers, with credentials.
        AnyHeaderWithCredentials Error "cors.any-header-with-credentials",
            "`*` for request headers is no wildcard when cookies are sent",
            "list the request headers";
        /// A request header that needs no permission.
        HeaderSafelisted Warning "cors.header-safelisted",
            "browsers let every page send this request header",
            "remove it, unless pages send unusual values in it";
        /// An entry of `expose` that is not a field name.
        ExposeInvalid Error "cors.expose-invalid",
            "this is not a header name",
            "write a name such as `etag`";
        /// Response headers that scripts never see.
        ExposeForbidden Error "cors.expose-forbidden",
            "browsers never show this response header to a script",
            "remove it";
        /// A request header in `expose`.
        ExposeOfRequest Error "cors.expose-of-request",
            "this header belongs to requests and preflights, so there is nothing to expose",
            "remove it";
        /// `*` for exposed headers, with credentials.
        AnyExposeWithCredentials Error "cors.any-expose-with-credentials",
            "`*` for exposed headers is no wildcard when cookies are sent",
            "list the response headers that the page may read";
        /// A response header that is readable anyway.
        ExposeSafelisted Warning "cors.expose-safelisted",
            "browsers show this response header to every page that may read the response",
            "remove it";
        /// A max-age that no browser honours.
        MaxAgeOutOfBounds Error "cors.max-age-out-of-bounds",
            "no browser caches a preflight response for longer than 86400 seconds",
            "write seconds from 0 (do not cache) to 86400";
        /// A max-age that Chromium caps.
        MaxAgeCapped Warning "cors.max-age-capped",
            "Chromium caches a preflight response for at most 7200 seconds, and WebKit for at most 600",
            "write 7200 or less";
        /// A policy that extends another one by more than names of headers, or by nothing.
        ExtensionPart Error "cors.extension-part",
            "`extend` adds names of headers to the policy of the group or of the app, and nothing else",
            "write `headers = [..]` or `expose = [..]` beside it, or state the whole policy without `extend`";
        /// An extension where no outer level states a policy.
        ExtensionOfNothing Error "cors.extension-of-nothing",
            "there is no policy to extend: neither the group nor the app states one",
            "state one with `cors` of the group or the app, or write the whole policy here, without `extend`";
        /// Loopback origins in a deployment.
        LoopbackShared Warning "cors.loopback-shared",
            "this policy allows `http` on loopback, which only developers use",
            "remove them from the policy for production";
        /// A list of origins that is to be stored, without a store.
        StoredListWithoutStore Error "cors.list-without-store",
            "this list of origins is to be stored, and the app has no store for it",
            "keep the sessions of the app in a store of this crate, or name one by `StoredOrigins::in_store`";
    }

    refusals {
        /// Fetch, CORS check: the preflight's origin is not granted.
        PreflightOrigin 403 "cors.origin-not-granted", "The policy of this route does not grant the origin";
        /// Fetch: more than one Origin in a preflight.
        PreflightOriginRepeated 403 "cors.preflight-origin-repeated", "The preflight names more than one origin";
        /// Fetch: a requested method that is repeated, empty or no token.
        PreflightMethod 403 "cors.request-method-malformed", "The preflight does not ask for exactly one method";
        /// RFC 6455 10.2: a WebSocket from an origin that may not read the route.
        WebSocketOrigin 403 "cors.websocket-origin-not-granted", "The policy of this route does not grant the origin";
        /// A new list of origins breaks a rule of a route.
        OriginListRefused 422 "cors.list-refused", "The list of origins is refused";
        /// The store of a list of origins does not respond, or others change the list.
        OriginListUnavailable 503 "cors.list-unavailable", "The list of origins cannot be changed at the moment";
        /// Readiness: a stored list of origins breaks a rule of this instance, which uses an older one.
        StoredListOutdated 503 "cors.list-outdated", "This instance cannot use a stored list of origins";
    }

    events {
        /// A list of origins that another instance stored breaks a rule of this one, which keeps its own.
        StoredListRefused Error "cors.stored-list-refused", "a stored list of origins breaks a rule of this instance";
    }
}
