//! The cost of a TLS connection for a server, ours or another.
//!
//! `tls serve PORT CERTIFICATE KEY`: serves `/` on one thread. `tls load ADDRESS CERTIFICATE
//! SECONDS full|resumed [PID]`: connects as often as it can, sends one request per connection, and
//! closes it. With the process id of the server, it prints the server's cost.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made ends")]
#![expect(clippy::print_stdout, reason = "it speaks to the person who measures")]

use std::{
    env, fs,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use policy_server::{Tls, prelude::*};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, HandshakeKind, RootCertStore,
        client::Resumption,
        crypto::aws_lc_rs::{self, kx_group},
        pki_types::{CertificateDer, pem::PemObject},
    },
};

/// Concurrent connections.
const AT_ONCE: usize = 16;

#[get("/")]
#[auth(public)]
async fn index() -> &'static str {
    "hello"
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    match *arguments {
        ["serve", port, certificate, key] => {
            let app = App::new(()).tls(Tls::files(certificate, key)).routes(routes![index]);
            runtime.block_on(app.serve(format!("127.0.0.1:{port}"))).expect("a server");
        }
        ["load", address, certificate, seconds, kind, ref rest @ ..] => {
            let address: SocketAddr = address.parse().expect("an address");
            let seconds: u64 = seconds.parse().expect("seconds");
            let pid = rest.first().copied();
            let connector = connector(certificate, kind == "resumed");
            let (before, begun) = (pid.map(processor_time), Instant::now());
            let end = begun + Duration::from_secs(seconds);
            let counted = runtime.block_on(load(connector, address, end));
            let elapsed = begun.elapsed().as_secs_f64();
            let (all, resumed) = (counted.0 as f64, counted.1 as f64);
            println!("{all} connections, {resumed} of them resumed: {:.0} a second", all / elapsed);
            if let (Some(pid), Some(before)) = (pid, before) {
                let cost = processor_time(pid) - before;
                let each = cost / all * 1e6;
                println!("the server took {each:.1} us for each, so {:.0} a second", 1e6 / each);
            }
        }
        _ => println!("see the beginning of benches/tls.rs"),
    }
}

/// Keeps one session per client, like a browser.
fn connector(certificate: &str, resumes: bool) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
    roots.add(certificate).expect("a certificate");
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = vec![kx_group::X25519];
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption =
        if resumes { Resumption::in_memory_sessions(256) } else { Resumption::disabled() };
    TlsConnector::from(Arc::new(config))
}

/// The number of connections, and how many of them were resumed.
async fn load(connector: TlsConnector, address: SocketAddr, end: Instant) -> (usize, usize) {
    let mut clients = JoinSet::new();
    for _ in 0..AT_ONCE {
        let connector = connector.clone();
        clients.spawn(async move {
            let (mut all, mut resumed) = (0, 0);
            while Instant::now() < end {
                let kind = ask(&connector, address).await;
                all += 1;
                resumed += usize::from(kind == Some(HandshakeKind::Resumed));
            }
            (all, resumed)
        });
    }
    let counted = clients.join_all().await;
    counted.iter().fold((0, 0), |sum, counted| (sum.0 + counted.0, sum.1 + counted.1))
}

async fn ask(connector: &TlsConnector, address: SocketAddr) -> Option<HandshakeKind> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let name = "localhost".try_into().expect("a name");
    let mut stream = connector.connect(name, stream).await.expect("a handshake");
    let request = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("a server that reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an orderly end");
    assert!(answer.ends_with(b"hello"), "another answer");
    stream.get_ref().1.handshake_kind()
}

/// The seconds that a process has used; Linux counts in hundredths.
fn processor_time(pid: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields = status.rsplit_once(')').expect("a name").1;
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}
