//! A server that publishes keys, or fails to.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::watch,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::issuers::signing::Signer;

/// What the server sends.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing, and the connection stays open.
    Silence,
}

pub(crate) struct IdentityProvider {
    address: SocketAddr,
    scheme: &'static str,
    reply: Arc<Mutex<Reply>>,
    /// The heads of the requests so far.
    requests: watch::Receiver<Vec<String>>,
    task: AbortHandle,
}

impl Drop for IdentityProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl IdentityProvider {
    pub(crate) async fn new(reply: Reply) -> Self {
        Self::start(reply, None).await
    }

    /// A server with a certificate for `localhost`, and the certificate of its authority.
    pub(crate) async fn with_tls(reply: Reply) -> (Self, String) {
        let (config, authority) = policy_tests::tls::identity(&["localhost"]).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        (Self::start(reply, Some(acceptor)).await, authority.pem())
    }

    async fn start(reply: Reply, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reply = Arc::new(Mutex::new(reply));
        let (heads, requests) = watch::channel(Vec::new());
        let (replies, scheme) = (Arc::clone(&reply), if tls.is_some() { "https" } else { "http" });
        let heads = Arc::new(heads);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, replies, heads) = (tls.clone(), Arc::clone(&replies), Arc::clone(&heads));
                tokio::spawn(async move {
                    match tls {
                        None => respond(stream, &replies, &heads).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                respond(stream, &replies, &heads).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, scheme, reply, requests, task: task.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://localhost:{}/keys?v=1", self.scheme, self.address.port())
    }

    pub(crate) fn set_reply(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    /// The number of requests so far.
    pub(crate) fn request_count(&self) -> usize {
        self.requests.borrow().len()
    }

    pub(crate) fn last_request(&self) -> String {
        self.requests.borrow().last().unwrap().clone()
    }

    /// Waits until there were exactly this many requests.
    pub(crate) async fn until_asked(&self, times: usize) {
        let mut requests = self.requests.clone();
        let arrival = requests.wait_for(|requests| requests.len() >= times);
        timeout(Duration::from_secs(60), arrival).await.expect("nobody asks").unwrap();
        assert_eq!(self.request_count(), times);
    }
}

async fn respond(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    reply: &Mutex<Reply>,
    heads: &watch::Sender<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_gone) => return,
        }
    }
    let reply = reply.lock().unwrap().clone();
    heads.send_modify(|heads| heads.push(String::from_utf8(head).unwrap()));
    match reply {
        Reply::Bytes(bytes) => {
            // A client that has read enough may close.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Silence => std::future::pending().await,
    }
}

/// The keys of these signers as a document.
pub(crate) fn keys(signers: &[&Signer], fields: &str) -> Reply {
    let keys: Vec<_> = signers.iter().map(|signer| signer.jwk()).collect();
    body(&json!({ "keys": keys }).to_string(), fields)
}

/// A response with this body and these header lines, each with its line break.
pub(crate) fn body(text: &str, fields: &str) -> Reply {
    // The content type does not matter.
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n{fields}");
    Reply::Bytes(format!("{head}content-length: {}\r\n\r\n{text}", text.len()).into_bytes())
}
