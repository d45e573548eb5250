//! Nodes of a cluster.

use policy_tests::redis_cluster::RedisCluster;

use super::{
    failover::{Visits, acknowledged_logins_and_logouts_outlive_the_primary},
    *,
};
use crate::{outages::Server, site::until};

/// The nodes that may have the keys of an app.
struct Nodes {
    cluster: RedisCluster,
    url: String,
}

impl Nodes {
    /// Starts a cluster for an app whose changes are replicated before they are acknowledged.
    async fn start() -> Self {
        let cluster = RedisCluster::start().await;
        let url = format!("{}&wait=1", cluster.prefix());
        Self { cluster, url }
    }
}

impl Server for Nodes {
    const IS_COPIED: bool = true;

    async fn begin(&self) {
        self.cluster.mend().await;
    }

    async fn kill(&self) {
        self.cluster.kill_primary(&self.url).await;
    }

    async fn disturb(&self, _is_noticed: impl AsyncFnMut() -> bool) {
        self.cluster.switch(&self.url).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_cluster_keeps_all_rules() {
    let cluster = RedisCluster::shared().await;
    all_rules(|| cluster.prefix()).await;
}

/// The keys of the apps are at different nodes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn any_node_leads_to_the_one_that_has_the_keys() {
    let cluster = RedisCluster::shared().await;
    let mut owners = std::collections::BTreeSet::new();
    while owners.len() < 3 {
        let url = cluster.prefix();
        owners.insert(cluster.owner(&url).await);
        let (_, parameter) = url.split_once('?').unwrap();
        for node in 0..6 {
            let url = format!("{}?{parameter}", cluster.node(node).url());
            let instance = Instance::start(&url).await;
            assert_eq!(instance.login("ada").await.status(&instance).await, 200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn no_session_ends_while_keys_move_to_another_node() {
    let cluster = RedisCluster::shared().await;
    let url = cluster.prefix();
    let instances = Instance::three(&url).await;
    let ada = instances[0].login("ada").await;
    let stream = ada.open(&instances[1]).await;
    // Many keys make the move take a while.
    for number in 0..500 {
        instances[number % 3].login(&format!("user-{number}")).await;
    }
    let before = cluster.owner(&url).await;
    cluster.reshard(&url).await;
    assert_ne!(cluster.owner(&url).await, before);
    // The old node redirects to the new one, and no visitor notices.
    for instance in &instances {
        assert_eq!(ada.status(instance).await, 200);
    }
    let mut visits = Visits::begin(&instances);
    visits.go_on().await;
    cluster.reshard(&url).await;
    visits.go_on().await;
    visits.end().await;
    assert!(!stream.is_finished());
    until(async || ada.post(&instances[2], "/logout").await.status() == 200).await;
    assert!(policy_tests::http::soon(stream).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn acknowledged_writes_survive_the_loss_of_a_node() {
    let nodes = Nodes::start().await;
    acknowledged_logins_and_logouts_outlive_the_primary(&nodes, &nodes.url).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn histories_of_a_cluster_are_linearizable() {
    let nodes = Nodes::start().await;
    are_in_order(&nodes, [&*nodes.url, &*nodes.url, &*nodes.url].map(RedisStore::new)).await;
}
