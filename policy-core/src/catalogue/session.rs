//! Sessions and cookies.

area! { $ session
    rules {
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
            "its pages are of another site than the public origin, and browsers send them no session cookie, without which this route refuses everybody",
            "serve the pages below the domain of the public origin, or let them send tokens (`session | token`), or state `Sessions::..same_site(SameSite::None)`, or grant this origin on other routes only; `policy_server::cross_site` compares these";
        /// Pages of another site on a route that also works without a session.
        SessionWithheld Warning "session.withheld",
            "its pages are of another site than the app, and browsers send them no session cookie: they call this route without a session, and can begin none",
            "let these pages send tokens, or state `Sessions::..same_site(SameSite::None)`; `policy_server::cross_site` compares these";
        /// A partitioned cookie that is only sent where it need not be partitioned.
        SessionPartitioned Error "session.partitioned",
            "a partitioned cookie is for pages of other sites, and browsers send them none with this SameSite",
            "state `same_site(SameSite::None)` as well, or remove `partitioned()`";
        /// A store without its feature.
        SessionFeature Error "session.feature-off",
            "this store needs a feature of policy-server that is off",
            "write `policy-server = { version = \"0.1\", features = [..] }` into Cargo.toml, with the feature that is named";
        /// Encryption without a key.
        SessionKeyMissing Error "session.key-missing",
            "there is no key to encrypt sessions with",
            "draw one by `openssl rand -hex 32`, and pass it on by `SecretKey::decode`";
        /// A URL that names no store.
        SessionStoreUrl Error "session.store-url",
            "this URL names no store",
            "write `postgres://user:password@host/database`, `redis://user:password@host/`, `redb:path` with the path of a file, or `memory:`";
        /// Tokens of an app that moves its sessions, without a store of their own.
        TokensOfMoving Error "session.tokens-of-moving",
            "sessions move to another store, and nothing says where the tokens are: in the new one, refresh tokens would be unknown, and revoked tokens valid",
            "name the store that they are in by `TokenSettings::store`";
    }

    refusals {
        /// The cookies of the request are over their limits.
        CookiesTooLarge 400 "cookie.request-too-large", "The request has too many or too large cookies";
        /// The session store does not respond.
        SessionStore 503 "session.store-unavailable", "Sessions are not available at the moment";
        /// Other requests changed the session during each attempt to store it.
        SessionBusy 503 "session.busy", "The session is in use by too many requests";
        /// The user has as many sessions as allowed.
        SessionLimit 409 "session.limit-reached", "The user has too many sessions";
        /// The session ended before a request could raise its privileges.
        SessionEnded 409 "session.ended", "The session has ended";
        /// A request that manages its user's sessions, without a login.
        SessionAnonymous 401 "session.anonymous", "Nobody is logged in";
    }

    events {
        /// A store returned an error.
        SessionStoreFailed Error "session.store-failed", "a session store failed";
        /// The session of a request could not be read from the store.
        SessionNotLoaded Error "session.not-loaded", "a session could not be loaded";
        /// The changes of a request to its session are lost.
        SessionNotStored Error "session.not-stored", "a session could not be stored";
        /// Somebody wrote values into the store, or an earlier release of the app did.
        SessionUnprotected Warn "session.unprotected", "the values of a session are not encrypted and bound to it: the session has ended";
        /// The idle time of a session continues as if the session had not been used.
        SessionUseNotNoted Warn "session.use-not-noted", "the use of a session was not recorded";
        /// A write to the file of the embedded store failed. Nothing is acknowledged until one succeeds.
        StoreNotWritten Error "session.store-not-written", "the file of the store cannot be written, and is tried again";
        /// The file of the embedded store can be written again.
        StoreWritten Info "session.store-written", "the file of the store is written again";
        /// A database does not respond. Calls fail at once, and it is tried again at growing intervals.
        StoreAway Error "session.store-away", "the database of the store does not respond";
        /// A database responds again.
        StoreBack Info "session.store-back", "the database of the store responds again";
        /// The store was rolled back: a backup was restored, or a failover went to a replica that was behind.
        /// Cut-offs and revocations that it had acknowledged are missing. This instance reads everything again
        /// and stores again what it knows. Until then it accepts no session and is not ready. Logins in progress
        /// are refused, and access tokens have to be issued again. `store` names what was lost: `sessions`,
        /// `tokens`, or a list of origins, which keeps only the origins that the older list has too.
        StoreLostWrites Error "session.store-lost-writes", "the store has lost acknowledged writes: a backup was restored, or a failover went to a replica that was behind";
        /// The store that an app moves from has about as many sessions as `left` says.
        StoreMoving Info "session.store-moving", "the store that the app moves from still has sessions";
        /// The store that an app moves from has no sessions.
        StoreMoved Info "session.store-moved", "the store that the app moves from has no session left: remove `moving_from`";
        /// Expired sessions take up space.
        SessionsNotPurged Error "session.not-purged", "expired sessions could not be removed";
        /// A `Set-Cookie` of a handler was removed.
        SessionCookieOfHandler Error "session.cookie-of-handler", "a handler set the session cookie itself";
    }
}
