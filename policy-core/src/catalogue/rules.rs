//! Rules: what a programmer or an operator corrects. A row has the severity, the code, the message, the fix and,
//! where it has other words, the fix in a builder.

use super::Row;

/// The effect of a violated rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The policy is refused: a compile error, or the start stops.
    Error,
    /// The policy is legal but odd: a compiler warning, or a notice at start.
    Warning,
}

impl Rule {
    /// The violation: lower case, no full stop, written after the value that it is about.
    pub const fn message(self) -> &'static str {
        self.row().message
    }

    /// The fix.
    pub const fn help(self) -> &'static str {
        self.row().help
    }

    /// The fix in a builder, which does not always have the words of an attribute.
    pub(crate) const fn help_in_builder(self) -> &'static str {
        self.row().help_in_builder
    }

    /// Whether a violation is an error or a warning.
    pub const fn severity(self) -> Severity {
        self.row().mark
    }
}

entries! {
    /// A rule about a policy or a setting, checked at compile time, at start, and when data is
    /// replaced.
    Rule, Severity::Severity:

    // `#[cors]`: which origins may read responses, and what browsers ask in preflights.

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
        "an IPv4 address inside an IPv6 address is a second name for the same machine, and browsers rarely send it",
        "write the IPv4 address, as in `https://192.0.2.1`";
    /// A `*` in a position where it matches nothing.
    OriginWildcard Error "cors.origin-wildcard",
        "`*` can only replace whole leading labels, the part of the first label before a `-` and a fixed ending, or the whole port",
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
        "pages of this origin travel without TLS, so anybody on the network can inject a script that acts with the user's cookies",
        "use `https://`, or state the risk with `dangerous_insecure_origins`";
    /// An origin of a scheme that is not known, with credentials.
    UnknownSchemeWithCredentials Error "cors.unknown-scheme-with-credentials",
        "pages of this scheme may travel without TLS, so anybody on the network may be able to inject a script that acts with the user's cookies",
        "use `https://`, or the scheme of an app or extension (`app`, `capacitor`, `ionic`, `tauri`, `vscode-webview`, `wails`, `chrome-extension`, `moz-extension`, `safari-web-extension`), or state the risk with `dangerous_insecure_origins`";
    /// A wildcard that covers a public suffix, with credentials.
    PublicSuffixWithCredentials Error "cors.public-suffix-with-credentials",
        "anybody can register a name under this public suffix, and could read responses with the user's cookies",
        "name your own domain below it, or the ending that only names of your account have, such as `https://shop-*-acme.vercel.app`, or state the risk with `dangerous_public_suffix`";
    /// A `*` inside a label directly below a public suffix, with credentials.
    PlatformNamesWithCredentials Warning "cors.platform-names-with-credentials",
        "names below this public suffix belong to different people, and the platform decides who gets one with this ending; its owner could read responses with the user's cookies",
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
        "add `within = [\"https://*.your-domain.example\"]`; for a product that customers install on their own domains, write `dangerous_configured_bound`",
        builder "add `.within(&[\"https://*.your-domain.example\"])`; for a product that customers install on their own domains, write `.dangerous_configured_bound()`";
    /// A route that takes the bound of its origins from a configuration that has none.
    BoundUnset Error "cors.bound-unset",
        "the bound of this list of origins comes from the configuration, which sets none",
        "set it with `OriginList::within`, `OriginList::within_env` or `[bounds]` in the configuration file";
    /// A bound in the configuration that no route takes.
    BoundUnused Error "cors.bound-unused",
        "no route takes the bound of this list of origins from the configuration",
        "state `dangerous_configured_bound` in the `#[cors]` that names the list, or remove the bound";
    /// A bound that comes from the configuration.
    BoundConfigured Warning "cors.bound-configured",
        "the bound of these origins comes from the configuration, so anybody who can write it decides which origins may read responses",
        "let only people who may change the app write the configuration, or state the bound with `within`";
    /// A run-time origin outside of its bound.
    OriginOutsideBound Error "cors.origin-outside-bound",
        "this origin is outside of the bound that the route states with `within`",
        "remove it, or widen the bound in the attribute";
    /// A run-time list that the app does not have.
    OriginListMissing Error "cors.origin-list-missing",
        "the app has no list of origins with this name",
        "set it with `App::origins` or a configuration file";
    /// A run-time list that no route uses.
    OriginListUnused Error "cors.origin-list-unused",
        "no route names this list of origins",
        "use it as `origins = config(\"..\")`, or remove it";
    /// A key of a list of origins that no path segment can equal.
    OriginListKey Error "cors.list-key",
        "the key of a list must equal a path parameter as clients send it, and this key would be percent-encoded there",
        "write letters, digits, `-`, `.`, `_` and `~` only";
    /// A route without the parameter that chooses its origins.
    OriginListBy Error "cors.list-by",
        "the path of the route lacks the parameter that chooses its list of origins",
        "name a parameter of the path in `by`, or write another policy for routes without it";
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
        "list the methods, or remove `methods` to allow those that the router serves";
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
        "this is a CORS response header, not a request header",
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
        "remove these origins from the policy for production";
    /// A list of origins that is to be stored, without a store.
    StoredListWithoutStore Error "cors.list-without-store",
        "this list of origins has to be stored, but the app has no store for it",
        "keep the sessions of the app in a store of this crate, or name one with `StoredOrigins::in_store`; a layer has no store";

    // `#[auth]`: who may call.

    /// A route that names sessions in an app that has none.
    SessionsMissing Error "auth.sessions-missing",
        "this route takes sessions, but the app has none",
        "configure them with `App::sessions(Sessions::embedded(\"sessions.redb\"))`";
    /// A route that names tokens in an app that has none.
    TokensMissing Error "auth.tokens-missing",
        "this route takes tokens, but the app has none",
        "configure keys with `App::tokens(Tokens::hs256(keys)?)`";
    /// A route that names a scheme that the app does not have.
    SchemeMissing Error "auth.scheme-missing",
        "this route names a scheme that the app does not have",
        "add it with `App::scheme(..)`";
    /// A route, mount, proxy or tunnel that does not say who may call it.
    CallersMissing Error "auth.callers-missing",
        "nothing here says who may call",
        "write `#[auth(session)]`, `#[auth(token)]` or both as `session | token`, `#[auth(scheme = ..)]`, or `#[auth(public)]` for everybody";
    /// A mount, a proxy or a fallback that neither says nor inherits who may call.
    MountCallersMissing Error "auth.mount-callers-missing",
        "nothing says who may call this mount, proxy or fallback",
        "write `.auth(AuthRequirement::session())` or another requirement, or `.public()` for everybody: there, or as the default of its group or of the app";
    /// An authentication requirement of a layer.
    CallersOfLayer Error "auth.callers-of-layer",
        "a layer cannot say who may call: sessions, tokens and schemes belong to an app",
        "put the service into an app, `App::new(()).fallback(Fallback::new(router).auth(..))`, or behind a `Mount`";
    /// A ticket on a route with another method than GET.
    TicketMethod Error "auth.ticket-method",
        "a ticket is part of the address of a request, which any page can write, so only GET routes may take it",
        "remove `ticket` here, and take it on the `#[get(..)]` route that opens the stream or the WebSocket";
    /// `public` next to anything else.
    PublicNotAlone Error "auth.public-not-alone",
        "`public` admits everybody without credentials, so it cannot be combined with anything else",
        "remove `public`; `optional` also admits callers without a credential";
    /// `group` beside other words.
    GroupNotAlone Error "auth.group-not-alone",
        "`group` takes the requirement of the handler's group as it is, so it cannot be combined with anything else",
        "remove `group`, or everything beside it";
    /// A handler that inherits its requirement, where no level states one.
    GroupCallersMissing Error "auth.group-missing",
        "`#[auth(group)]` takes the requirement of the group or of the app, and neither states one",
        "write `.auth(AuthRequirement::session())` or another requirement for the group, or state it here, such as `#[auth(session)]`";
    /// A handler that requires less of its callers than its group states.
    LaxerThanGroup Warning "auth.laxer-than-group",
        "this handler admits callers that its group refuses: the requirement of a group counts for its mounts, proxies and the handlers with `#[auth(group)]`",
        "write `#[auth(group)]`, require as much here, or list the handler outside of the group";
    /// A type that does not implement `Scheme`.
    SchemeExpected Error "auth.not-a-scheme",
        "this is not an authentication scheme",
        "implement `policy_server::Scheme`, which authenticates requests";
    /// A custom scheme next to other credentials.
    SchemeNotAlone Error "auth.scheme-not-alone",
        "a custom scheme cannot be combined with other credentials",
        "write two routes, or let the scheme accept the other credential as well";
    /// A list without entries.
    RequirementEmpty Error "auth.requirement-empty",
        "an empty list requires nothing",
        "name what a caller needs, or remove the list";
    /// Issuers of tokens on a route that takes no tokens.
    IssuersWithoutToken Error "auth.issuers-without-token",
        "`issuers` restricts the issuers of tokens, but this route takes no tokens",
        "add `token` or `ticket`, or remove `issuers`";
    /// The name of an issuer that is no URL.
    IssuerInvalid Error "auth.issuer-invalid",
        "an issuer is named by its `https` URL, with a host in lower case and without user, query and fragment, or by `own` for the app itself",
        "copy it from `iss` of its tokens, such as `https://id.example`";
    /// A route that names an issuer that the app does not accept.
    IssuerNotAccepted Error "auth.issuer-not-accepted",
        "this route takes tokens of an issuer that the app does not accept",
        "accept it with `TokenSettings::accept(Issuer::new(..))`, by the same name; `own` is the app itself, if it signs tokens";
    /// A route that takes tokens and names no issuer, in an app with several and without own tokens.
    IssuersMissing Error "auth.issuers-missing",
        "this app signs no tokens and accepts several issuers, but this route does not say which of them it takes",
        "write `issuers = [\"https://id.example\"]`";
    /// An issuer that the app accepts, and whose tokens nothing takes.
    IssuerUnused Warning "auth.issuer-unused",
        "the app accepts this issuer, but no route names it, so its tokens are refused everywhere",
        "write `issuers = [\"https://id.example\"]` on routes that take its tokens, or remove `accept`";
    /// A scope that RFC 6749 does not allow.
    ScopeInvalid Error "auth.scope-invalid",
        "a scope is printable ASCII without spaces, `\"` and `\\`",
        "write a scope such as `orders:read`, each one in its own quotes";
    /// A role that is empty, or has control characters.
    RoleInvalid Error "auth.role-invalid",
        "a role has at least one character, and no control characters",
        "write a role such as `admin`";
    /// A scope or role that is listed twice.
    RequirementRepeated Warning "auth.requirement-repeated",
        "this is listed twice",
        "remove one of them";
    /// A maximum age of a login without a known unit.
    FreshMalformed Error "auth.fresh-malformed",
        "this is not a duration: a whole number and a unit, without a space",
        "write `90s`, `10m`, `8h` or `30d`";
    /// A maximum age of a login that is zero or longer than sessions last.
    FreshOutOfBounds Error "auth.fresh-out-of-bounds",
        "the maximum age of a login must be from one second to 365 days",
        "write a duration such as `10m`, or remove `fresh`";
    /// A required session that pages of other origins cannot send.
    CorsWithoutCredentials Error "auth.cors-without-credentials",
        "without `credentials`, browsers send no session cookie to another origin, so no page that this policy names could use the route",
        "list the origins and add `credentials`, or allow no other origin with `#[cors(none)]`";
    /// An accepted session that pages of other origins cannot send, on a route that also works without.
    CorsWithoutSession Warning "auth.cors-without-session",
        "without `credentials`, browsers send no session cookie to another origin, so pages that this policy names call the route without a session",
        "list the origins and add `credentials`, unless these pages send tokens or need no session";
    /// A principal on a route that authenticates nobody.
    PrincipalOfPublic Error "auth.principal-of-public",
        "a `public` route authenticates nobody, so there is no principal",
        "write `#[auth(session)]` or `#[auth(token)]`; to admit everybody, add `optional` and take `Option<Principal>`";
    /// A required principal on a route where credentials are optional.
    PrincipalOfOptional Error "auth.principal-of-optional",
        "an `optional` route admits callers without a credential, so there may be no principal",
        "take `Option<Principal>`, or remove `optional`";
    /// A principal, who is a user of this app, on a route for callers of other issuers.
    PrincipalOfOthers Error "auth.principal-of-others",
        "a `Principal` is a user of this app, and this route takes tokens of another issuer",
        "take a `Caller`, whose subject includes its issuer";
    /// A realm that cannot be written in a quoted string.
    RealmInvalid Error "auth.realm-invalid",
        "a realm is 1 to 256 ASCII characters without control characters, quotes and backslashes",
        "write a realm such as `api`";

    // `#[csrf]`: requests that other pages forge.

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
        "write `#[csrf(exempt = \"why\")]` on the handler, or keep the exemption to groups that have only mounts";
    /// A CSRF token in a layer, which has no sessions.
    CsrfTokenOfLayer Error "csrf.token-of-layer",
        "a layer has no sessions to which a CSRF token could be bound",
        "write `CsrfPolicy::Origin`, or put the service into an app with sessions";

    // `#[cache]`: what caches may do.

    /// A caching policy without directives.
    CacheUnsaid Error "cache.unsaid",
        "nothing here says what caches may do",
        "write `no_store`, `private` or `public`, or an age such as `max_age = 60`",
        builder "begin with `CachePolicy::no_store()`, `private()` or `public()`, or add an age such as `.max_age(60)`";
    /// `no_store` next to anything else.
    CacheNoStoreNotAlone Error "cache.no-store-not-alone",
        "a response that is not stored cannot be reused, so the other directives have no effect",
        "keep `no_store` alone, or remove it";
    /// `private` and `public`.
    CacheTwofold Error "cache.private-and-public",
        "`private` and `public` contradict each other",
        "keep `private` for responses to one user, or `public` for responses that are the same for everybody";
    /// Shared caching of responses that depend on the caller.
    CachePersonal Error "cache.personal-and-shared",
        "the responses depend on the caller, and this lets a cache serve them to others (RFC 9111 3.5)",
        "write `private`, or `no_store`; serve data that is the same for everybody from a separate route with `#[auth(public)]` and without a session";
    /// An age for responses that depend on the caller, without `private`.
    CacheAudienceUnsaid Warning "cache.personal-and-unsaid",
        "the responses depend on the caller, so without `private` they are revalidated before each use and the age has no effect",
        "add `private`";
    /// `immutable` next to `no_cache`.
    CacheImmutableAsked Error "cache.immutable-and-no-cache",
        "`no_cache` requires revalidation before each use, and `immutable` says that none is needed",
        "keep one of them";
    /// `immutable` without an age.
    CacheImmutableAge Error "cache.immutable-without-age",
        "`immutable` applies while a response is fresh, and without an age it never is",
        "add an age, such as `max_age = 31536000`",
        builder "add an age, such as `.max_age(31536000)`";
    /// A time for stale responses, without an age after which they are stale.
    CacheStaleAge Error "cache.stale-without-age",
        "without an age, no cache knows when a response becomes stale",
        "add one, such as `max_age = 60`",
        builder "add one, such as `.max_age(60)`";
    /// A time for stale responses, which another directive forbids to serve.
    CacheStaleAsked Error "cache.stale-and-revalidated",
        "`no_cache` and `must_revalidate` forbid caches to serve stale responses",
        "remove them, or this";
    /// `s_maxage` next to `private`.
    CacheSharedAgeOfPrivate Error "cache.shared-age-of-private",
        "this is the age for shared caches, and `private` keeps responses out of them",
        "write `max_age`";
    /// An age that is out of range.
    CacheAge Error "cache.age-out-of-bounds",
        "an age is a number of seconds from 0 to 2147483647",
        "write seconds, such as `3600` for an hour";
    /// `*` in `vary`.
    CacheVaryAny Error "cache.vary-any",
        "a response that varies by `*` is never reused",
        "name the request fields that the response depends on, or write `no_store`";
    /// An entry of `vary` that is not a field name.
    CacheVaryInvalid Error "cache.vary-invalid",
        "this is not a header name",
        "write a name such as `accept`";
    /// A field that `vary` lists twice.
    CacheVaryRepeated Warning "cache.vary-repeated",
        "this is listed twice",
        "remove one of them";
    /// A caching policy for a method whose responses no cache stores.
    CacheMethod Error "cache.method",
        "no cache stores the responses to this method (RFC 9110 9.2.3)",
        "remove `#[cache]` or write `no_store`; serve GET with a separate handler";
    /// A caching policy for QUERY, whose responses depend on the content of the request.
    CacheQuery Error "cache.query",
        "a cache that does not support QUERY may store the response under the address alone, and ignore the content of the request (RFC 10008 2.7)",
        "remove `#[cache]` or write `no_store`; for stored results name the address of a GET route in `Location` (RFC 10008 2.4)";
    /// A POST or PATCH without an age.
    CacheMethodAge Error "cache.method-without-age",
        "responses to POST and PATCH are stored only if they state an age (RFC 9110 9.3.3)",
        "add `max_age`, and let the handler set `Content-Location` on its response; or remove `#[cache]`";

    // `#[headers]` and `#[isolation]`: security headers, and which pages may load a response.

    /// A CSP without directives.
    CspEmpty Error "headers.csp-empty",
        "this has no directive, so it allows everything",
        "write one such as `default-src 'self'`, or leave `csp` out";
    /// A name that is not a directive.
    CspDirectiveUnknown Error "headers.csp-directive-unknown",
        "no directive has this name",
        "write one such as `script-src`, in lower case; sources follow their directive";
    /// A repeated directive, of which browsers use only the first.
    CspDirectiveRepeated Error "headers.csp-directive-repeated",
        "this directive is repeated, and browsers use only the first one",
        "write all of its sources after one name";
    /// A directive that needs a value and has none.
    CspDirectiveEmpty Error "headers.csp-directive-empty",
        "this directive has no value",
        "write `'none'` to allow nothing";
    /// A malformed source.
    CspSourceInvalid Error "headers.csp-source-invalid",
        "this is not a source",
        "write a host such as `https://cdn.example`, a scheme such as `data:`, or a keyword such as `'self'`; directives are separated by `;`";
    /// A keyword that browsers read as a host.
    CspKeywordUnquoted Error "headers.csp-keyword-unquoted",
        "without quotes, browsers read this as the name of a host",
        "write it in single quotes";
    /// Quotes around something that is neither a keyword nor a hash.
    CspKeywordUnknown Error "headers.csp-keyword-unknown",
        "this is neither a keyword nor a complete hash",
        "write a keyword such as `'self'`, or a hash such as `'sha256-..'` with 44 characters after `sha256-`; hosts and schemes have no quotes";
    /// A nonce that is always the same.
    CspNonceFixed Error "headers.csp-nonce-fixed",
        "a nonce that never changes protects nothing",
        "write `'nonce'`: each response gets its own";
    /// A source that has no effect in its directive.
    CspSourceMisplaced Error "headers.csp-source-misplaced",
        "this source has no effect in this directive",
        "remove it";
    /// `'none'` next to other sources, where browsers ignore it.
    CspNoneNotAlone Error "headers.csp-none-not-alone",
        "`'none'` next to other sources is ignored",
        "keep `'none'` alone, or remove it";
    /// `'strict-dynamic'` without a nonce or a hash.
    CspStrictDynamicAlone Error "headers.csp-strict-dynamic-alone",
        "with `'strict-dynamic'`, only a nonce or a hash allows a script, and there is none",
        "add `'nonce'`, or a hash";
    /// Inline scripts without a nonce or a hash.
    CspScriptsInline Warning "headers.csp-scripts-inline",
        "with this, anyone who can inject markup into the page can run scripts there",
        "use `'nonce'` for scripts of your own";
    /// Scripts from any host.
    CspScriptsOfAnybody Warning "headers.csp-scripts-of-anybody",
        "with this, scripts from any host can run in the page",
        "name the hosts, or use `'nonce'` and `'strict-dynamic'`";
    /// Both `frame` and `frame-ancestors`.
    FrameTwice Error "headers.frame-twice",
        "`frame-ancestors` in `csp` already sets this",
        "remove one of them";
    /// An empty list of origins that may embed the response.
    FrameEmpty Error "headers.frame-empty",
        "the list of origins is empty",
        "write `frame = none`, or name an origin such as `https://app.example.com`",
        builder "write `.frame(Frame::Nobody)`, or name an origin such as `https://app.example.com`";
    /// An unknown referrer policy.
    ReferrerUnknown Error "headers.referrer-unknown",
        "this is not a referrer policy",
        "write `no-referrer`, `same-origin`, `strict-origin`, `strict-origin-when-cross-origin`, `origin`, `origin-when-cross-origin` or `no-referrer-when-downgrade`";
    /// A referrer policy that sends the whole URL to every site.
    ReferrerWhole Warning "headers.referrer-whole",
        "this sends the path and query of the page to every site, even without `https`",
        "write `strict-origin-when-cross-origin`";
    /// An entry of `permissions` that browsers would not understand.
    PermissionInvalid Error "headers.permission-invalid",
        "this is not a feature with its allowlist",
        "write `camera=()` to allow no origin, `camera=(self)`, or `camera=(self \"https://a.example\")`";
    /// A feature that is listed twice.
    PermissionRepeated Error "headers.permission-repeated",
        "this feature is listed twice",
        "remove one of them";
    /// An unknown value of `coop`.
    CoopUnknown Error "headers.coop-unknown",
        "this is not a value of Cross-Origin-Opener-Policy",
        "write `same-origin`, `same-origin-allow-popups`, `noopener-allow-popups` or `unsafe-none`";
    /// An unknown value of `coep`.
    CoepUnknown Error "headers.coep-unknown",
        "this is not a value of Cross-Origin-Embedder-Policy",
        "write `require-corp`, `credentialless` or `unsafe-none`";
    /// An unknown value of `corp`.
    CorpUnknown Error "headers.corp-unknown",
        "this is not a value of Cross-Origin-Resource-Policy",
        "write `same-origin`, `same-site` or `cross-origin`";
    /// A `corp` that blocks pages which JSONP allows.
    CorpOfShared Error "headers.corp-of-shared",
        "`#[jsonp]` lets pages of other origins load these responses as scripts, but this forbids it",
        "write `cross-origin`, or remove `corp`";
    /// An HSTS time that is out of range.
    HstsOutOfBounds Error "headers.hsts-out-of-bounds",
        "the time is a number of seconds from 0 to 2147483647",
        "write `hsts = 31536000` for a year",
        builder "write `.hsts(31536000)` for a year";
    /// A `preload` that does not meet the requirements of the preload list.
    HstsPreload Error "headers.hsts-preload",
        "the preload list of browsers requires at least a year, and all subdomains",
        "write `include_subdomains, preload`, and no `hsts` below 31536000",
        builder "write `.include_subdomains().preload()`, and no `.hsts(..)` below 31536000";
    /// A nonce in responses that a cache may serve to many users.
    HeadersNonceShared Error "headers.nonce-shared",
        "a cache would serve the same nonce to everybody, and anyone who knows it can inject scripts",
        "write `#[cache(private)]` or `#[cache(no_store)]`, or allow scripts by their hash";

    // `#[limit]`: sizes, times, rates and concurrency.

    /// A malformed size.
    LimitBodyMalformed Error "limit.body-malformed",
        "this is not a size: a whole number and one of the units B, kB, MB, GB, KiB, MiB and GiB",
        "write a size such as `64 KiB` or `1 MiB`";
    /// A size that is zero or too large to count.
    LimitBodyOutOfBounds Error "limit.body-out-of-bounds",
        "the limit of a body must be at least one byte, and less than 2^64",
        "write a size such as `1 MiB`; a body that the handler does not read needs no limit";
    /// A malformed time-out.
    LimitTimeoutMalformed Error "limit.timeout-malformed",
        "this is not a duration: a whole number and one of the units ms, s and m, without a space",
        "write a duration such as `500ms`, `5s` or `2m`";
    /// A time-out that is zero or too long.
    LimitTimeoutOutOfBounds Error "limit.timeout-out-of-bounds",
        "the time-out must be longer than zero, and at most a day",
        "write a duration such as `5s`";
    /// A malformed rate.
    LimitRateMalformed Error "limit.rate-malformed",
        "this is not a rate: a whole number and one of `/s`, `/min`, `/h` and `/d`, optionally with `per address` or `per principal`",
        "write a rate such as `100/min`, `100/min per address` or `100/min per principal`";
    /// A rate that is zero or too large to count.
    LimitRateOutOfBounds Error "limit.rate-out-of-bounds",
        "a rate must be from 1 to 4294967295 requests",
        "write a rate such as `100/min`; remove a route that nobody may call";
    /// A rate per principal on a route that authenticates nobody.
    LimitRateOfNobody Error "limit.rate-of-nobody",
        "a `public` route authenticates nobody, so there is no principal to count",
        "write `per address`, or let `#[auth]` require credentials";
    /// A concurrency of zero.
    LimitConcurrencyZero Error "limit.concurrency-zero",
        "with a concurrency of zero, no request is ever served",
        "write one or more, such as `concurrency = 64`";
    /// A malformed size of a message.
    LimitMessageMalformed Error "limit.message-malformed",
        "this is not a size: a whole number and one of the units B, kB, MB, GB, KiB, MiB and GiB",
        "write a size such as `64 KiB` or `1 MiB`";
    /// A size of a message that is zero or too large to count.
    LimitMessageOutOfBounds Error "limit.message-out-of-bounds",
        "the limit of a message must be at least one byte, and less than 2^64",
        "write a size such as `256 KiB`";
    /// A malformed time of silence.
    LimitSilenceMalformed Error "limit.silence-malformed",
        "this is not a duration: a whole number and one of the units ms, s and m, without a space",
        "write a duration such as `30s` or `5m`";
    /// A time of silence that is zero or too long.
    LimitSilenceOutOfBounds Error "limit.silence-out-of-bounds",
        "the time of silence must be longer than zero, and at most a day",
        "write a duration such as `1m`; the server sends a ping after half of this time";
    /// A number of WebSockets that is zero.
    LimitSocketsZero Error "limit.sockets-zero",
        "with a limit of zero, no WebSocket is ever opened",
        "write one or more, such as `sockets = 1000`; remove the route if it opens none";
    /// A malformed rate of misses.
    LimitMissesMalformed Error "limit.misses-malformed",
        "this is not a rate of misses: a whole number and one of `/s`, `/min`, `/h` and `/d`",
        "write a rate such as `20/min`; it counts per principal, and else per client address";
    /// A rate of misses that is zero or too large to count.
    LimitMissesOutOfBounds Error "limit.misses-out-of-bounds",
        "a rate of misses must be from 1 to 4294967295 requests",
        "write a rate such as `20/min`: with none at all, one outdated link would lock a caller out";
    /// Shared limits without a store for them.
    LimitStoreMissing Error "limit.store-missing",
        "shared limits are counted in the session store, but this app has none that several instances can share",
        "keep the sessions in PostgreSQL or Redis, or write `SharedLimits::store(..)` with such a store; one instance needs no shared limits";
    /// A rate, or a number of WebSockets per caller, in a layer of another server, which states the peer
    /// in its own way.
    RateOfLayer Error "limit.rate-of-layer",
        "a layer does not know the addresses of clients: all clients would share one rate, or count as one caller",
        "provide the address with `PolicyLayerBuilder::peer`, or put the service into an app";

    // `#[jsonp]`: public data as scripts, for pages of any origin.

    /// JSONP without a query parameter for the name of the function.
    JsonpParameterMissing Error "jsonp.parameter-missing",
        "the query parameter that names the function to call is missing",
        "write `callback = \"callback\"`",
        builder "write `JsonpPolicy::callback(\"callback\")`";
    /// A parameter name that has to be percent-encoded.
    JsonpParameterName Error "jsonp.parameter-name",
        "the name of this parameter can have only letters, digits, `-`, `.`, `_` and `~`",
        "write the name that partners send, such as `callback`";
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

    // How attributes are written.

    /// Tokens that cannot be parsed.
    Malformed Error "syntax.malformed",
        "this cannot be parsed",
        "write it as in the documentation of the attribute";
    /// A word that the attribute does not know.
    UnknownWord Error "syntax.unknown-word",
        "unknown word",
        "write a word that the attribute accepts";
    /// A name before `=` that the attribute does not know.
    UnknownArgument Error "syntax.unknown-argument",
        "unknown argument",
        "write an argument that the attribute accepts";
    /// A name without `=` and a value.
    ValueMissing Error "syntax.value-missing",
        "this needs a value",
        "write `=` and a value";
    /// A word with `=` and a value.
    ValueUnwanted Error "syntax.value-unwanted",
        "this takes no value",
        "write the word alone, or remove it";
    /// An argument that is given twice.
    ArgumentRepeated Error "syntax.argument-repeated",
        "this is given twice",
        "remove one of them";
    /// Something else than a list.
    ListExpected Error "syntax.list-expected",
        "a list is expected here",
        "write it in brackets, with commas between its entries";
    /// A list with something else than literals.
    LiteralsExpected Error "syntax.literals-expected",
        "a list of string literals is expected here",
        "write every entry in quotes";
    /// Something else than a string literal.
    StringExpected Error "syntax.string-expected",
        "a string literal is expected here",
        "write it in quotes";
    /// Something else than a number of seconds.
    SecondsExpected Error "syntax.seconds-expected",
        "a literal number of seconds is expected here",
        "write seconds, such as `600`";
    /// Something else than a number.
    NumberExpected Error "syntax.number-expected",
        "a whole number below 2^32 is expected here",
        "write a number, such as `64`";
    /// An attribute without arguments.
    AttributeEmpty Error "syntax.attribute-empty",
        "this attribute is empty",
        "add its arguments, or remove it";
    /// Two words that exclude each other.
    OneWordExpected Error "syntax.one-word-expected",
        "only one of these words can apply to a route",
        "remove all but one";
    /// The name of a policy beside its parts.
    PolicyNotAlone Error "syntax.policy-not-alone",
        "the name of a policy cannot be combined with other arguments: nothing is merged into it",
        "write all parts of a policy here, or only the name of a policy that has them all";
    /// An expression that is not the name of a policy.
    PolicyNameExpected Error "syntax.policy-name-expected",
        "this is not the name of a policy",
        "write the name of a constant that is a policy";
    /// Alternative credentials with a comma between them.
    CallersNotJoined Error "syntax.callers-not-joined",
        "alternative credentials are joined by `|`",
        "write `session | token`";
    /// `config` without a name.
    ConfigName Error "syntax.config-name",
        "`config` needs the name of the list",
        "write `config(\"partners\")`, and give the list to the app with `App::origins`";
    /// `config` with something that it does not take.
    ConfigArgument Error "syntax.config-argument",
        "`config` takes the name of a list, a bound for it, and the parameter of the path that chooses it",
        "write `config(\"partners\", within = [\"https://*.example.com\"])`, or `config(\"tenants\", by = \"tenant\", within = [..])`";
    /// `#[cors = ..]`.
    ParenthesesMissing Error "syntax.parentheses-missing",
        "the arguments of an attribute are written in parentheses",
        "write `#[name(..)]`";
    /// An attribute that a route has twice.
    AttributeRepeated Error "syntax.attribute-repeated",
        "this route has this attribute twice",
        "write one; the nearest level replaces the outer ones, and nothing is merged";
    /// A policy without a route.
    RouteAttributeMissing Error "syntax.route-attribute-missing",
        "this does nothing here: there is no route attribute below it",
        "write one, such as `#[get(\"/path\")]`; renamed imports of it are not recognised";
    /// `routes![..]` with something else than names.
    RoutesEntry Error "syntax.routes-entry",
        "a list of routes can contain only names of handlers",
        "write `routes![one, module::two]`";
    /// A route attribute without a path.
    PathMissing Error "syntax.path-missing",
        "a route needs a path",
        "write one, such as `#[get(\"/path\")]`";
    /// A route attribute with two paths.
    PathRepeated Error "syntax.path-repeated",
        "a route attribute has one path",
        "write a second attribute for the second path";
    /// An id of an operation that generators of clients cannot make a name of.
    OperationId Error "syntax.operation-id",
        "the id of an operation is a name",
        "write a name such as `id = \"list_orders\"`, of letters, digits and underscores";
    /// `#[route]` without a method.
    MethodMissing Error "syntax.method-missing",
        "a route needs a method",
        "write `#[route(PURGE, \"/path\")]`: methods, then the path";
    /// A method that is neither a name nor a string.
    MethodExpected Error "syntax.method-expected",
        "a method is a name or a string literal",
        "write `#[route(PURGE, \"/path\")]`: methods, then the path";
    /// A method in lower case.
    MethodCase Error "syntax.method-case",
        "methods are case-sensitive, and the standard ones are in upper case",
        "write it in upper case, or in quotes if the method has exactly this name";
    /// A path parameter in the syntax of another framework.
    ParameterStyle Error "syntax.parameter-style",
        "this is not a parameter, but fixed text",
        "a parameter is written `{name}` here, and the rest of a path `{*name}`";
    /// `policy_tests!` in tests, without the feature that it needs.
    TestingOff Error "syntax.testing-off",
        "tests of policies need the feature `testing` of policy-server, which is off",
        "write `policy-server = { version = \"0.1\", features = [\"testing\"] }` below `[dev-dependencies]` in Cargo.toml";

    // Paths and methods.

    /// A path that does not begin with `/`.
    PathStart Error "route.path-start",
        "a path begins with `/`",
        "add a `/` in front";
    /// A byte that a path cannot have.
    PathByte Error "route.path-byte",
        "a path segment has only letters, digits and the characters `-._~!$&'()*+,;=:@`; a query is not part of a path",
        "remove the other characters; a parameter also matches percent-encoded segments";
    /// `//`, `.` or `..`.
    PathSegment Error "route.path-segment",
        "a path has no empty segments and no `.` or `..`",
        "write the path as clients send it after resolving them";
    /// A malformed parameter.
    PathParameter Error "route.path-parameter",
        "a parameter is a whole segment: `{name}`, or `{*name}` for the rest of the path",
        "write `/users/{id}`, and parse the rest of the segment in the handler; `{id:slashes}` accepts encoded slashes";
    /// `{*rest}` before the end.
    PathRest Error "route.path-rest",
        "`{*name}` takes the rest of the path, so nothing can follow it",
        "move it to the end";
    /// One name for two parameters.
    PathParameterRepeated Error "route.path-parameter-repeated",
        "two parameters of this path have the same name",
        "rename one of them";
    /// A prefix that is empty, has parameters or ends with `/`.
    PathPrefix Error "route.path-prefix",
        "a prefix cannot be empty, have parameters or end with `/`",
        "write a prefix such as `/api`; without a prefix, use `App::routes` or `App::fallback`";
    /// A route that requires more of its callers than a mount or proxy above it.
    GuardedBelow Warning "route.guarded-below",
        "this route requires more of its callers than a prefix above it: a service there that folds case, cuts `;` or ignores a trailing slash could bypass it",
        "require as much for the mount or proxy, or add `.exact_paths()` to it if its service never serves one resource under two paths";
    /// Two routes for the same requests.
    RouteConflict Error "route.conflict",
        "another route matches the same requests",
        "change the path or the method of one of them";
    /// A route for methods that are not for handlers.
    RouteMethod Error "route.method",
        "a handler cannot serve this method",
        "write another method; the server handles CONNECT and TRACE itself";

    // Handlers: what they look like, and how they end.

    /// A route attribute on a struct, for instance.
    HandlerFunction Error "handler.not-a-function",
        "this attribute is not on a function",
        "write it on an `async fn`";
    /// A function that is not `async`.
    HandlerAsync Error "handler.not-async",
        "a handler must be `async`",
        "write `async fn`";
    /// An `unsafe` function.
    HandlerUnsafe Error "handler.unsafe",
        "a handler cannot be `unsafe`",
        "use an `unsafe` block inside of it";
    /// A type parameter, a lifetime or an `impl Trait`.
    HandlerGeneric Error "handler.generic",
        "a handler cannot be generic",
        "write concrete types; a request cannot choose them";
    /// A `where` clause.
    HandlerWhere Error "handler.where-clause",
        "a handler cannot have a `where` clause",
        "remove it";
    /// A function with `self`.
    HandlerMethod Error "handler.method",
        "a handler is a function, not a method",
        "move it out of the `impl`, and take what it needs as `State<..>`";
    /// Two paths with different parameters.
    HandlerPaths Error "handler.paths-differ",
        "the paths of one handler must have the same parameters in the same order",
        "write a separate handler for each path";
    /// A parameter of the path that no argument takes.
    ParameterNotTaken Error "handler.parameter-not-taken",
        "no argument takes this path parameter",
        "add an argument with this name";
    /// More parameters of a path than can be taken.
    ParametersTooMany Error "handler.parameters-too-many",
        "the path has more parameters than a handler can take",
        "take the rest of the path as `{*rest}`, and split it in the handler";
    /// More arguments than can be extracted.
    ArgumentsTooMany Error "handler.arguments-too-many",
        "the handler has more arguments than can be extracted",
        "put several extractors into one tuple argument, such as `(method, headers): (Method, HeaderMap)`";
    /// An argument below `#[cfg]`.
    ArgumentConditional Error "handler.argument-conditional",
        "an argument of a handler cannot be conditional",
        "write two handlers, each below its own `#[cfg]`";
    /// An argument that is a reference.
    ArgumentBorrowed Error "handler.argument-borrowed",
        "an argument of a handler cannot be a reference",
        "take an owned value, such as `String` instead of `&str`";
    /// An extractor that reads what only axum's router leaves in a request.
    ExtractorOfAxum Error "handler.extractor-of-axum",
        "this extractor works only in axum's own router, and would be empty here",
        "name each parameter as an argument, such as `id: u64` for `{id}`";
    /// An argument of a type that cannot be extracted.
    ExtractorExpected Error "handler.not-an-extractor",
        "this is not an extractor",
        "name it in the path, or implement `FromRequestParts` or `FromRequest`";
    /// A part of the state that the state of the app does not have.
    StatePart Error "handler.state-part",
        "the state of this app has no such part",
        "pass it to `App::new(..)`, or implement `FromRef` of the app's state for it";
    /// An argument that reads the body, before the last one.
    BodyNotLast Error "handler.body-not-last",
        "an argument that reads the body must be the last one",
        "move it to the end of the arguments";
    /// Two arguments that read the body.
    BodyTwice Error "handler.body-twice",
        "two arguments read the body, which can be read only once",
        "take one, such as `Json<T>` with all fields in `T`";
    /// A body of GET or HEAD: RFC 9110 9.3.1 gives it no meaning.
    BodyOfGet Warning "handler.body-of-get",
        "this reads the body of a GET request: browsers refuse to send one, and proxies may drop it",
        "take `Query<T>`, or write `#[post(..)]`, or `#[query(..)]` for a query in the body";
    /// A parameter of a type that cannot be parsed.
    ParameterType Error "handler.parameter-type",
        "this cannot be parsed from a path segment",
        "use a type that implements `FromStr`, or implement `policy_server::FromParam`";
    /// A return type that is not a response.
    ResponseExpected Error "handler.not-a-response",
        "this cannot be converted to a response",
        "return a `Response`, `String`, `StatusCode`, `Json<T>` of a `T: Serialize`, a tuple that ends with one of them, such as `(StatusCode, Json<T>)`, or a `Result` of two of them, such as `Result<T, Problem>`";
    /// An error of others that is returned with `?` as a `Problem`.
    ErrorConvertible Error "handler.error-not-a-problem",
        "this error cannot be converted to a response",
        "write `.or_internal()?` to log it and respond with 500, or return an error type of your own, and implement `From` of it for `Problem`";
    /// An argument of `#[layer]`, or of a group, that cannot wrap a handler.
    LayerExpected Error "handler.not-a-layer",
        "this is not a layer for a handler",
        "write a `tower::Layer<SharedService>` whose service takes a `Request` and is `Clone + Send + Sync`";
    /// An entry of a list that is not a handler, or a handler for another state.
    HandlerExpected Error "handler.not-a-handler",
        "this is not a handler for the state of this app",
        "list functions that have a route attribute, such as `#[get(\"/path\")]`";
    /// `Valid` around a type that cannot be validated.
    ValidateExpected Error "handler.not-validated",
        "this type cannot be validated",
        "implement `policy_server::extract::Validate`, or take the extractor without `Valid`";

    // `#[object]`, `#[rule]` and `derive(Object)`: rights on objects.

    /// A route that knows its caller and takes a parameter of the path without an object.
    ObjectUnchecked Error "object.unchecked",
        "nothing checks whether this caller may have what this path parameter names",
        "take the object in its place, such as `order: Allowed<Order, View>`, or state why that is not needed: `#[object(none = \"..\")]`";
    /// An exemption without a reason.
    ObjectReasonMissing Error "object.reason-missing",
        "the route states no reason for taking path parameters without an object",
        "write it for the reviewer, as in `#[object(none = \"every member of the company may read every board\")]`";
    /// An exemption on a route that needs none.
    ObjectReasonUnused Error "object.reason-unused",
        "no path parameter, body or query of this route needs the exemption",
        "remove `#[object(none = \"..\")]`";
    /// A malformed interval of checks.
    ObjectRecheckMalformed Error "object.recheck-malformed",
        "this is not a duration: a whole number and one of the units ms, s and m, without a space",
        "write a duration such as `10s` or `5m`";
    /// An interval of checks that is zero or too long.
    ObjectRecheckOutOfBounds Error "object.recheck-out-of-bounds",
        "the time between two checks must be longer than zero, and at most a day",
        "write a duration such as `10s`; without one, objects are checked every minute";
    /// An interval of checks where nothing is checked.
    ObjectRecheckUnused Error "object.recheck-unused",
        "no path parameter of this route is an object that could be checked again",
        "take the object, such as `order: Allowed<Order>`, or remove `recheck`";
    /// An object argument that no parameter of the path names.
    ObjectWithoutParameter Error "object.without-parameter",
        "no path parameter is left for this object",
        "add one to the path, such as `{id}`";
    /// An object that is loaded under another one, which the path does not name before it.
    ObjectParent Error "object.parent-missing",
        "this object is loaded under its parent, which no argument before it takes",
        "take the parent as the argument before it, with its own path parameter";
    /// An action without a rule.
    ObjectRuleMissing Error "object.rule-missing",
        "the object has no rule for this action",
        "write `#[rule(.. = ..)]` at the object, with the action and its condition";
    /// A list by a rule that no database can decide.
    ObjectListOpaque Error "object.list-opaque",
        "no list can be filtered by the object's rule for this action",
        "write the rule without `with(..)` and `engine`, and name the table of `members`";
    /// A type that is no struct with named fields.
    ObjectStruct Error "object.not-a-struct",
        "`Object` can be derived for a struct with named fields and without parameters only",
        "write a struct with a field for its key";
    /// An object without a key, or with two.
    ObjectKey Error "object.key",
        "an object has exactly one field that is its key",
        "write `#[object(key)]` at the field that the path names";
    /// An object without a rule for `View`.
    ObjectView Error "object.view-missing",
        "the object has no rule for `View`, which decides whether its existence is shown",
        "write `#[rule(View = ..)]`, such as `#[rule(View = owner | same(tenant))]`";
    /// Two rules for one action.
    ObjectRuleTwice Error "object.rule-repeated",
        "the object already has a rule for this action",
        "join the two conditions with `|` or `&`";
    /// A field that is marked twice, or as something that its type is not.
    ObjectField Error "object.field",
        "this is no mark of a field",
        "write one of `key`, `owner`, `tenant`, `members`, `flag` and `version`, and `column = \"..\"` beside it";
    /// A condition that does not parse.
    ConditionMalformed Error "object.condition-malformed",
        "this is no condition",
        "join conditions such as `owner`, `same(tenant)` and `role(\"lead\")` with `&`, `|`, `!` and parentheses";
    /// A word that is no condition.
    ConditionUnknown Error "object.condition-unknown",
        "there is no condition of this name",
        "write `owner`, `same(tenant)`, `member(..)`, `role(\"..\")`, `scope(\"..\")`, `with(..)`, `engine` or the name of a flag";
    /// A condition about a field that the object does not have, or that is of another kind.
    ConditionField Error "object.condition-field",
        "the object has no such field for conditions",
        "mark the field with `#[object(owner)]`, `#[object(tenant)]`, `#[object(members)]` or `#[object(flag)]`";
    /// A condition that is longer or deeper than conditions may be.
    ConditionTooLarge Error "object.condition-too-large",
        "the condition has over 24 statements, or is nested over 15 deep",
        "write a part of it as a function: `with(..)`";
    /// Two object types of one name in an app.
    ObjectNameTwice Error "object.name-repeated",
        "two object types of the app have this name, under which manifests list their rules",
        "state another name for one of them: `#[object(name = \"..\")]`";
    /// A rule that asks the engine of an app that has none.
    EngineMissing Error "object.engine-missing",
        "this rule asks the engine of the app, which has none",
        "state it by `App::engine`, or write the rule without `engine`";
    /// An engine that cannot decide about the objects of its app.
    EngineInvalid Error "object.engine-invalid",
        "the engine cannot decide about the objects of the app",
        "correct its policies, or the fields and actions of the objects that they name";
    /// An engine that no rule asks.
    EngineUnused Warning "object.engine-unused",
        "no rule of an object asks this engine",
        "remove `App::engine`, or write `engine` in the rules that it decides, such as `#[rule(Edit = owner | engine)]`";

    // `derive(Problems)`: the errors of an app.

    /// A struct or a union, or an enum with type parameters or lifetimes.
    ProblemsEnum Error "problem.not-an-enum",
        "`Problems` can be derived for an enum without parameters only",
        "write an enum with a variant for each error, or implement `From` of the type for `Problem`";
    /// A variant that does not say as which problem it is sent.
    ProblemMissing Error "problem.status-missing",
        "this variant has no status",
        "write `#[problem(404)]`, `#[problem(internal)]` to log its error and respond with 500, or `#[problem(transparent)]` to send its error as its own type says";
    /// A status that is not the status of an error (RFC 9110 15).
    ProblemStatus Error "problem.status-invalid",
        "the status of a problem is a number from 400 to 599",
        "write the status of an error, such as `409`";
    /// A code of another form than those of the framework.
    ProblemCode Error "problem.code-invalid",
        "a code is an area, a dot, and words with hyphens, in lower case",
        "write a code such as `orders.sold-out`";
    /// A code of the framework's own, which clients would take for its refusal.
    ProblemCodeTaken Error "problem.code-taken",
        "this is a code of the framework",
        "write a code whose first word is an area of your service, or the framework's own error in a variant with `#[problem(transparent)]`";
    /// One code for two problems: clients decide by the code.
    ProblemCodeRepeated Error "problem.code-repeated",
        "this code already stands for a problem with another status or title",
        "write the same status and title, or another code";
    /// A variant whose one field would be the error, with no field or several.
    ProblemField Error "problem.field-expected",
        "this needs a variant with exactly one field: the error",
        "write a variant such as `Storage(std::io::Error)`";
    /// A status, code, title or member of a problem that something else decides.
    ProblemDecided Error "problem.decided",
        "the framework, or the type of its error, decides as which problem this variant is sent",
        "remove it, or state the status of the variant instead";
    /// A member without a name, or with a name that has another meaning (RFC 9457 3.1).
    ProblemMember Error "problem.member-name",
        "a member needs a name of its own, and not `type`, `title`, `status`, `code`, `detail` or `instance`",
        "name the field, or write the name, such as `#[problem(member = \"order\")]`";
    /// An error in a `transparent` variant whose type does not list its problems.
    ProblemsUndeclared Error "problem.undeclared",
        "this type does not declare its problems",
        "write `#[derive(Problems)]` on it, or `#[problem(internal)]` to log the error and respond with 500";

    // Sessions and cookies.

    /// A time of the session settings that is zero.
    SessionTimeZero Error "session.time-zero",
        "a time of sessions must be longer than zero",
        "write a time such as `minutes(15)`";
    /// An idle time over the absolute one.
    SessionIdle Error "session.idle-over-absolute",
        "a session cannot be idle for longer than it lasts",
        "set `idle` to at most `absolute`";
    /// A touch interval that is too long for the idle time.
    SessionTouchInterval Error "session.touch-interval",
        "the last use of a session would be recorded too rarely for its idle time",
        "set `touch_interval` to at most a quarter of `idle`";
    /// A remembered session that lasts longer than cookies do.
    SessionRemembered Error "session.remembered-too-long",
        "no browser keeps a cookie longer than 400 days",
        "write at most `days(400)`";
    /// A renewal interval that is shorter than its grace period.
    SessionRenewal Error "session.renewal-grace",
        "a session id would be replaced while the previous one is still accepted",
        "use a grace period of seconds, and a renewal interval of minutes or more";
    /// A limit of zero sessions per user.
    SessionLimitZero Error "session.limit-zero",
        "with a limit of zero sessions, nobody could log in",
        "allow at least one session per user";
    /// A login page that is not a path of the app.
    SessionLoginPage Error "session.login-page",
        "the login page is not a path of this app",
        "write a path such as `/login`";
    /// A session cookie that browsers reject.
    SessionCookie Error "session.cookie",
        "browsers would reject the session cookie",
        "use the defaults for name, domain and SameSite, or correct the value that is named";
    /// Pages of another site on a route for which only a session counts, without `SameSite=None`.
    SessionSameSite Error "session.same-site",
        "its pages are on another site than the public origin, so browsers send no session cookie with their requests, and this route refuses requests without one",
        "serve the pages below the domain of the public origin, or let them send tokens (`session | token`), or state `Sessions::..same_site(SameSite::None)`, or grant this origin on other routes only; `policy_server::guide::cross_site` compares these";
    /// Pages of another site on a route that also works without a session.
    SessionWithheld Warning "session.withheld",
        "its pages are on another site than the app, so browsers send no session cookie with their requests: they call this route without a session, and cannot begin one",
        "let these pages send tokens, or state `Sessions::..same_site(SameSite::None)`; `policy_server::guide::cross_site` compares these";
    /// A partitioned cookie that is only sent where it need not be partitioned.
    SessionPartitioned Error "session.partitioned",
        "a partitioned cookie is for pages of other sites, but with this SameSite browsers never send it with their requests",
        "state `same_site(SameSite::None)` as well, or remove `partitioned()`";
    /// A store without its feature.
    SessionFeature Error "session.feature-off",
        "this store needs a feature of policy-server that is off",
        "write `policy-server = { version = \"0.1\", features = [..] }` in Cargo.toml, with the feature that is named";
    /// Encryption without a key.
    SessionKeyMissing Error "session.key-missing",
        "there is no key to encrypt sessions with",
        "generate one with `openssl rand -hex 32`, and pass it to `SecretKey::decode`";
    /// A URL that names no store.
    SessionStoreUrl Error "session.store-url",
        "this URL names no store",
        "write `postgres://user:password@host/database`, `redis://user:password@host/`, `redb:path` with the path of a file, or `memory:`";
    /// Tokens of an app that moves its sessions, without a store of their own.
    TokensOfMoving Error "session.tokens-of-moving",
        "sessions move to another store, but nothing says which store has the tokens: in the new one, refresh tokens would be unknown, and revoked tokens valid",
        "name the store of the tokens with `TokenSettings::store`";

    // Access and refresh tokens, and the keys that sign them.

    /// An empty issuer.
    TokenIssuer Error "token.issuer-empty",
        "the issuer of tokens cannot be empty",
        "write a name for their signer, such as the origin of a service";
    /// An empty audience.
    TokenAudience Error "token.audience-empty",
        "the audience of tokens cannot be empty",
        "write the origin of the service, or remove `audience`";
    /// A lifetime that is zero, or longer than tokens are accepted.
    TokenLifetime Error "token.lifetime",
        "the lifetime of a token must be at least a second, and at most the longest that is accepted",
        "make `lifetime` shorter, or `max_lifetime` longer";
    /// A leeway that makes expiry meaningless.
    TokenLeeway Error "token.leeway",
        "a leeway must be at most 300 seconds",
        "synchronise the clocks of the servers, and write 300 or less";
    /// A staleness that is shorter than the interval between two synchronisations.
    TokenStaleness Error "token.staleness",
        "revocations are fetched every second, so the fetched ones are often older than this",
        "write two seconds or more";
    /// A grace period so long that a stolen refresh token could be used in it.
    TokenRefreshGrace Error "token.refresh-grace",
        "the grace period of a used refresh token must be at most a minute, and at most the lifetime of its family",
        "write a few seconds, enough for a second tab or a repeated request";
    /// An invalid type of tokens.
    TokenType Error "token.type",
        "the type of tokens must be a media type in lower case, without parameters and without `application/`",
        "write a type such as `at+jwt`";
    /// A maximum length that is too short for a token, or too long to be a limit.
    TokenLength Error "token.length",
        "the maximum length of a token must be from 256 to 16384 bytes",
        "write a length such as `4096`";
    /// An empty list of algorithms.
    TokenAlgorithms Error "token.algorithms-missing",
        "at least one algorithm must be allowed",
        "name the algorithms of the keys";
    /// An invalid key id.
    KeyId Error "token.key-id",
        "a key id has 1 to 64 of the characters `A-Z a-z 0-9 . _ -`; the id of a public key has 1 to 128 visible ASCII characters without `\"` and `\\`",
        "write an id such as `2026-01`";
    /// Two keys with one id.
    KeyRepeated Error "token.key-repeated",
        "two keys have the same id",
        "give each key its own id";
    /// Another key under the id of one that is in use.
    KeyIdReused Error "token.key-id-reused",
        "another key with this id is in use",
        "give the new key its own id: the old one verifies until its tokens have expired, and a compromised one has to be revoked by its id";
    /// A key ring without keys.
    KeysMissing Error "token.keys-missing",
        "a key ring needs at least one key",
        "add the key that signs, such as the output of `openssl rand -hex 32`";
    /// Bytes or text without a key of the algorithm.
    KeyEncoding Error "token.key-encoding",
        "this is not a key of this algorithm in a supported encoding",
        "write private keys as PKCS #8 and public ones as SPKI, as DER or PEM";
    /// A secret that is short enough to guess.
    SecretTooShort Error "token.secret-too-short",
        "a key must have at least 32 bytes",
        "generate one with `openssl rand -hex 32`";
    /// A secret of equal bytes.
    SecretConstant Error "token.secret-constant",
        "all bytes of this key are equal",
        "generate one with `openssl rand -hex 32`";
    /// A secret that is text in place of random bytes.
    SecretGuessable Error "token.secret-guessable",
        "this key is text, not random bytes",
        "generate 32 random bytes, and pass their encoding to `SecretKey::decode`";
    /// A secret in an unknown encoding.
    SecretEncoding Error "token.secret-encoding",
        "an encoded key must be hexadecimal, base64 or base64url",
        "write what `openssl rand -hex 32` or `openssl rand -base64 32` prints";
    /// Keys that are drawn at each start, in an app that others can reach.
    KeysOfDevelopment Error "token.keys-of-development",
        "these keys are generated at each start: no token outlives a restart, and no other instance accepts it",
        "make a file by `echo \"k1 $(openssl rand -base64 32)\" > token.keys`, and read it by `TokenKeys::read(\"token.keys\")`";
    /// A file of keys that cannot be read.
    KeyFile Error "token.key-file-unreadable",
        "this file of keys cannot be read",
        "write the path of a file that this program may read, relative to its working directory";
    /// A malformed line of a key file.
    KeyLine Error "token.key-line",
        "a line is a key id, a space, and the key or `revoked`",
        "write an id such as `2026-01`, a space, and the output of `openssl rand -hex 32`";
    /// An issuer name with control characters.
    IssuerName Error "token.issuer-name",
        "the name of an issuer has no control characters",
        "copy it from `iss` of its tokens";
    /// Two issuers with one name.
    IssuerRepeated Error "token.issuer-repeated",
        "another issuer, or the app itself, has this name",
        "name each issuer once";
    /// An issuer without keys.
    IssuerKeysMissing Error "token.issuer-keys-missing",
        "nothing here says where the keys of this issuer are",
        "add `jwks` with the address of its key set, or `keys`";
    /// An issuer with symmetric keys.
    IssuerSecret Error "token.issuer-secret",
        "anyone who verifies with a secret can also sign with it, so keys of other issuers must be public keys",
        "let the issuer sign with ES256, Ed25519 or RS256";
    /// An address from which keys cannot be fetched safely.
    IssuerAddress Error "token.issuer-address",
        "keys are fetched from an `https` address, or in the development profile from this machine",
        "write an address such as `https://id.example/.well-known/jwks.json`, or in the development profile `http://localhost/..`";

    // Certificates and keys of the server.

    /// A certificate or key file that cannot be read.
    TlsFile Error "tls.file-unreadable",
        "this file cannot be read",
        "write the path of a PEM file that this program may read, relative to its working directory";
    /// A file without a certificate.
    TlsCertificate Error "tls.certificate-missing",
        "there is no certificate in this file",
        "write a PEM file with the certificate of the service first, followed by the intermediate certificates that signed it";
    /// A certificate that a server cannot use.
    TlsCertificateMalformed Error "tls.certificate-malformed",
        "this certificate cannot be used",
        "request an X.509 version 3 certificate for a server";
    /// A file without a key.
    TlsKey Error "tls.key-missing",
        "there is no usable private key in this file",
        "write a PEM file with an unencrypted key as PKCS #8, SEC 1 or PKCS #1";
    /// A key that belongs to another certificate.
    TlsKeyMismatch Error "tls.key-mismatch",
        "the key in this file does not belong to the certificate",
        "write the key that the certificate was requested with, and replace both together";
    /// A certificate that has expired.
    TlsExpired Error "tls.certificate-expired",
        "this certificate has expired",
        "renew it";
    /// A certificate that is not valid yet.
    TlsNotYetValid Error "tls.certificate-not-yet-valid",
        "this certificate is not valid yet",
        "check the clock of this machine";
    /// A folder in which no certificate can be stored.
    TlsFolder Error "tls.folder-unwritable",
        "no certificate can be stored in this folder",
        "write a folder in which this program may create files";
    /// A certificate for another host.
    TlsName Warning "tls.name-not-covered",
        "the certificate is not for the host of the public origin, so browsers will reject it",
        "request one that names the host; ignore this behind a proxy that expects another name";
    /// A development certificate on a server that others can reach.
    TlsDevelopment Warning "tls.development-certificate",
        "the certificate is for development, so browsers on other machines will reject it",
        "write `Tls::files(\"cert.pem\", \"key.pem\")`";
    /// A certificate authority without a usable certificate.
    TlsAuthority Error "tls.authority-malformed",
        "there is no usable certificate of an authority here",
        "write a PEM file with the certificate of the authority";
    /// A TLS library that cannot be set up.
    TlsUnavailable Error "tls.unavailable",
        "TLS cannot be set up",
        "allow the process to read `/dev/urandom`, or to make the system call `getrandom`";

    // Upstreams that requests are passed to, and the trusted proxies in front.

    /// An upstream with another scheme.
    UpstreamScheme Error "proxy.upstream-scheme",
        "the scheme of an upstream must be `http` or `https`",
        "write it in full, such as `http://127.0.0.1:9000`";
    /// An upstream without a valid host.
    UpstreamHost Error "proxy.upstream-host",
        "this does not name a host that can be connected to",
        "write a name or address in lower case, with a port if needed, such as `http://127.0.0.1:9000`";
    /// An upstream with user name or password.
    UpstreamUserInfo Error "proxy.upstream-userinfo",
        "the address of an upstream has no user name or password",
        "remove everything after `//`, up to and including the `@`";
    /// An upstream with a query or a fragment.
    UpstreamQuery Error "proxy.upstream-query",
        "the address of an upstream has no query and no fragment: those come with each request",
        "remove everything from the first `?` or `#`";
    /// A path of an upstream that is not normalised.
    UpstreamPath Error "proxy.upstream-path",
        "the path of an upstream has no empty segments, no `.` or `..`, and no percent codes",
        "write the base path of the upstream, such as `http://127.0.0.1:9000/v1`";
    /// A malformed network.
    NetworkMalformed Error "proxies.network",
        "this is not a network",
        "write an address and the length of its prefix, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address";
    /// A network with bits set after its prefix.
    NetworkHostBits Error "proxies.network-host-bits",
        "this address has bits set after its prefix, so the network is ambiguous",
        "write the first address of the network, such as `10.0.0.0/8`, or one address without a prefix";
    /// Trusted proxies without a network.
    ProxiesMissing Error "proxies.missing",
        "the list of proxies is empty, so no proxy is trusted",
        "name the networks of the proxies, or remove `App::behind`";
    /// Trusted proxies without a format of forwarding information.
    ProxiesUnsaid Error "proxies.unsaid",
        "nothing here says how the proxies pass on the address of the client",
        "add what they are configured to send: `.forwarded()`, `.x_forwarded()` or `.proxy_protocol()`";
    /// A trusted network that contains every address.
    ProxiesEverybody Error "proxies.everybody",
        "this network contains every address, so any client could claim the address of another one",
        "name the networks of the proxies; if only proxies can reach the server, add `.dangerous_everybody()`";
    /// A Unix socket whose peer is not named as a proxy.
    SocketUntrusted Warning "proxies.socket",
        "no proxy in front of this Unix socket is trusted: clients have no address, and rates by address count all of them together",
        "add `unix` to the proxies, as in `App::behind(TrustedProxies::new([\"unix\"]).x_forwarded())`";
    /// A time-out of zero.
    ProxyTimeoutZero Error "proxy.timeout-zero",
        "a time-out must be longer than zero",
        "write a time such as `Duration::from_secs(10)`, or remove the time-out";
    /// A certificate authority for an upstream without TLS.
    ProxyAuthorityUnused Error "proxy.authority-unused",
        "`authority` verifies certificates, and this upstream does not use TLS",
        "write the upstream with `https://`, or remove `authority`";
    /// An upstream on the open network without TLS.
    UpstreamPlain Warning "proxy.upstream-plain",
        "this upstream may be outside of the private network, and anybody on the path can read what is sent to it",
        "write `https://`";

    // CONNECT.

    /// A malformed target of a tunnel.
    TunnelTarget Error "tunnel.target",
        "this is not a target of a tunnel",
        "write host and port, such as `db.internal.example:5432`, `192.0.2.1:22` or `[2001:db8::1]:443`";
    /// A tunnel without targets.
    TunnelTargetsMissing Error "tunnel.targets-missing",
        "the list of targets is empty, so nobody can use the tunnel",
        "name the targets, or remove `App::tunnel`";
    /// A listed target with a private address that the tunnel does not allow.
    TunnelTargetPrivate Error "tunnel.target-private",
        "this address is local or private, and tunnels reach such addresses only if their network is listed",
        "add its network, such as `.private([\"10.0.0.0/8\"])`";
    /// A limit of zero tunnels.
    TunnelNone Error "tunnel.limit-zero",
        "with a limit of zero, no tunnel is ever opened",
        "write one or more, such as `max_tunnels(16)`";
    /// Credentials that a tunnel cannot carry.
    TunnelCallers Error "tunnel.callers",
        "a tunnel reads `Proxy-Authorization` alone, which carries neither a session nor a ticket, and cannot be optional",
        "write `AuthRequirement::token()` or a scheme, or `Targets::public` for everybody";
    /// A tunnel for everybody.
    TunnelPublic Warning "tunnel.public",
        "everybody may open a tunnel to these targets",
        "restrict this with `Tunnel::auth`, unless everybody who can reach the server may use the tunnel";

    // The app and the server as a whole.

    /// A public origin that no server can have.
    PublicOrigin Error "app.public-origin",
        "this cannot be the public origin of a server",
        "write the `https` origin that browsers see, such as `https://api.example.com`";
    /// A public origin that is not https.
    PublicOriginInsecure Error "app.public-origin-insecure",
        "a public origin must use `https`",
        "write it with `https://`; to try the app from other machines of your network, add `App::tls(Tls::development(\"target/certificate\"))`; during development on loopback, remove `public_origin`";
    /// An address that other machines can reach, for an app without a public origin.
    PublicOriginMissing Error "app.public-origin-missing",
        "this address can be reached from other machines, and the app has no public origin",
        "set it with `App::public_origin(\"https://..\")`; to try the app from other machines of your network, also add `App::tls(Tls::development(\"target/certificate\"))`; or listen on 127.0.0.1 during development";
    /// Credentials over plain HTTP.
    PlainCredentials Error "app.plain-credentials",
        "this address can be reached from other machines without TLS, which would expose sessions and tokens",
        "configure a certificate with `App::tls(Tls::files(\"cert.pem\", \"key.pem\"))`, or name the proxy in front that terminates TLS with `App::behind(TrustedProxies::new([\"10.0.0.0/8\"]).forwarded())`, or listen on 127.0.0.1";
    /// An address that is in use, or that this machine does not have.
    Listen Error "app.listen",
        "the server cannot listen on this address",
        "take an address of this machine and a free port, such as `127.0.0.1:8081` (`ss -ltn` lists the ports in use; a port below 1024 needs a privilege); a Unix socket, such as `unix:/run/shop/shop.sock`, needs an existing folder in which the process may write";
    /// An address for pages of problems that is no URI reference.
    ProblemTypes Error "app.problem-types",
        "this is not an address to which the codes of problems can be added",
        "write a URI reference, such as `https://docs.example/errors/` or `/errors/`";
    /// A parameter of queries that carries a credential, and is to be recorded in traces.
    TracedCredential Error "app.traced-credential",
        "a parameter with this name may carry a credential, which traces must not contain",
        "remove it from `Tracing::queries`, or give the parameter another name";
    /// A configuration file that cannot be read.
    ConfigFile Error "app.config-file",
        "this configuration file cannot be read",
        "correct the file, or remove `App::config_file`";
    /// An environment variable that is not set, or is not UTF-8.
    VariableUnset Error "app.variable-unset",
        "this environment variable is not set, or is not UTF-8",
        "set it, or remove the call that reads it";
    /// A file with a secret that every user of the machine may write.
    SecretWritable Error "app.secret-writable",
        "all users of this machine may write this file, which holds a secret",
        "run `chmod o-w` on it, and replace the secret if others use the machine";
    /// A file with a secret that every user of the machine may read.
    SecretReadable Warning "app.secret-readable",
        "all users of this machine may read this file, which holds a secret",
        "run `chmod o-r` on it; in Kubernetes write `defaultMode: 0440` and an `fsGroup`, in Docker the `uid` and `mode: 0400` of the secret";
    /// A store that cannot be opened.
    StoreUnavailable Error "app.store",
        "this store cannot be opened",
        "make sure that the app can reach the store when it starts; only one process at a time can open a store in a file";
    /// A store that opens asynchronously, in a function that is not async.
    StoreWaits Error "app.store-waits",
        "the custom store opens asynchronously, and this function cannot wait for it",
        "use `App::open`";
    /// A random source that fails.
    RandomMissing Error "app.random-missing",
        "the operating system provides no random numbers",
        "allow the process to read `/dev/urandom`, or to make the system call `getrandom`";
    /// A time of the server settings that is zero.
    ServerTimeZero Error "app.time-zero",
        "a server that gives its clients no time closes every connection at once",
        "write how long clients may take, such as `Duration::from_secs(30)`, or keep the default";
    /// Fewer open files than connections.
    OpenFiles Warning "app.open-files",
        "the process may open fewer files than the server takes connections, so further connections wait until others end",
        "raise the limit (`ulimit -n`, or `LimitNOFILE=` of a systemd unit), or lower `ServerSettings::max_connections`";
    /// A program that receives none of its events.
    SubscriberMissing Warning "app.subscriber-missing",
        "the program has no `tracing` subscriber, so that nothing is logged, not even the error behind a 500",
        "run `cargo add tracing-subscriber`, and make `tracing_subscriber::fmt::init();` the first line of `main`";
    /// Two types of one name in the schemas of a document.
    SchemaNames Error "openapi.schema-names",
        "two types have this name in the OpenAPI document",
        "write `#[schemars(rename = \"..\")]` at one of them";
    /// Two operations of one id in a document.
    OperationIds Error "openapi.operation-ids",
        "two operations have this id in the OpenAPI document",
        "state another one, such as `#[get(\"/path\", id = \"list_orders\")]`";
    /// An argument of which a document cannot say what it takes.
    RequestUnknown Warning "openapi.request-unknown",
        "the OpenAPI document cannot say what an argument of this type takes from requests",
        "derive `schemars::JsonSchema` for the type that the request is read into (a query: a struct with a field for each parameter), or implement `policy_server::extract::Rejects` for an extractor of your own";
    /// A response of which a document cannot state the form.
    ResponseUnknown Warning "openapi.response-unknown",
        "the OpenAPI document cannot state the form of a response of this type",
        "return a type such as `Json<T>`, `Created<Json<T>>` or `NoContent`, alone or in a `Result`, and derive `schemars::JsonSchema` for `T`";
    /// A label of the metrics that no series can have.
    MetricsLabel Error "app.metrics-label",
        "this label of the metrics has an invalid name, or the name of another label",
        "write a name of ASCII letters, digits and `_` that begins with a letter, such as `region`; `le` and the names of attributes are taken";
    /// Metrics that anybody can read.
    MetricsPublic Warning "app.metrics-public",
        "anybody who can reach this address can read the metrics: routes, numbers of users and logins, and which limits are reached",
        "let `Metrics::listen` use an address of this machine, such as `127.0.0.1`, or give the mount callers: `Mount::metrics(&metrics).auth(AuthRequirement::token().scopes(&[\"metrics\"]))`";
    /// TRACE is enabled.
    TraceOn Warning "app.trace-on",
        "TRACE is enabled, and its responses show clients the fields that proxies add to a request",
        "remove `App::trace` when the proxies in front are set up";
    /// A candidate policy that cannot be compiled.
    Candidate Error "app.candidate",
        "this candidate is no policy that the app could have",
        "read it from the manifest or the lock file of an app that starts, and name lists of origins that this app has, or remove `App::report_only`";
}
