//! Redirects plain HTTP to HTTPS.

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, Request, StatusCode, Version, header::LOCATION};
use policy_core::{
    Refusal,
    cache::forbid_storing,
    head::{Head, NormalPath, OwnOrigin},
};

use crate::base::problem::{Problem, end_connection};

/// Redirects every request to the same path and query at one origin, which the request cannot
/// influence.
#[derive(Debug)]
pub(super) struct Redirect {
    own_origin: OwnOrigin,
    /// Without a trailing slash.
    target: String,
}

impl Redirect {
    /// To the public origin, or in development to `localhost` at `port`.
    pub(super) fn new(own_origin: &OwnOrigin, port: Option<u16>) -> Self {
        let target = match (own_origin, port) {
            (OwnOrigin::Public(origin), _) => origin.as_str().to_owned(),
            (OwnOrigin::Development, Some(port)) => format!("https://localhost:{port}"),
            (OwnOrigin::Development, None) => "https://localhost".to_owned(),
        };
        Self { own_origin: own_origin.clone(), target }
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) fn response<B>(&self, request: &Request<B>) -> Response {
        let mut head = Head::read(request);
        head.is_connection_secure = Some(false);
        self.location(&head).map_or_else(
            |refusal| refuse(refusal, head.version),
            |location| self.redirect_to(location),
        )
    }

    /// The value of `Location`.
    ///
    /// Some requests are not redirected: preflights, since browsers treat a redirect of one as a
    /// failure (Fetch, CORS-preflight fetch); WebSockets, whose clients do not follow redirects
    /// (RFC 6455 4.1); and `OPTIONS *`, which concerns the server. These get 421, since this server
    /// is not authoritative for `http` URLs (RFC 9110 15.5.20).
    fn location(&self, head: &Head<'_>) -> Result<HeaderValue, Refusal> {
        head.well_formed()?;
        if *head.method == Method::CONNECT {
            return Err(Refusal::PlainHttp);
        }
        head.target()?;
        if !head.is_asterisk() {
            NormalPath::parse(head.path)?;
        }
        match self.own_origin.admit(head) {
            // Other names may resolve to this address; the target is always ours.
            Err(Refusal::HostUnknown) => (),
            admitted => admitted?,
        }
        if head.is_preflight() || head.is_upgrade() || head.is_asterisk() {
            return Err(Refusal::PlainHttp);
        }
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        // INVARIANT: the host of the target ends where the path begins.
        let slash = if path.starts_with('/') { "" } else { "/" };
        HeaderValue::try_from(format!("{}{slash}{path}", self.target))
            .map_err(|_no_field_value| Refusal::TargetForm)
    }

    fn redirect_to(&self, location: HeaderValue) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        let headers = response.headers_mut();
        headers.insert(LOCATION, location);
        if self.own_origin == OwnOrigin::Development {
            // Another program may use the port later, so a cached redirect could be wrong.
            forbid_storing(headers);
        }
        response
    }
}

/// A refusal, which ends its connection as it does in the app.
fn refuse(refusal: Refusal, version: Version) -> Response {
    let mut response = Problem::from(refusal).into_response();
    end_connection(&mut response, version);
    response
}

#[cfg(test)]
mod tests {
    use http::header::CONNECTION;
    use policy_core::head::PublicOrigin;

    use super::*;

    fn send(method: &str, uri: &str, fields: &[(&str, &str)]) -> Response {
        let public = OwnOrigin::Public(PublicOrigin::parse("https://api.example").unwrap());
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        Redirect::new(&public, Some(8443)).response(&request.body(()).unwrap())
    }

    #[test]
    fn some_requests_lead_nowhere() {
        let host = ("host", "api.example");
        let preflight =
            [host, ("origin", "https://a.example"), ("access-control-request-method", "PUT")];
        let upgrade = [host, ("connection", "upgrade"), ("upgrade", "websocket")];
        for (method, uri, fields, status) in [
            ("OPTIONS", "/a", &preflight[..], 421),
            ("GET", "/a", &upgrade, 421),
            ("OPTIONS", "*", &[host], 421),
            ("OPTIONS", "/a", &[host], 308),
            ("GET", "/a", &[], 400),
            ("GET", "/a", &[host, host], 400),
            ("GET", "/a/../b", &[host], 400),
            ("GET", "//evil.example/a", &[host], 400),
            ("CONNECT", "evil.example:443", &[("host", "evil.example:443")], 421),
            ("GET", "https://api.example/a", &[host], 421),
            ("GET", "ftp://api.example/a", &[host], 400),
            ("POST", "/a", &[host, ("transfer-encoding", "chunked, chunked")], 400),
            ("POST", "/a", &[host, ("content-length", "5, 5")], 400),
            ("POST", "/a", &[host, ("expect", "x")], 417),
        ] {
            let response = send(method, uri, fields);
            assert_eq!(response.status(), status, "{method} {uri}");
            assert_eq!(
                response.headers().contains_key(CONNECTION),
                status != 308,
                "{method} {uri}"
            );
            assert_eq!(response.headers().contains_key(LOCATION), status == 308);
        }
    }
}
