//! `#[limit]`: sizes, times, rates and concurrency.

area! { $ limit
    rules {
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
            "this is not a rate: a whole number, one of `/s`, `/min`, `/h` and `/d`, and who is counted",
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
            "write a duration such as `1m`; clients are sent a ping after half of it";
        /// A number of WebSockets that is zero.
        LimitSocketsZero Error "limit.sockets-zero",
            "with a number of zero, no WebSocket is ever opened",
            "write one or more, such as `sockets = 1000`; remove the route if it opens none";
        /// Shared limits without a store for them.
        LimitStoreMissing Error "limit.store-missing",
            "shared limits are counted in the store of the sessions, and there is none that several instances can share",
            "keep the sessions in PostgreSQL or Redis, or write `SharedLimits::store(..)` with such a store; one instance needs no shared limits";
        /// A rate, or a number of WebSockets of a caller, in front of a service of another server, which states its peers in its own way.
        RateOfLayer Error "limit.rate-of-layer",
            "a layer does not know the addresses that it should count: all clients would share one rate, or be one caller",
            "say where the server states the address with `PolicyLayerBuilder::peer`, or put the service into an app";
    }

    refusals {
        /// RFC 6585 4: more requests than the rate of the route allows.
        RateExceeded 429 "limit.rate", "There were too many requests";
        /// As many requests in progress as the route allows.
        ConcurrencyExceeded 503 "limit.concurrency", "Too many requests are in progress";
        /// As many WebSockets are open as the route allows.
        SocketsExceeded 503 "limit.sockets", "Too many WebSockets are open";
        /// RFC 6455 7.4.1, 1009: the reason of the end of a WebSocket.
        MessageTooLarge 413 "limit.message", "The message is too large";
        /// RFC 6455 7.4.1, 1001: the reason of the end of a WebSocket.
        SocketSilent 408 "limit.silence", "The client sent nothing for too long";
        /// RFC 6455 7.4.1, 1001: the reason of the end of a WebSocket.
        SocketUnread 408 "limit.unread", "The client read too little of what it was sent";
        /// As many WebSockets of this caller are open as the route allows.
        CallerSocketsExceeded 429 "limit.sockets-per-caller", "You have too many WebSockets open";
    }
}
