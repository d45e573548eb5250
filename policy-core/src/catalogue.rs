//! The one list of everything Policy can object to: stable codes, messages and fixes.
//!
//! Macro errors, const panics, start-up errors, logs and problem+json answers all take their
//! words from here, so one rule has one wording everywhere. A code never changes its meaning.

/// What a violated rule does to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The policy is refused: a compile error, or the start stops.
    Error,
    /// The policy is legal but odd: a compiler warning, or a notice at start.
    Warning,
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $severity:ident $code:literal, $message:literal, $help:literal;)*) => {
        /// A rule about a policy, checked at compile time, at start, and when data is replaced.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// Every rule there is.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// The stable code, for programs and for searching the documentation.
            pub const fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)* }
            }

            /// What is wrong: lower case, no full stop, reads on after the value it is about.
            pub const fn message(self) -> &'static str {
                match self { $(Rule::$name => $message,)* }
            }

            /// What to write instead.
            pub const fn help(self) -> &'static str {
                match self { $(Rule::$name => $help,)* }
            }

            /// Whether the rule refuses or only remarks.
            pub const fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity,)* }
            }
        }
    };
}

rules! {
    /// A policy without origins.
    OriginsMissing Error "cors.origins-missing",
        "the list of origins is empty",
        "name at least one origin, such as `https://app.example.com`, or write `*` for everybody";
    /// `*` next to other origins.
    AnyOriginNotAlone Error "cors.any-origin-not-alone",
        "`*` already covers the other origins in this list",
        "keep `*` alone, or list only the origins that may read the answer";
    /// `*` with credentials.
    AnyOriginWithCredentials Error "cors.any-origin-with-credentials",
        "`*` cannot be combined with `credentials`",
        "list the origins that may send cookies";
    /// `*` in a list that comes at run time.
    AnyOriginAtRunTime Error "cors.any-origin-at-run-time",
        "`*` cannot come from a list given at run time",
        "write `origins = [\"*\"]` in the attribute, where a reader of the code sees it";
    /// The origin `null`.
    NullOrigin Error "cors.null-origin",
        "`null` is the origin of every sandboxed frame and `data:` URL, so it admits anybody",
        "serve the page from a real origin and list that one";
    /// The scheme `file`.
    FileOrigin Error "cors.file-origin",
        "browsers send `null` for pages opened from a file, never a `file:` origin",
        "serve the page from `http://localhost` while developing";
    /// An origin that is longer than any origin can be.
    OriginTooLong Error "cors.origin-too-long",
        "an origin has at most 326 bytes",
        "write scheme, host and port only";
    /// No `://`, or a scheme that is none.
    OriginScheme Error "cors.origin-scheme",
        "an origin begins with a lower-case scheme and `://`",
        "write it in full, such as `https://app.example.com`";
    /// Something behind host and port.
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
        "remove the blanks";
    /// Upper-case letters.
    OriginUpperCase Error "cors.origin-upper-case",
        "an origin is compared byte for byte, and browsers send scheme and host in lower case",
        "write it in lower case";
    /// Bytes outside ASCII.
    OriginNotAscii Error "cors.origin-not-ascii",
        "browsers send international names in their ASCII form",
        "write the `xn--` form of the name";
    /// A host that is no host.
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
    /// `*` where it stands for nothing.
    OriginWildcard Error "cors.origin-wildcard",
        "`*` stands for whole labels in front of a name, or for a whole port, and nothing else",
        "write `https://*.example.com` or `https://example.com:*`";
    /// A port that is none.
    OriginPort Error "cors.origin-port",
        "the port is not a number from 1 to 65535 without leading zeros",
        "write the port in decimal, or `:*` for any port";
    /// The default port of the scheme.
    OriginDefaultPort Error "cors.origin-default-port",
        "browsers never send the default port of a scheme",
        "leave the port out";
    /// Plain text origin with credentials.
    InsecureOriginWithCredentials Error "cors.insecure-origin-with-credentials",
        "anybody on the network can put a script into a page that is not `https`, and it would act with the user's cookies",
        "use `https://`, or state the risk with `dangerous_insecure_origins`";
    /// A wildcard that covers a public suffix, with credentials.
    PublicSuffixWithCredentials Error "cors.public-suffix-with-credentials",
        "anybody can register a name under this public suffix, and would read with the user's cookies",
        "name your own domain below it, or state the risk with `dangerous_public_suffix`";
    /// An origin twice.
    OriginRepeated Warning "cors.origin-repeated",
        "this origin stands in the list twice",
        "remove one of them";
    /// An origin that another entry covers.
    OriginCovered Warning "cors.origin-covered",
        "another entry of the list already covers this origin",
        "remove it";
    /// Run-time origins without a bound, with credentials.
    BoundMissing Error "cors.bound-missing",
        "origins that come at run time need a bound when they may send cookies",
        "add `within = [\"https://*.your-domain.example\"]`";
    /// A run-time origin outside of its bound.
    OriginOutsideBound Error "cors.origin-outside-bound",
        "this origin is outside of the bound that the route states with `within`",
        "remove it, or widen the bound in the attribute";
    /// A run-time list nobody gave.
    OriginListMissing Error "cors.origin-list-missing",
        "no list of origins of this name was given to the app",
        "give it with `App::origins`, `App::origins_from_env` or a configuration file";
    /// A run-time list nobody uses.
    OriginListUnused Error "cors.origin-list-unused",
        "no route names this list of origins",
        "use it as `origins = config(\"..\")`, or remove it";
    /// Not a method token.
    MethodInvalid Error "cors.method-invalid",
        "this is not a method name",
        "write a method such as `PUT`";
    /// Methods that browsers refuse.
    MethodForbidden Error "cors.method-forbidden",
        "browsers never send CONNECT, TRACE or TRACK for a page",
        "remove it";
    /// `*` for methods, with credentials.
    AnyMethodWithCredentials Error "cors.any-method-with-credentials",
        "`*` for methods means nothing when cookies are sent",
        "list the methods, or leave `methods` out to allow what the router serves";
    /// Not a field name.
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
        "`*` for request headers means nothing when cookies are sent",
        "list the request headers";
    /// A request header that needs no permission.
    HeaderSafelisted Warning "cors.header-safelisted",
        "browsers let every page send this request header",
        "remove it, unless pages send unusual values in it";
    /// Not a field name, in `expose`.
    ExposeInvalid Error "cors.expose-invalid",
        "this is not a header name",
        "write a name such as `etag`";
    /// Response headers that scripts never see.
    ExposeForbidden Error "cors.expose-forbidden",
        "browsers never show this response header to a script",
        "remove it";
    /// A request header in `expose`.
    ExposeOfRequest Error "cors.expose-of-request",
        "this header belongs to requests and preflights, there is nothing to expose",
        "remove it";
    /// `*` for exposed headers, with credentials.
    AnyExposeWithCredentials Error "cors.any-expose-with-credentials",
        "`*` for exposed headers means nothing when cookies are sent",
        "list the response headers that the page may read";
    /// A response header that is readable anyway.
    ExposeSafelisted Warning "cors.expose-safelisted",
        "browsers show this response header to every page that may read the answer",
        "remove it";
    /// A max-age that no browser honours.
    MaxAgeOutOfBounds Error "cors.max-age-out-of-bounds",
        "no browser keeps a preflight longer than 86400 seconds",
        "write seconds from 0 (do not keep) to 86400";
    /// A max-age that Chromium cuts.
    MaxAgeCapped Warning "cors.max-age-capped",
        "Chromium keeps a preflight for 7200 seconds at the most, WebKit for 600",
        "write 7200 or less";
    /// A path that does not begin with `/`.
    PathStart Error "route.path-start",
        "a path begins with `/`",
        "put a `/` in front";
    /// A byte that a path cannot have.
    PathByte Error "route.path-byte",
        "a path has letters, digits and the signs `-._~!$&'()*+,;=:@` in its segments; a query is no part of it",
        "remove the other signs; a parameter matches segments that were sent percent-encoded";
    /// `//`, `.` or `..`.
    PathSegment Error "route.path-segment",
        "a path has no empty segments and no `.` or `..`",
        "write the path as clients send it after resolving them";
    /// A parameter that is none.
    PathParameter Error "route.path-parameter",
        "a parameter is a whole segment: `{name}`, or `{*name}` for the rest of the path",
        "write `/users/{id}`, and parse what stands around a value in the handler";
    /// `{*rest}` before the end.
    PathRest Error "route.path-rest",
        "`{*name}` takes the rest of the path, so nothing can follow it",
        "move it to the end";
    /// One name for two parameters.
    PathParameterRepeated Error "route.path-parameter-repeated",
        "two parameters of this path have the same name",
        "rename one of them";
    /// A parameter where only fixed text can stand.
    PathPrefix Error "route.path-prefix",
        "a prefix is not empty, has no parameters and does not end with `/`",
        "write a prefix such as `/api`; what has none goes to `App::routes` or `App::fallback`";
    /// Two routes for the same requests.
    RouteConflict Error "route.conflict",
        "another route takes the same requests",
        "change the path or the method of one of them";
    /// A route for methods that are not for handlers.
    RouteMethod Error "route.method",
        "a handler cannot serve this method",
        "write another method; CONNECT and TRACE are the server's own";
    /// An own origin that is none.
    PublicOrigin Error "app.public-origin",
        "this is not an origin that the server could have in public",
        "write the `https` origin that browsers see, such as `https://api.example.com`";
    /// A public origin that is not https.
    PublicOriginInsecure Error "app.public-origin-insecure",
        "the public origin of a service is `https`",
        "write it with `https://`, or leave `public_origin` out while developing on loopback";
    /// An upstream of another scheme.
    UpstreamScheme Error "proxy.upstream-scheme",
        "an upstream is spoken to by `http` or `https`",
        "write it in full, such as `http://127.0.0.1:9000`";
    /// An upstream without a host, or with one that is none.
    UpstreamHost Error "proxy.upstream-host",
        "this names no host that can be connected to",
        "write a name or address in lower case, and a port if need be, such as `http://127.0.0.1:9000`";
    /// An upstream with user name or password.
    UpstreamUserInfo Error "proxy.upstream-userinfo",
        "the address of an upstream has no user name or password",
        "remove everything from behind `//` up to and including the `@`";
    /// An upstream with a query or a fragment.
    UpstreamQuery Error "proxy.upstream-query",
        "the address of an upstream has no query and no fragment: those are the requests'",
        "remove everything from the first `?` or `#`";
    /// A path of an upstream that clients would not send like this.
    UpstreamPath Error "proxy.upstream-path",
        "the path of an upstream has no empty segments, no `.` or `..`, and no percent codes",
        "write the path that all others lie below, such as `http://127.0.0.1:9000/v1`";
    /// A network that is none.
    NetworkMalformed Error "proxies.network",
        "this is not a network",
        "write an address and the length of its prefix, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address";
    /// A network with more bits than its prefix.
    NetworkHostBits Error "proxies.network-host-bits",
        "this address has bits behind its prefix, so nobody knows which network is meant",
        "write the first address of the network, such as `10.0.0.0/8`, or one address without a prefix";
    /// Nobody to believe.
    ProxiesMissing Error "proxies.missing",
        "the list of proxies is empty, so nobody is believed",
        "name the networks of the proxies, or remove `App::behind`";
    /// Nothing to believe.
    ProxiesUnsaid Error "proxies.unsaid",
        "nothing here says how the proxies tell who sent a request",
        "add what they are set up to send: `.forwarded()`, `.x_forwarded()` or `.proxy_protocol()`";
    /// Everybody is believed.
    ProxiesEverybody Error "proxies.everybody",
        "this network is everybody, so each client may say that it is another one",
        "name the networks of the proxies; where nobody else can reach the server, add `.dangerous_everybody()`";
    /// A target of a tunnel that is none.
    TunnelTarget Error "tunnel.target",
        "this is not a target",
        "write host and port, such as `db.internal.example:5432`, `192.0.2.1:22` or `[2001:db8::1]:443`";
    /// A tunnel that leads nowhere.
    TunnelTargetsMissing Error "tunnel.targets-missing",
        "the list of targets is empty, so the tunnel leads nowhere",
        "name the targets, or remove `App::tunnel`";
    /// A target that no tunnel would be opened to.
    TunnelTargetPrivate Error "tunnel.target-private",
        "this address is one of this machine or its neighbours, and such are reached only where they are listed",
        "add its network, such as `.private([\"10.0.0.0/8\"])`";
    /// No tunnel at once.
    TunnelNone Error "tunnel.at-once-zero",
        "with no tunnel open at once, none is ever opened",
        "write one or more, such as `at_once(16)`";
    /// A route that names sessions in an app that has none.
    SessionsMissing Error "auth.sessions-missing",
        "this route takes sessions, and the app has none",
        "give the app some with `App::sessions(Sessions::embedded(\"sessions.redb\"))`";
    /// A route that names tokens in an app that has none.
    TokensMissing Error "auth.tokens-missing",
        "this route takes tokens, and the app has none",
        "give the app keys with `App::tokens(Tokens::hs256(keys)?)`";
    /// A route that names a scheme that the app was not given.
    SchemeMissing Error "auth.scheme-missing",
        "this route names a scheme that the app was not given",
        "give it with `App::scheme(..)`";
    /// A time of sessions that is zero.
    SessionTimeZero Error "session.time-zero",
        "a time of sessions is longer than zero",
        "write a time such as `minutes(15)`";
    /// An idle time over the absolute one.
    SessionIdle Error "session.idle-over-absolute",
        "a session cannot lie unused for longer than it lasts",
        "write an `idle` of at most `absolute`";
    /// A touch interval that is too long for the idle time.
    SessionTouchInterval Error "session.touch-interval",
        "the last use of a session would be known too roughly",
        "write a `touch_interval` of at most a quarter of `idle`";
    /// A remembered session that is longer than cookies live.
    SessionRemembered Error "session.remembered-too-long",
        "no browser keeps a cookie longer than 400 days",
        "write at most `days(400)`";
    /// A renewal within its own grace.
    SessionRenewal Error "session.renewal-grace",
        "an id would be replaced before the one before it is dead",
        "write a grace of seconds and a renewal of minutes or more";
    /// No session per user.
    SessionLimitZero Error "session.limit-zero",
        "nobody could log in",
        "allow at least one session per user";
    /// A login page that is elsewhere.
    SessionLoginPage Error "session.login-page",
        "the login page is no path of this app",
        "write a path such as `/login`";
    /// A session cookie that browsers do not take.
    SessionCookie Error "session.cookie",
        "browsers would not keep the cookie of the sessions",
        "leave name, domain and SameSite as they are by default, or correct what is named";
    /// Nothing that says who may call.
    CallersMissing Error "auth.callers-missing",
        "nothing here says who may call",
        "write `public` for everybody, or `session`, `token`, `ticket`, several of them with `|` between, or `scheme = ..`";
    /// `public` next to anything else.
    PublicNotAlone Error "auth.public-not-alone",
        "`public` lets anybody in and asks nobody who they are, so nothing can stand beside it",
        "remove `public`; `optional` lets in who has no credential";
    /// An own scheme next to other credentials.
    SchemeNotAlone Error "auth.scheme-not-alone",
        "a scheme of the application's own stands alone",
        "write two routes, or have the scheme take the other credential, too";
    /// A list without entries.
    RequirementEmpty Error "auth.requirement-empty",
        "an empty list asks for nothing",
        "name what a caller needs, or leave the list out";
    /// A scope that RFC 6749 cannot write.
    ScopeInvalid Error "auth.scope-invalid",
        "a scope is one word of printable ASCII without blanks, `\"` and `\\`",
        "write a scope such as `orders:read`, each one in quotes of its own";
    /// A role that is no text.
    RoleInvalid Error "auth.role-invalid",
        "a role has at least one character, and no control characters",
        "write a role such as `admin`";
    /// A scope or a role twice.
    RequirementRepeated Warning "auth.requirement-repeated",
        "this stands in the list twice",
        "remove one of them";
    /// A time without a unit that is known.
    FreshMalformed Error "auth.fresh-malformed",
        "this is not a time: a whole number and a unit, without a blank",
        "write `90s`, `10m`, `8h` or `30d`";
    /// A time that asks for nothing, or for what nobody can have.
    FreshOutOfBounds Error "auth.fresh-out-of-bounds",
        "the time since a login is at least one second and at most 365 days",
        "write a time such as `10m`, or leave `fresh` out";
    /// A session that no page of another origin can send.
    CorsWithoutCredentials Error "auth.cors-without-credentials",
        "without `credentials` browsers send no session, nor anything else by themselves, to another origin: no page that this policy names could use the route",
        "list the origins and add `credentials`, or share the route with nobody by `#[cors(none)]`";
    /// A session that pages of other origins do not send, where something else takes its place.
    CorsWithoutSession Warning "auth.cors-without-session",
        "without `credentials` browsers send no session to another origin: pages that this policy names call the route without one",
        "list the origins and add `credentials`, unless these pages have tokens or need no session";
    /// A principal where nobody is asked for one.
    PrincipalOfPublic Error "auth.principal-of-public",
        "a `public` route asks nobody who they are, so there is no principal",
        "write `#[auth(session)]` or `#[auth(token)]`; with `optional` and `Option<Principal>` for everybody";
    /// A principal that need not be there.
    PrincipalOfOptional Error "auth.principal-of-optional",
        "an `optional` route lets in who has no credential, so there may be no principal",
        "take `Option<Principal>`, or remove `optional`";
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
    /// An issuer or audience that is no text.
    TokenParty Error "token.party",
        "the issuer and the audience of tokens are not empty",
        "write the origin of the service, or leave `issuer` and `audience` out";
    /// A lifetime that is none, or that is not accepted.
    TokenLifetime Error "token.lifetime",
        "a token lives for a second at least, and no longer than tokens are accepted for",
        "make `lifetime` shorter, or `max_lifetime` longer";
    /// A leeway that makes expiry meaningless.
    TokenLeeway Error "token.leeway",
        "a leeway is at most 300 seconds",
        "synchronise the clocks of the servers, and write 300 or less";
    /// A staleness that is reached between two synchronisations.
    TokenStaleness Error "token.staleness",
        "revocations are asked for every second, so what is known of them is older than this",
        "write two seconds or more";
    /// A grace in which a stolen token is as good as the real one.
    TokenRefreshGrace Error "token.refresh-grace",
        "a used refresh token is accepted for a minute at the most, and not for longer than its family lives",
        "write some seconds: what a second tab or a repeated request needs";
    /// A caching policy without content.
    CacheUnsaid Error "cache.unsaid",
        "nothing here says what caches may do",
        "write `no_store`, `private` or `public`, or an age such as `max_age = 60`";
    /// `no_store` next to anything else.
    CacheNoStoreNotAlone Error "cache.no-store-not-alone",
        "what is not stored cannot be used again, so the other words mean nothing",
        "keep `no_store` alone, or remove it";
    /// `private` and `public`.
    CacheTwofold Error "cache.private-and-public",
        "`private` and `public` contradict each other",
        "keep `private` for what is one user's, and `public` for what is the same for everybody";
    /// What opens shared caches, for answers that are one person's.
    CachePersonal Error "cache.personal-and-shared",
        "the answers depend on who asks, and this lets a cache serve them to others (RFC 9111 3.5)",
        "write `private`, or `no_store`; for what is the same for everybody, a route of its own with `#[auth(public)]` and without a session";
    /// An age for answers that are one person's, without `private`.
    CacheAudienceUnsaid Warning "cache.personal-and-unsaid",
        "the answers depend on who asks, so without `private` each of them is asked for again and the age has no effect",
        "add `private`";
    /// `immutable` next to `no_cache`.
    CacheImmutableAsked Error "cache.immutable-and-no-cache",
        "`no_cache` asks before each use, and `immutable` says that nobody needs to ask",
        "keep one of them";
    /// `immutable` without an age.
    CacheImmutableAge Error "cache.immutable-without-age",
        "`immutable` is about the time in which an answer is fresh, and there is none",
        "add an age, such as `max_age = 31536000`";
    /// A time of stale answers that are never fresh.
    CacheStaleAge Error "cache.stale-without-age",
        "without an age no cache knows when an answer becomes stale",
        "add one, such as `max_age = 60`";
    /// A time of stale answers that nobody may serve.
    CacheStaleAsked Error "cache.stale-and-revalidated",
        "`no_cache` and `must_revalidate` forbid to serve what is stale",
        "remove them, or this";
    /// `s_maxage` next to `private`.
    CacheSharedAgeOfPrivate Error "cache.shared-age-of-private",
        "this is the age in caches of many users, and `private` keeps answers out of them",
        "write `max_age`";
    /// An age that is none.
    CacheAge Error "cache.age-out-of-bounds",
        "an age is a number of seconds from 0 to 2147483647",
        "write seconds, such as `3600` for an hour";
    /// `*` in `vary`.
    CacheVaryAny Error "cache.vary-any",
        "an answer that varies by `*` is never used again",
        "name the request fields that the answer depends on, or write `no_store`";
    /// Not a field name, in `vary`.
    CacheVaryInvalid Error "cache.vary-invalid",
        "this is not a header name",
        "write a name such as `accept`";
    /// A field twice in `vary`.
    CacheVaryRepeated Warning "cache.vary-repeated",
        "this stands in the list twice",
        "remove one of them";
    /// A caching policy of a method that no cache keeps answers to.
    CacheMethod Error "cache.method",
        "no cache keeps the answers to this method (RFC 9110 9.2.3)",
        "remove `#[cache]` or write `no_store`; GET has a handler of its own";
    /// A POST or PATCH without an age.
    CacheMethodAge Error "cache.method-without-age",
        "the answers to POST and PATCH are kept only where they say for how long (RFC 9110 9.3.3)",
        "add `max_age`, and have the handler write the `Content-Location` of what it answers with; or remove `#[cache]`";
    /// A size that is none.
    LimitBodyMalformed Error "limit.body-malformed",
        "this is not a size: a whole number and one of the units B, kB, MB, GB, KiB, MiB and GiB",
        "write a size such as `64 KiB` or `1 MiB`";
    /// A size of nothing, or of more than can be counted.
    LimitBodyOutOfBounds Error "limit.body-out-of-bounds",
        "the most bytes of a body are at least one, and fewer than 2^64",
        "write a size such as `1 MiB`; what a handler does not read needs no limit";
    /// A time that is none.
    LimitTimeoutMalformed Error "limit.timeout-malformed",
        "this is not a time: a whole number and one of the units ms, s and m, without a blank",
        "write a time such as `500ms`, `5s` or `2m`";
    /// No time at all, or too much.
    LimitTimeoutOutOfBounds Error "limit.timeout-out-of-bounds",
        "the time for an answer is longer than zero, and at most a day",
        "write a time such as `5s`";
    /// A rate that is none.
    LimitRateMalformed Error "limit.rate-malformed",
        "this is not a rate: a whole number, one of `/s`, `/min`, `/h` and `/d`, and who is counted",
        "write a rate such as `100/min`, `100/min per address` or `100/min per principal`";
    /// A rate of nothing, or of more than can be counted.
    LimitRateOutOfBounds Error "limit.rate-out-of-bounds",
        "a rate is at least one request in some time, and at most 4294967295",
        "write a rate such as `100/min`; a route that nobody may call needs no rate";
    /// A rate per principal where nobody is asked for one.
    LimitRateOfNobody Error "limit.rate-of-nobody",
        "a `public` route asks nobody who they are, so there is no principal to count",
        "write `per address`, or let `#[auth]` ask for credentials";
    /// No requests at once.
    LimitConcurrencyZero Error "limit.concurrency-zero",
        "with no request at work at once, none is ever answered",
        "write one or more, such as `concurrency = 64`";
    /// A policy without directives.
    CspEmpty Error "headers.csp-empty",
        "this has no directive, so it allows everything",
        "write one such as `default-src 'self'`, or leave `csp` out";
    /// A name that is no directive.
    CspDirectiveUnknown Error "headers.csp-directive-unknown",
        "there is no directive of this name",
        "write one such as `script-src`, in lower case; a source has a directive in front";
    /// A directive twice; browsers look at the first alone.
    CspDirectiveRepeated Error "headers.csp-directive-repeated",
        "this directive stands here twice, and browsers look at the first alone",
        "write all of its sources behind one name";
    /// A directive that needs a value and has none.
    CspDirectiveEmpty Error "headers.csp-directive-empty",
        "this directive has nothing behind it",
        "write `'none'` to allow nothing";
    /// A host, scheme or word that is malformed.
    CspSourceInvalid Error "headers.csp-source-invalid",
        "this is not a source",
        "write a host such as `https://cdn.example`, a scheme such as `data:`, or a keyword such as `'self'`; directives are separated by `;`";
    /// A keyword that browsers take for a host.
    CspKeywordUnquoted Error "headers.csp-keyword-unquoted",
        "without quotes browsers take this for the name of a host",
        "write it in single quotes";
    /// Quotes around what is no keyword and no hash.
    CspKeywordUnknown Error "headers.csp-keyword-unknown",
        "this is no keyword and no whole hash",
        "write a keyword such as `'self'`, or a hash such as `'sha256-..'` with 44 characters behind the name; hosts and schemes have no quotes";
    /// A nonce that is always the same.
    CspNonceFixed Error "headers.csp-nonce-fixed",
        "a nonce that everybody can read beforehand protects nothing",
        "write `'nonce'`: each answer gets its own";
    /// A source that means nothing to its directive.
    CspSourceMisplaced Error "headers.csp-source-misplaced",
        "this means nothing to the directive it stands in",
        "remove it";
    /// `'none'` next to others; browsers ignore it then.
    CspNoneNotAlone Error "headers.csp-none-not-alone",
        "`'none'` next to other sources is ignored",
        "keep `'none'` alone, or remove it";
    /// `'strict-dynamic'` where nothing can be let in.
    CspStrictDynamicAlone Error "headers.csp-strict-dynamic-alone",
        "with `'strict-dynamic'` only a nonce or a hash lets a script in, and there is none",
        "add `'nonce'`, or a hash";
    /// Scripts in the page itself, by whoever wrote there.
    CspScriptsInline Warning "headers.csp-scripts-inline",
        "with this, whoever can write into the page can run scripts there",
        "use `'nonce'` for scripts of your own";
    /// Scripts from anywhere.
    CspScriptsOfAnybody Warning "headers.csp-scripts-of-anybody",
        "with this, scripts of anybody can run in the page",
        "name the hosts, or use `'nonce'` and `'strict-dynamic'`";
    /// `frame` and `frame-ancestors` both.
    FrameTwice Error "headers.frame-twice",
        "`frame-ancestors` in `csp` says this already",
        "remove one of them";
    /// An empty list of those who may frame.
    FrameEmpty Error "headers.frame-empty",
        "the list of origins is empty",
        "write `frame = none`, or name an origin such as `https://app.example.com`";
    /// A referrer policy that is none.
    ReferrerUnknown Error "headers.referrer-unknown",
        "this is no referrer policy",
        "write `no-referrer`, `same-origin`, `strict-origin`, `strict-origin-when-cross-origin`, `origin`, `origin-when-cross-origin` or `no-referrer-when-downgrade`";
    /// A referrer policy that tells everybody everything.
    ReferrerWhole Warning "headers.referrer-whole",
        "this tells path and query of the page to everybody, also without `https`",
        "write `strict-origin-when-cross-origin`";
    /// An entry of `permissions` that browsers would not understand.
    PermissionInvalid Error "headers.permission-invalid",
        "this is not a feature with those who may use it",
        "write `camera=()` for nobody, `camera=(self)`, or `camera=(self \"https://a.example\")`";
    /// A feature twice.
    PermissionRepeated Error "headers.permission-repeated",
        "this feature stands here twice",
        "remove one of them";
    /// A `coop` that is none.
    CoopUnknown Error "headers.coop-unknown",
        "this is no value of Cross-Origin-Opener-Policy",
        "write `same-origin`, `same-origin-allow-popups`, `noopener-allow-popups` or `unsafe-none`";
    /// A `coep` that is none.
    CoepUnknown Error "headers.coep-unknown",
        "this is no value of Cross-Origin-Embedder-Policy",
        "write `require-corp`, `credentialless` or `unsafe-none`";
    /// A `corp` that is none.
    CorpUnknown Error "headers.corp-unknown",
        "this is no value of Cross-Origin-Resource-Policy",
        "write `same-origin`, `same-site` or `cross-origin`";
    /// A `corp` that keeps out whom CORS or JSONP lets in.
    CorpOfShared Error "headers.corp-of-shared",
        "pages of other origins may have the answers of this route, and this says that they may not",
        "write `cross-origin`, leave `corp` out, or share the route with nobody by `#[cors(none)]`";
    /// Seconds that browsers do not count.
    HstsOutOfBounds Error "headers.hsts-out-of-bounds",
        "the time is a number of seconds from 0 to 2147483647",
        "write `hsts = 31536000` for a year";
    /// A word about `hsts` without it.
    HstsMissing Error "headers.hsts-missing",
        "this says something about `hsts`, which is not there",
        "add `hsts = 31536000`";
    /// A wish to be listed that the lists do not accept.
    HstsPreload Error "headers.hsts-preload",
        "browsers list who promises a year at least, and for all names below",
        "write `hsts = 31536000, include_subdomains, preload`";
    /// A nonce in answers that many people get.
    HeadersNonceShared Error "headers.nonce-shared",
        "a cache would give the same nonce to everybody, and who knows it can smuggle in scripts",
        "write `#[cache(private)]` or `#[cache(no_store)]`, or let scripts in by their hash";
    /// A file of TLS that cannot be read.
    TlsFile Error "tls.file-unreadable",
        "this file cannot be read",
        "write the path of a PEM file that this program may read, relative to where it is started";
    /// A file without a certificate.
    TlsCertificate Error "tls.certificate-missing",
        "there is no certificate in this file",
        "write a PEM file with the certificate of the service first, and those that signed it behind it";
    /// Something that is no certificate of a server.
    TlsCertificateMalformed Error "tls.certificate-malformed",
        "this certificate cannot be used",
        "ask for a certificate of X.509 version 3 for a server";
    /// A file without a key.
    TlsKey Error "tls.key-missing",
        "there is no private key in this file that can be used",
        "write a PEM file with the key as it is: PKCS #8, SEC 1 or PKCS #1, and not encrypted";
    /// A key of another certificate.
    TlsKeyMismatch Error "tls.key-mismatch",
        "the key in this file is not the one of the certificate",
        "write the key that the certificate was asked for with; both change together";
    /// A certificate whose time is over.
    TlsExpired Error "tls.certificate-expired",
        "this certificate has expired",
        "renew it";
    /// A certificate whose time has not come.
    TlsNotYetValid Error "tls.certificate-not-yet-valid",
        "this certificate is not valid yet",
        "look at the clock of this machine";
    /// A folder in which no certificate can be kept.
    TlsFolder Error "tls.folder-unwritable",
        "no certificate can be kept in this folder",
        "write a folder in which this program may create files";
    /// A certificate of somebody else.
    TlsName Warning "tls.name-not-covered",
        "the certificate is not for the host of the public origin, so browsers will refuse it",
        "ask for one that names the host; behind a proxy that expects another name, this is right";
    /// A key that is no secret.
    TlsKeyReadable Warning "tls.key-readable",
        "everybody on this machine can read the key",
        "take the right away: `chmod 600`";
    /// A certificate that is for the machine of a developer.
    TlsDevelopment Warning "tls.development-certificate",
        "the certificate is for development, so browsers of others will refuse it",
        "write `Tls::files(\"cert.pem\", \"key.pem\")`";
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

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident $status:literal $code:literal, $title:literal;)*) => {
        /// A reason to refuse one request, with the status and the words of the answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Refusal { $($(#[$doc])* $name,)* }

        impl Refusal {
            /// Every refusal there is.
            pub const ALL: &[Refusal] = &[$(Refusal::$name,)*];

            /// The stable code, for clients and logs.
            pub const fn code(self) -> &'static str {
                match self { $(Refusal::$name => $code,)* }
            }

            /// The title of the problem+json answer (RFC 9457 3.1.3).
            pub const fn title(self) -> &'static str {
                match self { $(Refusal::$name => $title,)* }
            }

            /// The status code of the answer.
            pub const fn status(self) -> u16 {
                match self { $(Refusal::$name => $status,)* }
            }
        }
    };
}

