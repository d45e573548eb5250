//! A client for HTTP/3 and HTTP/2 load, and a server for it.
//!
//! `h3load serve FOLDER` serves and prints its address and process id. `h3load VERSION FOLDER
//! ADDRESS PID CONNECTIONS STREAMS SECONDS [PATH]` keeps that many streams busy and prints requests
//! a second and the server's time per request; VERSION is `h3` or `h2`, and PATH is `/` or
//! `/large`, which has 1 MiB. With `=REQUESTS` in place of SECONDS it sends that many and ends, for
//! a profiler of the server. It works with any server that has the certificate of the folder.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program that a script runs"
)]

use std::{
    env, fs,
    future::poll_fn,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_server::{Tls, prelude::*};
use quinn::{Endpoint, crypto::rustls::QuicClientConfig};
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

#[get("/")]
#[auth(public)]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[get("/large")]
#[auth(public)]
async fn large() -> &'static [u8] {
    &[b'x'; 1024 * 1024]
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let folder = Path::new(&arguments[1]);
    if arguments[0] == "serve" {
        let app = App::new(()).routes(routes![hello, large]).tls(Tls::development(folder).http3());
        let server = app.bind("127.0.0.1:0").await?;
        println!("{} {}", server.local_addr(), std::process::id());
        return server.run().await;
    }
    let number = |at: usize| arguments[at].parse::<u64>().expect("a number");
    let only = arguments[6].strip_prefix('=').map(|only| only.parse().expect("a number"));
    let load = Load {
        version: arguments[0].clone(),
        tls: trust(folder, &arguments[0]),
        address: arguments[2].parse().expect("an address"),
        path: arguments.get(7).map_or("/", String::as_str).to_owned(),
        streams: number(5),
        begun: AtomicU64::new(0),
        only: only.unwrap_or(u64::MAX),
        done: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let load = Arc::new(load);
    let mut running = JoinSet::new();
    for _ in 0..number(4) {
        running.spawn(Arc::clone(&load).connection());
    }
    if only.is_some() {
        running.join_all().await;
        return Ok(());
    }
    let (process, time) = (number(3), Duration::from_secs(number(6)));
    // The start is not measured.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begun, before, ticks) = (Instant::now(), load.done.load(Relaxed), ticks(process));
    tokio::time::sleep(time).await;
    let (done, after, passed) = (load.done.load(Relaxed), self::ticks(process), begun.elapsed());
    load.is_over.store(true, Relaxed);
    let requests = (done - before) as f64;
    // Linux counts in hundredths of a second.
    let each = |ticks: u64| ticks as f64 * 10_000.0 / requests;
    println!(
        "{} {:.0} requests/s, {:.2} us user and {:.2} us system for each",
        load.version,
        requests / passed.as_secs_f64(),
        each(after.0 - ticks.0),
        each(after.1 - ticks.1)
    );
    running.abort_all();
    Ok(())
}

fn trust(folder: &Path, version: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(folder.join("authority.pem"));
    roots.add(authority.expect("an authority")).expect("an authority");
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![version.as_bytes().to_vec()];
    config
}

/// User and system time of a process so far.
fn ticks(process: u64) -> (u64, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    // The name before may contain spaces.
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    (fields[11].parse().expect("a number"), fields[12].parse().expect("a number"))
}

struct Load {
    version: String,
    tls: ClientConfig,
    address: SocketAddr,
    path: String,
    streams: u64,
    begun: AtomicU64,
    /// How many requests are sent.
    only: u64,
    done: AtomicU64,
    is_over: AtomicBool,
}

impl Load {
    async fn connection(self: Arc<Self>) {
        match self.version.as_str() {
            "h3" => self.http3().await,
            "h2" => self.http2().await,
            other => panic!("`{other}`"),
        }
    }

    fn request<B>(&self, body: B) -> http::Request<B> {
        let target = format!("https://localhost:{}{}", self.address.port(), self.path);
        http::Request::get(target).body(body).expect("a request")
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Relaxed) && self.begun.fetch_add(1, Relaxed) < self.only
    }

    async fn http3(self: Arc<Self>) {
        let tls = QuicClientConfig::try_from(self.tls.clone()).expect("TLS 1.3");
        let config = quinn::ClientConfig::new(Arc::new(tls));
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a port");
        let quic = endpoint.connect_with(config, self.address, "localhost").expect("an address");
        let quic = quic.await.expect("a handshake");
        let transport = h3_quinn::Connection::new(quic.clone());
        let (mut driver, sender) = h3::client::new(transport).await.expect("HTTP/3");
        let mut streams = JoinSet::new();
        for _ in 0..self.streams {
            let (load, mut sender) = (Arc::clone(&self), sender.clone());
            streams.spawn(async move {
                while load.goes_on() {
                    let mut stream = sender.send_request(load.request(())).await.expect("a stream");
                    stream.finish().await.expect("an end");
                    let answer = stream.recv_response().await.expect("an answer");
                    assert_eq!(answer.status(), 200);
                    while stream.recv_data().await.expect("a body").is_some() {}
                    load.done.fetch_add(1, Relaxed);
                }
            });
        }
        tokio::select! {
            _ = streams.join_all() => quic.close(0_u32.into(), b""),
            _ = poll_fn(|context| driver.poll_close(context)) => (),
        }
        endpoint.wait_idle().await;
    }

    async fn http2(self: Arc<Self>) {
        let stream = TcpStream::connect(self.address).await.expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = TlsConnector::from(Arc::new(self.tls.clone())).connect(name, stream);
        let io = TokioIo::new(stream.await.expect("a handshake"));
        let (sender, driver) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        let mut streams = JoinSet::new();
        for _ in 0..self.streams {
            let (load, mut sender) = (Arc::clone(&self), sender.clone());
            streams.spawn(async move {
                while load.goes_on() {
                    sender.ready().await.expect("a connection");
                    let request = load.request(Empty::<Bytes>::new());
                    let answer = sender.send_request(request).await.expect("an answer");
                    assert_eq!(answer.status(), 200);
                    answer.into_body().collect().await.expect("a body");
                    load.done.fetch_add(1, Relaxed);
                }
            });
        }
        tokio::select! {
            _ = streams.join_all() => (),
            ended = driver => ended.expect("a connection"),
        }
    }
}
