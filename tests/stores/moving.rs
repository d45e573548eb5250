//! Sessions that move from one store to another, on real servers.
//!
//! Covers: instances that know the old store only, both, and the new one only x sessions of
//! both; logins, changes and logouts x a release that is rolled out; moves x logouts and cut-offs at
//! other instances; an outage of either store x sessions of both.

use policy_server::{
    Sessions,
    session::SessionSettings,
    store::{EmbeddedStore, MemoryStore, PostgresStore, RedisStore, SessionStore},
};
use policy_tests::{folder::Folder, postgres::Postgres, redis::Redis};
use tokio::task::JoinSet;

use super::{
    outages::Server,
    records::one_handle_ends_all,
    site::{Counted, Instance, Visitor, is_away, until},
};

const USERS: usize = 6;

/// An instance of a release. Its tokens and limits are apart.
async fn start(sessions: SessionSettings) -> Instance {
    Instance::open(sessions, Some(MemoryStore::new())).await.unwrap()
}

async fn three(sessions: SessionSettings) -> [Instance; 3] {
    let start = || start(sessions.clone());
    tokio::join!(start(), start(), start()).into()
}

/// A visitor, and how often they counted.
struct Counting {
    user: String,
    visitor: Visitor,
    counted: Counted,
}

impl Counting {
    async fn login(instance: &Instance, user: String) -> Self {
        let visitor = instance.login(&user).await;
        Self { user, visitor, counted: Counted::default() }
    }

    async fn count(&mut self, instance: &Instance) {
        self.counted.on(&self.visitor, instance).await;
    }
}

/// Three instances change to the next release, one after the other, three times. At all times, each
/// session is valid at every instance that knows its store, and its end takes effect at all of
/// them.
async fn rolled_out(old: &str, new: &str) {
    let releases = [
        Sessions::from_url(old),
        Sessions::from_url(old).moving_to(Sessions::from_url(new)),
        Sessions::from_url(new).moving_from(Sessions::from_url(old)),
    ];
    let mut instances = three(releases[0].clone()).await;
    let mut visitors = Vec::new();
    for number in 0..USERS {
        visitors.push(Counting::login(&instances[0], format!("user-{number}")).await);
    }
    for (step, release) in releases.iter().enumerate().skip(1) {
        for replaced in 0..3 {
            instances[replaced] = start(release.clone()).await;
            for visitor in &mut visitors {
                for instance in &instances {
                    visitor.count(instance).await;
                }
            }
            // A login at any instance is valid at all of them, and a cut-off at any of them takes
            // effect at all.
            let user = format!("new-{step}-{replaced}");
            let mut devices = Vec::new();
            for instance in &instances {
                devices.push(instance.login(&user).await);
            }
            for visitor in &devices {
                for instance in &instances {
                    assert_eq!(visitor.status(instance).await, 200, "{user}");
                }
            }
            let cut = devices[replaced].post(&instances[(replaced + 1) % 3], "/revoke-all").await;
            assert_eq!(cut.text(), "3");
            for visitor in &devices {
                for instance in &instances {
                    assert_eq!(visitor.status(instance).await, 401, "{user}");
                }
            }
        }
    }
    // With the next login, a session moves, and keeps its values.
    for (number, visitor) in visitors.iter_mut().enumerate() {
        let instance = &instances[number % 3];
        visitor.visitor =
            instance.try_to_login_again(&visitor.user, &visitor.visitor).await.unwrap();
    }
    let instances = three(Sessions::from_url(new)).await;
    for visitor in &mut visitors {
        for instance in &instances {
            visitor.count(instance).await;
        }
    }
}

