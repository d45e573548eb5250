//! One server for all hosts, with and without TLS at one port, and also as the SOCKS proxy that
//! leads to it. It sends the responses of the cases, and records the requests.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use policy_browser::{SentRequest, ServerResponse, Url};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};
use tokio_rustls::TlsAcceptor;

use crate::diff::{
    case::{Case, Servers},
    tls,
    webdriver::Failure,
};

/// The page that runs cases.
const PAGE: &str = include_str!("page.js");

/// The server; it stops when dropped.
pub(crate) struct Server {
    port: u16,
    authority_hash: String,
    cases: Cases,
    _runtime: Runtime,
}

type Cases = Arc<Mutex<HashMap<String, Noted>>>;

/// A case that runs.
struct Noted {
    servers: Servers,
    arrivals: Vec<SentRequest>,
}

impl Server {
    pub(crate) fn start(hosts: &[&str]) -> Result<Self, Failure> {
        let (config, authority) = tls::identity(hosts)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        let cases = Cases::default();
        runtime.spawn(accept(listener, port, acceptor, Arc::clone(&cases)));
        Ok(Self { port, authority_hash: authority.key_hash(), cases, _runtime: runtime })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The hash of the key that Chromium trusts.
    pub(crate) fn authority_hash(&self) -> &str {
        &self.authority_hash
    }

    /// Sends the responses of a filled case from now on.
    pub(crate) fn expect(&self, case: &Case, id: &str) {
        let noted = Noted { servers: Servers::new(case, id), arrivals: Vec::new() };
        self.cases.lock().expect("a lock").insert(id.to_owned(), noted);
    }

    /// The requests of a case that has ended.
    pub(crate) fn finish(&self, id: &str) -> Vec<SentRequest> {
        let noted = self.cases.lock().expect("a lock").remove(id);
        noted.map(|noted| noted.arrivals).unwrap_or_default()
    }
}

async fn accept(listener: TcpListener, port: u16, acceptor: TlsAcceptor, cases: Cases) {
    while let Ok((mut stream, _peer)) = listener.accept().await {
        let (acceptor, cases) = (acceptor.clone(), Arc::clone(&cases));
        // Browsers open connections without using them, and close them at any time.
        tokio::spawn(async move {
            stream.set_nodelay(true).ok()?;
            if first_byte(&stream).await? == SOCKS {
                lead_to(port, &mut stream).await?;
            }
            if first_byte(&stream).await? == TLS {
                serve(acceptor.accept(stream).await.ok()?, "https", cases).await
            } else {
                serve(stream, "http", cases).await
            }
        });
    }
}

/// The first byte of a TLS handshake (RFC 8446, 5.1).
const TLS: u8 = 22;

/// The first byte of a client of SOCKS 5 (RFC 1928, 3).
const SOCKS: u8 = 5;

async fn first_byte(stream: &TcpStream) -> Option<u8> {
    let mut first = [0];
    (stream.peek(&mut first).await.ok()? == 1).then_some(first[0])
}

/// Does what a client of SOCKS 5 asks (RFC 1928, 3 to 6): a connection to any host is one to this
/// server, if the port is that of this server.
async fn lead_to(port: u16, stream: &mut TcpStream) -> Option<()> {
    let [_version, methods] = stream.read_u16().await.ok()?.to_be_bytes();
    stream.read_exact(&mut vec![0; methods.into()]).await.ok()?;
    stream.write_all(&[SOCKS, 0]).await.ok()?;
    let [_version, _command, _reserved, kind] = stream.read_u32().await.ok()?.to_be_bytes();
    let length: usize = match kind {
        1 => 4,
        3 => stream.read_u8().await.ok()?.into(),
        _ => 16,
    };
    stream.read_exact(&mut vec![0; length]).await.ok()?;
    let is_here = stream.read_u16().await.ok()? == port;
    let refusal = if is_here { 0 } else { 5 };
    stream.write_all(&[SOCKS, refusal, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    is_here.then_some(())
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &'static str,
    cases: Cases,
) -> Option<()> {
    let service = service_fn(move |request| {
        let cases = Arc::clone(&cases);
        async move { Ok::<_, Infallible>(respond(request, scheme, &cases).await) }
    });
    let mut builder = http1::Builder::new();
    // The response has the fields of the case only.
    builder.auto_date_header(false);
    builder.serve_connection(TokioIo::new(stream), service).with_upgrades().await.ok()
}

async fn respond(
    mut request: Request<Incoming>,
    scheme: &str,
    cases: &Cases,
) -> Response<Full<Bytes>> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let url = format!("{scheme}://{}{}", host.unwrap_or_default(), parts.uri);
    let Ok(url) = Url::parse(&url) else { return refusal() };
    if url.path() == "/page" {
        return page(&url);
    }
    if let Some(id) = url.path().strip_prefix("/requests/") {
        return count(cases.lock().expect("a lock").get(id));
    }
    let id = url.path().split('/').nth(1).unwrap_or_default().to_owned();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let mut cases = cases.lock().expect("a lock");
    let Some(noted) = cases.get_mut(&id) else { return refusal() };
    let canned = noted.servers.respond(&parts.method, url.path(), &parts.headers);
    let is_preflight = parts.headers.contains_key("access-control-request-method");
    let body = (!body.is_empty()).then_some(body);
    let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).cloned();
    let mut sent = SentRequest::new(parts.method, url);
    (sent.headers, sent.body, sent.is_preflight) = (parts.headers, body, is_preflight);
    noted.arrivals.push(sent);
    if canned.status == 101 {
        // Open until the browser closes it.
        tokio::spawn(async move {
            let mut socket = TokioIo::new(upgrade.await.ok()?);
            tokio::io::copy(&mut socket, &mut tokio::io::sink()).await.ok()
        });
    }
    into_http(canned, key.as_ref().map(header::HeaderValue::as_bytes))
}

fn into_http(canned: ServerResponse, websocket_key: Option<&[u8]>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(canned.body));
    *response.status_mut() = StatusCode::from_u16(canned.status).expect("a status");
    *response.headers_mut() = canned.headers;
    if let (101, Some(key)) = (canned.status, websocket_key) {
        let accept = tungstenite::handshake::derive_accept_key(key);
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, header::HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, header::HeaderValue::from_static("websocket"));
        headers.insert("sec-websocket-accept", accept.parse().expect("a field value"));
    }
    response
}

