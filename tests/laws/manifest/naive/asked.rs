//! A request as plain text.

use http::{Request, Version};
use policy_manifest::engine::Protocol;

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) scheme: Option<String>,
    pub(super) authority: Option<String>,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) is_http1_1: bool,
    pub(super) is_http2: bool,
    /// What an extended CONNECT asks for.
    pub(super) protocol: Option<String>,
    fields: Vec<(String, Vec<u8>)>,
}

impl Asked {
    pub(super) fn new(request: &Request<()>) -> Self {
        let uri = request.uri();
        let fields = request.headers().iter();
        Self {
            method: request.method().to_string(),
            scheme: uri.scheme_str().map(str::to_owned),
            authority: uri.authority().map(ToString::to_string),
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            is_http1_1: request.version() == Version::HTTP_11,
            is_http2: request.version() == Version::HTTP_2,
            protocol: match request.method().as_str() {
                "CONNECT" => request.extensions().get().map(|of: &Protocol| of.as_str().to_owned()),
                _ => None,
            },
            fields: fields
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
        }
    }

    /// The request as a proxy reads it: its credential is in `Proxy-Authorization`, and
    /// `Authorization` and `Cookie` are for the server behind the tunnel (RFC 9110 11.7.2).
    pub(super) fn to_proxy(&self) -> Self {
        let is_for_other = |name: &str| name == "authorization" || name == "cookie";
        let mut request = self.clone();
        request.fields.retain(|(name, _)| !is_for_other(name));
        for (name, _) in &mut request.fields {
            if name == "proxy-authorization" {
                *name = "authorization".to_owned();
            }
        }
        request
    }

    pub(super) fn lines(&self, name: &str) -> Vec<&[u8]> {
        let lines = self.fields.iter().filter(|(found, _)| found == name);
        lines.map(|(_, value)| value.as_slice()).collect()
    }

    /// The value of a field that occurs exactly once.
    pub(super) fn once(&self, name: &str) -> Option<&[u8]> {
        match *self.lines(name) {
            [value] => Some(value),
            _ => None,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        !self.lines(name).is_empty()
    }

    /// Whether a field is present, and is not a single value that is `allowed`.
    pub(super) fn is_other(&self, name: &str, allowed: impl Fn(&str) -> bool) -> bool {
        match *self.lines(name) {
            [] => false,
            [value] => !str::from_utf8(value).is_ok_and(allowed),
            _ => true,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    /// Fetch, 3.3.2.
    pub(super) fn is_preflight(&self) -> bool {
        self.method == "OPTIONS" && self.has("origin") && self.has("access-control-request-method")
    }

    /// CONNECT to a host and a port, not to a resource.
    pub(super) fn is_tunnel(&self) -> bool {
        self.method == "CONNECT" && self.scheme.is_none() && self.protocol.is_none()
    }

    /// The method that selects its route: a WebSocket over HTTP/2 counts as GET (RFC 8441 5).
    pub(super) fn found_by(&self) -> &str {
        if self.protocol.as_deref() == Some("websocket") { "GET" } else { &self.method }
    }

    /// Whether it opens a WebSocket, or might.
    pub(super) fn is_upgrade(&self) -> bool {
        self.has("upgrade") || (self.is_http2 && self.method == "CONNECT")
    }

    /// The host that it names, RFC 9110 7.2.
    pub(super) fn host(&self) -> Result<String, &'static str> {
        let named = match *self.lines("host") {
            [] => None,
            [host] => Some(String::from_utf8_lossy(host).into_owned()),
            _ => return Err("wire.host-repeated"),
        };
        match (named, self.authority.clone()) {
            (Some(host), Some(target)) if host.to_lowercase() != target.to_lowercase() => {
                Err("wire.host-malformed")
            }
            (_, Some(target)) if self.is_http2 => Ok(target),
            (None, _) => Err("wire.host-missing"),
            (Some(_), Some(target)) => Ok(target),
            (Some(host), None) => Ok(host),
        }
    }
}

/// RFC 9110 9.2.1, and RFC 10008.
pub(super) fn is_safe(method: &str) -> bool {
    ["GET", "HEAD", "QUERY", "OPTIONS", "TRACE"].contains(&method)
}

/// The methods of the standard.
pub(super) fn is_standard(method: &str) -> bool {
    is_safe(method) || ["POST", "PUT", "PATCH", "DELETE", "CONNECT"].contains(&method)
}

/// RFC 9110 5.6.2.
pub(super) fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}
