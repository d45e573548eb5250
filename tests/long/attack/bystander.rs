//! A client that takes no part in an attack.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use policy_tests::http::Connection;

use super::length;

/// Sends requests on its own thread: over a connection that it keeps, and every tenth over a new
/// one. Each must get a response.
pub(crate) struct Bystander {
    is_over: Arc<AtomicBool>,
    times: JoinHandle<Vec<Duration>>,
}

impl Bystander {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_over);
        let times = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(ask(address, &watched))
        });
        Self { is_over, times }
    }

    /// How long the responses took, when the attack is over.
    pub(crate) fn report(self, attack: &str) {
        self.is_over.store(true, Relaxed);
        let mut times = self.times.join().expect("each question is answered");
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (half, p99, last) = (at(0.5), at(0.99), at(1.0));
        println!("{attack}: {} answers, p50 {half:?}, p99 {p99:?}, max {last:?}", times.len());
        // A client that has to wait for the end of the attack is not served during it.
        assert!(half < length(), "{attack}: a bystander waits {half:?}");
    }
}

async fn ask(address: SocketAddr, is_over: &AtomicBool) -> Vec<Duration> {
    let mut kept = Connection::open(address).await;
    let mut times = Vec::new();
    while !is_over.load(Relaxed) || times.is_empty() {
        let begun = Instant::now();
        if times.len() % 10 == 0 {
            super::ask(&mut Connection::open(address).await).await;
        } else {
            super::ask(&mut kept).await;
        }
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    times
}
