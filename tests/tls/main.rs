//! HTTPS over real sockets: certificates and their replacement, valid and invalid handshakes, the
//! redirect, and fields for TLS only. The clients are rustls, curl, and raw bytes.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod browser;
mod client;
mod credentials;
mod development;
mod handshakes;
mod hsts;
mod http3;
mod protocols;
mod redirect;
mod reload;
mod resting;
mod starts;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use policy_core_tests::law;
use policy_server::{ServerSettings, Tls, prelude::*};
use policy_tests::{
    authority::{self, Authority},
    handlers::hello,
    http::{self, Connection, StoppedTime, request, soon},
    process, webdriver,
};
use tokio::task::JoinHandle;

use client::Client;

fn app() -> App<()> {
    App::new(()).routes(routes![hello])
}

struct Secure {
    address: SocketAddr,
    redirect: Option<SocketAddr>,
    running: JoinHandle<()>,
}

impl Secure {
    async fn start<S: Send + Sync + 'static>(app: App<S>) -> Self {
        let server = app.bind("127.0.0.1:0").await.expect("an app that starts");
        let (address, redirect) = (server.local_addr(), server.redirect_addr());
        let running = tokio::spawn(server.run_until(std::future::pending()));
        Self { address, redirect, running }
    }

    /// The address of the redirect from plain HTTP.
    fn redirect(&self) -> SocketAddr {
        self.redirect.expect("a second address")
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls").join(test);
    // There is none the first time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A certificate for this machine by a new authority, in files of this test.
fn identity(test: &str) -> (Tls, Authority) {
    let (authority, folder) = (Authority::new(), folder(test));
    let (certificate, key) = authority.issue(&["localhost", "127.0.0.1"]).write(&folder);
    (Tls::files(certificate, key), authority)
}
