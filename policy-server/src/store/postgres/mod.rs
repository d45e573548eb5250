//! A store for sessions, refresh tokens and revocations in PostgreSQL.

mod connection;
mod limits;
mod listener;
mod opening;
mod rows;
mod sessions;
mod tokens;
mod url;
mod values;

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use tokio::sync::OnceCell;
use tokio_postgres::types::ToSql;

use self::{connection::Database, rows::Columns, sessions::Loader, url::Address};
use super::{
    AnonymousLimit, NewsFeed, StoreError,
    history::{EndingCount, Numbers},
    shared::{loads::BatchLoader, opened_by_url},
};
use crate::base::task::BackgroundTask;

/// The longest that a call waits: for a connection, a lock or the response.
const DEADLINE: Duration = Duration::from_secs(3);

/// The longest that the server works on a statement, or waits for a lock: it says so before the caller
/// gives up.
const STATEMENT: Duration = Duration::from_secs(2);

/// A store in a PostgreSQL database, version 14 or newer, for an app that runs as several instances.
///
/// It implements [`SessionStore`](super::SessionStore), [`TokenStore`](super::TokenStore) and
/// [`LimitStore`](super::LimitStore).
/// Clones share their connections.
///
/// - The first instance that opens the store creates a schema of its own, `policy`, with all tables
///   and functions. Instances may start at the same time. A schema of an older version is migrated,
///   one of a newer version is refused.
/// - A call is one statement, so one round trip, and one transaction. An acknowledged change is
///   committed, and as durable as the database is configured. Sessions that are loaded at the same
///   time share a statement.
/// - `NOTIFY` tells all instances what has ended, over one connection each.
/// - A call waits for 3 seconds at most. When three in a row got no response, the others fail at once,
///   [`is_writable`](super::SessionStore::is_writable) is false, and one call tries again at growing
///   intervals of up to 3 seconds.
/// - If the database loses acknowledged writes, by a failover to a standby that lagged behind or a
///   restored copy, instances that know some of them notice it. They repeat the endings of the last
///   hour, store again the revocations that they know, and say so (`session.store-lost-writes`).
///   Until then they take no session.
/// - Connections beyond this machine use TLS, and check the certificate and its name.
///
/// The parameters of the URL are those of
/// [`tokio_postgres::Config`](https://docs.rs/tokio-postgres/0.7/tokio_postgres/config/struct.Config.html),
/// and:
///
/// | parameter | meaning | default |
/// |---|---|---|
/// | `schema` | the schema of the store | `policy` |
/// | `connections` | the most connections, besides the one for news | 10 |
/// | `sslmode` | `require`: TLS, with a valid certificate; `disable`; `prefer`: TLS if the server has it | `require`, on this machine `disable` |
/// | `sslrootcert` | a PEM file with the certificate authorities to trust | those of the web |
///
/// ```no_run
/// use policy_server::{Sessions, store::PostgresStore};
///
/// let store = PostgresStore::new("postgres://shop:secret@db.example/shop");
/// let settings = Sessions::postgres(store);
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    url: String,
    anonymous: AnonymousLimit,
    /// Anonymous sessions that this instance wrote since they were last counted, and their bytes.
    new_sessions: AtomicU64,
    new_bytes: AtomicU64,
    /// The page of the table of sessions at which the next purge begins.
    purge_from: AtomicU64,
    opened: OnceCell<OpenStore>,
    news: NewsFeed,
    cut_offs: Arc<Numbers>,
    revocations: Numbers,
    endings: EndingCount,
}

struct OpenStore {
    database: Arc<Database>,
    loads: BatchLoader<Loader>,
    _listener: BackgroundTask,
}

impl PostgresStore {
    /// A store in the database at this URL, `postgres://user:password@host:port/database`. Nothing is
    /// opened yet.
    pub fn new(url: impl Into<String>) -> Self {
        Self::at(url.into(), AnonymousLimit::default())
    }

    /// How many anonymous sessions are kept: 100,000 with 64 MiB of values by default. Each instance
    /// exceeds this by a hundredth at most.
    ///
    /// The settings of a store that was opened do not change: this returns a new one.
    #[must_use]
    pub fn anonymous_limit(self, limit: AnonymousLimit) -> Self {
        Self::at(self.0.url.clone(), limit)
    }

    fn at(url: String, anonymous: AnonymousLimit) -> Self {
        Self(Arc::new(Inner {
            url,
            anonymous,
            new_sessions: AtomicU64::new(0),
            new_bytes: AtomicU64::new(0),
            purge_from: AtomicU64::new(0),
            opened: OnceCell::new(),
            news: NewsFeed::new(),
            cut_offs: Arc::default(),
            revocations: Numbers::default(),
            endings: EndingCount::default(),
        }))
    }

    /// Connects, creates or migrates the schema, and listens for news.
    async fn open_once(&self) -> Result<(), StoreError> {
        let open = async {
            let address = Address::parse(&self.0.url).map_err(StoreError::new)?;
            let database = Arc::new(Database::new(address).map_err(StoreError::new)?);
            opening::prepare(&database).await?;
            let loader = Loader::new(Arc::clone(&database), Arc::clone(&self.0.cut_offs));
            let loads = BatchLoader::new(loader);
            let news = &self.0.news;
            let first = listener::subscribe(&database, news).await.map_err(StoreError::new)?;
            let listener = listener::spawn(Arc::clone(&database), first, news.clone());
            Ok(OpenStore { database, loads, _listener: listener })
        };
        self.0.opened.get_or_try_init(|| open).await.map(drop)
    }

    async fn rows(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Columns>, StoreError> {
        let database = &self.require_open()?.database;
        let statement = database.statement(statement);
        let rows = database.call(database.query(&statement, parameters)).await?;
        Ok(rows.into_iter().map(Columns).collect())
    }

    /// The one row of a statement that always returns one.
    async fn row(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Columns, StoreError> {
        let row = self.rows(statement, parameters).await?.pop();
        row.ok_or_else(|| StoreError::new("the database returned no row"))
    }

    fn require_open(&self) -> Result<&OpenStore, StoreError> {
        self.0.opened.get().ok_or_else(|| StoreError::new("the store is not open"))
    }

    fn is_there(&self) -> bool {
        self.0.opened.get().is_some_and(|opened| opened.database.is_there())
    }
}

opened_by_url!(PostgresStore);
