//! Fetches a document: one connection, one request, one response. It does not implement redirects,
//! proxies, cookies or compression.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use policy_core::{Rule, origin::OriginPattern, token::Jwks};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    select,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::base::{connect::connect_to_host, error::StartProblem, tls_roots};

/// The maximum size of a response head.
const MAX_HEAD: usize = 16 * 1024;

/// The address of a document.
#[derive(Debug)]
pub(super) struct Address {
    text: Box<str>,
    /// Host and port as in the `Host` header.
    authority: Box<str>,
    /// Without brackets, for IPv6 too.
    host: Box<str>,
    port: u16,
    path: Uri,
    has_tls: bool,
}

/// A document and the connection settings of its server.
pub(super) struct Document {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A fetched document.
#[derive(Debug)]
pub(super) struct FetchedDocument {
    pub(super) body: Bytes,
    /// How long it is fresh, according to its server.
    pub(super) max_age: Option<Duration>,
}

/// Why a document could not be fetched.
#[derive(Debug)]
pub(super) enum FetchError {
    /// The connection failed, in TCP or TLS.
    Connection(std::io::Error),
    /// No valid HTTP response.
    Http(hyper::Error),
    /// A status other than 200. Redirects count as errors: configure the final address.
    Status(StatusCode),
    /// The body is too long or incomplete.
    Body(axum_core::BoxError),
    /// It took too long.
    TimedOut,
    /// The document is not a JWK Set.
    NoKeySet,
}

impl Address {
    /// Parses an address of the configuration. Addresses never come from elsewhere.
    pub(super) fn parse(text: &str, is_development: bool) -> Result<Self, Rule> {
        const WRONG: Rule = Rule::IssuerAddress;
        let uri: Uri = text.parse().map_err(|_not_one| WRONG)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(WRONG);
        };
        // Validates the host, without user and password; fragments are not sent.
        let origin = format!("{scheme}://{authority}");
        let origin = OriginPattern::parse(&origin).map_err(|_rule| WRONG)?;
        let has_tls = scheme == "https";
        let is_allowed = has_tls || (scheme == "http" && origin.is_loopback() && is_development);
        if !origin.is_single() || !is_allowed || text.contains('#') {
            return Err(WRONG);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            text: text.into(),
            authority: authority.as_str().into(),
            host: origin.host().trim_start_matches('[').trim_end_matches(']').into(),
            port: authority.port_u16().unwrap_or(if has_tls { 443 } else { 80 }),
            path: path.parse().map_err(|_not_one| WRONG)?,
            has_tls,
        })
    }
}

impl Document {
    /// Creates a document. `authority` is the PEM of the CA certificates to trust, in place of the
    /// public web's.
    pub(super) fn new(address: Address, authority: Option<&[u8]>) -> Result<Self, StartProblem> {
        if !address.has_tls {
            return Ok(Self { address, tls: None });
        }
        let config = tls_roots::client_config(authority)?;
        let name = ServerName::try_from(address.host.to_string());
        let name = name.map_err(|error| {
            StartProblem::without_value(Rule::IssuerAddress, "").caused_by(error)
        })?;
        Ok(Self { address, tls: Some((TlsConnector::from(Arc::new(config)), name)) })
    }

    pub(super) fn address(&self) -> &str {
        &self.address.text
    }

    /// Fetches it once. `patience` is how long the caller waits.
    pub(super) async fn fetch(&self, patience: Duration) -> Result<FetchedDocument, FetchError> {
        let Address { host, port, .. } = &self.address;
        let tcp = connect_to_host(host, *port, patience).await.map_err(FetchError::Connection)?;
        match &self.tls {
            None => self.ask(tcp).await,
            Some((connector, name)) => {
                let tls = connector.connect(name.clone(), tcp).await;
                self.ask(tls.map_err(FetchError::Connection)?).await
            }
        }
    }

    async fn ask(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
    ) -> Result<FetchedDocument, FetchError> {
        let client = http1::Builder::new().max_buf_size(MAX_HEAD).clone();
        let (mut sender, connection) =
            client.handshake(TokioIo::new(stream)).await.map_err(FetchError::Http)?;
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = self.address.path.clone();
        let fields = [
            (header::HOST, &*self.address.authority),
            (header::ACCEPT, "application/jwk-set+json, application/json"),
            (header::USER_AGENT, concat!("policy-server/", env!("CARGO_PKG_VERSION"))),
            (header::CONNECTION, "close"),
        ];
        for (name, value) in fields {
            // The authority was parsed as an origin, so all its bytes are valid.
            if let Ok(value) = value.parse() {
                request.headers_mut().insert(name, value);
            }
        }
        let mut exchange = pin!(async {
            read(sender.send_request(request).await.map_err(FetchError::Http)?).await
        });
        // The connection must be polled for the exchange to make progress.
        select! {
            fetched = &mut exchange => fetched,
            _ended = connection => exchange.await,
        }
    }
}

async fn read(response: Response<Incoming>) -> Result<FetchedDocument, FetchError> {
    let (head, body) = response.into_parts();
    if head.status != StatusCode::OK {
        return Err(FetchError::Status(head.status));
    }
    let body = Limited::new(body, Jwks::MAX_LEN).collect().await.map_err(FetchError::Body)?;
    Ok(FetchedDocument { body: body.to_bytes(), max_age: max_age(&head.headers) })
}

/// `max-age` (RFC 9111 5.2.2.1), or the smallest if there are several.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all(header::CACHE_CONTROL).into_iter();
    let directives = values.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    let ages = directives.filter_map(|directive| {
        let (name, seconds) = directive.trim().split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then_some(seconds.trim_matches('"').parse().ok()?)
    });
    ages.min().map(Duration::from_secs)
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("address", &self.address.text).finish_non_exhaustive()
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => write!(f, "no connection: {error}"),
            Self::Http(error) => write!(f, "no response: {error}"),
            Self::Status(status) => write!(f, "the status is {}, not 200", status.as_u16()),
            Self::Body(error) => write!(f, "no body of at most {} bytes: {error}", Jwks::MAX_LEN),
            Self::TimedOut => f.write_str("no response in time"),
            Self::NoKeySet => f.write_str("the response is not a JWK Set (RFC 7517 5)"),
        }
    }
}
