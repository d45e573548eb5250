//! Which acknowledged changes a failover loses if the URL does not say `wait`.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use policy_tests::redis_sentinel::RedisSentinel;
use tokio::task::JoinSet;

use crate::site::{Instance, Visitor, until};

const VISITORS: usize = 60;

/// A visitor, and when each of their changes was acknowledged.
struct Changes {
    visitor: Visitor,
    acknowledged: Vec<Instant>,
    unknown: usize,
}

/// Counts until the store is unavailable.
async fn counts(instance: Instance, number: usize, all: Arc<AtomicUsize>) -> Changes {
    let visitor = instance.login(&format!("visitor-{number}")).await;
    let mut acknowledged = Vec::new();
    while visitor.post(&instance, "/count").await.status() == 200 {
        acknowledged.push(Instant::now());
        all.fetch_add(1, Ordering::Relaxed);
    }
    Changes { visitor, acknowledged, unknown: 1 }
}

impl Changes {
    /// When the first of the lost changes was acknowledged, and how many are lost.
    async fn find_lost(&mut self, instance: &Instance) -> Option<(Instant, usize)> {
        let mut kept = None;
        until(async || {
            let response = self.visitor.post(instance, "/count").await;
            kept = match response.status().as_u16() {
                200 => Some(response.text().parse::<usize>().unwrap() - 1),
                // The login was lost.
                401 => Some(0),
                _ => None,
            };
            self.unknown += usize::from(kept.is_none());
            kept.is_some()
        })
        .await;
        let kept = kept.unwrap();
        let total = self.acknowledged.len();
        assert!(kept <= total + self.unknown, "{kept} of {total} and {}", self.unknown);
        self.acknowledged.get(kept).map(|first| (*first, total - kept))
    }
}

/// The primary dies while its replica runs. `POLICY_STORES_SECONDS` says for how long this is
/// repeated.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_failover_without_wait_loses_only_recent_writes() {
    let seconds = env::var("POLICY_STORES_SECONDS").map_or(0, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let servers = RedisSentinel::start().await;
    let (mut failovers, mut total, mut lost, mut longest) = (0, 0, 0, Duration::ZERO);
    loop {
        let url = servers.prefix();
        let instances = Instance::three(&url).await;
        let careful = Instance::start(&format!("{url}&wait=1")).await;
        let counted = Arc::<AtomicUsize>::default();
        let mut visits = JoinSet::new();
        for number in 0..VISITORS {
            visits.spawn(counts(instances[number % 3].clone(), number, Arc::clone(&counted)));
        }
        let ada = careful.login("ada").await;
        servers.are_ready().await;
        until(async || counted.load(Ordering::Relaxed) > 10 * VISITORS).await;
        let killed = Instant::now();
        servers.kill_primary().await;
        let all = visits.join_all().await;
        for mut changes in all {
            total += changes.acknowledged.len();
            if let Some((first, count)) = changes.find_lost(&instances[1]).await {
                lost += count;
                longest = longest.max(killed.saturating_duration_since(first));
            }
        }
        assert_eq!(ada.status(&instances[2]).await, 200, "the replica had it");
        servers.mend().await;
        failovers += 1;
        if Instant::now() >= end {
            break;
        }
    }
    println!(
        "{failovers} failovers without `wait`: {lost} of {total} acknowledged changes lost, the oldest {longest:?} old"
    );
    assert!(total > 0 && lost < total, "{lost} of {total}");
}
