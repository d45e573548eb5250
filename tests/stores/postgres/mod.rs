//! The store in PostgreSQL.
//!
//! Covers: the rules of stores x one instance and two; several instances x their start;
//! logins, changes, logouts, cut-offs x other instances; tokens, tickets, streams x news; an outage x
//! routes with and without a session, readiness, what was acknowledged; anonymous sessions x their
//! limit; wrong settings x the words of the error.

mod outages;
mod rollback;
mod starts;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use policy_core::session::Identity;
use policy_server::store::{
    AnonymousLimit, Cas, CreateFamily, Family, PostgresStore, Refresh, RefreshOutcome, Revocation,
    RotateSession, SessionStore, TokenHash, TokenStore, UpdateSession, conformance,
};
use policy_tests::postgres::Postgres;
use tokio::task::JoinHandle;

use super::{
    histories::are_in_order,
    pair::Pair,
    records::{NOW, create, key, races, record},
    site::{Instance, until},
};

mod instances {
    use super::Postgres;

    crate::instances::on! {
        "needs PostgreSQL: `cargo xtask test` runs it", Postgres::shared().await.schema()
    }
}

/// The shared server, and the URL and the name of a schema on it.
async fn empty_schema() -> (&'static Postgres, String, String) {
    let server = Postgres::shared().await;
    let url = server.schema();
    let schema = url.split_once("schema=").unwrap().1.to_owned();
    (server, url, schema)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn clocks_that_are_wrong_by_an_hour_end_no_session() {
    let store = Postgres::shared().await.schema();
    crate::instances::clocks_that_are_wrong_by_an_hour_end_no_session(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn forged_news_end_no_stream() {
    let (server, store, schema) = empty_schema().await;
    let client = server.client().await;
    let forge = async |news: &str| {
        let notify = format!("NOTIFY \"policy:{schema}\", '{news}'");
        client.batch_execute(&notify).await.expect("a notification");
    };
    crate::instances::forged_news_end_no_stream(&store, PostgresStore::new(&*store), forge).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_sessions() {
    let server = Postgres::shared().await;
    conformance::sessions(|| PostgresStore::new(server.schema())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_tokens() {
    let server = Postgres::shared().await;
    conformance::tokens(|| PostgresStore::new(server.schema())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn the_store_keeps_all_rules_of_limits() {
    let server = Postgres::shared().await;
    conformance::limits(|| PostgresStore::new(server.schema())).await;
}

/// The calls of each test go to two instances in turn.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn two_instances_keep_all_rules_together() {
    let server = Postgres::shared().await;
    let pair = || {
        let url = server.schema();
        Pair::new([&*url, &*url].map(PostgresStore::new))
    };
    conformance::sessions(pair).await;
    conformance::tokens(pair).await;
    conformance::limits(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn nothing_brings_a_deleted_session_back() {
    let server = Postgres::shared().await;
    let url = server.schema();
    races([&*url, &*url].map(PostgresStore::new)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn histories_of_clients_are_linearizable() {
    let server = Postgres::start(&[]).await;
    let url = server.schema();
    are_in_order(&server, [&*url, &*url, &*url].map(PostgresStore::new)).await;
}

/// An app that moves to another store counts once a minute.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn few_sessions_are_counted_and_many_are_estimated() {
    let (server, url, schema) = empty_schema().await;
    let store = PostgresStore::new(&*url);
    SessionStore::open(&store).await.unwrap();
    create(&store, 1000, record(0, Some("ada"))).await;
    assert_eq!(store.count(NOW).await.unwrap(), Some(1));
    let many = format!(
        "UPDATE pg_class SET reltuples = 5000000 WHERE oid = '{schema}.sessions'::regclass"
    );
    server.sql(&many).await;
    assert_eq!(store.count(NOW).await.unwrap(), Some(5_000_000));
    server.sql(&format!("VACUUM {schema}.sessions")).await;
    assert_eq!(store.count(NOW).await.unwrap(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn anonymous_sessions_are_bounded_whichever_instance_began_them() {
    let (server, url, schema) = empty_schema().await;
    let make = || PostgresStore::new(&*url).anonymous_limit(AnonymousLimit::new(200, 1000));
    let stores = [make(), make()];
    for store in &stores {
        SessionStore::open(store).await.unwrap();
    }
    let client = server.client().await;
    let question =
        format!("SELECT count(*), coalesce(sum(length(data)), 0)::bigint FROM {schema}.sessions");
    let count = async || {
        let row = client.query_one(&question, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    for number in 0..600 {
        let store = &stores[number as usize % 2];
        create(store, number, record(number, None)).await;
    }
    // A hundredth of 200 for each instance.
    let (sessions, _) = count().await;
    assert!((200..=204).contains(&sessions), "{sessions}");
    assert!(stores[0].load(&key(599), NOW).await.unwrap().is_some(), "the newest remains");
    assert!(stores[0].load(&key(0), NOW).await.unwrap().is_none());
    for number in 500..600 {
        let update = UpdateSession::new(key(number), 1, vec![b'x'; 50].into(), NOW);
        stores[number as usize % 2].update(update).await.unwrap();
    }
    let (_, bytes) = count().await;
    assert!((500..=1000 + 2 * 60).contains(&bytes), "{bytes}");
    // Sessions of users are not counted.
    create(&stores[0], 1000, record(0, Some("ada"))).await;
    for number in 2000..2300 {
        create(&stores[0], number, record(number, None)).await;
    }
    assert!(stores[1].load(&key(1000), NOW).await.unwrap().is_some());
}

/// While another transaction holds a lock that every load needs, two statements wait, however many
/// sessions are loaded: sessions that two requests have in common, that do not exist, and that moved
/// to another key.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn sessions_that_are_loaded_at_the_same_time_share_a_statement() {
    const LOADS: u64 = 300;
    const SESSIONS: u64 = 100;
    let (server, url, schema) = empty_schema().await;
    let store = Arc::new(PostgresStore::new(&*url));
    SessionStore::open(&*store).await.unwrap();
    for number in 0..SESSIONS {
        create(&*store, number, record(number, Some("ada"))).await;
    }
    let moved = RotateSession::new(key(7), key(1007), 1, record(7, Some("ada")), NOW)
        .grace(NOW.after(Duration::from_secs(10)));
    assert!(matches!(store.rotate(moved).await.unwrap(), Cas::Done { .. }));
    // A transaction sees the same activity until it ends, so that another connection has to look.
    let (client, observer) = (server.client().await, server.client().await);
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\".%'"
    );
    let waiting = async || observer.query_one(&waiting, &[]).await.unwrap().get::<_, i64>(0);
    // The lock may be held for longer than a statement takes at most, on a slow machine: then loads fail,
    // and further ones are not even tried for a while.
    until(async || {
        client.batch_execute(&format!("BEGIN; LOCK TABLE {schema}.meta")).await.unwrap();
        let calls = Arc::new(AtomicU64::new(0));
        let loads = (0..LOADS).map(|number| {
            let (store, calls) = (Arc::clone(&store), Arc::clone(&calls));
            tokio::spawn(async move {
                calls.fetch_add(1, Ordering::Relaxed);
                store.load(&key(number % (SESSIONS + 50)), NOW).await
            })
        });
        let loads: Vec<_> = loads.collect();
        let mut most = 0;
        until(async || {
            most = most.max(waiting().await);
            let all_wait = calls.load(Ordering::Relaxed) == LOADS && most >= 2;
            all_wait || loads.iter().all(JoinHandle::is_finished)
        })
        .await;
        most = most.max(waiting().await);
        assert!(most <= 2, "{most} statements");
        client.batch_execute("ROLLBACK").await.unwrap();
        let mut all_are_loaded = most == 2;
        for (number, load) in (0..LOADS).zip(loads) {
            let number = number % (SESSIONS + 50);
            let Ok(found) = load.await.unwrap() else {
                all_are_loaded = false;
                continue;
            };
            let handle = found.as_ref().map(|loaded| loaded.record.handle);
            assert_eq!(handle, (number < SESSIONS).then(|| record(number, None).handle));
            let successor = found.and_then(|loaded| loaded.successor);
            assert_eq!(successor, (number == 7).then(|| key(1007)));
        }
        all_are_loaded
    })
    .await;
}

/// However many families there are: another transaction has locked all of them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_cut_off_of_everyone_writes_no_family() {
    let (server, url, schema) = empty_schema().await;
    let store = PostgresStore::new(&*url);
    TokenStore::open(&store).await.unwrap();
    let later = NOW.after(Duration::from_secs(60));
    let family = Family::new([1; 16], Identity::new("ada"), NOW, later);
    let token = TokenHash([1; 32]);
    assert!(store.create_family(CreateFamily::new(family, token, 0)).await.unwrap());
    let client = server.client().await;
    let lock = format!("BEGIN; SELECT * FROM {schema}.families FOR UPDATE");
    client.batch_execute(&lock).await.unwrap();
    let cut = store.revoke(Revocation::Everyone { before: 5 }).await.unwrap();
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!((cut.ended, cut.families), (1, vec![]));
    let refresh = Refresh::new(token, TokenHash([2; 32]), Duration::ZERO, NOW, NOW);
    assert_eq!(store.refresh(refresh).await.unwrap(), RefreshOutcome::Dead);
}

/// A statement may not take long, so none reads all of a large table.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn dead_sessions_of_a_large_table_go_part_by_part() {
    let (server, url, schema) = empty_schema().await;
    let store = PostgresStore::new(&*url);
    SessionStore::open(&store).await.unwrap();
    create(&store, 1000, record(0, Some("ada"))).await;
    // Four to a page.
    let copies = format!(
        "INSERT INTO {schema}.sessions SELECT sha256(n::text::bytea), handle, user_id, roles, scopes, epoch, \
             version, created, authenticated, rotated, last_seen, {}, absolute_deadline, idle, is_remembered, \
             binding, convert_to(repeat('x', 1700), 'UTF8') \
         FROM {schema}.sessions, generate_series(1, 9000) n",
        NOW.seconds() * 1000
    );
    server.sql(&copies).await;
    let client = server.client().await;
    let part = format!("SELECT * FROM {schema}.purge_part_of_sessions($1, 1000, $2, 1)");
    let part = async |page: i64| {
        let clock = NOW.seconds() as i64 * 1000;
        let row = client.query_one(&part, &[&clock, &page]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, Option<i64>>(1))
    };
    let (first, second) = (part(0).await, part(1).await);
    assert!((1..=4).contains(&first.0) && (1..=4).contains(&second.0), "{first:?} {second:?}");
    assert_eq!((first.1, second.1), (Some(1), Some(2)));
    assert_eq!(part(1_000_000).await, (0, Some(0)));
    let some = SessionStore::purge(&store, NOW, 100).await.unwrap();
    assert_eq!(some, 100);
    let rest = SessionStore::purge(&store, NOW, 100_000).await.unwrap();
    assert_eq!(first.0 + second.0 + 100 + rest as i64, 9000);
    assert_eq!(SessionStore::purge(&store, NOW, 1).await.unwrap(), 0);
    assert!(store.load(&key(1000), NOW).await.unwrap().is_some());
}
