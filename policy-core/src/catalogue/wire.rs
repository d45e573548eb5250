//! What every request must meet before it is routed: syntax, host, transport.

area! { $ wire
    refusals {
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
        ConnectionField 400 "wire.connection-field", "The request has a field about its connection, which its version of HTTP does not have";
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
    }
}
