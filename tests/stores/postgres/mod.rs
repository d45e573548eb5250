//! The store in PostgreSQL.

use policy_server::store::{PostgresStore, conformance};
use policy_tests::postgres::Postgres;

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