/// What a sandboxed page may do; the windows that it opens are not sandboxed.
const ALLOWED: &str = "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox";

/// A page, with the frame in it that its address names.
fn page(url: &Url) -> Response<Full<Bytes>> {
    let query = |name: &str| url.query_pairs().find(|(one, _)| one == name).map(|(_, value)| value);
    let sandbox = query("sandbox-frame").map(|_| format!("sandbox='{ALLOWED}'"));
    let frame = query("frame").map(|inner| {
        let inner = inner.replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe {} src=\"{inner}\"></iframe>", sandbox.unwrap_or_default())
    });
    let html = format!(
        "<!doctype html><title>page</title><link rel=icon href=data:,><body>{}<script>{PAGE}</script>",
        frame.unwrap_or_default()
    );
    let mut response = Response::builder()
        .header(header::CONTENT_TYPE, "text/html; charset=utf-8")
        .header(header::CACHE_CONTROL, "no-store");
    if query("sandbox").is_some() {
        response = response.header(header::CONTENT_SECURITY_POLICY, format!("sandbox {ALLOWED}"));
    }
    if let Some(policy) = query("policy") {
        response = response.header(header::REFERRER_POLICY, &*policy);
    }
    response.body(Full::from(html)).expect("a response")
}

/// The number of requests of a case so far, which any page may read.
fn count(noted: Option<&Noted>) -> Response<Full<Bytes>> {
    let count = noted.map_or(0, |noted| noted.arrivals.len());
    let response = Response::builder().header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    response.body(Full::from(count.to_string())).expect("a response")
}

/// The response to requests of no case: for icons, and late ones.
fn refusal() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}
