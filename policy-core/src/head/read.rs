//! The headers of a request that gates use, collected in one pass.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

use crate::headers::groups::is_about_sender;

/// A header that may occur once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Single<'a> {
    /// The field is absent.
    #[default]
    Absent,
    /// The field occurs once.
    One(&'a HeaderValue),
    /// It occurs more than once, so it is not used.
    Repeated,
}

impl<'a> Single<'a> {
    /// Reads the field `name` of `headers`.
    pub fn read(headers: &'a HeaderMap, name: &HeaderName) -> Self {
        match headers.get(name) {
            None => Self::Absent,
            // Fast path: usually no field is repeated.
            Some(value) if headers.len() == headers.keys_len() => Self::One(value),
            Some(_) => headers.get_all(name).iter().fold(Self::Absent, Self::and),
        }
    }

    /// Whether the field occurs once, with this value.
    pub(crate) fn is(self, value: &str) -> bool {
        matches!(self, Self::One(found) if found == value)
    }

    fn and(self, value: &'a HeaderValue) -> Self {
        match self {
            Self::Absent => Self::One(value),
            Self::One(_) | Self::Repeated => Self::Repeated,
        }
    }
}

/// The parts of a request head that gates use.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The request target.
    pub uri: &'a Uri,
    /// Its path.
    pub path: &'a str,
    /// The version of HTTP.
    pub version: Version,
    /// `Host`
    pub(crate) host: Single<'a>,
    /// `Origin`
    pub origin: Single<'a>,
    /// `Access-Control-Request-Method`
    pub request_method: Single<'a>,
    /// `Content-Length`
    pub(crate) content_length: Single<'a>,
    /// `Transfer-Encoding`
    pub(crate) transfer_encoding: Single<'a>,
    /// `Expect`
    pub(crate) expect: Single<'a>,
    /// Whether there is a connection-specific field, which HTTP/2 and later forbid.
    pub(crate) has_connection_field: bool,
    /// Whether the request came over TLS. [`Head::read`] leaves it `false`, because no header
    /// states it; the server sets it from the connection.
    pub is_secure: bool,
    /// Whether the connection itself uses TLS, whatever a proxy reports. [`Head::read`] leaves it
    /// empty; the server sets it where it has the connection.
    pub is_connection_secure: Option<bool>,
    /// Whether there is a field that states where the request came from
    /// ([`is_about_sender`](crate::headers::groups::is_about_sender)).
    pub is_forwarded: bool,
    /// Whether there is a field that states which trace the request belongs to, or travels with it:
    /// `traceparent`, `tracestate` or `baggage`.
    pub is_traced: bool,
    /// Whether there is an `Early-Data` header: the request may be a replay (RFC 8470 5.1).
    pub(crate) is_early: bool,
    /// The host that the client requested, as stated by a trusted proxy. [`Head::read`] leaves it
    /// empty; the server sets it, because it knows which proxies to trust.
    pub forwarded_host: Option<&'a str>,
    /// The `:protocol` of an extended CONNECT (RFC 8441 4). It is not a header; the server sets it.
    pub protocol: Option<&'a str>,
    /// Whether there is an `Upgrade` field.
    pub(crate) has_upgrade: bool,
    /// Whether a header makes the request conditional or asks for a range (RFC 9110 13.1 and 14.2).
    pub is_conditional: bool,
    /// Whether there is an `Accept` that is not `*/*`.
    pub has_preference: bool,
}

impl<'a> Head<'a> {
    /// Reads the head of a request in one pass over its fields.
    pub fn read<B>(request: &'a http::Request<B>) -> Self {
        let mut head = Self {
            method: request.method(),
            uri: request.uri(),
            path: request.uri().path(),
            version: request.version(),
            host: Single::Absent,
            origin: Single::Absent,
            request_method: Single::Absent,
            content_length: Single::Absent,
            transfer_encoding: Single::Absent,
            expect: Single::Absent,
            has_connection_field: false,
            is_secure: false,
            is_connection_secure: None,
            is_forwarded: false,
            is_traced: false,
            is_early: false,
            forwarded_host: None,
            protocol: None,
            has_upgrade: false,
            is_conditional: false,
            has_preference: false,
        };
        for (name, value) in request.headers() {
            match name.as_str().as_bytes() {
                b"host" => head.host = head.host.and(value),
                b"origin" => head.origin = head.origin.and(value),
                b"access-control-request-method" => {
                    head.request_method = head.request_method.and(value);
                }
                b"content-length" => head.content_length = head.content_length.and(value),
                b"upgrade" => {
                    head.has_upgrade = true;
                    head.has_connection_field = true;
                }
                b"transfer-encoding" => {
                    head.transfer_encoding = head.transfer_encoding.and(value);
                    head.has_connection_field = true;
                }
                b"connection" => head.has_connection_field = true,
                b"te" => head.has_connection_field |= value != "trailers",
                b"expect" => head.expect = head.expect.and(value),
                b"accept" => head.has_preference |= value != "*/*",
                b"if-match"
                | b"if-none-match"
                | b"if-modified-since"
                | b"if-unmodified-since"
                | b"if-range"
                | b"range" => head.is_conditional = true,
                b"forwarded" => head.is_forwarded = true,
                b"traceparent" | b"tracestate" | b"baggage" => head.is_traced = true,
                b"early-data" => head.is_early = true,
                b"keep-alive" | b"proxy-connection" => head.has_connection_field = true,
                _ => head.is_forwarded |= is_about_sender(name.as_str()),
            }
        }
        head
    }

    /// Whether this is a CORS preflight (Fetch, 3.3.2): OPTIONS with an origin and a requested
    /// method. A malformed preflight still counts as one, and is refused.
    pub fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.origin != Single::Absent
            && self.request_method != Single::Absent
    }

    /// Whether this asks for a tunnel to a host and a port (RFC 9110 9.3.6), in any HTTP version.
    pub fn is_tunnel(&self) -> bool {
        self.method == Method::CONNECT && self.uri.scheme().is_none() && self.protocol.is_none()
    }

    /// Whether this opens a WebSocket by an extended CONNECT (RFC 8441 5): it is dispatched to the
    /// route that serves GET.
    pub(crate) fn is_extended_websocket(&self) -> bool {
        self.method == Method::CONNECT && self.protocol == Some("websocket")
    }

    /// Whether this opens a WebSocket from a page (RFC 6455 4.1), over HTTP/1.1 or HTTP/2.
    pub fn is_upgrade(&self) -> bool {
        self.has_upgrade || (self.version == Version::HTTP_2 && self.method == Method::CONNECT)
    }
}
