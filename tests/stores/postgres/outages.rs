//! A database that dies, hangs and comes back, while an app runs.

use policy_core::session::Record;
use policy_tests::disk::Disk;

use super::*;
use crate::{
    faults::{fill_the_disk, visitors_recover},
    killed::{block_of_a_rate, frees_permits_and_keeps_writes},
    outages::{killed, paused},
    site::is_away,
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_database_that_is_killed_loses_nothing_that_was_acknowledged() {
    let server = Postgres::start(&[]).await;
    killed(&server, &server.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_hanging_database_does_not_block_requests_for_long() {
    let server = Postgres::start(&[]).await;
    paused(&server, &server.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn visitors_recover_after_a_bad_network() {
    let server = Postgres::start(&[]).await;
    visitors_recover(&server, &server.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_killed_instance_frees_its_permits_and_keeps_acknowledged_writes() {
    frees_permits_and_keeps_writes(&Postgres::shared().await.schema()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_killed_instance_takes_one_block_of_a_rate_with_it() {
    block_of_a_rate(&Postgres::shared().await.schema()).await;
}

/// PostgreSQL refuses statements that need space, and stops if its log needs some: then an
/// administrator starts it again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and root: `cargo xtask long stores` runs it"]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let disk = Disk::with_mebibytes(128);
    let server = Postgres::start_on(disk.folder(), &[]).await;
    fill_the_disk(&server, &server.schema(), &disk, true).await;
}

/// Another client locks a row for a while: calls that need it fail or wait, and the rest go on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_foreign_lock_blocks_only_calls_that_need_it() {
    let (server, url, schema) = empty_schema().await;
    let instance = Instance::start(&url).await;
    let (ada, eve) = (instance.login("ada").await, instance.login("eve").await);
    let client = server.client().await;
    let lock = format!("BEGIN; SELECT * FROM {schema}.sessions WHERE user_id = 'ada' FOR UPDATE");
    client.batch_execute(&lock).await.unwrap();
    let change = ada.post(&instance, "/count").await;
    assert!(is_away(&change), "{change:?}");
    assert_eq!(ada.status(&instance).await, 200);
    assert_eq!(eve.post(&instance, "/count").await.text(), "1");
    // A change that was reported as failed does not take effect later.
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\".%'"
    );
    assert_eq!(client.query_one(&waiting, &[]).await.unwrap().get::<_, i64>(0), 0);
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(ada.post(&instance, "/count").await.text(), "1");
}

/// The client of a change that was made, and was reported as failed, would make it again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_trim_that_fails_fails_no_change_and_is_repeated() {
    let (server, url, schema) = empty_schema().await;
    let limit = AnonymousLimit::new(100_000, 200);
    let store = PostgresStore::new(&*url).anonymous_limit(limit);
    SessionStore::open(&store).await.unwrap();
    let begin = async |number, bytes| {
        let record = Record { data: vec![b'x'; bytes].into(), ..record(number, None) };
        create(&store, number, record).await;
    };
    begin(1, 150).await;
    let client = server.client().await;
    let lock = format!("BEGIN; SELECT * FROM {schema}.sessions FOR UPDATE");
    client.batch_execute(&lock).await.unwrap();
    begin(2, 150).await;
    client.batch_execute("ROLLBACK").await.unwrap();
    assert!(store.load(&key(1), NOW).await.unwrap().is_some());
    begin(3, 0).await;
    assert!(store.load(&key(1), NOW).await.unwrap().is_none());
}

/// Other clients take all connections of the server.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_server_without_free_connections_is_one_that_is_away() {
    let server = Postgres::start(&["max_connections=12", "superuser_reserved_connections=0"]).await;
    server.sql("CREATE USER app PASSWORD 'secret'; GRANT CREATE ON DATABASE postgres TO app").await;
    let url = server.schema().replace("policy:secret", "app:secret");
    let instance = Instance::start(&url).await;
    let ada = instance.login("ada").await;
    let mut others = Vec::new();
    while let Ok((client, connection)) =
        tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await
    {
        tokio::spawn(connection);
        others.push(client);
    }
    // The app keeps the connections that it has.
    assert_eq!(ada.status(&instance).await, 200);
    let ask = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";
    // The app may be faster than this test to take a connection that became free.
    until(async || {
        others[0].batch_execute(ask).await.unwrap();
        while let Ok((client, connection)) =
            tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await
        {
            tokio::spawn(connection);
            others.push(client);
        }
        is_away(&ada.get(&instance, "/me").await) && instance.status("/ready").await == 503
    })
    .await;
    drop(others);
    until(async || ada.status(&instance).await == 200).await;
}

/// Each is logged once, however many calls fail.
#[tokio::test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn an_outage_and_its_end_are_logged() {
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let server = Postgres::start(&[]).await;
    let store = PostgresStore::new(server.schema());
    SessionStore::open(&store).await.unwrap();
    assert!(store.load(&key(1), NOW).await.unwrap().is_none());
    server.kill();
    for _ in 0..20 {
        assert!(store.load(&key(1), NOW).await.is_err());
    }
    assert!(!SessionStore::is_writable(&store));
    server.begin().await;
    until(async || store.load(&key(1), NOW).await.is_ok()).await;
    assert!(SessionStore::is_writable(&store));
    let codes = ["session.store-away", "session.store-back"];
    assert_eq!(codes.map(|code| log.with_code(code).len()), [1, 1], "{:?}", log.with("code="));
}
