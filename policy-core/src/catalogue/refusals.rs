//! Refusals: reasons not to serve a request. A row has the status, the code and the title.

use super::Row;

impl Refusal {
    /// The title of the problem+json response (RFC 9457 3.1.3).
    pub const fn title(self) -> &'static str {
        self.row().message
    }

    /// The status code of the response.
    pub const fn status(self) -> u16 {
        self.row().mark
    }

    /// Whether no cache may keep the response: a refusal of one client at one time must not be
    /// served to others (RFC 6585 4, for example).
    pub const fn is_uncacheable(self) -> bool {
        matches!(self.status(), 401 | 403 | 429 | 503)
    }

    /// After how many seconds a client may try again, if that can help.
    pub const fn retry_after(self) -> Option<u32> {
        match self {
            Self::ConcurrencyExceeded
            | Self::CredentialsUnchecked
            | Self::SessionBusy
            | Self::SessionStore
            | Self::TokenStoreUnavailable => Some(1),
            _ => None,
        }
    }
}

entries! {
    /// A reason to refuse one request, with the status and the words of the response.
    Refusal, u16:

    // `#[cors]`: which origins may read responses, and what browsers ask in preflights.

    /// Fetch, CORS check: the preflight's origin is not granted.
    PreflightOrigin 403 "cors.origin-not-granted", "The policy of this route does not grant the origin";
    /// Fetch: more than one Origin in a preflight.
    PreflightOriginRepeated 403 "cors.preflight-origin-repeated", "The preflight names more than one origin";
    /// Fetch: a requested method that is repeated, empty or no token.
    PreflightMethod 403 "cors.request-method-malformed", "The preflight does not ask for exactly one method";
    /// RFC 6455 10.2: a WebSocket from an origin that may not read the route, or not with the
    /// credentials that a service would get.
    WebSocketOrigin 403 "cors.websocket-origin-not-granted", "The policy of this route does not grant the origin";
    /// A new list of origins breaks a rule of a route.
    OriginListRefused 422 "cors.list-refused", "The list of origins is refused";
    /// The store of a list of origins does not respond, or others change the list.
    OriginListUnavailable 503 "cors.list-unavailable", "The list of origins cannot be changed at the moment";
    /// Readiness: a stored list of origins breaks a rule of this instance, which uses an older one.
    StoredListOutdated 503 "cors.list-outdated", "This instance cannot use a stored list of origins";

    // `#[auth]`: who may call.

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
    /// RFC 6750 3.1, `insufficient_scope`: a scope or role is missing. A session has those of its login,
    /// `Identity::new(user).scopes([..]).roles([..])`.
    RightsMissing 403 "auth.rights-missing", "The caller does not have the required rights";
    /// RFC 9470 3: the login is older than the route allows.
    LoginTooOld 401 "auth.login-too-old", "A recent login is required";
    /// A handler that needs a user of this app, and a caller of another issuer.
    CallerForeign 403 "auth.caller-foreign", "This is only for users of this service";
    /// The store that decides whether a credential is still valid does not respond.
    CredentialsUnchecked 503 "auth.credentials-unchecked", "The credentials cannot be checked now";

    // `#[csrf]`: requests that other pages forge.

    /// RFC 6749 10.12: the request came, or may have come, from an untrusted page.
    CsrfOrigin 403 "csrf.origin", "The request did not come from a page of this service";
    /// A login by a link that a browser loads for a page, and not for a window of its user.
    LoginNavigation 403 "csrf.login-navigation", "With this method, only the navigation of a window can log in or elevate";
    /// The request does not carry the session's CSRF token.
    CsrfToken 403 "csrf.token", "The CSRF token is missing or wrong";

    // `#[headers]` and `#[isolation]`: security headers, and which pages may load a response.

    /// Fetch Metadata: the request came from a page that may not load this.
    CrossSite 403 "isolation.cross-site", "Pages of other sites may not load this";

    // `#[limit]`: sizes, times, rates and concurrency.

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
    /// RFC 6585 4: the caller asked too often for objects that are not there for them, so they get no
    /// object.
    ObjectMissesExceeded 429 "limit.misses", "There were too many requests for what is not there";

    // `#[jsonp]`: public data as scripts, for pages of any origin.

    /// A JSONP callback that is repeated, or is not a valid name.
    CallbackInvalid 400 "jsonp.callback-invalid", "The name of the callback is invalid";

    // Paths and methods.

    /// No route has the path.
    RouteNotFound 404 "route.not-found", "There is nothing here";
    /// RFC 9110 9.1: the method is not a standard one, and no route has it.
    MethodUnknown 501 "route.method-unknown", "The method is not known";
    /// RFC 8441 4: an extended CONNECT for another protocol than WebSocket.
    ProtocolUnknown 501 "route.protocol-unknown", "The requested protocol is not known";
    /// RFC 8441 4: a route that opens no WebSocket was asked for one by an extended CONNECT.
    ProtocolNotServed 501 "route.protocol-not-served", "The route opens no WebSocket";
    /// The path has routes, none of the method.
    MethodNotAllowed 405 "route.method-not-allowed", "The method is not supported here";

    // Handlers: what they look like, and how they end.

    /// The handler did not respond in time.
    HandlerTimedOut 503 "handler.timed-out", "The response was not ready in time";
    /// The handler panicked, or returned an error that is not a response.
    Internal 500 "handler.failed", "The server failed";

    // `#[object]` and `derive(Object)`: rights on objects.

    /// There is no such object, or none that the caller may see: the same response for both.
    ObjectNotFound 404 "object.not-found", "There is nothing here";
    /// The caller may see the object, and not do this with it; also the reason of the end of a stream or
    /// WebSocket whose caller has lost a right.
    ObjectDenied 403 "object.denied", "The caller may not do this with it";
    /// The engine of the app did not decide.
    EngineUnavailable 503 "object.engine-unavailable", "Rights cannot be checked at the moment";

    // Sessions and cookies.

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

    // Access and refresh tokens, and the keys that sign them.

    /// RFC 9700 4.14.2: a refresh token that is unknown, used, expired or ended.
    RefreshRefused 401 "token.refresh-refused", "The refresh token is not valid";
    /// The store did not respond; the credential stays valid.
    TokenStoreUnavailable 503 "token.store-unavailable", "Tokens cannot be checked at the moment";

    // Upstreams that requests are passed to, and the trusted proxies in front.

    /// RFC 3986 4.2: after the prefix of a proxy, the path begins with two slashes.
    ProxyPath 400 "proxy.path", "The path could be read as the name of another host";
    /// RFC 9110 15.6.3: no connection with the upstream.
    UpstreamUnreachable 502 "proxy.unreachable", "The upstream server cannot be reached";
    /// RFC 9110 15.6.3: something else than an HTTP response.
    UpstreamAnswer 502 "proxy.bad-answer", "The upstream server sent an invalid response";
    /// RFC 9110 15.6.5: no connection or no response in time.
    UpstreamTimedOut 504 "proxy.timed-out", "The upstream server did not respond in time";

    // CONNECT.

    /// RFC 9110 15.5.8: a request for a tunnel without a credential that allows it.
    TunnelCredentials 407 "tunnel.credentials", "The tunnel needs a valid credential";
    /// A target that is not listed.
    TunnelTarget 403 "tunnel.target-not-listed", "The tunnel does not allow this target";
    /// A local or private address that is not listed.
    TunnelAddress 403 "tunnel.address-refused", "The tunnel does not allow the address of the target";
    /// A CONNECT that a page sent.
    TunnelOrigin 403 "tunnel.origin", "No page may open a tunnel";
    /// RFC 9110 15.6.3: the target has no address, or does not take the connection.
    TunnelUnreachable 502 "tunnel.unreachable", "The target cannot be reached";
    /// RFC 9110 15.6.5: the target does not respond.
    TunnelTimedOut 504 "tunnel.timed-out", "The target did not respond in time";

    // What every request must meet before it is routed: syntax, host, transport.

    /// RFC 9112 3.2: a request without Host.
    HostMissing 400 "wire.host-missing", "The request names no host";
    /// RFC 9112 3.2: more than one Host.
    HostRepeated 400 "wire.host-repeated", "The request names more than one host";
    /// RFC 9112 3.2: a Host that is not an authority, or two that differ.
    HostMalformed 400 "wire.host-malformed", "The host of the request is malformed";
    /// RFC 9112 3.2.4: `*` without OPTIONS, or an authority without CONNECT.
    TargetForm 400 "wire.target-form", "The request target has a form that its method does not allow";
    /// RFC 9110 7.4: an absolute target of a scheme other than `http` and `https`.
    SchemeUnknown 400 "wire.scheme-unknown", "The request target has a scheme other than http and https";
    /// RFC 9110 7.4: an `https` target on a connection without TLS, or the other way round.
    SchemeMismatch 421 "origin.scheme-mismatch", "The request target has another scheme than its connection";
    /// RFC 3986 2.1: `%` without two hexadecimal digits, or one that decodes to a control
    /// character or to no UTF-8.
    PathEncoding 400 "wire.path-encoding", "The path is not correctly percent-encoded";
    /// RFC 3986 3.3: `.` or `..` as a whole segment, also encoded.
    PathDotSegment 400 "wire.path-dot-segment", "The path has a dot segment";
    /// RFC 3986 3.3: `//` in a path, which many servers take for `/`.
    PathEmptySegment 400 "wire.path-empty-segment", "The path has an empty segment";
    /// RFC 3986 2.2: `%2F` or `%5C` where the route does not say that it takes them.
    PathEncodedSlash 400 "wire.path-encoded-slash", "The path has an encoded slash";
    /// RFC 9113 8.2.2, RFC 9114 4.2: a connection-specific field in HTTP/2 or HTTP/3.
    ConnectionField 400 "wire.connection-field", "The request has a connection-specific field, which its version of HTTP forbids";
    /// RFC 9110 8.6: a Content-Length that is not a number, or more than one.
    ContentLengthMalformed 400 "wire.content-length-malformed", "The length of the body is malformed";
    /// RFC 9112 6.1: a body that is chunked more than once.
    TransferEncodingMalformed 400 "wire.transfer-encoding-malformed", "The body is chunked more than once";
    /// RFC 9112 6.1: a transfer coding other than chunked.
    TransferCoding 501 "wire.transfer-coding", "The transfer coding of the body is not known";
    /// RFC 9110 10.1.1: an expectation other than `100-continue`.
    ExpectationUnknown 417 "wire.expectation-unknown", "The request has an expectation that this server does not support";
    /// RFC 9110 7.4: a host that is not one of the configured names.
    HostUnknown 421 "origin.host-unknown", "This server does not serve the requested host";
    /// RFC 9110 7.4: a host other than loopback, in the development profile.
    HostNotLoopback 421 "origin.host-not-loopback", "A server without a public origin serves loopback hosts only";
    /// A forwarding field, in the development profile.
    ForwardedInDevelopment 421 "origin.forwarded-in-development", "A server without a public origin cannot stand behind a proxy";
    /// RFC 9110 15.5.20: a request over plain HTTP that must not be redirected.
    PlainHttp 421 "origin.plain-http", "This is served over https only";
    /// RFC 7239 4: a trusted proxy describes the client in a field that cannot be parsed.
    ForwardedMalformed 400 "wire.forwarded-malformed", "The proxy's report of the client is malformed";
    /// RFC 8470 5.2: early data, which can be replayed, for anything but reading public data.
    TooEarly 425 "wire.too-early", "The request came before the connection was secure against replays";
    /// RFC 9110 9.3.8: a TRACE with content.
    TraceContent 400 "wire.trace-content", "A TRACE request has no content";

    // What a request brings for its handler: parameters, bodies, conditions.

    /// A path parameter that its type does not parse.
    ParameterInvalid 400 "request.parameter-invalid", "A parameter in the path is invalid";
    /// A query string that its type does not parse.
    QueryInvalid 400 "request.query-invalid", "The query is invalid";
    /// A media type that the handler does not read.
    MediaType 415 "request.media-type", "The media type of the request is not supported";
    /// RFC 9110 15.5.16: a content coding that is not decoded.
    ContentCoding 415 "request.content-coding", "The content coding of the body is not supported";
    /// A body that is not in the content coding that it states.
    ContentCodingMalformed 400 "request.content-coding-malformed", "The body is not in its content coding";
    /// A body that is not JSON.
    JsonMalformed 400 "request.json-malformed", "The body is not valid JSON";
    /// JSON of another shape.
    JsonMismatch 422 "request.json-mismatch", "The JSON in the body does not have the expected shape";
    /// A form that its type does not parse.
    FormInvalid 422 "request.form-invalid", "The form is invalid";
    /// An extractor of another crate rejected the request. The response has its status and its text.
    Rejected 400 "request.rejected", "The request was rejected";
    /// A value of the expected type that breaks a rule of the application.
    RequestInvalid 422 "request.invalid", "The request breaks a rule";
    /// RFC 9110 15.5.7: no representation has a media type that the request accepts.
    NotAcceptable 406 "request.not-acceptable", "There is no representation that the request accepts";
    /// RFC 6585 3: an unsafe request that does not say which state it expects.
    PreconditionRequired 428 "request.precondition-required", "The request must name the state that it expects in If-Match";
    /// A body over its limit.
    BodyTooLarge 413 "request.body-too-large", "The body is over its limit";
    /// RFC 9110 14.5: a part of a representation, which would be stored as the whole.
    ContentRange 400 "request.content-range", "A part of a representation cannot be stored";
    /// A body that broke off.
    BodyIncomplete 400 "request.body-incomplete", "The body could not be read to its end";
    /// The client did not send its body in time.
    BodyTimedOut 408 "request.timed-out", "The request did not arrive in time";
    /// RFC 9110 15.5.13: a condition of the request does not hold.
    PreconditionFailed 412 "request.precondition-failed", "The resource is not in the state that the request assumes";
    /// RFC 9110 15.5.17: none of the requested bytes is there.
    RangeNotSatisfiable 416 "request.range-not-satisfiable", "The requested range is outside of the content";

    // The app and the server as a whole.

    /// The server is about to stop, and should receive no new requests.
    ServerStopping 503 "server.stopping", "The server is about to stop";
}
