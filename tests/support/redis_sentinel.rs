//! A primary of Redis with a replica, and three sentinels that watch them.

use std::collections::HashMap;

use redis::{Value, from_redis_value};
use tokio::sync::OnceCell;

use crate::{
    http::until,
    redis::{Redis, parameter},
};

/// The name of the primary in the sentinels.
pub const NAME: &str = "shop";

/// Longer than any test takes, in milliseconds.
const NEVER: &str = "3600000";

/// Servers of this process, which end with it.
#[derive(Debug)]
pub struct RedisSentinel {
    servers: [Redis; 2],
    sentinels: Vec<Redis>,
}

impl RedisSentinel {
    /// The servers that all tests of this process share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<RedisSentinel> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    pub async fn start() -> Self {
        let servers = start_replicated().await;
        let lines = [
            format!("sentinel monitor {NAME} 127.0.0.1 {} 2", servers[0].address().port()),
            format!("sentinel auth-pass {NAME} secret"),
            // The primary is not considered down because it is slow on a busy machine.
            format!("sentinel down-after-milliseconds {NAME} {NEVER}"),
            format!("sentinel failover-timeout {NAME} 3000"),
            "sentinel sentinel-pass sentinel-secret".to_owned(),
        ];
        let start = || Redis::start_sentinel("sentinel-secret", &lines);
        let sentinels = tokio::join!(start(), start(), start());
        let all = Self { servers, sentinels: <[Redis; 3]>::from(sentinels).into() };
        all.are_ready().await;
        all
    }

    /// The URL of the sentinels, with a prefix that nothing else uses.
    pub fn prefix(&self) -> String {
        let hosts: Vec<_> =
            self.sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
        format!(
            "redis+sentinel://:secret@{}/{NAME}?sentinel_password=sentinel-secret&{}",
            hosts.join(","),
            parameter()
        )
    }

    /// The server that is the primary, as the sentinels say.
    pub async fn primary(&self) -> &Redis {
        let port = self.state(0).await.and_then(|mut state| state.remove("port"));
        let port: u16 = port.expect("a port").parse().expect("a port");
        self.servers.iter().find(|server| server.address().port() == port).expect("one of them")
    }

    /// The other server.
    pub async fn replica(&self) -> &Redis {
        let primary = self.primary().await.address();
        self.servers.iter().find(|server| server.address() != primary).expect("one of them")
    }

    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }

    /// Has the other server take over.
    pub async fn switch(&self) {
        self.are_ready().await;
        let before = self.primary().await;
        let done = self.sentinels[0].command(&["SENTINEL", "FAILOVER", NAME]).await;
        assert_eq!(done, Value::Okay);
        until(async || self.primary().await.address() != before.address()).await;
        // The sentinels do this after a while.
        before.follow(self.primary().await).await;
    }

    /// Kills the primary, and waits until the sentinels have made the other one the primary.
    pub async fn kill_primary(&self) {
        self.are_ready().await;
        self.lose_primary().await;
    }

    /// Stops replication: the replica gets no further changes.
    pub async fn cut_replica_off(&self) {
        self.are_ready().await;
        let (primary, replica) = (self.primary().await, self.replica().await);
        replica.command(&["CONFIG", "SET", "masterauth", "wrong-password"]).await;
        primary.command(&["CLIENT", "KILL", "TYPE", "REPLICA"]).await;
        until(async || replicas(primary).await == 0).await;
    }

    /// As [`kill_primary`](Self::kill_primary), but without waiting for the replica to catch up.
    pub async fn lose_primary(&self) {
        let before = self.primary().await;
        before.kill();
        self.is_down_after("1000").await;
        until(async || self.primary().await.address() != before.address()).await;
        self.is_down_after(NEVER).await;
    }

    /// Sets after how many milliseconds without a response the sentinels choose another primary.
    async fn is_down_after(&self, milliseconds: &str) {
        for sentinel in &self.sentinels {
            let words = ["SENTINEL", "SET", NAME, "down-after-milliseconds", milliseconds];
            sentinel.command(&words).await;
        }
    }

    /// Starts the killed server as a replica.
    pub async fn mend(&self) {
        for server in &self.servers {
            if !server.is_running() {
                server.begin().await;
                server.follow(self.primary().await).await;
            }
        }
        self.are_ready().await;
    }

    /// Waits until all know each other, and the replica has everything.
    pub async fn are_ready(&self) {
        until(async || {
            let primary = self.primary().await;
            if replicas(primary).await != 1 {
                return false;
            }
            let port = primary.address().port().to_string();
            for at in 0..self.sentinels.len() {
                let Some(state) = self.state(at).await else { return false };
                let says = |name: &str, value: &str| state.get(name).is_some_and(|is| is == value);
                let is_ready = says("port", &port)
                    && says("flags", "master")
                    && says("num-other-sentinels", "2")
                    && says("num-slaves", "1");
                if !is_ready {
                    return false;
                }
            }
            true
        })
        .await;
    }

    /// The state of the primary, as this sentinel reports it.
    async fn state(&self, at: usize) -> Option<HashMap<String, String>> {
        let state = self.sentinels[at].try_command(&["SENTINEL", "MASTER", NAME]).await?;
        from_redis_value(state).ok()
    }
}

/// Starts a primary and a replica, which has everything.
pub async fn start_replicated() -> [Redis; 2] {
    // A replica copies the next change at once, and not after 5 seconds.
    let settings = ["masterauth=secret", "repl-diskless-sync-delay=0"];
    let (primary, replica) = tokio::join!(Redis::start(&settings), Redis::start(&settings));
    replica.follow(&primary).await;
    until(async || replicas(&primary).await == 1).await;
    [primary, replica]
}

/// How many replicas have everything that this server has.
pub async fn replicas(server: &Redis) -> usize {
    let info = server.try_command(&["INFO", "replication"]).await.unwrap_or(Value::Nil);
    let info: String = from_redis_value(info).unwrap_or_default();
    info.matches("state=online").count()
}
