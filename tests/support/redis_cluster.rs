//! A cluster of Redis: three primaries, and a replica of each.

use redis::{Value, from_redis_value};
use tokio::sync::OnceCell;

use crate::{
    http::until,
    port::Port,
    redis::{Redis, parameter},
    redis_sentinel::replicas,
};

/// Nodes of this process, which end with it. The node at a primary's number plus three is its
/// replica, or has changed places with it.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// The ports by which the nodes communicate with each other.
    _buses: Vec<Port>,
}

const PRIMARIES: usize = 3;
const SLOTS: usize = 16384;

impl RedisCluster {
    /// The cluster that all tests of this process share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<RedisCluster> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    pub async fn start() -> Self {
        let _buses: Vec<_> = (0..2 * PRIMARIES).map(|_| Port::reserve()).collect();
        let starts = _buses.iter().map(async |bus| {
            let bus = format!("cluster-port={}", bus.address.port());
            Redis::start(&[
                "cluster-enabled=yes",
                &bus,
                "cluster-node-timeout=1000",
                // A replica may take over after any time of separation.
                "cluster-replica-validity-factor=0",
                "cluster-allow-replica-migration=no",
                "masterauth=secret",
                "repl-diskless-sync-delay=0",
            ])
            .await
        });
        let nodes = futures_util::future::join_all(starts).await;
        let all = Self { nodes, _buses };
        for (number, node) in all.nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]).await;
            if number < PRIMARIES {
                let first = SLOTS * number / PRIMARIES;
                let last = SLOTS * (number + 1) / PRIMARIES - 1;
                let (first, last) = (first.to_string(), last.to_string());
                node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await;
            }
            let (port, bus) = (node.address().port(), all._buses[number].address.port());
            let (port, bus) = (port.to_string(), bus.to_string());
            all.nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
        }
        for node in &all.nodes {
            until(async || info(node).await.contains("cluster_known_nodes:6")).await;
        }
        for replica in PRIMARIES..2 * PRIMARIES {
            let id = all.id(replica - PRIMARIES).await;
            // The node may not know yet that the other one is a primary.
            let replicate = ["CLUSTER", "REPLICATE", &id];
            until(async || all.nodes[replica].try_command(&replicate).await.is_some()).await;
        }
        all.are_ready().await;
        all
    }

    /// The URL of three nodes, with a prefix that nothing else uses.
    pub fn prefix(&self) -> String {
        let hosts: Vec<_> =
            self.nodes[..PRIMARIES].iter().map(|node| node.address().to_string()).collect();
        format!("redis://:secret@{}/?{}", hosts.join(","), parameter())
    }

    /// The number of the node that has the keys of this URL.
    pub async fn owner(&self, url: &str) -> usize {
        let key = prefix_of(url);
        for (number, node) in self.nodes.iter().enumerate() {
            if node.try_command(&["EXISTS", &key]).await.is_some() {
                return number;
            }
        }
        panic!("no node has the keys `{key}*`");
    }

    pub fn node(&self, number: usize) -> &Redis {
        &self.nodes[number]
    }

    /// The other node of this pair.
    pub fn partner(number: usize) -> usize {
        (number + PRIMARIES) % (2 * PRIMARIES)
    }

    /// Has the replica of this node take over.
    pub async fn switch(&self, url: &str) {
        self.are_ready().await;
        let before = self.owner(url).await;
        let replica = &self.nodes[Self::partner(before)];
        assert_eq!(replica.command(&["CLUSTER", "FAILOVER"]).await, Value::Okay);
        until(async || self.is_owner(Self::partner(before), url).await).await;
    }

    /// Kills the primary of these keys, and waits until its replica has taken over.
    pub async fn kill_primary(&self, url: &str) {
        self.are_ready().await;
        let before = self.owner(url).await;
        self.nodes[before].kill();
        until(async || self.is_owner(Self::partner(before), url).await).await;
    }

    /// Starts the node that was killed, which is a replica then.
    pub async fn mend(&self) {
        for node in &self.nodes {
            if !node.is_running() {
                node.begin().await;
            }
        }
        self.are_ready().await;
    }

    async fn is_owner(&self, number: usize, url: &str) -> bool {
        self.nodes[number].try_command(&["EXISTS", &prefix_of(url)]).await.is_some()
    }

    /// Moves the slot of these keys to another primary, key by key, as `redis-cli --cluster reshard` does.
    pub async fn reshard(&self, url: &str) {
        let from = self.owner(url).await;
        let mut to = (from + 1) % PRIMARIES;
        if replicas(&self.nodes[to]).await == 0 {
            to = Self::partner(to);
        }
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (source_id, target_id) = (self.id(from).await, self.id(to).await);
        let slot = source.command(&["CLUSTER", "KEYSLOT", &prefix_of(url)]).await;
        let slot: u16 = from_redis_value(slot).expect("a slot");
        let slot = slot.to_string();
        let set = async |node: &Redis, what: &[&str]| {
            let words = [&["CLUSTER", "SETSLOT", &slot], what].concat();
            assert_eq!(node.command(&words).await, Value::Okay);
        };
        set(target, &["IMPORTING", &source_id]).await;
        set(source, &["MIGRATING", &target_id]).await;
        let port = target.address().port().to_string();
        loop {
            let keys = source.command(&["CLUSTER", "GETKEYSINSLOT", &slot, "3"]).await;
            let keys: Vec<Vec<u8>> = from_redis_value(keys).expect("keys");
            if keys.is_empty() {
                break;
            }
            let words = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "AUTH", "secret", "KEYS"];
            let words = words.iter().map(|word| word.as_bytes());
            let words: Vec<_> = words.chain(keys.iter().map(|key| &**key)).collect();
            assert_eq!(source.run(&words).await.expect("it moves"), Value::Okay);
        }
        set(target, &["NODE", &target_id]).await;
        set(source, &["NODE", &target_id]).await;
    }

    /// Waits until all nodes are there and agree, and the replicas have everything.
    pub async fn are_ready(&self) {
        until(async || {
            let mut copies = 0;
            for node in &self.nodes {
                if !info(node).await.contains("cluster_state:ok") {
                    return false;
                }
                copies += replicas(node).await;
            }
            copies == PRIMARIES
        })
        .await;
    }

    async fn id(&self, number: usize) -> String {
        from_redis_value(self.nodes[number].command(&["CLUSTER", "MYID"]).await).expect("an id")
    }
}

/// The prefix of the keys of this URL.
fn prefix_of(url: &str) -> String {
    let (_, prefix) = url.split_once("prefix=").expect("a prefix");
    format!("{{{}}}:", prefix.split('&').next().expect("a prefix"))
}

async fn info(node: &Redis) -> String {
    let info = node.try_command(&["CLUSTER", "INFO"]).await.unwrap_or(Value::Nil);
    from_redis_value(info).unwrap_or_default()
}
