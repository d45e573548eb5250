//! HTTPS over real sockets: certificates and their change, handshakes good and bad, the redirect
//! beside them, and what is said over TLS alone. Clients are rustls', curl, and bytes.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, reason = "laws say how often they were put to the test")]

#[path = "support/authority.rs"]
mod authority;
#[path = "tls/browser.rs"]
mod browser;
#[path = "tls/client.rs"]
mod client;
#[path = "tls/credentials.rs"]
mod credentials;
#[path = "tls/development.rs"]
mod development;
#[path = "tls/handshakes.rs"]
mod handshakes;
#[path = "tls/hsts.rs"]
mod hsts;
#[path = "support/http.rs"]
mod http;
#[path = "support/law.rs"]
mod law;
#[path = "support/process.rs"]
mod process;
#[path = "tls/redirect.rs"]
mod redirect;
#[path = "tls/reload.rs"]
mod reload;
#[path = "tls/starts.rs"]
mod starts;
#[path = "support/webdriver.rs"]
mod webdriver;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use policy_server::{Settings, Tls, prelude::*};
use tokio::task::JoinHandle;

use authority::Authority;
use client::Client;
use http::{Connection, StoppedTime, request, soon};

#[get("/hello")]
#[auth(public)]
async fn hello() -> &'static str {
    "hello"
}

fn app() -> App<()> {
    App::new(()).routes(routes![hello])
}

/// A server with its own listeners.
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

    /// Where plain HTTP is redirected.
    fn redirect(&self) -> SocketAddr {
        self.redirect.expect("a second address")
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A folder of a test's own, empty.
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
