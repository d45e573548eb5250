//! The floor: hyper, tokio-rustls and tungstenite without a framework.
//!
//! `held-raw PORT [CERTIFICATE KEY]`, on one worker.

use std::{convert::Infallible, env, error::Error, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Frame, Incoming},
    header::{
        CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, SEC_WEBSOCKET_ACCEPT,
        SEC_WEBSOCKET_KEY, UPGRADE,
    },
    server::conn::http1,
    service::service_fn,
    upgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

type Failure = Box<dyn Error + Send + Sync>;
type Reply = Response<BoxBody<Bytes, Infallible>>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let (port, tls) = match arguments.as_slice() {
        [port] => (port, None),
        [port, certificate, key] => (port, Some(acceptor(certificate, key)?)),
        _ => return Err("usage: held-raw PORT [CERTIFICATE KEY]".into()),
    };
    let address = format!("127.0.0.1:{port}");
    Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        // On a worker's own thread.
        tokio::spawn(serve(address, tls)).await?
    })
}

fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(address: String, tls: Option<TlsAcceptor>) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A task has the size of its own future only.
        match tls.clone() {
            None => tokio::spawn(connection(stream)),
            Some(tls) => tokio::spawn(secure(tls, stream)),
        };
    }
}

async fn secure(tls: TlsAcceptor, stream: TcpStream) {
    if let Ok(stream) = tls.accept(stream).await {
        connection(stream).await;
    }
}

/// Errors of a connection are caused by the client, and ignored.
async fn connection(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service_fn(async |request| respond(request)))
        .with_upgrades();
    let _ = connection.await;
}

fn respond(request: Request<Incoming>) -> Result<Reply, Infallible> {
    Ok(match request.uri().path() {
        "/plain" => Response::new(Full::from("Hello, World!").boxed()),
        "/events" => events(),
        "/socket" => socket(request, WebSocketConfig::default()),
        // By default tungstenite keeps a read buffer of 128 KiB for each WebSocket.
        "/small-socket" => socket(request, WebSocketConfig::default().read_buffer_size(4096)),
        _ => with_status(StatusCode::NOT_FOUND),
    })
}

/// One event, then none.
fn events() -> Reply {
    let first = stream::iter([Ok(Frame::data(Bytes::from_static(b"data: hello\n\n")))]);
    let mut response = Response::new(BoxBody::new(StreamBody::new(first.chain(stream::pending()))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn socket(mut request: Request<Incoming>, config: WebSocketConfig) -> Reply {
    let accept =
        request.headers().get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let Some(Ok(accept)) = accept.map(HeaderValue::try_from) else {
        return with_status(StatusCode::BAD_REQUEST);
    };
    let opened = upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(opened) = opened.await else { return };
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(opened), Role::Server, Some(config))
                .await;
        while let Some(Ok(_)) = socket.next().await {}
    });
    let mut response = with_status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

fn with_status(status: StatusCode) -> Reply {
    let mut response = Response::new(Full::default().boxed());
    *response.status_mut() = status;
    response
}
