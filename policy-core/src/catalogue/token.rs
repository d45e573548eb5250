//! Access and refresh tokens, and the keys that sign them.

area! { $ token
    rules {
        /// An empty issuer.
        TokenIssuer Error "token.issuer-empty",
            "the issuer of tokens cannot be empty",
            "write who signs them, such as the origin of a service";
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
            "revocations are fetched every second, so the known ones are often older than this",
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
            "a key id has 1 to 64 of the characters `A-Z a-z 0-9 . _ -`; that of a public key 1 to 128 visible ASCII characters without `\"` and `\\`",
            "write an id such as `2026-01`";
        /// Two keys with one id.
        KeyRepeated Error "token.key-repeated",
            "two keys have the same id",
            "give each key its own id";
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
            "these keys end with the process: no token outlives a restart, and no other instance accepts it",
            "make a file by `echo \"k1 $(openssl rand -base64 32)\" > token.keys`, and read it by `TokenKeys::read(\"token.keys\")`";
        /// A file of keys that cannot be read.
        KeyFile Error "token.key-file-unreadable",
            "this file of keys cannot be read",
            "write the path of a file that this program may read, relative to where it is started";
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
    }

    refusals {
        /// RFC 9700 4.14.2: a refresh token that is unknown, used, expired or ended.
        RefreshRefused 401 "token.refresh-refused", "The refresh token is not valid";
        /// The store did not respond; the credential stays valid.
        TokenStoreUnavailable 503 "token.store-unavailable", "Tokens cannot be checked at the moment";
    }

    events {
        /// A refresh token was stolen, or a client sent one again.
        RefreshReuse Warn "token.refresh-reuse", "a refresh token was used twice: its family ended";
        /// A store returned an error.
        TokenStoreFailed Error "token.store-failed", "the token store failed";
        /// Revocations cannot be fetched.
        TokenStoreAway Error "token.store-away", "the token store does not respond";
        /// Revocations can be fetched again.
        TokenStoreBack Info "token.store-back", "the token store responds again";
        /// The file of the keys has changed.
        TokenKeysReplaced Info "token.keys-replaced", "the keys of tokens are those of the changed file";
        /// The file of the keys cannot be used any more.
        TokenKeysKept Error "token.keys-kept", "the keys of tokens in use are kept, since those of the file cannot be used";
        /// A key set without a key of an algorithm that the app accepts.
        IssuerWithoutKeys Warn "token.issuer-without-keys", "an issuer publishes no key that can be used here";
        /// A key set can be fetched again.
        IssuerKeysBack Info "token.issuer-keys-back", "the keys of an issuer can be fetched again";
        /// A key set cannot be fetched.
        IssuerKeysAway Warn "token.issuer-keys-away", "the keys of an issuer cannot be fetched";
        /// A key set with a private key or a secret.
        IssuerSecretPublished Warn "token.issuer-secret-published", "an issuer publishes a secret key";
        /// Why a token is refused: it is longer than the limit.
        TokenTooLarge Info "token.too-large",
            "the token is longer than the limit: put less into it, or raise `max_len` of its issuer";
        /// Why a token is refused: it is not a JSON Web Token in the compact form (RFC 7515 3.1).
        TokenMalformed Info "token.malformed",
            "this is no JSON Web Token: send the text of the access token, without quotes, after `Bearer `";
        /// Why a token is refused: it has a critical header (RFC 7515 4.1.11).
        TokenCritical Info "token.critical-header",
            "the header of the token has `crit` or `b64`, which are not supported";
        /// Why a token is refused: its algorithm is not supported, or does not match its key.
        TokenAlgorithm Info "token.algorithm",
            "the algorithm that the token names is not supported, or is not that of its key: let the issuer sign with ES256, Ed25519 or RS256";
        /// Why a token is refused: its type is another one (RFC 8725 3.11).
        TokenTypeOther Info "token.type-other",
            "the token is of another type (`typ`): send the access token and not the ID token, or state the type of its issuer by `Issuer::typ` or `Issuer::generic_type`";
        /// Why a token is refused: no key has the id that it names, or the key has retired.
        TokenKeyUnknown Info "token.key-unknown",
            "no key in use has the id that the token names (`kid`)";
        /// Why a token of an issuer is refused: it names no key.
        TokenKeyIdMissing Info "token.key-id-missing",
            "the header of the token names no key: let the issuer write `kid`";
        /// Why a token of an issuer is refused: the type or algorithm of its key is not supported.
        TokenKeyUnsupported Info "token.key-unsupported",
            "the issuer publishes the key of the token, and its type or algorithm is not supported: let it sign with ES256, Ed25519 or RS256";
        /// Why a token of an issuer is refused: its key is published as a secret, for another use, or malformed.
        TokenKeyUnusable Info "token.key-unusable",
            "the issuer publishes the key of the token as a secret, for another purpose (`use`, `key_ops`) or malformed";
        /// Why a token is refused: its signature does not verify.
        TokenSignature Info "token.signature",
            "the token is not signed by the key that it names";
        /// Why a token is refused: a claim is missing.
        TokenClaimMissing Info "token.claim-missing",
            "the token lacks a claim that is required";
        /// Why a token is refused: a claim has a value of a wrong type or out of range.
        TokenClaimType Info "token.claim-type",
            "a claim of the token has a value of another type, or out of its range";
        /// Why a token is refused: it has expired (`exp`).
        TokenExpired Info "token.expired",
            "the token has expired: send a new one, or synchronise the clocks";
        /// Why a token is refused: it is not valid yet (`nbf`).
        TokenNotYetValid Info "token.not-yet-valid",
            "the token is not valid yet (`nbf`): synchronise the clocks, or raise `leeway`";
        /// Why a token is refused: it was issued in the future (`iat`).
        TokenIssuedInFuture Info "token.issued-in-future",
            "the token was issued in the future (`iat`): synchronise the clocks, or raise `leeway`";
        /// Why a token is refused: its user logged in in the future (`auth_time`).
        TokenLoginInFuture Info "token.login-in-future",
            "the user of the token logged in in the future (`auth_time`): synchronise the clocks";
        /// Why a token is refused: its lifetime is longer than accepted.
        TokenLifetimeTooLong Info "token.lifetime-too-long",
            "the time from `iat` to `exp` is longer than is accepted: let the issuer shorten it, or raise `max_lifetime`";
        /// Why a token is refused: its issuer (`iss`) is not the one whose key it names.
        TokenIssuerOther Info "token.issuer-other",
            "the issuer of the token (`iss`) is not the one whose key it names: names are compared byte for byte, a slash at the end included";
        /// Why a token is refused: neither its issuer nor its key is known.
        TokenIssuerUnknown Info "token.issuer-unknown",
            "the app accepts no issuer of the name in the token (`iss`): names are compared byte for byte, a slash at the end included";
        /// Why a token is refused: it is for another audience (`aud`).
        TokenAudienceOther Info "token.audience-other",
            "the token is for another audience (`aud`): request one for this app, or write its audience by `audience`";
        /// Why a token of an issuer is refused: a claim differs from the value that the settings require.
        TokenClaimUnexpected Info "token.claim-unexpected",
            "a claim of the token has another value than `Issuer::required_claim` states";
        /// Why a token of an issuer is refused: the route does not take it.
        TokenIssuerNotTaken Info "token.issuer-not-taken",
            "the app accepts the issuer of the token, and this route does not: name it in `#[auth(token, issuers = [..])]`";
        /// Why a token is refused: it was revoked.
        TokenRevoked Info "token.revoked",
            "the token was revoked, by itself or with its session, its login or its user";
        /// Why a token cannot be checked: the revocations are older than `max_staleness`.
        TokenRevocationsUnknown Info "token.revocations-unknown",
            "the store does not respond, and the known revocations are too old";
        /// Why a token of an issuer cannot be checked: its key was not fetched yet.
        TokenIssuerKeysUnknown Info "token.issuer-keys-unknown",
            "the key of the token was not fetched yet: send the token again in a second";
        /// Why a token is refused: it lacks a scope.
        TokenScopeInsufficient Info "token.scope-insufficient",
            "the token lacks a scope that is required";
    }
}
