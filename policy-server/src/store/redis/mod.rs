//! A store for sessions, refresh tokens and revocations in Redis.

mod connection;
mod copies;
mod failure;
mod limits;
mod link;
mod listener;
mod opening;
mod primary;
mod reply;
mod sentinel;
mod sessions;
mod ticket;
mod tokens;
mod url;
mod values;

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::sync::OnceCell;

use self::{
    connection::{Call, Database},
    sessions::Loader,
    url::Address,
};
use super::{
    AnonymousLimit, NewsFeed, StoreError,
    history::{EndingCount, MarkedNumber, Numbers},
    shared::{loads::BatchLoader, opened_by_url},
};
use crate::base::{clock::Random, task::BackgroundTask};

/// The longest that a call waits for a connection and the response.
const DEADLINE: Duration = Duration::from_secs(3);

/// A store in Redis 7 or newer, or Valkey, for an app that runs as several instances.
///
/// It implements [`SessionStore`](super::SessionStore), [`TokenStore`](super::TokenStore) and
/// [`LimitStore`](super::LimitStore).
/// Clones share their connection.
///
/// - A call is one script, so one round trip, and nothing happens in between. Only the load of a session
///   is two commands, in one round trip as well. What is acknowledged is as durable as the server is
///   configured: with `appendfsync always` it is on the disk, with `everysec` a crash of the machine loses
///   the last second, logouts and revocations included.
/// - A server that would lose more is refused at the start: one that evicts keys, and one that writes
///   nothing to the disk, unless [`without_persistence`](Self::without_persistence) allows it.
/// - Where the memory of the server is full, logins and changes of sessions fail; logouts, cut-offs and
///   revocations do not.
/// - A replica that takes over has only what was copied to it. Other acknowledged changes are lost,
///   logouts and revocations included. With `wait=1` a change is acknowledged when one replica has
///   it, and fails otherwise.
/// - The URL names one server, several nodes of a cluster, or sentinels. A call finds the server that
///   has the keys and can write, also after a failover.
/// - If the server loses acknowledged writes, by a failover or by loading an older snapshot,
///   instances that know some of them notice it: each cut-off and revocation has a random mark, and
///   an instance leaves one after logouts. They read everything anew, repeat the endings of the
///   last hour, store again the revocations that they know, and say so in the log
///   (`session.store-lost-writes`) and by readiness. Until then they take no session. What no
///   running instance knows is lost.
/// - All keys begin with the prefix in braces, `{policy}:`, so they are in one slot of a cluster
///   and on one of its nodes. A cluster improves availability, but adds no capacity. While that
///   slot moves to another node, calls wait, and fail if it takes too long.
/// - `PUBLISH` tells all instances what has ended, over one connection each.
/// - A call waits for 3 seconds at most. When three in a row got no response, the others fail at once,
///   [`is_writable`](super::SessionStore::is_writable) is false, and one call tries again at growing
///   intervals of up to 3 seconds.
///
/// | URL | where the store is |
/// |---|---|
/// | `redis://user:password@host:6379/database` | one server, or a cluster of which this is a node |
/// | `redis://user:password@host1:6379,host2:6379/` | a cluster: the first node that answers says which one has the keys |
/// | `redis+sentinel://user:password@host1:26379,host2:26379/name/database` | what these sentinels call `name`; the user and the password are those of the server |
///
/// With `rediss://` and `rediss+sentinel://` all connections use TLS, which checks the certificate
/// and its name. This has to be the name that sentinels and nodes use for a server
/// (`sentinel announce-hostnames`, `cluster-announce-hostname`). The parameters of the URL:
///
/// | parameter | meaning | default |
/// |---|---|---|
/// | `prefix` | what the keys of this app begin with | `policy` |
/// | `persistence` | `none`: like [`without_persistence`](Self::without_persistence) | |
/// | `sslrootcert` | a PEM file with the certificate authorities to trust | those of the web |
/// | `wait` | how many replicas must have a login, a logout or another change before it is acknowledged | none |
/// | `wait_ms` | how many milliseconds these may take, up to 2500; a start gives them 10 seconds | 1000 |
/// | `sentinel_user`, `sentinel_password` | who connects to the sentinels | nobody |
///
/// ```no_run
/// use policy_server::{Sessions, store::RedisStore};
///
/// let store = RedisStore::new("rediss://shop:secret@cache.example/?prefix=shop");
/// let settings = Sessions::redis(store);
/// ```
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    url: String,
    anonymous: AnonymousLimit,
    may_forget: bool,
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

impl RedisStore {
    /// A store in the server at this URL. Nothing is opened yet.
    pub fn new(url: impl Into<String>) -> Self {
        Self::at(url.into(), AnonymousLimit::default(), false)
    }

    /// How many anonymous sessions are kept, of all instances together: 100,000 with 64 MiB of values
    /// by default.
    ///
    /// The settings of a store that was opened do not change: this returns a new one.
    #[must_use]
    pub fn anonymous_limit(self, limit: AnonymousLimit) -> Self {
        Self::at(self.0.url.clone(), limit, self.0.may_forget)
    }

    /// Accepts a server that writes nothing to the disk. When it restarts, everybody is logged out,
    /// and revoked access tokens are valid again until they expire.
    #[must_use]
    pub fn without_persistence(self) -> Self {
        Self::at(self.0.url.clone(), self.0.anonymous, true)
    }

    fn at(url: String, anonymous: AnonymousLimit, may_forget: bool) -> Self {
        Self(Arc::new(Inner {
            url,
            anonymous,
            may_forget,
            opened: OnceCell::new(),
            news: NewsFeed::new(),
            cut_offs: Arc::default(),
            revocations: Numbers::default(),
            endings: EndingCount::default(),
        }))
    }

    /// Connects, checks the server, and listens for news.
    async fn open_once(&self) -> Result<(), StoreError> {
        let open = async {
            let mut address = Address::parse(&self.0.url).map_err(StoreError::new)?;
            address.may_forget |= self.0.may_forget;
            let database = Arc::new(Database::new(address));
            let first = opening::prepare(&database).await?;
            let loader = Loader::new(Arc::clone(&database), Arc::clone(&self.0.cut_offs));
            let loads = BatchLoader::new(loader);
            let listener = listener::spawn(Arc::clone(&database), first, self.0.news.clone());
            Ok(OpenStore { database, loads, _listener: listener })
        };
        self.0.opened.get_or_try_init(|| open).await.map(drop)
    }

    async fn call(&self, call: Call) -> Result<Value, StoreError> {
        self.require_open()?.database.call(call).await
    }

    fn require_open(&self) -> Result<&OpenStore, StoreError> {
        self.0.opened.get().ok_or_else(|| StoreError::new("the store is not open"))
    }

    /// The result of a call that states what this instance knows, and brings a mark for the number that it
    /// may get.
    async fn call_with(&self, call: Call, known: MarkedNumber) -> Result<(Value, i64), StoreError> {
        let mark = i64::from_ne_bytes(Random::system().draw().map_err(StoreError::new)?);
        let reply = self.call(call.marked_number(known).arg(mark)).await?;
        Ok((reply, mark))
    }

    fn is_there(&self) -> bool {
        self.0.opened.get().is_some_and(|opened| opened.database.is_there())
    }
}

opened_by_url!(RedisStore);
