//! A server that dies, hangs and comes back, while an app runs.

use std::time::Instant;

use policy_tests::{http::soon, postgres::Postgres, redis::Redis};
use tokio::task::JoinSet;

use super::site::{Counted, Instance, is_away, until};

/// What tests do to the server of a store, or to one of several.
pub(crate) trait Server {
    /// Whether a server that takes over may lack changes that were not acknowledged.
    const IS_COPIED: bool = false;

    /// Starts the server that was killed.
    async fn begin(&self);
    async fn kill(&self);
    /// Pauses the server until this is noticed, or has another one take over.
    async fn disturb(&self, is_noticed: impl AsyncFnMut() -> bool);
}

/// A server that is a process.
pub(crate) trait Process {
    fn signal(&self, name: &str);
}

macro_rules! processes {
    ($($server:ident)*) => {
        $(
            impl Server for $server {
                async fn begin(&self) {
                    Self::begin(self).await;
                }

                async fn kill(&self) {
                    Self::kill(self);
                }

                async fn disturb(&self, is_noticed: impl AsyncFnMut() -> bool) {
                    Self::signal(self, "STOP");
                    until(is_noticed).await;
                    Self::signal(self, "CONT");
                }
            }

            impl Process for $server {
                fn signal(&self, name: &str) {
                    Self::signal(self, name);
                }
            }
        )*
    };
}

processes! { Postgres Redis }

/// Nothing that was acknowledged is lost, and no process has to be restarted.
pub(crate) async fn killed(server: &impl Server, store: &str) {
    let instances = Instance::three(store).await;
    let ada = instances[0].login("ada").await;
    let gone = instances[0].login("ada").await;
    gone.logs_out(&instances[1]).await;
    for _ in 0..3 {
        // Visitors at work when it dies, each with a session.
        let mut visits = JoinSet::new();
        for number in 0..50 {
            let instance = instances[number % 3].clone();
            let visitor = instance.login(&format!("visitor-{number}")).await;
            visits.spawn(async move {
                let mut counted = Counted::default();
                while counted.takes(&visitor.post(&instance, "/count").await) {}
                (visitor, counted)
            });
        }
        until(async || ada.post(&instances[0], "/count").await.status() == 200).await;
        server.kill().await;
        let visitors = visits.join_all().await;
        for instance in &instances {
            // The first calls may still wait, and the others fail at once.
            until(async || instance.status("/ready").await == 503).await;
            assert!(is_away(&ada.get(instance, "/me").await));
            assert!(is_away(&ada.post(instance, "/logout").await));
            assert_eq!(instance.status("/public").await, 200);
            // A limit is no reason to refuse a request that needs no store; each instance counts
            // separately.
            assert_eq!(instance.status("/crowded/no").await, 200);
            assert_eq!(instance.try_to_login("eve").await.err(), Some(503));
        }
        server.begin().await;
        for instance in &instances {
            until(async || instance.status("/ready").await == 200).await;
            until(async || ada.status(instance).await == 200).await;
            assert_eq!(gone.status(instance).await, 401);
        }
        for (visitor, mut counted) in visitors {
            // The outcome of the change without a response is unknown.
            counted.on(&visitor, &instances[0]).await;
        }
    }
    // The end of a session at one instance reaches the others again.
    let stream = ada.open(&instances[1]).await;
    assert_eq!(ada.post(&instances[2], "/logout").await.status(), 200);
    assert!(soon(stream).await.unwrap());
}

/// A paused server accepts connections and does not respond: all calls together wait a bounded
/// time.
pub(crate) async fn paused(server: &impl Process, store: &str) {
    let instance = Instance::start(store).await;
    let ada = instance.login("ada").await;
    server.signal("STOP");
    let begun = Instant::now();
    let mut visits = JoinSet::new();
    for _ in 0..200 {
        let (instance, ada) = (instance.clone(), ada.clone());
        visits.spawn(async move {
            let response = ada.get(&instance, "/me").await;
            assert!(is_away(&response), "{response:?}");
        });
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
