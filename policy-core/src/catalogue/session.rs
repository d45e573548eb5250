//! Sessions and cookies.

area! { $ session
    rules {
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
    }

    refusals {
        /// The cookies of the request are over their limits.
        CookiesTooLarge 400 "cookie.request-too-large", "The request has too many or too large cookies";
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
    }

    events {
        /// A store gave an error.
        SessionStoreFailed Error "session.store-failed", "a store of sessions failed";
        /// The session of a request is not known.
        SessionNotLoaded Error "session.not-loaded", "a session could not be loaded";
        /// What a request changed is not stored.
        SessionNotStored Error "session.not-stored", "a session could not be stored";
        /// The idle time of a session goes on as if it had not been used.
        SessionUseNotNoted Warn "session.use-not-noted", "the use of a session was not noted";
        /// Sessions that are over take up room.
        SessionsNotPurged Error "session.not-purged", "dead sessions could not be removed";
        /// A `Set-Cookie` of a handler was removed.
        SessionCookieOfHandler Error "session.cookie-of-handler", "a handler set the cookie of the sessions itself";
    }
}
