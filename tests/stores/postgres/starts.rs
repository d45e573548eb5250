//! Databases with which an app does not start, and what it says.

use super::*;
use crate::{
    records::{read_without_tenant, write_without_tenant},
    site::{says, start_at_the_same_time, start_error},
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn url_errors_do_not_contain_the_password() {
    let server = Postgres::shared().await;
    let url = server.url();
    let wrong = url.replace(":secret", ":wrong-password");
    says(&start_error(&wrong).await, &["password authentication failed", "correct the password"]);
    let wrong = url.replace("/postgres?", "/").replace("/postgres", "/nowhere");
    let wrong = format!("{}nowhere", wrong.trim_end_matches("nowhere"));
    says(&start_error(&wrong).await, &["\"nowhere\" does not exist", "create the database"]);
    let wrong = url.replace("policy:", "nobody:");
    says(&start_error(&wrong).await, &["nobody", "correct the password"]);
    let port = policy_tests::port::Port::reserve();
    let wrong = format!("postgres://policy:secret@{}/postgres", port.address);
    says(&start_error(&wrong).await, &["refused"]);
    let wrong = format!("{url}?sslmode=require");
    says(&start_error(&wrong).await, &["does not support TLS", "sslmode=disable"]);
    let wrong = format!("{url}?schema=A&connections=none&sslrootcert=/no/such/file");
    says(&start_error(&wrong).await, &["schema=A", "connections=none", "/no/such/file"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_schema_of_a_newer_release_is_refused_and_left_alone() {
    let (server, url, schema) = empty_schema().await;
    Instance::start(&url).await;
    server.sql(&format!("UPDATE {schema}.meta SET version = version + 900")).await;
    says(&start_error(&url).await, &[&schema, "version 9", "start the newer release"]);
    server.sql(&format!("UPDATE {schema}.meta SET version = version - 900")).await;
    Instance::start(&url).await;
}

/// A schema of version 1, which had no limits.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn an_older_schema_is_migrated_once_with_all_that_is_in_it() {
    let (server, url, schema) = empty_schema().await;
    let instance = Instance::start(&url).await;
    let ada = instance.login("ada").await;
    let later = concat!(
        include_str!("../../../policy-server/src/store/postgres/limits.sql"),
        include_str!("../../../policy-server/src/store/postgres/values/values.sql"),
        include_str!("../../../policy-server/src/store/postgres/purge.sql"),
    );
    for line in later.lines().filter(|line| line.starts_with("CREATE")) {
        let words: Vec<_> = line.split([' ', '(']).collect();
        let kind = if words.contains(&"TABLE") { "TABLE" } else { "FUNCTION" };
        let name = words.iter().find_map(|word| word.strip_prefix("policy.")).unwrap();
        server.sql(&format!("DROP {kind} IF EXISTS {schema}.{name} CASCADE")).await;
    }
    // Version 7 adds columns, and functions of known names that state a mark.
    let marked = format!(
        "DO $$ DECLARE one text; BEGIN
            FOR one IN SELECT oid::regprocedure FROM pg_proc
                WHERE pronamespace = '{schema}'::regnamespace
                AND (proname LIKE 'mark%' OR 'with_mark' = ANY (proargnames))
            LOOP EXECUTE 'DROP FUNCTION ' || one || ' CASCADE'; END LOOP;
        END $$;
        DROP TABLE {schema}.marks;
        ALTER TABLE {schema}.numbers DROP COLUMN cut_off_era, DROP COLUMN revocation_era;
        {}",
        without_later_columns(&schema)
    );
    server.sql(&marked).await;
    server.sql(&format!("UPDATE {schema}.meta SET version = 1")).await;
    let instances = Instance::three(&url).await;
    assert_eq!(ada.status(&instances[1]).await, 200);
    assert_eq!(instances[2].status("/rated").await, 200);
}

/// Removes the columns that versions 9 and 10 add.
fn without_later_columns(schema: &str) -> String {
    [
        ("sessions", "tenant"),
        ("families", "tenant"),
        ("tickets", "tenant"),
        ("families", "began"),
        ("meta", "family_cut"),
    ]
    .map(|(table, column)| format!("ALTER TABLE {schema}.{table} DROP COLUMN {column};"))
    .concat()
}

/// A schema of version 8.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn rows_of_a_release_without_tenants_are_read() {
    let (server, url, schema) = empty_schema().await;
    write_without_tenant(&PostgresStore::new(&*url)).await;
    let version_8 = format!(
        "DROP FUNCTION {schema}.revoke_user(text, bytea, text[], text[], text, bigint, bigint, bigint);
        {} UPDATE {schema}.meta SET version = 8",
        without_later_columns(&schema)
    );
    server.sql(&version_8).await;
    read_without_tenant(&PostgresStore::new(&*url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn missing_privileges_are_named_with_the_statement_that_grants_them() {
    let (server, own, schema) = empty_schema().await;
    server.sql("CREATE USER guest PASSWORD 'secret'").await;
    let url = own.replace("policy:secret", "guest:secret");
    says(&start_error(&url).await, &["permission denied", "CREATE SCHEMA", "AUTHORIZATION"]);
    Instance::start(&own).await;
    says(&start_error(&url).await, &["GRANT USAGE ON SCHEMA", &schema]);
    server.sql(&format!("GRANT USAGE ON SCHEMA {schema} TO guest")).await;
    says(&start_error(&url).await, &["GRANT SELECT"]);
    let grant = format!("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest");
    server.sql(&grant).await;
    says(
        &start_error(&url).await,
        &["`meta`, `numbers`, `marks`, `epochs`, `sessions`", "GRANT SELECT"],
    );
    // Applies the fix that the error names.
    let grant =
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO guest");
    server.sql(&grant).await;
    let instance = Instance::start(&url).await;
    let ada = instance.login("ada").await;
    assert_eq!(ada.status(&instance).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_server_that_loses_acknowledged_writes_is_refused() {
    let server = Postgres::start(&["fsync=off", "synchronous_commit=off"]).await;
    says(&start_error(&server.url()).await, &["`fsync` is off", "`synchronous_commit` is off"]);
}

/// Above `read committed`, a call that waits for a lock does not see what was committed meanwhile, or fails. A
/// setting in the URL replaces those of the role and of the database.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn no_setting_changes_the_isolation_level() {
    let server = Postgres::shared().await;
    let options = "options=--default_transaction_isolation%3Dserializable";
    let url = || format!("{}&{options}", server.schema());
    conformance::sessions(|| PostgresStore::new(url())).await;
    conformance::tokens(|| PostgresStore::new(url())).await;
}

/// The instances make one schema, whichever is first.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn instances_may_start_at_the_same_time_on_an_empty_database() {
    let server = Postgres::shared().await;
    start_at_the_same_time(|| server.schema()).await;
}
