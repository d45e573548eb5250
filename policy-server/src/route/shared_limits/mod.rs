//! Rates and permits that all instances of an app count together.

mod client_table;
mod permits;
mod rate;

use std::{
    sync::{Arc, Mutex, OnceLock, Weak},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{runtime::Handle, select, sync::Notify};

pub(crate) use self::{permits::SharedPermits, rate::SharedRate};
use super::rate_limiter::RateLimiter;
use crate::{
    base::{clock::Clock, locks::lock, task::BackgroundTask},
    store::{LimitKey, LimitStore, MemoryStore, StoreError},
};

/// How long an instance that crashed holds its permits.
const LIFETIME: Duration = Duration::from_secs(15);

/// How often an instance renews the permits that it uses.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long unused permits are kept for further requests.
const SETTLING: Duration = Duration::from_millis(100);

/// How often expired accounts are removed, and how many at once.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;

/// Counts the rates and the concurrent requests of all instances of an app together, in a store.
///
/// The limits are still written as [`#[limit]`](macro@crate::limit) or
/// [`App::policies`](crate::App::policies): a limit that applies to one instance without this then applies
/// to the app, however many instances it has.
///
/// - **Rates** below 200 requests a period are exact, and cost one call of the store for each request.
///   Of a larger rate, an instance takes a hundredth at once, so it calls the store once for that many
///   requests of a client that is not at its limit. Within a period each instance may grant up to that
///   much more than the rate, and withhold that much from the others. A client that was refused is
///   refused without a call until the time of its `Retry-After`.
/// - **Concurrency** is exact. An instance calls the store when more requests are in flight there than
///   it has permits for, and returns permits that it did not use for a tenth of a second. The permits
///   of an instance that crashed are free after 15 seconds; so are those of an instance that was paused
///   for as long, although its requests continue.
/// - **While the store is unavailable**, each instance counts separately, so that no client is
///   refused for that reason: with `n` instances, a client gets up to `n` times the rate, and `n`
///   times the number of requests are in flight. A log event reports that the store is unavailable,
///   and when it is back. A request waits for at most 3 seconds before that is detected.
///
/// Instances know a limit by the routes of its handler, or by the prefix of its group or mount. Groups or
/// mounts with equal prefixes have separate limits, which are known by the order of their declaration.
///
/// The clients of one IPv6 network of 48 bits
/// ([`clients_per_network`](crate::RateCapacity::clients_per_network)) are counted by each instance.
///
/// ```no_run
/// use policy_server::{SharedLimits, prelude::*};
///
/// let app = App::new(())
///     .sessions(Sessions::from_env("SESSION_STORE"))
///     .shared_limits(SharedLimits::with_sessions())
///     .policies(Policies::new().limits(Limits::NONE.rate(Rate::per_minute(600))));
/// ```
#[derive(Clone, Debug)]
pub struct SharedLimits {
    store: Option<Arc<dyn LimitStore>>,
    rates_only: bool,
    limiters: Vec<(Box<str>, Arc<RateLimiter>)>,
}

impl SharedLimits {
    /// Counts in the store of the sessions, which has to be PostgreSQL or Redis.
    pub fn with_sessions() -> Self {
        Self { store: None, rates_only: false, limiters: Vec::new() }
    }

    /// Counts in this store, such as a [`RedisStore`](crate::store::RedisStore). No other app may use
    /// its keys.
    pub fn store(store: impl LimitStore) -> Self {
        Self { store: Some(Arc::new(store)), ..Self::with_sessions() }
    }

    /// Counts concurrent requests in each instance separately: for a limit that protects the memory of
    /// the process, and not a shared service behind it.
    #[must_use]
    pub fn rates_only(mut self) -> Self {
        self.rates_only = true;
        self
    }

    /// Makes [`RateLimiter::take_shared`] of this limiter count for all instances, under a unique
    /// name. The store has a row for each key until its period ends: where clients can invent keys,
    /// the route needs a rate of its own.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use policy_server::{RateLimiter, SharedLimits, prelude::*};
    ///
    /// #[post("/codes/{number}")]
    /// #[auth(public)]
    /// async fn send(number: String, State(sent): State<Arc<RateLimiter>>) -> Result<(), Problem> {
    ///     sent.take_shared(&number).await?;
    ///     Ok(())
    /// }
    ///
    /// let sent = Arc::new(RateLimiter::new(Rate::per_hour(2))?);
    /// let app = App::new(Arc::clone(&sent))
    ///     .sessions(Sessions::from_env("SESSION_STORE"))
    ///     .shared_limits(SharedLimits::with_sessions().limiter("codes", sent))
    ///     .routes(routes![send]);
    /// # Ok::<(), policy_server::RandomError>(())
    /// ```
    #[must_use]
    pub fn limiter(mut self, name: impl Into<Box<str>>, limiter: Arc<RateLimiter>) -> Self {
        self.limiters.push((name.into(), limiter));
        self
    }

    /// Makes all limiters count in the store of this instance.
    pub(crate) fn share(&self, book: &Arc<LimitBook>) {
        for (name, limiter) in &self.limiters {
            limiter.share(book, name);
        }
    }

    pub(crate) fn shares_permits(&self) -> bool {
        !self.rates_only
    }

    /// The same with a store in memory, for tests.
    pub(crate) fn in_memory(self) -> Self {
        Self { store: Some(Arc::new(MemoryStore::new())), ..self }
    }

    /// The store, unless the limits use that of the sessions.
    pub(crate) fn own_store(&self) -> Option<Arc<dyn LimitStore>> {
        self.store.clone()
    }
}

/// The common state of all shared limits of one instance.
#[derive(Debug)]
pub(crate) struct LimitBook {
    /// Set when the app opens its stores.
    store: OnceLock<Arc<dyn LimitStore>>,
    instance: [u8; 16],
    clock: Clock,
    permits: Mutex<Vec<Weak<SharedPermits>>>,
    /// Notified when unused permits are free.
    freed: Notify,
}

impl LimitBook {
    /// `instance` is random.
    pub(crate) fn new(instance: [u8; 16], clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            store: OnceLock::new(),
            instance,
            clock,
            permits: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Counts in this store from now on.
    pub(crate) async fn open(&self, store: Arc<dyn LimitStore>) -> Result<(), StoreError> {
        store.open().await?;
        self.store.get_or_init(|| store);
        Ok(())
    }

    fn add(&self, permits: &Arc<SharedPermits>) {
        let mut all = lock(&self.permits);
        all.push(Arc::downgrade(permits));
    }

    fn store(&self) -> Result<&dyn LimitStore, StoreError> {
        let store = self.store.get().map(|store| &**store);
        store.ok_or_else(|| StoreError::new("the store of the limits is not open"))
    }

    /// Renews and returns permits, and removes old accounts, if a runtime is running.
    pub(crate) fn start(self: &Arc<Self>) -> Option<[BackgroundTask; 2]> {
        let runtime = Handle::try_current().ok()?;
        let (one, two) = (Arc::clone(self), Arc::clone(self));
        Some([
            BackgroundTask::spawn(&runtime, async move { one.keep_permits().await }),
            BackgroundTask::spawn(&runtime, async move { two.purge().await }),
        ])
    }

    async fn keep_permits(&self) {
        loop {
            select! {
                () = self.freed.notified() => self.clock.sleep(SETTLING).await,
                () = self.clock.sleep(RENEWAL) => (),
            }
            let all = lock(&self.permits).clone();
            for permits in all.iter().filter_map(Weak::upgrade) {
                permits.renew().await;
            }
        }
    }

    /// Removes old accounts. After a failure, the next call removes the rest.
    async fn purge(&self) {
        loop {
            self.clock.sleep(PURGE_INTERVAL).await;
            while let Ok(store) = self.store()
                && let Ok(PURGED_AT_ONCE..) = store.purge(PURGED_AT_ONCE).await
            {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// The key of a limit. Its parts are joined so that different lists of parts give different keys.
fn key_of(parts: &[&[u8]]) -> LimitKey {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    LimitKey(*hash.finalize().first_chunk().unwrap_or(&[0; 16]))
}
