//! Rates and permits that all instances of an app count together.

mod held;
mod permits;
mod rate;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{runtime::Handle, select, sync::Notify};

pub(crate) use self::{permits::SharedPermits, rate::SharedRate};
use super::rate_limiter::RateLimiter;
use crate::{
    base::{clock::Clock, task::BackgroundTask},
    store::{LimitKey, LimitStore, MemoryStore, StoreError},
};

/// How long an instance that died holds its permits.
const LIFETIME: Duration = Duration::from_secs(15);

/// How often an instance that uses permits says so.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long permits that nobody uses any more are kept for those who come next.
const SETTLING: Duration = Duration::from_millis(100);

/// How often, and how many at once, accounts that count nothing any more are removed.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;

/// Counts the rates and the concurrent requests of all instances of an app together, in a store.
///
/// The limits stay as they are written, as [`#[limit]`](macro@crate::limit) or
/// [`App::limits`](crate::App::limits): what holds for one instance without this then holds for the
/// app, however many instances it has.
///
/// - **Rates** below 200 requests a period are exact, and cost one call of the store for each request.
///   Of a larger rate, an instance takes a hundredth at once, so it calls the store once for so many
///   requests of a client that is not at its limit; within a period each instance may grant that much more than the rate, and keep that much
///   from the others. A client that was refused is refused without a call until its time has come.
/// - **Concurrency** is exact. An instance calls the store when more requests are in flight there than
///   it has permits for, and gives back what it did not use for a tenth of a second. The permits of an
///   instance that died are free after 15 seconds; so are those of one that stood still for as long,
///   whose requests go on.
/// - **While the store is away**, each instance counts for itself, so that nobody is refused for that
///   reason: with `n` instances, a client gets up to `n` times the rate, and `n` times the number of
///   requests are in flight. A log event says that the store is away, and when it is back. A request
///   waits for 3 seconds at most before that is known.
///
/// Clients of one IPv6 network of 48 bits
/// ([`clients_per_network`](crate::RateCapacity::clients_per_network)) are counted by each instance.
///
/// ```no_run
/// use policy_server::{SharedLimits, prelude::*};
///
/// let app = App::new(())
///     .sessions(Sessions::from_env("SESSION_STORE"))
///     .shared_limits(SharedLimits::with_sessions())
///     .limits(Limits::NONE.rate(Rate::per_minute(600)));
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

    /// Counts in this store, such as a [`RedisStore`](crate::store::RedisStore). Its keys must be
    /// those of this app alone.
    pub fn store(store: impl LimitStore) -> Self {
        Self { store: Some(Arc::new(store)), ..Self::with_sessions() }
    }

    /// Leaves the number of concurrent requests to each instance: where it protects the memory of the
    /// process, and not what is behind it.
    #[must_use]
    pub fn rates_only(mut self) -> Self {
        self.rates_only = true;
        self
    }

    /// Has [`RateLimiter::take_shared`] of this limiter count for all instances, under a name of its
    /// own.
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

    /// Has all limiters count in the store of this instance.
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

    pub(crate) fn has_own_store(&self) -> bool {
        self.store.is_some()
    }

    /// The store, unless it is that of the sessions.
    pub(crate) fn own_store(&self) -> Option<Arc<dyn LimitStore>> {
        self.store.clone()
    }
}

/// What the shared limits of one instance have in common.
#[derive(Debug)]
pub(crate) struct LimitBook {
    /// Set when the app opens its stores.
    store: OnceLock<Arc<dyn LimitStore>>,
    instance: [u8; 16],
    clock: Clock,
    permits: Mutex<Vec<Weak<SharedPermits>>>,
    /// Permits are free that nobody uses.
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
        let mut all = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::downgrade(permits));
    }

    fn store(&self) -> Result<&dyn LimitStore, StoreError> {
        let store = self.store.get().map(|store| &**store);
        store.ok_or_else(|| StoreError::new("the store of the limits is not open"))
    }

    /// Keeps permits, gives them back and removes old accounts, if a runtime is running.
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
            let all = self.permits.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for permits in all.iter().filter_map(Weak::upgrade) {
                permits.renew().await;
            }
        }
    }

    /// A failure leaves rows for the next time.
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

/// The name of what is counted. Its parts are joined so that no two lists of parts are one.
fn key_of(parts: &[&[u8]]) -> LimitKey {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    LimitKey(*hash.finalize().first_chunk().unwrap_or(&[0; 16]))
}
