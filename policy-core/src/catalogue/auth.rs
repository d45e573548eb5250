//! `#[auth]`: who may call.

area! { $ auth
    rules {
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
        /// Nothing that says who may call.
        CallersMissing Error "auth.callers-missing",
            "nothing here says who may call",
            "write `#[auth(session)]`, `#[auth(token)]` or both as `session | token`, `#[auth(scheme = ..)]`, or `#[auth(public)]` for everybody";
        /// `public` next to anything else.
        PublicNotAlone Error "auth.public-not-alone",
            "`public` lets anybody in and asks nobody who they are, so nothing can stand beside it",
            "remove `public`; `optional` lets in who has no credential";
        /// A type that finds no callers.
        SchemeExpected Error "auth.not-a-scheme",
            "this is not a scheme of credentials",
            "implement `policy_server::Scheme`, which finds the caller of a request";
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
        /// A realm that cannot stand between quotes.
        RealmInvalid Error "auth.realm-invalid",
            "a realm is 1 to 256 characters of ASCII without controls, quotes and backslashes",
            "write a realm such as `api`";
    }

    refusals {
        /// A ticket that was taken before, has expired or never was.
        TicketInvalid 401 "auth.ticket-invalid", "The ticket is invalid";
        /// A credential of an application's own scheme that is wrong.
        CredentialInvalid 401 "auth.credential-invalid", "The credential is invalid";
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
    }

    events {
        /// The store of the tickets gave an error.
        TicketUnchecked Error "auth.ticket-unchecked", "a ticket could not be checked";
        /// A scheme of the application's own gave an error.
        SchemeFailed Error "auth.scheme-failed", "a scheme failed";
    }
}
