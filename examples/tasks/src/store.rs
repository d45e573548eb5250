//! The database: SQLite in a file, or PostgreSQL where a URL names one. Both read the same statements.

use std::{io, num::ParseIntError};

use policy_server::{
    Clock, Random,
    object::{Predicate, PredicateValue},
    prelude::*,
    schemars::{self, JsonSchema},
};
use serde::Deserialize;
use sqlx::{
    Any, AnyPool, AssertSqlSafe, FromRow, SqlSafeStr,
    any::{AnyArguments, AnyPoolOptions, AnyRow, install_default_drivers},
    migrate::{Migration, MigrationType, Migrator},
    query::QueryAs,
};

/// Never change one that was released: append the next.
const MIGRATIONS: [(&str, &str); 1] = [("tables", include_str!("../migrations/1_tables.sql"))];

/// The connections to the database.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) pool: AnyPool,
    /// The URL, where it is PostgreSQL.
    pub(crate) postgres: Option<String>,
}

impl Store {
    /// Connects, and brings the tables up to date. Of several instances that start at once, one does,
    /// and the others wait.
    pub(crate) async fn open(url: &str) -> io::Result<Self> {
        install_default_drivers();
        let postgres = url.starts_with("postgres").then(|| url.to_owned());
        let pool = if postgres.is_some() {
            AnyPoolOptions::new().max_connections(10)
        } else {
            // SQLite has one writer at a time. A second connection would only wait for the first, or
            // see another database if it is in memory.
            AnyPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None)
        };
        let pool = pool.connect(url).await.map_err(io::Error::other)?;
        let migrations = (1..).zip(MIGRATIONS).map(|(version, (name, sql))| {
            // The one type whose name they do not share.
            let sql =
                if postgres.is_some() { sql.replace("BLOB", "BYTEA") } else { sql.to_owned() };
            let sql = AssertSqlSafe(sql).into_sql_str();
            Migration::new(version, name.into(), MigrationType::Simple, sql, false)
        });
        let migrator = Migrator::with_migrations(migrations.collect());
        migrator.run(&pool).await.map_err(io::Error::other)?;
        Ok(Self { pool, postgres })
    }

    /// The objects of a list that its caller may view, oldest first.
    pub(crate) async fn visible<T>(&self, select: &str, to: Predicate) -> Result<Vec<T>, Problem>
    where
        T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
    {
        let sql = format!("{select} {} ORDER BY created, id", to.sql);
        let found = bind(sqlx::query_as(AssertSqlSafe(sql)), to.values);
        found.fetch_all(&self.pool).await.or_internal()
    }
}

/// Binds the values of a predicate.
pub(crate) fn bind<'q, T>(
    query: QueryAs<'q, Any, T, AnyArguments>,
    values: Vec<PredicateValue>,
) -> QueryAs<'q, Any, T, AnyArguments> {
    values.into_iter().fold(query, |query, value| match value {
        PredicateValue::Text(text) => query.bind(text),
        PredicateValue::Number(number) => query.bind(number),
    })
}

/// Reads a type from the columns of its fields.
macro_rules! row {
    ($Type:ident: $($field:ident)*) => {
        impl sqlx::FromRow<'_, sqlx::any::AnyRow> for $Type {
            fn from_row(row: &sqlx::any::AnyRow) -> sqlx::Result<Self> {
                Ok(Self { $($field: sqlx::Row::try_get(row, stringify!($field))?),* })
            }
        }
    };
}
pub(crate) use row;

/// Loads an object by a column, with a statement that ends where its last condition begins.
macro_rules! load {
    ($Type:ident: $select:literal $key:literal) => {
        /// What every statement about these objects begins with.
        const SELECT: &str = $select;

        impl Load for $Type {
            type Source = Store;

            async fn load(id: &String, (): &(), store: &Store) -> Result<Option<Self>, Problem> {
                let found = sqlx::query_as(concat!($select, " ", $key, " = $1")).bind(id);
                found.fetch_optional(&store.pool).await.or_internal()
            }
        }
    };
}
pub(crate) use load;

/// A new id or code, which nobody can guess.
pub(crate) fn secret() -> Result<String, Problem> {
    let bytes: [u8; 16] = Random::system().draw().or_internal()?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Milliseconds since 1970, as the database keeps them.
pub(crate) fn now() -> i64 {
    i64::try_from(Clock::system().now().millis()).unwrap_or(i64::MAX)
}

/// Where a page of a list ends: its last row, by time and id. Rows that come or go meanwhile shift
/// nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub(crate) struct Cursor {
    pub(crate) created: i64,
    pub(crate) id: String,
}

/// Before the newest row.
impl Default for Cursor {
    fn default() -> Self {
        Self { created: i64::MAX, id: String::new() }
    }
}

impl Cursor {
    pub(crate) fn text(created: i64, id: &str) -> String {
        format!("{created}-{id}")
    }
}

impl TryFrom<String> for Cursor {
    type Error = ParseIntError;

    fn try_from(text: String) -> Result<Self, ParseIntError> {
        let (created, id) = text.split_once('-').unwrap_or((&text, ""));
        Ok(Self { created: created.parse()?, id: id.to_owned() })
    }
}
