//! Servers of Redis that go back in time.

use policy_tests::{
    redis::{Redis, parameter},
    redis_sentinel::RedisSentinel,
};

use super::RedisStore;
use crate::rollback::{
    Way, a_number_that_is_given_out_twice_is_not_taken_for_the_first,
    nothing_that_was_taken_away_comes_back,
};

/// A server that keeps snapshots only, and crashes.
struct Snapshot(Redis, String);

impl Snapshot {
    async fn start() -> Self {
        let server = Redis::start(&["appendonly=no", "save=3600 1"]).await;
        let url = format!("{}?{}", server.url(), parameter());
        Self(server, url)
    }
}

impl Way for Snapshot {
    fn url(&self) -> String {
        self.1.clone()
    }

    async fn save(&self) {
        self.0.command(&["SAVE"]).await;
    }

    async fn go_back(&self) {
        self.0.kill();
        self.0.begin().await;
    }
}

/// A replica that is behind takes over.
struct Failover(RedisSentinel, String);

impl Failover {
    async fn start() -> Self {
        let servers = RedisSentinel::start().await;
        let url = servers.prefix();
        Self(servers, url)
    }
}

impl Way for Failover {
    fn url(&self) -> String {
        self.1.clone()
    }

    async fn save(&self) {
        self.0.cut_replica_off().await;
    }

    async fn go_back(&self) {
        self.0.lose_primary().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn nothing_that_was_taken_away_comes_back_after_a_crash_with_a_snapshot() {
    nothing_that_was_taken_away_comes_back(&Snapshot::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn nothing_that_was_taken_away_comes_back_after_a_failover_to_a_replica_behind() {
    nothing_that_was_taken_away_comes_back(&Failover::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_number_that_a_snapshot_lost_is_not_taken_for_a_later_one() {
    let way = Snapshot::start().await;
    a_number_that_is_given_out_twice_is_not_taken_for_the_first(&way, |url| RedisStore::new(url))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_number_that_a_failover_lost_is_not_taken_for_a_later_one() {
    let way = Failover::start().await;
    a_number_that_is_given_out_twice_is_not_taken_for_the_first(&way, |url| RedisStore::new(url))
        .await;
}
