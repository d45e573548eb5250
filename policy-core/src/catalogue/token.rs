//! Access and refresh tokens, and the keys that sign them.

area! { $ token
    rules {
        /// An issuer that is no text.
        TokenIssuer Error "token.issuer-empty",
            "the issuer of tokens is not empty",
            "write who signs them, such as the origin of a service";
        /// An audience that is no text.
        TokenAudience Error "token.audience-empty",
            "the audience of tokens is not empty",
            "write the origin of the service, or leave `audience` out";
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
        /// A type that no token has.
        TokenType Error "token.type",
            "the type of tokens is a media type in lower case, without parameters and without `application/`",
            "write a type such as `at+jwt`";
        /// A bound that no token keeps, or that bounds nothing.
        TokenLength Error "token.length",
            "the longest token has 256 to 16384 bytes",
            "write a length such as `4096`";
        /// No algorithm is allowed.
        TokenAlgorithms Error "token.algorithms-missing",
            "at least one algorithm is allowed",
            "name the algorithms of the keys";
        /// An id of a key that is none.
        KeyId Error "token.key-id",
            "the id of a key is 1 to 64 of `A-Z a-z 0-9 . _ -`",
            "write an id such as `2026-01`";
        /// Two keys of one id.
        KeyRepeated Error "token.key-repeated",
            "two keys have the same id",
            "give each key an id of its own";
        /// No keys.
        KeysMissing Error "token.keys-missing",
            "a key ring has at least one key",
            "give it the key that signs, such as one of `openssl rand -hex 32`";
        /// Bytes or text that hold no key of the algorithm.
        KeyEncoding Error "token.key-encoding",
            "this is no key of this algorithm in an encoding that is read here",
            "write private keys as PKCS #8 and public ones as SPKI, as DER or PEM";
        /// A secret that can be tried out.
        SecretTooShort Error "token.secret-too-short",
            "a key has at least 32 bytes",
            "draw one with `openssl rand -hex 32`";
        /// A secret that nobody drew.
        SecretConstant Error "token.secret-constant",
            "all bytes of this key are equal",
            "draw one with `openssl rand -hex 32`";
        /// A secret that somebody typed.
        SecretGuessable Error "token.secret-guessable",
            "this key is text that somebody typed",
            "draw 32 random bytes, and give their encoding to `SecretKey::decode`";
        /// A secret in no encoding.
        SecretEncoding Error "token.secret-encoding",
            "an encoded key is hexadecimal, base64 or base64url",
            "write what `openssl rand -hex 32` or `openssl rand -base64 32` prints";
        /// A file of keys that cannot be read.
        KeyFile Error "token.key-file-unreadable",
            "this file of keys cannot be read",
            "write the path of a file that this program may read, relative to where it is started";
        /// A line of a key file that is none.
        KeyLine Error "token.key-line",
            "a line is the id of a key, a blank, and the key or `revoked`",
            "write a line such as `2026-01 ` with what `openssl rand -hex 32` prints behind it";
        /// A name that no issuer has.
        IssuerName Error "token.issuer-name",
            "the name of an issuer has no control characters",
            "write it as it stands in `iss` of its tokens";
        /// A name of two issuers.
        IssuerRepeated Error "token.issuer-repeated",
            "another issuer, or the app itself, has this name",
            "name each issuer once";
        /// An issuer without keys.
        IssuerKeysMissing Error "token.issuer-keys-missing",
            "nothing here says where the keys of this issuer are",
            "write `jwks` with the address of its document, or `keys`";
        /// An issuer that shares its secret.
        IssuerSecret Error "token.issuer-secret",
            "whoever verifies with a secret can sign with it, so keys of other issuers are public ones",
            "let the issuer sign with ES256, Ed25519 or RS256";
        /// An address that no keys are fetched from.
        IssuerAddress Error "token.issuer-address",
            "keys are fetched from an `https` address, or in the development profile from this machine",
            "write an address such as `https://id.example/.well-known/jwks.json`, or in the development profile `http://localhost/..`";
    }

    refusals {
        /// RFC 9700 4.14.2: a refresh token that is unknown, used, expired or ended.
        RefreshRefused 401 "token.refresh-refused", "The refresh token is not valid";
        /// A store that did not answer; the credential stays valid.
        TokenStoreUnavailable 503 "token.store-unavailable", "Tokens cannot be checked at the moment";
    }

    events {
        /// A stolen refresh token, or a client that sends one again.
        RefreshReuse Warn "token.refresh-reuse", "a refresh token was used twice: its family ended";
        /// A store gave an error.
        TokenStoreFailed Error "token.store-failed", "the store of tokens failed";
        /// Revocations cannot be asked for.
        TokenStoreAway Error "token.store-away", "the store of tokens does not answer";
        /// Revocations can be asked for again.
        TokenStoreBack Info "token.store-back", "the store of tokens answers again";
        /// A document without a key of an algorithm that is used here.
        IssuerWithoutKeys Warn "token.issuer-without-keys", "an issuer publishes no key that is used here";
        /// A document that was away is there.
        IssuerKeysBack Info "token.issuer-keys-back", "the keys of an issuer are there again";
        /// A document that is away.
        IssuerKeysAway Warn "token.issuer-keys-away", "the keys of an issuer cannot be fetched";
        /// A secret that everybody can read.
        IssuerSecretPublished Warn "token.issuer-secret-published", "an issuer publishes a secret key";
    }
}
