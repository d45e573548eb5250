//! What happens outside of single requests, for the metrics of the process. Stores, sessions and
//! the log do not know the app, so each app with metrics subscribes here.

#[cfg(feature = "metrics")]
use std::sync::{Arc, Weak};
use std::time::Instant;

#[cfg(feature = "metrics")]
use arc_swap::ArcSwapOption;
use policy_core::Event;

/// Something to count. The texts are values of attributes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "for metrics"))]
pub(crate) enum Count {
    /// An event that was logged.
    Event(Event),
    /// A login, by the kind of its credential.
    Login(&'static str),
    /// A session got a new id.
    Renewal,
    /// Credentials that are no longer valid.
    Revocation(&'static str),
    /// The outcome of a use of a refresh token.
    Refresh(&'static str),
    /// The decision of a rate.
    Rate { is_granted: bool },
    /// New certificates, keys or lists of origins are in use, or the old ones are kept.
    Reload { of: &'static str, is_applied: bool },
    /// A call of a store that is not only in memory.
    #[cfg_attr(
        not(any(feature = "embedded", feature = "postgres", feature = "redis")),
        expect(dead_code, reason = "for stores")
    )]
    StoreCall { store: &'static str, begun: Instant, is_failed: bool },
    /// A database does not respond, or responds again.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        expect(dead_code, reason = "for databases")
    )]
    Circuit { store: &'static str, is_open: bool },
    /// The number of sessions in the store.
    Sessions(u64),
    /// A client that did not complete the TLS handshake.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "for TLS"))]
    HandshakeFailed,
    /// A client that did not wait for the response to a request.
    Abandoned,
}

#[cfg(feature = "metrics")]
pub(crate) trait Counts: Send + Sync {
    fn count(&self, count: &Count);
}

#[cfg(feature = "metrics")]
static SUBSCRIBERS: ArcSwapOption<Vec<Weak<dyn Counts>>> = ArcSwapOption::const_empty();

/// Counts from now on, until the subscriber is dropped.
#[cfg(feature = "metrics")]
pub(crate) fn subscribe(subscriber: &Arc<dyn Counts>) {
    SUBSCRIBERS.rcu(|all| {
        let alive = all.iter().flat_map(|all| all.iter()).filter(|one| one.strong_count() > 0);
        Some(Arc::new(alive.cloned().chain([Arc::downgrade(subscriber)]).collect::<Vec<_>>()))
    });
}

/// Counts it in all metrics of the process.
#[cfg(feature = "metrics")]
pub(crate) fn count(count: Count) {
    if let Some(all) = &*SUBSCRIBERS.load() {
        for subscriber in all.iter().filter_map(Weak::upgrade) {
            subscriber.count(&count);
        }
    }
}

/// Without the feature, nothing is counted.
#[cfg(not(feature = "metrics"))]
#[inline(always)]
pub(crate) fn count(_count: Count) {}
