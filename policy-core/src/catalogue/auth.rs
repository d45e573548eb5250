//! `#[auth]`: who may call.

area! { $ auth
    rules {
        /// A route that names sessions in an app that has none.
        SessionsMissing Error "auth.sessions-missing",
            "this route takes sessions, and the app has none",
            "configure them with `App::sessions(Sessions::embedded(\"sessions.redb\"))`";
        /// A route that names tokens in an app that has none.
        TokensMissing Error "auth.tokens-missing",
            "this route takes tokens, and the app has none",
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
        /// Callers of what is behind a layer.
        CallersOfLayer Error "auth.callers-of-layer",
            "a layer cannot say who may call: sessions, tokens and schemes belong to an app",
            "put the service into an app, `App::new(()).fallback(Fallback::new(router).auth(..))`, or behind a `Mount`";
        /// A ticket on a route that GET is not the only method of.
        TicketMethod Error "auth.ticket-method",
            "a ticket is in the address of a request, where any page can put one, so it is taken with GET only",
            "remove `ticket` here, and take it where the stream or the WebSocket is opened with `#[get(..)]`";
        /// `public` next to anything else.
        PublicNotAlone Error "auth.public-not-alone",
            "`public` admits everybody without credentials, so it cannot be combined with anything else",
            "remove `public`; `optional` also admits callers without a credential";
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
            "`issuers` says whose tokens are taken, and this route takes none",
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
            "this app signs no tokens and accepts those of several issuers, and this route does not say whose it takes",
            "write `issuers = [\"https://id.example\"]`";
        /// An issuer that the app accepts, and whose tokens nothing takes.
        IssuerUnused Warning "auth.issuer-unused",
            "the app accepts this issuer, and its tokens are refused everywhere, since no route names it",
            "write `issuers = [\"https://id.example\"]` where its tokens are taken, or remove `accept`";
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
        /// Rights that routes ask sessions for; what logins grant is known at run time only.
        SessionRights Warning "auth.session-rights",
            "routes ask sessions for these rights, which a session has only if its login grants them",
            "log in with `Identity::new(user).scopes([..]).roles([..])`; a session without them gets 403 `auth.rights-missing`";
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
            "take a `Caller`, whose subject says of which issuer it is";
        /// A realm that cannot be written in a quoted string.
        RealmInvalid Error "auth.realm-invalid",
            "a realm is 1 to 256 ASCII characters without control characters, quotes and backslashes",
            "write a realm such as `api`";
    }

    refusals {
        /// A ticket that was used before, has expired or never existed.
        TicketInvalid 401 "auth.ticket-invalid", "The ticket is invalid";
        /// A credential that a custom scheme rejects.
        CredentialInvalid 401 "auth.credential-invalid", "The credential is invalid";
        /// The reason of the end of a stream or WebSocket: what opened it is no longer valid.
        CredentialEnded 401 "auth.credential-ended", "The session or token has ended";
        /// RFC 6750 3: no credential that the route accepts.
        CredentialsMissing 401 "auth.credentials-missing", "Credentials are required";
        /// RFC 6750 3.1, `invalid_request`: an Authorization field that is repeated or malformed.
        AuthorizationMalformed 400 "auth.authorization-malformed", "The Authorization field is malformed";
        /// RFC 6750 3.1, `invalid_token`, for every reason but expiry.
        TokenInvalid 401 "auth.token-invalid", "The access token is invalid";
        /// RFC 6750 3.1, `invalid_token`: it was valid, and the client may get a new one.
        TokenExpired 401 "auth.token-expired", "The access token expired";
        /// RFC 6750 3.1, `insufficient_scope`: a scope or role is missing.
        RightsMissing 403 "auth.rights-missing", "The caller does not have the required rights";
        /// RFC 9470 3: the login is older than the route allows.
        LoginTooOld 401 "auth.login-too-old", "A recent login is required";
        /// A handler that needs a user of this app, and a caller of another issuer.
        CallerForeign 403 "auth.caller-foreign", "This is only for users of this service";
        /// The store that knows whether a credential is still valid does not respond.
        CredentialsUnchecked 503 "auth.credentials-unchecked", "The credentials cannot be checked now";
    }

    events {
        /// The store of the tickets returned an error.
        TicketUnchecked Error "auth.ticket-unchecked", "a ticket could not be checked";
        /// A custom scheme returned an error.
        SchemeFailed Error "auth.scheme-failed", "an authentication scheme failed";
    }
}
