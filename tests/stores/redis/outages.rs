//! A server that dies, hangs and comes back, while an app runs.

use std::time::Instant;

use tokio::task::JoinSet;

use super::*;

/// What a route does that needs a session, while the store is away: it says when to ask again, and
/// the client keeps its cookie.
fn is_away(response: &policy_server::testing::TestResponse) -> bool {
    let is_away = response.status() == 503;
    if is_away {
        assert!(response.header("retry-after").is_some(), "{response:?}");
        assert!(response.header("set-cookie").is_none(), "{response:?}");
    }
    is_away
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let server = Redis::start(&[]).await;
    let instances = Instance::three(&server.prefix()).await;
    let ada = instances[0].login("ada").await;
    let gone = instances[0].login("ada").await;
    assert_eq!(gone.post(&instances[1], "/logout").await.status(), 200);
    for round in 1..=3 {
        // Visitors at work when it dies, each with a session.
        let mut visits = JoinSet::new();
        for number in 0..50 {
            let instance = instances[number % 3].clone();
            let visitor = instance.login(&format!("visitor-{number}")).await;
            visits.spawn(async move {
                let mut counted: u64 = 0;
                loop {
                    let response = visitor.post(&instance, "/count").await;
                    if is_away(&response) {
                        return (visitor, counted);
                    }
                    counted += 1;
                    assert_eq!(response.text(), counted.to_string());
                }
            });
        }
        until(async || ada.post(&instances[0], "/count").await.status() == 200).await;
        server.kill();
        let visitors = visits.join_all().await;
        for instance in &instances {
            // The first calls may still wait, and the others fail at once.
            until(async || instance.status("/ready").await == 503).await;
            assert!(is_away(&ada.get(instance, "/me").await));
            assert!(is_away(&ada.post(instance, "/logout").await));
            assert_eq!(instance.status("/public").await, 200);
            assert_eq!(instance.try_to_login("eve").await.err(), Some(503));
        }
        server.begin().await;
        for instance in &instances {
            until(async || instance.status("/ready").await == 200).await;
            until(async || ada.status(instance).await == 200).await;
            assert_eq!(gone.status(instance).await, 401);
        }
        for (visitor, counted) in visitors {
            // Of the change that got no answer, nobody knows.
            let next = visitor.post(&instances[0], "/count").await.text().parse::<u64>().unwrap();
            assert!((counted + 1..=counted + 2).contains(&next), "round {round}: {counted} {next}");
        }
    }
    // What ends at one instance is heard of at the others again.
    let stream = ada.open(&instances[1]).await;
    assert_eq!(ada.post(&instances[2], "/logout").await.status(), 200);
    assert!(policy_tests::http::soon(stream).await.unwrap());
}

/// A paused server accepts connections and does not answer: calls wait a bounded time, all together.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_server_that_hangs_holds_up_nobody_for_long() {
    let server = Redis::start(&[]).await;
    let instance = Instance::start(&server.prefix()).await;
    let ada = instance.login("ada").await;
    server.signal("STOP");
    let begun = Instant::now();
    let mut visits = JoinSet::new();
    for _ in 0..200 {
        let (instance, ada) = (instance.clone(), ada.clone());
        visits.spawn(async move { assert!(is_away(&ada.get(&instance, "/me").await)) });
    }
    visits.join_all().await;
    // A second round does not wait any more: one call at most asks the server.
    let first = begun.elapsed();
    let begun = Instant::now();
    for _ in 0..200 {
        assert!(is_away(&ada.get(&instance, "/me").await));
        assert_eq!(instance.status("/public").await, 200);
    }
    assert!(begun.elapsed() < first * 20, "{:?} after {first:?}", begun.elapsed());
    assert_eq!(instance.status("/ready").await, 503);
    server.signal("CONT");
    until(async || ada.status(&instance).await == 200).await;
    until(async || instance.status("/ready").await == 200).await;
}

/// As servers do with connections on which nothing happens for long.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_connection_that_the_server_closed_is_replaced_and_nobody_notices() {
    let server = Redis::start(&[]).await;
    let url = server.prefix();
    let [one, two] = [Instance::start(&url).await, Instance::start(&url).await];
    for _ in 0..5 {
        let ada = one.login("ada").await;
        let stream = ada.open(&one).await;
        for kind in ["normal", "pubsub"] {
            server.command(&["CLIENT", "KILL", "TYPE", kind]).await;
        }
        // The end of a connection arrives a moment later.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        for instance in [&one, &two] {
            assert_eq!(ada.status(instance).await, 200);
        }
        // The news are heard again.
        assert_eq!(ada.post(&two, "/logout").await.status(), 200);
        assert!(policy_tests::http::soon(stream).await.unwrap());
    }
}

/// A server whose memory is full takes nothing new, and what takes space away works.
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
    // Also one that starts now.
    assert_eq!(eve.status(&Instance::start(&url).await).await, 200);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(eve.post(&instance, "/count").await.text(), "1");
    assert_eq!(ada.status(&instance).await, 401);
    instance.login("bob").await;
}
