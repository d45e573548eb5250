//! What visitors notice while another server takes over or gets the keys.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use policy_tests::http::soon;
use tokio::task::JoinSet;

use crate::{
    outages::Server,
    site::{Counted, Instance, Visitor, is_away, until},
};

/// Visitors who change their sessions at three instances, log out and log in again, over and over.
pub(super) struct Visits {
    instances: [Instance; 3],
    visitors: JoinSet<()>,
    /// How many changes each has made.
    counts: Vec<Arc<AtomicU64>>,
    is_over: Arc<AtomicBool>,
    /// The visitors who logged out.
    ended: Arc<Mutex<Vec<Visitor>>>,
}

const VISITORS: usize = 12;

impl Visits {
    pub(super) fn begin(instances: &[Instance; 3]) -> Self {
        let mut visits = Self {
            instances: instances.clone(),
            visitors: JoinSet::new(),
            counts: Vec::new(),
            is_over: Arc::default(),
            ended: Arc::default(),
        };
        for number in 0..VISITORS {
            let count = Arc::default();
            visits.counts.push(Arc::clone(&count));
            visits.visitors.spawn(visit(
                number,
                instances.clone(),
                count,
                Arc::clone(&visits.is_over),
                Arc::clone(&visits.ended),
            ));
        }
        visits
    }

    /// Waits until each visitor has made more changes.
    pub(super) async fn go_on(&mut self) {
        let sum = |count: &Arc<AtomicU64>| count.load(Ordering::Relaxed);
        let before: Vec<_> = self.counts.iter().map(sum).collect();
        until(async || {
            if let Some(ended) = self.visitors.try_join_next() {
                ended.unwrap();
            }
            self.counts.iter().zip(&before).all(|(count, before)| sum(count) > before + 5)
        })
        .await;
    }

    /// Ends the visits, and asserts that no visitor who logged out is logged in again.
    pub(super) async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.visitors.join_all().await;
        let ended = std::mem::take(&mut *self.ended.lock().unwrap());
        assert!(ended.len() >= VISITORS, "{} logged out", ended.len());
        for visitor in ended {
            for instance in &self.instances {
                assert_eq!(visitor.status(instance).await, 401);
            }
        }
    }
}

async fn visit(
    number: usize,
    instances: [Instance; 3],
    count: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    ended: Arc<Mutex<Vec<Visitor>>>,
) {
    let user = format!("visitor-{number}");
    let mut turn = number;
    while !is_over.load(Ordering::Relaxed) {
        turn += 1;
        let visitor = match instances[turn % 3].try_to_login(&user).await {
            Ok(visitor) => visitor,
            Err(status) => {
                assert_eq!(status, 503);
                pause().await;
                continue;
            }
        };
        let mut counted = Counted::default();
        while counted.done < 10 && !is_over.load(Ordering::Relaxed) {
            turn += 1;
            if counted.takes(&visitor.post(&instances[turn % 3], "/count").await) {
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                pause().await;
            }
        }
        turn += 1;
        let logout = visitor.post(&instances[turn % 3], "/logout").await;
        if !is_away(&logout) {
            assert_eq!(logout.status(), 200, "{logout:?}");
            ended.lock().unwrap().push(visitor);
        }
    }
}

/// A store that is unavailable fails at once.
async fn pause() {
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
}

/// Another server takes over by an orderly failover, and then because the primary crashed.
pub(super) async fn acknowledged_logins_and_logouts_outlive_the_primary(
    server: &impl Server,
    store: &str,
) {
    let instances = Instance::three(store).await;
    let ada = instances[0].login("ada").await;
    let stream = ada.open(&instances[1]).await;
    let mut visits = Visits::begin(&instances);
    visits.go_on().await;
    server.disturb(async || true).await;
    visits.go_on().await;
    server.kill().await;
    for instance in &instances {
        until(async || ada.status(instance).await == 200).await;
    }
    server.begin().await;
    visits.go_on().await;
    visits.end().await;
    for instance in &instances {
        until(async || instance.status("/ready").await == 200).await;
    }
    // The end of a session at one instance reaches the others.
    assert!(!stream.is_finished());
    until(async || ada.post(&instances[2], "/logout").await.status() == 200).await;
    assert!(soon(stream).await.unwrap());
}
