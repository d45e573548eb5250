//! `#[limit]`: sizes, times, rates and concurrency.

area! { $ limit
    rules {
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
    }

    refusals {
        /// RFC 6585 4: more requests than the rate of the route allows.
        RateExceeded 429 "limit.rate", "There were too many requests";
        /// As many requests at work as the route allows.
        ConcurrencyExceeded 503 "limit.concurrency", "Too many requests are at work at the moment";
    }
}
