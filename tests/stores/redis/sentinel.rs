//! Servers that sentinels watch.

use policy_tests::{
    port::Port,
    redis_sentinel::{NAME, RedisSentinel, start_replicated},
};

use super::{failover::acknowledged_logins_and_logouts_outlive_the_primary, *};
use crate::{
    outages::Server,
    site::{says, start_error, until},
};

impl Server for RedisSentinel {
    const IS_COPIED: bool = true;

    async fn begin(&self) {
        self.mend().await;
    }

    async fn kill(&self) {
        self.kill_primary().await;
    }

    async fn disturb(&self, _is_noticed: impl AsyncFnMut() -> bool) {
        self.switch().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_primary_of_sentinels_keeps_all_rules() {
    let servers = RedisSentinel::shared().await;
    all_rules(|| format!("{}&wait=1&wait_ms=2500", servers.prefix())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_start_names_the_faults_of_the_sentinels() {
    let servers = RedisSentinel::shared().await;
    let url = servers.prefix();
    let (one, two) = (Port::reserve(), Port::reserve());
    let nowhere = format!("redis+sentinel://:secret@{},{}/{NAME}", one.address, two.address);
    let ports = [one, two].map(|port| port.address.port().to_string());
    says(&start_error(&nowhere).await, &["no sentinel", "refused", &ports[0], &ports[1]]);
    let unknown = url.replace(&format!("/{NAME}?"), "/other?");
    says(
        &start_error(&unknown).await,
        &["watches no `other`", &format!("`{NAME}`"), "write the name"],
    );
    let wrong =
        url.replace("sentinel_password=sentinel-secret", "sentinel_password=wrong-password");
    says(&start_error(&wrong).await, &["no sentinel", "write `sentinel_password="]);
    let without = url.replace("sentinel_password=sentinel-secret&", "");
    says(&start_error(&without).await, &["no sentinel", "write `sentinel_password="]);
    let wrong = url.replace(":secret@", ":wrong-password@");
    says(&start_error(&wrong).await, &["correct the user and the password"]);
}

/// A sentinel that was down during a failover may name a replica.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_sentinel_that_names_a_replica_is_distrusted() {
    let servers = RedisSentinel::shared().await;
    let replica = servers.replica().await;
    let port = replica.address().port();
    let lines = [
        format!("sentinel monitor {NAME} 127.0.0.1 {port} 1"),
        format!("sentinel auth-pass {NAME} secret"),
    ];
    let stale = Redis::start_sentinel("sentinel-secret", &lines).await;
    let url = format!(
        "redis+sentinel://:secret@{}/{NAME}?sentinel_password=sentinel-secret",
        stale.address()
    );
    says(&start_error(&url).await, &["a replica"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn acknowledged_writes_survive_the_primary_of_sentinels() {
    let servers = RedisSentinel::start().await;
    let url = format!("{}&wait=1", servers.prefix());
    acknowledged_logins_and_logouts_outlive_the_primary(&servers, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn histories_of_replicated_servers_are_linearizable() {
    let servers = RedisSentinel::start().await;
    let url = format!("{}&wait=1", servers.prefix());
    are_in_order(&servers, [&*url, &*url, &*url].map(RedisStore::new)).await;
}

/// This is the state after a failover that the old primary did not notice, since only the app can
/// reach it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_is_left_that_the_sentinels_do_not_name_any_more() {
    let servers = RedisSentinel::start().await;
    let url = servers.prefix();
    let instance = Instance::start(&url).await;
    let copied = Instance::start(&format!("{url}&wait=1")).await;
    let ada = copied.login("ada").await;
    let [other, _replica] = start_replicated().await;
    let port = other.address().port().to_string();
    servers.replica().await.command(&["REPLICAOF", "NO", "ONE"]).await;
    for sentinel in servers.sentinels() {
        let words = ["SENTINEL", "REMOVE", NAME];
        sentinel.command(&words).await;
        sentinel.command(&["SENTINEL", "MONITOR", NAME, "127.0.0.1", &port, "2"]).await;
        sentinel.command(&["SENTINEL", "SET", NAME, "auth-pass", "secret"]).await;
    }
    // The old primary has the session, and the new one has none. Reads go to the same server as
    // changes.
    assert!(matches!(copied.try_to_login("eve").await, Ok(_) | Err(503)));
    assert_eq!(ada.status(&copied).await, 401);
    copied.login("eve").await;
    assert_eq!(ada.status(&copied).await, 401);
    // An instance without changes checks from time to time.
    until(async || ada.status(&instance).await == 401).await;
}
