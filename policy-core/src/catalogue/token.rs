//! Access and refresh tokens, and the keys that sign them.

area! { $ token
    rules {
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
    }

    refusals {
        /// RFC 9700 4.14.2: a refresh token that is unknown, used, expired or ended.
        RefreshRefused 401 "token.refresh-refused", "The refresh token is not valid";
        /// A store that did not answer; the credential stays valid.
        TokenStoreUnavailable 503 "token.store-unavailable", "Tokens cannot be checked at the moment";
    }
}