/// A session moves at one instance while it is ended at another, over and over.
async fn moves_race_with_ends(before: SessionSettings, after: SessionSettings) {
    const ROUNDS: usize = 30;
    let old = start(before).await;
    let instances = three(after).await;
    let mut moved = 0;
    for round in 0..ROUNDS {
        let user = format!("user-{round}");
        let (ada, other) = (old.login(&user).await, old.login(&user).await);
        assert_eq!(ada.post(&old, "/set/mark").await.status(), 200);
        let mut moves = JoinSet::new();
        for instance in &instances[..2] {
            let (instance, user, ada) = (instance.clone(), user.clone(), ada.clone());
            moves.spawn(async move { instance.try_to_login_again(&user, &ada).await });
        }
        // In half of the rounds, one of the moves comes before the end.
        let mut visitors = Vec::new();
        if round % 4 >= 2 {
            visitors.extend(moves.join_next().await.unwrap().unwrap());
        }
        let path = ["/logout", "/revoke-all"][round % 2];
        let ender = if path == "/logout" { &ada } else { &other };
        let ended = ender.post(&instances[2], path).await;
        // If a move came first, its own id is gone.
        let is_gone = path == "/logout" && ended.status() == 401;
        assert!(ended.status() == 200 || is_gone, "round {round}: {ended:?}");
        // A login that begins after the end is an ordinary one: the values of the session are gone.
        visitors.extend(moves.join_all().await.into_iter().flatten());
        for visitor in visitors {
            let is_moved = visitor.get(&instances[0], "/has/mark").await.text() == "true";
            assert!(is_gone || !is_moved, "round {round}: moved, and ended");
            moved += usize::from(is_moved);
        }
        for instance in &instances {
            assert_eq!(ada.status(instance).await, 401, "round {round}: the old id is dead");
            let alive = other.status(instance).await;
            assert_eq!(alive, if path == "/logout" { 200 } else { 401 }, "round {round}");
        }
    }
    eprintln!("{moved} sessions moved");
    assert!(moved > 0, "every end came first");
}

/// Users whose session is in the unavailable store wait, and no user is logged out.
async fn an_outage(
    server: &impl Server,
    of_lost: Visitor,
    of_other: Visitor,
    instances: &[Instance; 3],
) {
    server.kill().await;
    for instance in instances {
        until(async || instance.status("/ready").await == 503).await;
        assert!(is_away(&of_lost.get(instance, "/me").await));
        assert!(is_away(&of_lost.post(instance, "/logout").await));
        assert_eq!(instance.status("/public").await, 200);
    }
    server.begin().await;
    for instance in instances {
        until(async || instance.status("/ready").await == 200).await;
        until(async || of_lost.status(instance).await == 200).await;
        until(async || of_other.status(instance).await == 200).await;
    }
    assert_eq!(of_lost.post(&instances[0], "/logout").await.status(), 200);
    for instance in instances {
        assert_eq!(of_lost.status(instance).await, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn no_session_ends_while_instances_move_from_redis_to_postgres() {
    let (redis, postgres) = (Redis::shared().await, Postgres::shared().await);
    rolled_out(&redis.prefix(), &postgres.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn no_session_ends_while_instances_move_from_postgres_to_redis() {
    let (redis, postgres) = (Redis::shared().await, Postgres::shared().await);
    rolled_out(&postgres.schema(), &redis.prefix()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn a_logout_wins_against_a_move_from_redis_to_postgres() {
    let (redis, postgres) = (Redis::shared().await, Postgres::shared().await);
    let old = Sessions::from_url(redis.prefix());
    let new = Sessions::from_url(postgres.schema()).moving_from(old.clone());
    moves_race_with_ends(old, new).await;
}

/// The file is open in one process, so the instances are in one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_logout_wins_against_a_move_from_a_file_to_postgres() {
    let postgres = Postgres::shared().await;
    let folder = Folder::new().unwrap();
    let old = Sessions::embedded(EmbeddedStore::new(folder.path().join("old.redb")));
    let new = Sessions::from_url(postgres.schema()).moving_from(old.clone());
    moves_race_with_ends(old, new).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn an_outage_of_either_store_ends_no_session() {
    let (redis, postgres) = (Redis::start(&[]).await, Postgres::start(&[]).await);
    let old = Sessions::from_url(redis.prefix());
    let first = start(old.clone()).await;
    let visitors = [first.login("ada").await, first.login("bob").await];
    let instances = three(Sessions::from_url(postgres.schema()).moving_from(old)).await;
    let newer = [instances[0].login("eve").await, instances[0].login("joe").await];
    let ([ada, bob], [eve, joe]) = (visitors, newer);
    an_outage(&redis, ada, eve, &instances).await;
    an_outage(&postgres, joe, bob, &instances).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and Redis: `cargo xtask test` runs it"]
async fn one_handle_ends_all_copies_of_a_session() {
    let postgres = PostgresStore::new(Postgres::shared().await.schema());
    let redis = RedisStore::new(Redis::shared().await.prefix());
    SessionStore::open(&postgres).await.unwrap();
    SessionStore::open(&redis).await.unwrap();
    one_handle_ends_all(&postgres).await;
    one_handle_ends_all(&redis).await;
    one_handle_ends_all(&MemoryStore::new()).await;
}
