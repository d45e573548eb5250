//! HTTPS in front of servers that speak plain HTTP, for several names at one port, as a reverse
//! proxy in a deployment.

use std::{
    collections::HashMap,
    error::Error,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{PrivateKeyDer, pem::PemObject},
    },
};

use crate::authority::Authority;

type Failure = Box<dyn Error + Send + Sync>;

/// Terminates TLS for a set of hosts, with a certificate by an authority of its own, until it is
/// dropped.
pub struct TlsFront {
    port: u16,
    authority_hash: String,
    servers: Servers,
    accepting: JoinHandle<()>,
}

/// Where the requests for each host go.
type Servers = Arc<Mutex<HashMap<String, SocketAddr>>>;

impl TlsFront {
    /// Listens on a free port of the loopback interface.
    pub async fn start(hosts: &[&str]) -> Result<Self, Failure> {
        let (config, authority) = identity(hosts)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let servers = Servers::default();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let accepting = tokio::spawn(accept(listener, acceptor, Arc::clone(&servers)));
        Ok(Self { port, authority_hash: authority.key_hash(), servers, accepting })
    }

    /// The origin of a host, as browsers write it.
    pub fn origin(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }

    /// Forwards further requests for `host` to a server.
    pub fn forward(&self, host: &str, server: SocketAddr) {
        self.servers.lock().expect("a lock").insert(host.to_owned(), server);
    }

    /// Flags that let Chromium resolve these hosts and no others, and trust the authority, so that
    /// connections count as secure in every respect.
    pub fn browser_flags(&self) -> Vec<String> {
        let hosts = "MAP *.example 127.0.0.1, MAP *.test 127.0.0.1, MAP * ~NOTFOUND, \
                     EXCLUDE 127.0.0.1";
        vec![
            format!("--host-resolver-rules={hosts}"),
            format!("--ignore-certificate-errors-spki-list={}", self.authority_hash),
        ]
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A certificate for the hosts by a new authority.
pub fn identity(hosts: &[&str]) -> Result<(ServerConfig, Authority), Failure> {
    let authority = Authority::new();
    let leaf = authority.issue(hosts);
    let chain = vec![leaf.der, authority.certificate()];
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((config, authority))
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, servers: Servers) {
    while let Ok((stream, _peer)) = listener.accept().await {
        let (acceptor, servers) = (acceptor.clone(), Arc::clone(&servers));
        // A browser also opens connections that it does not use, and closes them at any time.
        tokio::spawn(async move {
            let mut outer = acceptor.accept(stream).await.ok()?;
            let host = outer.get_ref().1.server_name()?;
            let server = *servers.lock().expect("a lock").get(host)?;
            let mut inner = TcpStream::connect(server).await.ok()?;
            copy_bidirectional(&mut outer, &mut inner).await.ok()
        });
    }
}
