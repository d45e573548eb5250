//! An independent HTTP/3 client, and QUIC streams with content that no library would send.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3_quinn::{BidiStream, OpenStreams};
use http::{HeaderMap, Request};
use policy_server::{App, Tls};
use quinn::{ClientConfig, Endpoint, crypto::rustls::QuicClientConfig};
use tokio::task::JoinHandle;
use tokio_rustls::rustls;

use policy_tests::http::{RawResponse, Running, soon};

/// An app over TLS and QUIC, with its own certificate.
pub(crate) struct Server {
    running: Option<Running>,
    folder: PathBuf,
}

impl Server {
    pub(crate) async fn start<S: Send + Sync + 'static>(app: App<S>) -> Self {
        Self::start_with(app, Tls::http3).await
    }

    pub(crate) async fn start_with<S: Send + Sync + 'static>(
        app: App<S>,
        with: fn(Tls) -> Tls,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("http3-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let app = app.tls(with(Tls::development(&folder)));
        Self { running: Some(Running::start(app).await), folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.as_ref().expect("a server that runs").address
    }

    /// Asks the server to stop, as a signal would. The handle completes when it has stopped.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        self.running.take().expect("a server that runs").stop()
    }

    /// The folder with its certificate and that of the authority.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The configuration of a client that trusts the server.
    pub(crate) fn trust(&self) -> rustls::ClientConfig {
        crate::client::trusting_development(&self.folder)
    }

    /// A client with its own UDP port and session cache.
    pub(crate) fn client(&self) -> Endpoint {
        endpoint(self.trust())
    }

    pub(crate) async fn connect(&self) -> Session {
        let quic = self.client().connect(self.address(), "localhost").expect("an address");
        Session::over(soon(quic).await.expect("a handshake")).await
    }

    /// A QUIC connection without HTTP/3. The client keeps it alive: the server announces the end in
    /// a datagram that may be lost, and again only to a client that sends something.
    pub(crate) async fn raw(&self) -> quinn::Connection {
        self.raw_with(quinn::TransportConfig::default()).await
    }

    /// The same with other limits of the client.
    pub(crate) async fn raw_with(
        &self,
        mut transport: quinn::TransportConfig,
    ) -> quinn::Connection {
        transport.keep_alive_interval(Some(Duration::from_millis(50)));
        let mut config = config(self.trust());
        config.transport_config(Arc::new(transport));
        let quic = self.client().connect_with(config, self.address(), "localhost");
        soon(quic.expect("an address")).await.expect("a handshake")
    }

    pub(crate) async fn response(&self, method: &str, path: &str) -> RawResponse {
        self.connect().await.response(request(method, path), "").await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn config(mut tls: rustls::ClientConfig) -> ClientConfig {
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.enable_early_data = true;
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("TLS 1.3")))
}

/// A client with its own UDP port.
pub(crate) fn endpoint(tls: rustls::ClientConfig) -> Endpoint {
    let mut endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).expect("a port");
    endpoint.set_default_client_config(config(tls));
    endpoint
}

pub(crate) fn request(method: &str, path: &str) -> Request<()> {
    let uri = format!("https://localhost{path}");
    Request::builder().method(method).uri(uri).body(()).expect("a request")
}

/// An HTTP/3 connection.
pub(crate) struct Session {
    pub(crate) quic: quinn::Connection,
    pub(crate) requests: SendRequest<OpenStreams, Bytes>,
    /// Why the connection ended.
    pub(crate) ended: JoinHandle<h3::error::ConnectionError>,
}

pub(crate) type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

impl Session {
    pub(crate) async fn over(quic: quinn::Connection) -> Self {
        let transport = h3_quinn::Connection::new(quic.clone());
        let (mut driver, requests) = soon(h3::client::new(transport)).await.expect("HTTP/3");
        let ended = tokio::spawn(async move {
            std::future::poll_fn(|context| driver.poll_close(context)).await
        });
        Self { quic, requests, ended }
    }

    pub(crate) async fn send(&mut self, request: Request<()>) -> Stream {
        soon(self.requests.send_request(request)).await.expect("a stream")
    }

    /// Sends a whole request and reads its response.
    pub(crate) async fn response(
        &mut self,
        request: Request<()>,
        body: impl Into<Bytes>,
    ) -> RawResponse {
        self.try_response(request, body).await.expect("a response")
    }

    pub(crate) async fn try_response(
        &mut self,
        request: Request<()>,
        body: impl Into<Bytes>,
    ) -> Result<RawResponse, h3::error::StreamError> {
        let mut stream = soon(self.requests.send_request(request)).await?;
        let body = body.into();
        if !body.is_empty() {
            // The server may have responded already.
            let _ = soon(stream.send_data(body)).await;
        }
        let _ = soon(stream.finish()).await;
        read(&mut stream).await
    }
}

/// The response on a stream, to its end.
pub(crate) async fn read(stream: &mut Stream) -> Result<RawResponse, h3::error::StreamError> {
    Ok(read_with_trailers(stream).await?.0)
}

/// The same, and its trailers.
pub(crate) async fn read_with_trailers(
    stream: &mut Stream,
) -> Result<(RawResponse, Option<HeaderMap>), h3::error::StreamError> {
    let (head, ()) = soon(stream.recv_response()).await?.into_parts();
    let mut body = Vec::new();
    while let Some(mut data) = soon(stream.recv_data()).await? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    let trailers = soon(stream.recv_trailers()).await?;
    Ok((RawResponse::from_parts(&head, body), trailers))
}

/// One field line of a section, as a literal.
pub(crate) fn line(name: &str, value: &str) -> Vec<u8> {
    let mut line = Vec::new();
    for (flags, most, text) in [(0x20_u8, 7, name), (0, 127, value)] {
        if text.len() < most {
            line.push(flags | text.len() as u8);
        } else {
            let rest = text.len() - most;
            assert!(rest < 128 * 128, "a shorter text");
            line.push(flags | most as u8);
            line.extend([rest as u8 & 127 | 128, (rest >> 7) as u8]);
        }
        line.extend_from_slice(text.as_bytes());
    }
    line
}

/// A frame of a type below 64.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32 | 0x8000_0000).to_be_bytes();
    [&[kind][..], &length, payload].concat()
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;

/// A HEADERS frame with these field lines.
pub(crate) fn head(lines: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<u8> = lines.iter().flat_map(|(name, value)| line(name, value)).collect();
    frame(HEADERS, &[b"\x00\x00", &lines[..]].concat())
}

/// The field lines of every request.
pub(crate) fn lines<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
}

/// Writes bytes to a new stream, finishes it, and reads what comes back: bytes, or the error code
/// of the stream or the connection.
pub(crate) async fn exchange(quic: &quinn::Connection, bytes: &[u8]) -> Result<Vec<u8>, u64> {
    let (mut send, mut receive) = soon(quic.open_bi()).await.map_err(|error| close_code(&error))?;
    // The stream may be closed before everything is written.
    let _ = soon(send.write_all(bytes)).await;
    let _ = send.finish();
    match soon(receive.read_to_end(1 << 20)).await {
        Ok(response) => Ok(response),
        Err(quinn::ReadToEndError::Read(quinn::ReadError::Reset(code))) => Err(code.into_inner()),
        Err(quinn::ReadToEndError::Read(quinn::ReadError::ConnectionLost(error))) => {
            Err(close_code(&error))
        }
        Err(error) => panic!("{error}"),
    }
}

/// The error code with which a server closed a connection.
pub(crate) fn close_code(error: &quinn::ConnectionError) -> u64 {
    match error {
        quinn::ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
        other => panic!("{other}"),
    }
}
