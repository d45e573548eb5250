//! Sends probes, byte for byte as planned: one at a time, to one address, at a limited rate.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::{self, Runtime},
    time::{sleep_until, timeout},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::{
    credentials::Credentials,
    exchange::{Exchange, Response},
    plan::{Probe, STATIC_FILE},
    target::Target,
};
use crate::failure::Failure;

/// The maximum number of bytes of a body that are read.
const LONGEST_BODY: usize = 64 << 10;
/// The maximum number of bytes of a head that are read.
const LONGEST_HEAD: usize = 64 << 10;
/// The maximum number of header lines of a response.
const MOST_LINES: usize = 256;
/// Names the sender for the operator of the host.
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("cargo-policy-audit/", env!("CARGO_PKG_VERSION")));

/// The rate of requests and the timeout of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Requests a second.
    pub(super) rate: u32,
    /// The time-out of a response.
    pub(super) patience: Duration,
}

/// Sends probes to one address.
pub(super) struct Sender {
    runtime: Runtime,
    target: Target,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    credentials: Credentials,
    pace: Pace,
    next: Option<Instant>,
    count: u64,
}

/// Why there is no response.
pub(super) type NoResponse = Box<dyn Error + Send + Sync>;

impl Sender {
    /// A sender that trusts the usual authorities, and those in the file of the target.
    pub(super) fn new(
        target: Target,
        credentials: Credentials,
        pace: Pace,
    ) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("the network is not available: {error}")))?;
        let tls = target.is_https.then(|| tls(&target)).transpose()?;
        Ok(Self { runtime, target, tls, credentials, pace, next: None, count: 0 })
    }

    /// How many requests were sent.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Uses the session of a login from now on.
    pub(super) fn use_session(&mut self, cookie: HeaderValue) {
        self.credentials.session = Some(cookie);
    }

    /// Sends a probe. With `fresh`, it has a target that no earlier request had.
    pub(super) fn send(
        &mut self,
        probe: &Probe,
        fresh: Option<&str>,
    ) -> Result<Exchange, NoResponse> {
        let request = self.request(probe, fresh)?;
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        self.send_with(request, vec![b'0'; length.unwrap_or_default()].into())
    }

    /// Sends a request with a body.
    pub(super) fn send_with(
        &mut self,
        mut request: Request<()>,
        body: Bytes,
    ) -> Result<Exchange, NoResponse> {
        request.headers_mut().insert(header::USER_AGENT, USER_AGENT);
        let now = Instant::now();
        let start = self.next.map_or(now, |next| next.max(now));
        self.next = Some(start + Duration::from_secs(1) / self.pace.rate);
        self.count += 1;
        let (target, tls, patience) = (&self.target, &self.tls, self.pace.patience);
        let response = self.runtime.block_on(async {
            sleep_until(start.into()).await;
            timeout(patience, exchange(target, tls.as_ref(), &request, body))
                .await
                .map_err(|_elapsed| format!("no response within {} s", patience.as_secs()))?
        })?;
        Ok(Exchange { request, response })
    }

    fn request(&self, probe: &Probe, fresh: Option<&str>) -> Result<Request<()>, NoResponse> {
        let mut request = probe.request.clone();
        if let Some(fresh) = fresh {
            let target = request.uri().to_string();
            *request.uri_mut() = match target.contains(STATIC_FILE) {
                true => target.replace(STATIC_FILE, &format!("{fresh}{STATIC_FILE}")).parse()?,
                false => format!("{target}?policy-audit={fresh}").parse()?,
            };
        }
        if let Some((name, value)) =
            probe.credential.and_then(|credential| self.credentials.header(credential))
        {
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }
}

fn tls(target: &Target) -> Result<(TlsConnector, ServerName<'static>), Failure> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = &target.authority_file {
        let unreadable = |error: &dyn Error| {
            Failure::new(format!("`{}` cannot be read: {error}", file.display()))
                .help("name a PEM file with the certificate of the authority")
        };
        let certificates =
            CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(format!("TLS is not available: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(target.host.clone()).map_err(|error| {
        Failure::new(format!("`{}` is not a host: {error}", target.host))
            .help("write `https://host`")
    })?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

async fn exchange(
    target: &Target,
    tls: Option<&(TlsConnector, ServerName<'static>)>,
    request: &Request<()>,
    body: Bytes,
) -> Result<Response, NoResponse> {
    let (host, port) = &target.address;
    let stream = TcpStream::connect((host.as_str(), *port)).await?;
    stream.set_nodelay(true)?;
    match tls {
        None => over(stream, request, body).await,
        Some((connector, name)) => {
            over(connector.connect(name.clone(), stream).await?, request, body).await
        }
    }
}

async fn over<S>(stream: S, request: &Request<()>, body: Bytes) -> Result<Response, NoResponse>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_LINES)
        .handshake(TokioIo::new(stream))
        .await?;
    // The task ends with the sender; if it fails, the response fails with the same error.
    let connection = tokio::spawn(connection);
    let request = request.clone().map(|()| Full::new(body));
    let response = sender.send_request(request).await;
    let response = match response {
        Ok(response) => read(response).await,
        Err(error) => Err(error.into()),
    };
    connection.abort();
    response
}

async fn read(response: http::Response<Incoming>) -> Result<Response, NoResponse> {
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    while body.len() < LONGEST_BODY
        && let Some(frame) = incoming.frame().await
    {
        // A body that breaks off is accepted, since the head is what counts.
        let Ok(frame) = frame else { break };
        body.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    body.truncate(LONGEST_BODY);
    Ok(Response { status: head.status.as_u16(), headers: head.headers, body })
}
