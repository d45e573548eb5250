//! A server that dies, hangs and comes back, while an app runs.

use policy_tests::{disk::Disk, redis_sentinel::start_replicated};

use super::*;
use crate::{
    faults::{fill_the_disk, visitors_recover},
    killed::{block_of_a_rate, frees_permits_and_keeps_writes},
    outages::{killed, paused},
    site::{is_away, until},
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let server = Redis::start(&[]).await;
    killed(&server, &server.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_hanging_server_does_not_block_requests_for_long() {
    let server = Redis::start(&[]).await;
    paused(&server, &server.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn visitors_recover_after_a_bad_network() {
    let server = Redis::start(&[]).await;
    visitors_recover(&server, &server.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_killed_instance_frees_its_permits_and_keeps_acknowledged_writes() {
    frees_permits_and_keeps_writes(&Redis::shared().await.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_killed_instance_takes_one_block_of_a_rate_with_it() {
    block_of_a_rate(&Redis::shared().await.prefix()).await;
}

/// Redis refuses changes until it can write again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis and root: `cargo xtask long stores` runs it"]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let disk = Disk::with_mebibytes(16);
    let server = Redis::start_on(disk.folder(), &["appendfsync=everysec"]).await;
    fill_the_disk(&server, &server.prefix(), &disk, false).await;
}

/// Servers close connections that have been idle for long.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_connection_that_the_server_closed_is_replaced_unnoticed() {
    let server = Redis::start(&[]).await;
    let url = server.prefix();
    let channel = format!("{{{}}}:news", url.split_once("prefix=").unwrap().1);
    let [one, two] = [Instance::start(&url).await, Instance::start(&url).await];
    for _ in 0..5 {
        let ada = one.login("ada").await;
        let stream = ada.open(&one).await;
        for kind in ["normal", "pubsub"] {
            server.command(&["CLIENT", "KILL", "TYPE", kind]).await;
        }
        // The end of a connection is noticed a moment later, and notifications arrive again then.
        until(async || {
            let channels = server.command(&["PUBSUB", "NUMSUB", &channel]).await;
            channels
                == redis::Value::Array(vec![
                    redis::Value::BulkString(channel.clone().into()),
                    redis::Value::Int(2),
                ])
        })
        .await;
        for instance in [&one, &two] {
            assert_eq!(ada.get(instance, "/me").await.status(), 200);
        }
        ada.logs_out(&two).await;
        assert!(policy_tests::http::soon(stream).await.unwrap());
    }
}

/// A server whose memory is full refuses new data, and calls that free memory work.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_whose_memory_is_full_still_serves_and_ends_sessions() {
    let server = Redis::start(&[]).await;
    let url = server.prefix();
    let instance = Instance::start(&url).await;
    let (ada, eve) = (instance.login("ada").await, instance.login("eve").await);
    let tom = instance.login("tom").await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(instance.try_to_login("bob").await.err(), Some(503));
    assert!(is_away(&ada.post(&instance, "/count").await));
    for _ in 0..10 {
        assert_eq!(ada.status(&instance).await, 200);
    }
    assert_eq!(ada.post(&instance, "/logout").await.status(), 200);
    assert_eq!(ada.status(&instance).await, 401);
    assert_eq!(tom.post(&instance, "/revoke-all").await.text(), "1");
    assert_eq!(tom.status(&instance).await, 401);
    // An instance that starts now serves her as well.
    assert_eq!(eve.status(&Instance::start(&url).await).await, 200);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(eve.post(&instance, "/count").await.text(), "1");
    assert_eq!(ada.status(&instance).await, 401);
    instance.login("bob").await;
}

/// The replica hangs, and is then killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_change_that_no_replica_confirms_is_not_acknowledged_and_sessions_are_served() {
    let [server, replica] = start_replicated().await;
    let url = format!("{}&wait=1&wait_ms=200", server.prefix());
    let instance = Instance::start(&url).await;
    let ada = instance.login("ada").await;
    let eve = instance.login("eve").await;
    replica.signal("STOP");
    for round in 0..2 {
        for _ in 0..3 {
            assert_eq!(instance.try_to_login("tom").await.err(), Some(503));
            assert!(is_away(&ada.post(&instance, "/count").await));
            assert_eq!(ada.status(&instance).await, 200);
        }
        assert_eq!(instance.status("/ready").await, 200);
        if round == 0 {
            // The change takes effect, without a promise that it lasts.
            assert!(is_away(&eve.post(&instance, "/logout").await));
            assert_eq!(eve.status(&instance).await, 401);
            replica.kill();
        }
    }
    replica.begin().await;
    replica.follow(&server).await;
    until(async || ada.post(&instance, "/count").await.status() == 200).await;
    instance.login("tom").await;
}

/// A start does not fail because a replica is slower than a request may wait.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn an_app_that_starts_waits_for_a_replica_that_is_slow() {
    let [server, replica] = start_replicated().await;
    replica.signal("STOP");
    let url = format!("{}&wait=1&wait_ms=100", server.prefix());
    let start = tokio::spawn(async move { Instance::start(&url).await });
    // The start calls `WAIT` again.
    until(async || {
        let calls = server.command(&["INFO", "commandstats"]).await;
        let calls: String = redis::from_redis_value(calls).unwrap();
        let of_wait = calls.split_once("cmdstat_wait:calls=").map(|(_, rest)| rest);
        let count = of_wait.and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
        count.is_some_and(|count| count > 1) || start.is_finished()
    })
    .await;
    assert!(!start.is_finished());
    replica.signal("CONT");
    let ada = start.await.unwrap().login("ada").await;
    assert!(!ada.cookie.is_empty());
}