refusals! {
    /// RFC 9112 3.2: a request without Host.
    HostMissing 400 "wire.host-missing", "The request names no host";
    /// RFC 9112 3.2: more than one Host.
    HostRepeated 400 "wire.host-repeated", "The request names more than one host";
    /// RFC 9112 3.2: a Host that is no authority, or two that differ.
    HostMalformed 400 "wire.host-malformed", "The host of the request is malformed";
    /// RFC 9112 3.2.4: `*` with another method than OPTIONS, or an authority with one than CONNECT.
    TargetForm 400 "wire.target-form", "The request target has a form that its method does not allow";
    /// RFC 3986 2.1: `%` without two hexadecimal digits, or one that decodes to NUL or no UTF-8.
    PathEncoding 400 "wire.path-encoding", "The path is not correctly percent-encoded";
    /// RFC 3986 3.3: `.` or `..` as a whole segment, also encoded.
    PathDotSegment 400 "wire.path-dot-segment", "The path has a dot segment";
    /// RFC 9113 8.2.2, RFC 9114 4.2: a field about the connection, where HTTP has none.
    ConnectionField 400 "wire.connection-field", "The request has a field about its connection, which its version of HTTP does not have";
    /// RFC 9110 8.6: a Content-Length that is no number, or more than one.
    ContentLengthMalformed 400 "wire.content-length-malformed", "The length of the body is malformed";
    /// RFC 9112 6.1: a body that is chunked more than once.
    TransferEncodingMalformed 400 "wire.transfer-encoding-malformed", "The body is chunked more than once";
    /// RFC 9112 6.1: a transfer coding other than chunked.
    TransferCoding 501 "wire.transfer-coding", "The transfer coding of the body is not known";
    /// RFC 9110 10.1.1: an expectation other than `100-continue`.
    ExpectationUnknown 417 "wire.expectation-unknown", "The request expects what this server does not know";
    /// RFC 9110 7.4: not one of the configured names.
    HostUnknown 421 "origin.host-unknown", "This server does not serve the requested host";
    /// RFC 9110 7.4: not a loopback name, in the development profile.
    HostNotLoopback 421 "origin.host-not-loopback", "A server without a public origin answers loopback hosts only";
    /// A forwarding field, in the development profile.
    ForwardedInDevelopment 421 "origin.forwarded-in-development", "A server without a public origin cannot stand behind a proxy";
    /// RFC 9110 15.5.20: what must not follow a redirect, over plain HTTP.
    PlainHttp 421 "origin.plain-http", "This is served over https only";
    /// RFC 8470 5.2: early data, which anybody can send again, for more than reading in public.
    TooEarly 425 "wire.too-early", "The request came before the connection was secure against replays";
    /// No route has the path.
    RouteNotFound 404 "route.not-found", "There is nothing here";
    /// RFC 9110 9.1: the method is none of the standard, and no route has it.
    MethodUnknown 501 "route.method-unknown", "The method is not known";
    /// RFC 8441 4: an extended CONNECT for another protocol than WebSocket.
    ProtocolUnknown 501 "route.protocol-unknown", "The protocol that is to be spoken is not known";
    /// RFC 9110 9.3.8: a TRACE with content.
    TraceContent 400 "wire.trace-content", "A TRACE request has no content";
    /// RFC 9110 15.5.8: a tunnel, and no credential that opens it.
    TunnelCredentials 407 "tunnel.credentials", "The tunnel needs a valid credential";
    /// A target that is not listed.
    TunnelTarget 403 "tunnel.target-not-listed", "The tunnel does not lead there";
    /// An address of this machine or its neighbours that is not listed.
    TunnelAddress 403 "tunnel.address-refused", "The tunnel does not lead to the address of the target";
    /// A page behind a CONNECT.
    TunnelOrigin 403 "tunnel.origin", "No page may open a tunnel";
    /// RFC 9110 15.6.3: the target has no address, or does not take the connection.
    TunnelUnreachable 502 "tunnel.unreachable", "The target cannot be reached";
    /// RFC 9110 15.6.5: the target does not answer.
    TunnelTimedOut 504 "tunnel.timed-out", "The target did not answer in time";
    /// The path has routes, none of the method.
    MethodNotAllowed 405 "route.method-not-allowed", "The method is not served here";
    /// Fetch, CORS check: the preflight's origin is not granted.
    PreflightOrigin 403 "cors.origin-not-granted", "The policy of this route does not grant the origin";
    /// Fetch: more than one Origin in a preflight.
    PreflightOriginRepeated 403 "cors.origin-repeated", "The preflight names more than one origin";
    /// Fetch: a requested method that is repeated, empty or no token.
    PreflightMethod 403 "cors.request-method-malformed", "The preflight does not ask for exactly one method";
    /// RFC 6455 10.2: a WebSocket from an origin that may not read the route.
    WebSocketOrigin 403 "cors.websocket-origin-not-granted", "The policy of this route does not grant the origin";
    /// A ticket that was taken before, has expired or never was.
    TicketInvalid 401 "auth.ticket-invalid", "The ticket is invalid";
    /// A credential of an application's own scheme that is wrong.
    CredentialInvalid 401 "auth.credential-invalid", "The credential is invalid";
    /// RFC 9700 4.14.2: a refresh token that is unknown, used, expired or ended.
    RefreshRefused 401 "token.refresh-refused", "The refresh token is not valid";
    /// A store that did not answer; the credential stays valid.
    TokenStoreUnavailable 503 "token.store-unavailable", "Tokens cannot be checked at the moment";
    /// A path parameter that its type does not parse.
    ParameterInvalid 400 "request.parameter-invalid", "A parameter in the path is invalid";
    /// A query string that its type does not parse.
    QueryInvalid 400 "request.query-invalid", "The query is invalid";
    /// Another media type than the one that is read.
    MediaType 415 "request.media-type", "The media type of the request is not the expected one";
    /// A body that is not JSON.
    JsonMalformed 400 "request.json-malformed", "The body is not valid JSON";
    /// JSON of another shape.
    JsonMismatch 422 "request.json-mismatch", "The JSON in the body does not have the expected shape";
    /// A form that its type does not parse.
    FormInvalid 422 "request.form-invalid", "The form is invalid";
    /// A value of the expected type that breaks a rule of the application's.
    RequestInvalid 422 "request.invalid", "The request breaks a rule";
    /// RFC 9110 15.5.7: no representation has a media type that the request accepts.
    NotAcceptable 406 "request.not-acceptable", "There is no representation that the request accepts";
    /// RFC 6585 3: an unsafe request that does not say which state it expects.
    PreconditionRequired 428 "request.precondition-required", "The request has to name the state that it expects by If-Match";
    /// A body over its limit.
    BodyTooLarge 413 "request.body-too-large", "The body is over its limit";
    /// A body that broke off.
    BodyIncomplete 400 "request.body-incomplete", "The body could not be read to its end";
    /// The client did not send its body in time.
    BodyTimedOut 408 "request.timed-out", "The request did not arrive in time";
    /// RFC 6750 3: no credential that the route takes.
    CredentialsMissing 401 "auth.credentials-missing", "Credentials are needed";
    /// RFC 6750 3.1, `invalid_request`: an Authorization field that is repeated or malformed.
    AuthorizationMalformed 400 "auth.authorization-malformed", "The Authorization field is malformed";
    /// RFC 6750 3.1, `invalid_token`, whatever is wrong with it.
    TokenInvalid 401 "auth.token-invalid", "The access token is invalid";
    /// RFC 6750 3.1, `invalid_token`: it was good, and a client may get a new one.
    TokenExpired 401 "auth.token-expired", "The access token expired";
    /// RFC 6750 3.1, `insufficient_scope`: a scope or role is missing.
    RightsMissing 403 "auth.rights-missing", "The caller may not do this";
    /// RFC 9470 3: the login was too long ago for this.
    LoginTooOld 401 "auth.login-too-old", "A fresh login is needed";
    /// What knows whether a credential still holds does not answer.
    CredentialsUnchecked 503 "auth.credentials-unchecked", "The credentials cannot be checked now";
    /// The cookies of the request are over their limits.
    CookiesTooLarge 400 "cookie.request-too-large", "The request has too many or too large cookies";
    /// RFC 6749 10.12: the request came from a page that is not trusted, or could have.
    CsrfOrigin 403 "csrf.origin", "The request did not come from a page of this service";
    /// The request does not carry the session's anti-forgery token.
    CsrfToken 403 "csrf.token", "The anti-forgery token is missing or wrong";
    /// A JSONP callback that is repeated, or no name that may be called.
    CallbackInvalid 400 "jsonp.callback-invalid", "The name of the callback is invalid";
    /// RFC 9110 15.5.13: a condition of the request does not hold.
    PreconditionFailed 412 "request.precondition-failed", "The resource is not in the state that the request assumes";
    /// RFC 9110 15.5.17: none of the requested bytes is there.
    RangeNotSatisfiable 416 "request.range-not-satisfiable", "The requested range is outside of the content";
    /// RFC 6585 4: more requests than the rate of the route allows.
    RateExceeded 429 "limit.rate", "There were too many requests";
    /// As many requests at work as the route allows.
    ConcurrencyExceeded 503 "limit.concurrency", "Too many requests are at work at the moment";
    /// The server was told to stop, and nothing new should be sent to it.
    ServerStopping 503 "server.stopping", "The server is about to stop";
    /// Fetch Metadata: the request came from a page that may not load this.
    CrossSite 403 "isolation.cross-site", "Pages of other sites may not load this";
    /// The handler did not answer in time.
    HandlerTimedOut 503 "handler.timed-out", "The answer was not ready in time";
    /// The store of the sessions does not answer.
    SessionStore 503 "session.store-unavailable", "Sessions are not available at the moment";
    /// The session was changed by other requests each time it was tried.
    SessionBusy 503 "session.busy", "The session is in use by too many requests";
    /// The user has as many sessions as allowed.
    SessionLimit 409 "session.limit-reached", "The user has too many sessions";
    /// The session ended while it should get more rights.
    SessionEnded 409 "session.ended", "The session ended meanwhile";
    /// Nobody is logged in where something is done to the own sessions.
    SessionAnonymous 401 "session.anonymous", "Nobody is logged in";
    /// RFC 3986 4.2: behind the prefix of a proxy the path begins with two slashes.
    ProxyPath 400 "proxy.path", "The path could be taken for another host";
    /// RFC 9110 15.6.3: no connection with the upstream.
    UpstreamUnreachable 502 "proxy.unreachable", "The server behind this one cannot be reached";
    /// RFC 9110 15.6.3: something else than an answer in HTTP.
    UpstreamAnswer 502 "proxy.bad-answer", "The server behind this one gave no valid answer";
    /// RFC 9110 15.6.5: no connection or no answer in time.
    UpstreamTimedOut 504 "proxy.timed-out", "The server behind this one did not answer in time";
    /// The handler panicked, or gave an error of its own up.
    Internal 500 "handler.failed", "The server failed";
}
