//! Servers of Redis that go back in time.

use std::time::Duration;

use policy_server::{Clock, prelude::*, store::MemoryStore};
use policy_tests::{
    http::{RawResponse, Running},
    log::Log,
    redis::{Redis, parameter},
    redis_sentinel::RedisSentinel,
    relay::{Network, Relay},
};
use serde_json::Value;

use super::RedisStore;
use crate::{
    limits::{
        a_client_gets_one_burst_more_from_all_instances, limits_continue_from_the_older_state,
        permits_are_held_twice_until_they_are_renewed,
    },
    rollback::{
        Way, a_loss_of_logouts_alone_is_noticed, a_loss_of_replaced_sessions_alone_is_noticed,
        a_reused_number_is_not_mistaken_for_the_first,
        counts_of_processes_that_are_gone_are_removed, no_list_of_origins_is_widened,
        recent_writes_are_detected_as_lost, revoke_user, revoked_rights_stay_revoked,
    },
    site::{self, Instance, until},
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
async fn revoked_rights_stay_revoked_after_a_crash_with_a_snapshot() {
    revoked_rights_stay_revoked(&Snapshot::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn revoked_rights_stay_revoked_after_a_failover_to_a_lagging_replica() {
    revoked_rights_stay_revoked(&Failover::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_number_lost_by_a_snapshot_is_not_mistaken_for_a_later_one() {
    let ways = tokio::join!(Snapshot::start(), Snapshot::start()).into();
    a_reused_number_is_not_mistaken_for_the_first(&ways, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_number_lost_by_a_failover_is_not_mistaken_for_a_later_one() {
    let ways = tokio::join!(Failover::start(), Failover::start()).into();
    a_reused_number_is_not_mistaken_for_the_first(&ways, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_loss_of_logouts_alone_is_noticed_after_a_crash() {
    let way = Snapshot::start().await;
    a_loss_of_logouts_alone_is_noticed(&way, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_loss_of_replaced_sessions_alone_is_noticed_after_a_crash() {
    let way = Snapshot::start().await;
    a_loss_of_replaced_sessions_alone_is_noticed(&way, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn keys_of_processes_that_are_gone_are_removed() {
    let server = Redis::shared().await;
    let url = server.prefix();
    let pattern = format!("{{{}}}:marks:ended:*", url.split_once("prefix=").unwrap().1);
    let keys = async || -> Vec<String> {
        redis::from_redis_value(server.command(&["KEYS", &pattern]).await).unwrap()
    };
    let pass_days = async |days: u32| {
        for key in keys().await {
            let redis::Value::Int(left) = server.command(&["TTL", &key]).await else { panic!() };
            let left = left - i64::from(days) * 24 * 3600;
            server.command(&["EXPIRE", &key, &left.to_string()]).await;
        }
    };
    let counts = async || keys().await.len();
    counts_of_processes_that_are_gone_are_removed(|| RedisStore::new(&*url), pass_days, counts)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn writes_just_before_a_crash_are_detected_as_lost() {
    let way = Snapshot::start().await;
    recent_writes_are_detected_as_lost(&way, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn writes_just_before_a_failover_are_detected_as_lost() {
    let way = Failover::start().await;
    recent_writes_are_detected_as_lost(&way, |url| RedisStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn no_list_of_origins_is_widened_by_a_snapshot() {
    no_list_of_origins_is_widened(&Snapshot::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn limits_continue_from_a_snapshot() {
    let open = |url: &str| RedisStore::new(url);
    limits_continue_from_the_older_state(&Snapshot::start().await, open, true).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn limits_continue_from_a_replica_behind() {
    let open = |url: &str| RedisStore::new(url);
    limits_continue_from_the_older_state(&Failover::start().await, open, true).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_client_gets_one_burst_more_after_a_crash_with_a_snapshot() {
    a_client_gets_one_burst_more_from_all_instances(&Snapshot::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn permits_are_held_twice_after_a_snapshot_until_they_are_renewed() {
    permits_are_held_twice_until_they_are_renewed(Snapshot::start).await;
}

/// No user was cut off: the only loss is the logout of one visitor.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_logout_that_a_snapshot_lost_is_made_again() {
    let way = Snapshot::start().await;
    let instance = Instance::open(Sessions::from_url(way.url()), Some(MemoryStore::new())).await;
    let instance = instance.unwrap();
    let (eve, ida) = (instance.login("eve").await, instance.login("ida").await);
    way.save().await;
    eve.logs_out(&instance).await;
    // Waits until the next check has stored its mark.
    until(async || {
        let marks = way.0.command(&["KEYS", "*marks:ended:*"]).await;
        !matches!(marks, redis::Value::Array(all) if all.is_empty())
    })
    .await;
    way.go_back().await;
    until(async || eve.status(&instance).await == 401).await;
    assert_eq!(ida.status(&instance).await, 200);
}

/// The old store of a move goes back, and the new one does not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn nothing_comes_back_in_the_store_that_an_app_moves_from() {
    let (old, new) = (Snapshot::start().await, Redis::shared().await.prefix());
    let before = Instance::start(&old.url()).await;
    let (eve, ida) = (before.login("eve").await, before.login("ida").await);
    drop(before);
    let moving = Sessions::from_url(&new).moving_from(Sessions::from_url(old.url()));
    let instance = Instance::open(moving, Some(MemoryStore::new())).await.unwrap();
    revoke_user(&instance, "somebody").await;
    old.save().await;
    revoke_user(&instance, "eve").await;
    old.go_back().await;
    assert_eq!(eve.status(&instance).await, 401, "from the first response on");
    until(async || instance.status("/ready").await == 200).await;
    assert_eq!((eve.status(&instance).await, ida.status(&instance).await), (401, 200));
    // The session of `ida` moves, and users who were cut off log in.
    let ida = instance.try_to_login_again("ida", &ida).await.unwrap();
    let eve = instance.login("eve").await;
    assert_eq!((eve.status(&instance).await, ida.status(&instance).await), (200, 200));
}

/// Over sockets: the log, readiness and routes of an app whose store has lost what it ended.
#[tokio::test]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn an_instance_reports_lost_writes_until_they_are_repeated() {
    const LOST: &str = "session.store-lost-writes";
    let (log, _guard) = Log::start("policy_server");
    let server = Snapshot::start().await;
    let (relay, url) = Relay::start(&server.url());
    relay.set(Network::Well).await;
    let app = Running::start(site::app(Sessions::from_url(&url), None, Clock::system())).await;
    let ask = async |what: &str, cookie: &str| -> RawResponse {
        let (host, own) = (site::HOST, site::OWN);
        let fields = format!("host: {host}\r\norigin: {own}\r\ncookie: {cookie}");
        app.response(format!("{what} HTTP/1.1\r\n{fields}\r\n\r\n")).await
    };
    let refresh = async |token: &str| {
        let (host, own, length) = (site::HOST, site::OWN, token.len());
        let fields = format!("host: {host}\r\norigin: {own}\r\ncontent-length: {length}");
        app.response(format!("POST /refresh HTTP/1.1\r\n{fields}\r\n\r\n{token}")).await
    };
    let login = async |user: &str| {
        let response = ask(&format!("POST /login/{user}"), "").await;
        let cookie = response.header("set-cookie").expect("a session");
        cookie.split(';').next().unwrap_or_default().to_owned()
    };
    let revoke = async |user: &str| {
        assert_eq!(ask(&format!("POST /revoke-user/{user}"), "").await.status, 200, "{user}");
    };
    let (eve, ida) = (login("eve").await, login("ida").await);
    revoke("somebody").await;
    let issued: Value = serde_json::from_slice(&ask("POST /issue/ida", "").await.body).unwrap();
    let token = issued["refresh_token"].as_str().unwrap();
    assert_eq!(ask("GET /ready", "").await.status, 200);
    server.save().await;
    revoke("eve").await;
    for number in 0..40 {
        revoke(&format!("somebody-{number}")).await;
    }
    assert_eq!(log.with_code(LOST), [""; 0]);
    // Makes it take a while to store them again.
    relay.set(Network::Slow(Duration::from_millis(100), 1_000_000)).await;
    server.go_back().await;
    until(async || log.with_code(LOST).len() == 2).await;
    assert_eq!(refresh(token).await.problem(), (503, "token.store-unavailable".to_owned()));
    let (ready, of_ida) = (ask("GET /ready", "").await, ask("GET /me", &ida).await);
    assert_eq!(ready.problem(), (503, "session.store-unavailable".to_owned()), "{}", ready.text());
    assert_eq!(of_ida.problem(), (503, "auth.credentials-unchecked".to_owned()));
    assert!(of_ida.header("set-cookie").is_none(), "{:?}", of_ida.headers);
    assert_eq!(ask("GET /public", "").await.status, 200);
    until(async || {
        assert_ne!(ask("GET /me", &eve).await.status, 200, "before and after");
        ask("GET /ready", "").await.status == 200
    })
    .await;
    assert_eq!((ask("GET /me", &eve).await.status, ask("GET /me", &ida).await.status), (401, 200));
    assert_eq!(refresh(token).await.status, 200);
    // One event for each store.
    let lines = log.with_code(LOST);
    let of = |store: &str| lines.iter().filter(|line| line.contains(store)).count();
    assert_eq!(
        (of("store=\"sessions\""), of("store=\"tokens\""), lines.len()),
        (1, 1, 2),
        "{lines:?}"
    );
    assert!(lines.iter().all(|line| line.starts_with("ERROR")), "{lines:?}");
}
