//! Checks a database, and creates or migrates the schema of the store.

use std::time::Duration;

use tokio::select;
use tokio_postgres::{Client, error::SqlState};

use super::connection::{Database, Failure};
use crate::{base::timers, store::StoreError};

/// The steps from an empty schema to the current one. The version of a schema is their number.
const STEPS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("limits.sql"),
    include_str!("handles.sql"),
    include_str!("values/values.sql"),
    include_str!("purge.sql"),
    include_str!("refresh.sql"),
    include_str!("history.sql"),
    include_str!("endings.sql"),
    include_str!("tenants.sql"),
    include_str!("families.sql"),
    include_str!("access.sql"),
];

/// How long the migration may take, including the wait for another instance that runs it.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tables, for the check of privileges.
const TABLES: [&str; 12] = [
    "meta",
    "numbers",
    "marks",
    "epochs",
    "sessions",
    "families",
    "refresh_tokens",
    "revocations",
    "tickets",
    "rates",
    "permits",
    "shared_values",
];

/// Makes the database ready for the store.
pub(super) async fn prepare(database: &Database) -> Result<(), StoreError> {
    let (client, task) = database.connect(|_| ()).await.map_err(unreachable)?;
    let done = select! {
        done = prepare_by(database, &client) => done,
        () = timers::sleep(PATIENCE) => Err(StoreError::new(format!(
            "the schema `{}` was not ready after {PATIENCE:?}: another session of the database locks it",
            database.schema(),
        ))),
    };
    task.abort();
    done
}

/// The error of a refused connection, with what to do about it.
fn unreachable(failure: Failure) -> StoreError {
    let Failure::Postgres(error) = &failure else { return StoreError::new(failure) };
    let advice = match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => "correct the password in the URL",
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "correct the user in the URL, or `pg_hba.conf` of the server"
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
            "create the database, or correct its name in the URL"
        }
        None if failure.to_string().contains("does not support TLS") => {
            "enable TLS at the server, or write `sslmode=disable` in the URL if nobody else can read the network"
        }
        None if failure.to_string().contains("certificate") => {
            "write `sslrootcert=` with the authority of the server into the URL, and the name that its certificate states"
        }
        _ => return StoreError::new(failure),
    };
    StoreError::new(format!("{failure}; {advice}"))
}

async fn prepare_by(database: &Database, client: &Client) -> Result<(), StoreError> {
    let failed = |error| StoreError::new(Failure::from(error));
    let server = client
        .query_one(
            "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(),
                current_setting('fsync'), current_setting('synchronous_commit')",
            &[],
        )
        .await
        .map_err(failed)?;
    let mut problems = Vec::new();
    if server.get::<_, i32>(0) < 140_000 {
        problems.push("the server is older than PostgreSQL 14");
    }
    if server.get(1) {
        problems.push(
            "the server is a standby, which cannot write; write all hosts and \
             `target_session_attrs=read-write` into the URL",
        );
    }
    if server.get::<_, &str>(2) == "off" {
        problems.push("`fsync` is off: after a crash, logouts and revocations would be undone");
    }
    if server.get::<_, &str>(3) == "off" {
        problems.push(
            "`synchronous_commit` is off: after a crash, logouts and revocations would be undone; \
             write `ALTER ROLE .. SET synchronous_commit = on`",
        );
    }
    if !problems.is_empty() {
        return Err(StoreError::new(problems.join("; ")));
    }
    // No lock is taken if the schema is current.
    if version(database, client).await? != STEPS.len() {
        migrate(database, client).await?;
    }
    check_privileges(database, client).await
}

/// The version of the schema: the number of steps that were run.
async fn version(database: &Database, client: &Client) -> Result<usize, StoreError> {
    let failed = |error| StoreError::new(Failure::from(error));
    let exists = database.statement(
        "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = 'meta')",
    );
    if !client.query_one(&exists, &[&database.schema()]).await.map_err(failed)?.get::<_, bool>(0) {
        return Ok(0);
    }
    let version = database.statement("SELECT version FROM policy.meta");
    let version: i32 = match client.query_one(&version, &[]).await {
        Ok(row) => row.get(0),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return Err(missing(database, "the tables of this schema"));
        }
        Err(error) => return Err(failed(error)),
    };
    let version = usize::try_from(version).unwrap_or_default();
    if version > STEPS.len() {
        return Err(StoreError::new(format!(
            "the schema `{}` has version {version}, and this release of the app knows versions up to {}: \
             start the newer release",
            database.schema(),
            STEPS.len(),
        )));
    }
    Ok(version)
}

/// Runs the missing steps, while other instances wait.
async fn migrate(database: &Database, client: &Client) -> Result<(), StoreError> {
    let failed = |error: tokio_postgres::Error| {
        if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            let schema = database.schema();
            return StoreError::new(format!(
                "{}; the user of the URL must own the schema of the store: \
                 write `CREATE SCHEMA \"{schema}\" AUTHORIZATION ..` as an administrator",
                Failure::from(error),
            ));
        }
        StoreError::new(Failure::from(error))
    };
    let begin = format!("BEGIN; SET LOCAL statement_timeout = {}", PATIENCE.as_millis());
    client.batch_execute(&begin).await.map_err(failed)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('policy schema ' || $1, 0))";
    client.query(lock, &[&database.schema()]).await.map_err(failed)?;
    // Another instance may have run them meanwhile.
    let version = version(database, client).await?;
    if version == 0 {
        let exists = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";
        let exists = client.query_one(exists, &[&database.schema()]).await.map_err(failed)?;
        if !exists.get::<_, bool>(0) {
            let create = format!("CREATE SCHEMA \"{}\"", database.schema());
            client.batch_execute(&create).await.map_err(failed)?;
        }
    }
    for step in STEPS.get(version..).unwrap_or_default() {
        client.batch_execute(&database.statement(step)).await.map_err(failed)?;
    }
    client.batch_execute("COMMIT").await.map_err(failed)
}

/// An app may use a schema that another user owns.
async fn check_privileges(database: &Database, client: &Client) -> Result<(), StoreError> {
    let failed = |error| StoreError::new(Failure::from(error));
    let mut lacking = Vec::new();
    for table in TABLES {
        let name = format!("\"{}\".{table}", database.schema());
        let has =
            "SELECT count(*) FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) needed
            WHERE NOT has_table_privilege($1, needed)";
        let row = client.query_one(has, &[&name]).await.map_err(failed)?;
        if row.get::<_, i64>(0) > 0 {
            lacking.push(format!("`{table}`"));
        }
    }
    if lacking.is_empty() { Ok(()) } else { Err(missing(database, &lacking.join(", "))) }
}

fn missing(database: &Database, what: &str) -> StoreError {
    let schema = database.schema();
    StoreError::new(format!(
        "the user of the URL may not read and write {what}; write `GRANT USAGE ON SCHEMA \"{schema}\" TO ..` and \
         `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"{schema}\" TO ..`",
    ))
}
