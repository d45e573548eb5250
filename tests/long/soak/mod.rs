//! A server process under steady load while its environment changes: certificates are renewed, the
//! upstream of its proxy stops and starts again, and new processes take over its port. No request
//! fails that a client may repeat, and memory does not grow. `POLICY_SOAK_SECONDS` is the duration.
#![cfg(target_os = "linux")]

mod client;
mod tally;
mod upstream;

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use bytes::Bytes;
use policy_server::{ReverseProxy, ServerSettings, Tls, prelude::*};
use policy_tests::{
    authority::Authority,
    handlers::{echo, hello},
    http::soon,
    port::Port,
    process::{ServerProcess, again, role},
};
use tokio::time::sleep;

use crate::attack::wait_for_close;
use client::Client;
use tally::Tally;
use upstream::Upstream;

const NAME: &str = "soak::no_request_is_lost_and_nothing_grows";

/// The variables of the server process: its address, the folder of its certificate, and its
/// upstream.
const ADDRESS: &str = "POLICY_SOAK_ADDRESS";
const FOLDER: &str = "POLICY_SOAK_FOLDER";
const UPSTREAM: &str = "POLICY_SOAK_UPSTREAM";

/// How often a process is replaced by the next.
const PROCESSES: u32 = 3;

fn length() -> Duration {
    let seconds = env::var("POLICY_SOAK_SECONDS").ok();
    Duration::from_secs(seconds.map_or(9, |seconds| seconds.parse().expect("a number")))
}

/// Waits, as a handler does for a database.
#[get("/waits")]
#[auth(public)]
async fn waits() -> &'static str {
    sleep(Duration::from_millis(5)).await;
    "waited"
}

async fn be_server() {
    let folder = PathBuf::from(env::var(FOLDER).expect("a folder"));
    let tls = Tls::files(folder.join("cert.pem"), folder.join("key.pem"))
        .reload_every(Duration::from_millis(50));
    let settings = ServerSettings::default().shared_port().drain(Duration::from_millis(200));
    let app = App::new(()).tls(tls).settings(settings).sessions(Sessions::memory());
    let app = app.health("/healthz").readiness("/readyz").request_ids().access_log();
    let upstream = env::var(UPSTREAM).expect("an upstream");
    let app = app.proxy(ReverseProxy::new("/api", upstream).public().strip_prefix());
    let address = env::var(ADDRESS).expect("an address");
    app.routes(routes![hello, waits, echo]).serve(address).await.expect("a server");
}

fn start(address: &str, folder: &Path, upstream: SocketAddr) -> ServerProcess {
    let mut command = again(NAME, "server");
    command.env(ADDRESS, address).env(FOLDER, folder);
    ServerProcess::start(command.env(UPSTREAM, format!("http://{upstream}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_and_nothing_grows() {
    let _machine = crate::alone().await;
    if role().is_some() {
        return be_server().await;
    }
    let folder = env::temp_dir().join(format!("policy-soak-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let authority = Authority::new();
    authority.issue(&["localhost"]).write(&folder);
    // The upstream stops, and starts again at the same address.
    let port = Port::reserve();
    let mut upstream = Upstream::start(port.address);
    let mut server = start("127.0.0.1:0", &folder, upstream.address);
    let (address, sockets) = (server.address, server.sockets());

    let tally = Arc::new(Tally::default());
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let client = Client::new(address, authority.certificate(), number % 2 == 0);
            tokio::spawn(client.ask_until_over(Arc::clone(&tally)))
        })
        .collect();
    let term = length() / PROCESSES;
    for number in 1..=PROCESSES {
        let begun = Instant::now();
        sleep(term / 4).await;
        let mut memory = vec![server.memory() / 1024];
        for part in 2..=4 {
            authority.issue(&["localhost"]).write(&folder);
            tally.upstream_is(false);
            upstream.die();
            sleep(Duration::from_millis(100)).await;
            upstream = Upstream::start(port.address);
            tally.upstream_is(true);
            sleep((term * part / 4).saturating_sub(begun.elapsed())).await;
            memory.push(server.memory() / 1024);
        }
        println!("process {number}: {memory:?} KiB, once warm and later; {tally}");
        // The allocator keeps memory that it took once; a leak grows in each part of the time.
        let grows = |part: &[usize]| part[1] > part[0] + part[0] / 50;
        assert!(!memory.windows(2).all(grows), "process {number} grows: {memory:?} KiB");
        if number < PROCESSES {
            let next = start(&address.to_string(), &folder, upstream.address);
            assert_eq!(next.address, address);
            server.terminate();
            let (success, output) = std::mem::replace(&mut server, next).wait_for_exit();
            assert!(success, "{output}");
        }
    }
    tally.is_over.store(true, Relaxed);
    for client in clients {
        soon(client).await.expect("a client that was answered");
    }
    println!("{tally}");
    assert!(tally.answered.load(Relaxed) > 100, "{tally}");
    assert!(tally.connections.load(Relaxed) >= 8 * PROCESSES as usize, "{tally}");
    // Idle connections to the upstream end with it.
    upstream.die();
    wait_for_close(&server, sockets).await;
    server.terminate();
    let (success, output) = server.wait_for_exit();
    assert!(success, "{output}");
    fs::remove_dir_all(&folder).expect("the folder");
}
