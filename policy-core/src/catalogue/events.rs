//! Events: messages that a server logs. A row has the level, the code and the message.

use super::Row;

/// How much an [`Event`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventLevel {
    /// An operator must act.
    Error,
    /// An operator should look at it.
    Warn,
    /// Information for operators.
    Info,
}

impl Event {
    /// The event.
    pub const fn message(self) -> &'static str {
        self.row().message
    }

    /// How much it matters.
    pub const fn level(self) -> EventLevel {
        self.row().mark
    }
}

entries! {
    /// Something that a server logs.
    Event, EventLevel::EventLevel:

    // `#[cors]`: which origins may read responses, and what browsers ask in preflights.

    /// A list of origins that another instance stored breaks a rule of this one, which keeps its own.
    StoredListRefused Error "cors.stored-list-refused", "a stored list of origins breaks a rule of this instance";

    // `#[auth]`: who may call.

    /// The store of the tickets returned an error.
    TicketUnchecked Error "auth.ticket-unchecked", "a ticket could not be checked";
    /// A custom scheme returned an error.
    SchemeFailed Error "auth.scheme-failed", "an authentication scheme failed";

    // Handlers: what they look like, and how they end.

    /// A panic, which ends the request and nothing else.
    HandlerPanicked Error "handler.panicked", "the handler panicked";
    /// An error that a handler returned, and whose text no client sees.
    HandlerError Error "handler.error", "the handler returned an error";
    /// An extension member with the name of a standard one.
    ProblemMemberReserved Warn "handler.problem-member-reserved", "this member of a problem has its own method";
    /// An extension member that cannot be serialised as JSON.
    ProblemMemberUnwritable Warn "handler.problem-member-unwritable", "a member of a problem cannot be serialised";

    // `#[object]` and `derive(Object)`: rights on objects.

    /// The engine returned an error, so the request is refused.
    EngineFailed Error "object.engine-failed", "the engine of the app could not decide about an object";

    // Sessions and cookies.

    /// A store returned an error.
    SessionStoreFailed Error "session.store-failed", "a session store failed";
    /// The session of a request could not be read from the store.
    SessionNotLoaded Error "session.not-loaded", "a session could not be loaded";
    /// The changes of a request to its session are lost.
    SessionNotStored Error "session.not-stored", "a session could not be stored";
    /// Somebody wrote values into the store, or an earlier release of the app did.
    SessionUnprotected Warn "session.unprotected", "the values of a session are not encrypted for this session: it has ended";
    /// The idle time of a session continues as if the session had not been used.
    SessionUseNotNoted Warn "session.use-not-noted", "the use of a session was not recorded";
    /// A write to the file of the embedded store failed. Nothing is acknowledged until one succeeds.
    StoreNotWritten Error "session.store-not-written", "the file of the store cannot be written, and the write is repeated";
    /// The file of the embedded store can be written again.
    StoreWritten Info "session.store-written", "the file of the store can be written again";
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

    // Access and refresh tokens, and the keys that sign them.

    /// A refresh token was stolen, or a client sent one again.
    RefreshReuse Warn "token.refresh-reuse", "a refresh token was used twice: its family ended";
    /// A store returned an error.
    TokenStoreFailed Error "token.store-failed", "the token store failed";
    /// Revocations cannot be fetched.
    TokenStoreAway Error "token.store-away", "the token store does not respond";
    /// Revocations can be fetched again.
    TokenStoreBack Info "token.store-back", "the token store responds again";
    /// The file of the keys has changed.
    TokenKeysReplaced Info "token.keys-replaced", "the token keys were replaced by those of the changed file";
    /// The file of the keys cannot be used any more.
    TokenKeysKept Error "token.keys-kept", "the token keys in use are kept, since those of the changed file cannot be used";
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
        "this is not a JSON Web Token: send the text of the access token, without quotes, after `Bearer `";
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
        "the issuer publishes the key of the token, but its type or algorithm is not supported: let it sign with ES256, Ed25519 or RS256";
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
        "a claim of the token has the wrong type, or a value out of range";
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
        "the app accepts no issuer with the name in the token (`iss`): names are compared byte for byte, a slash at the end included";
    /// Why a token is refused: it is for another audience (`aud`).
    TokenAudienceOther Info "token.audience-other",
        "the token is for another audience (`aud`): request one for this app, or accept this audience with `audience`";
    /// Why a token of an issuer is refused: a claim differs from the value that the settings require.
    TokenClaimUnexpected Info "token.claim-unexpected",
        "a claim of the token does not have the value that `Issuer::required_claim` requires";
    /// Why a token of an issuer is refused: the route does not take it.
    TokenIssuerNotTaken Info "token.issuer-not-taken",
        "the app accepts the issuer of the token, but this route does not: name it in `#[auth(token, issuers = [..])]`";
    /// Why a token is refused: it was revoked.
    TokenRevoked Info "token.revoked",
        "the token was revoked, by itself or with its session, its login or its user";
    /// Why a token cannot be checked: the revocations are older than `max_staleness`.
    TokenRevocationsUnknown Info "token.revocations-unknown",
        "the store does not respond, and the fetched revocations are too old";
    /// Why a token of an issuer cannot be checked: its key was not fetched yet.
    TokenIssuerKeysUnknown Info "token.issuer-keys-unknown",
        "the key of the token has not been fetched yet: send the token again in a second";
    /// Why a token is refused: it lacks a scope.
    TokenScopeInsufficient Info "token.scope-insufficient",
        "the token lacks a scope that is required";

    // Certificates and keys of the server.

    /// The files have a new and valid certificate.
    CertificateReplaced Info "tls.certificate-replaced", "the certificate was replaced";
    /// The files have a new certificate that cannot be used.
    CertificateKept Error "tls.certificate-kept", "the certificate in use is kept, since the new one cannot be used";
    /// The files could not be read again.
    CertificatesUnchecked Error "tls.certificates-unchecked", "certificates could not be checked";
    /// The process cannot listen for the signal.
    HangupIgnored Warn "tls.hangup-ignored", "SIGHUP reloads nothing";

    // Upstreams that requests are passed to, and the trusted proxies in front.

    /// The client has received a part of the response.
    UpstreamBrokeOff Warn "proxy.response-broken-off", "the response of an upstream broke off";

    // The app and the server as a whole.

    /// The server listens at an address.
    Listening Info "server.listening", "listening";
    /// A connection cannot be accepted.
    AcceptFailed Error "server.accept-failed", "cannot accept connections";
    /// New requests are still served, and load balancers are told to send no more.
    Draining Info "server.draining", "draining";
    /// Connections are closed.
    ShuttingDown Info "server.shutting-down", "shutting down";
    /// The time for requests in flight is over.
    RequestsCutOff Warn "server.requests-cut-off", "requests in flight were cut off";
    /// The output of the access log returned an error, such as that of a full disk.
    AccessLogFailed Error "server.access-log-failed", "a line of the access log could not be written";
    /// The candidate of `App::report_only` would have decided differently about a request.
    CandidateDiffers Info "candidate.differs", "the candidate policy decides differently";
}
