//! The published keys of an issuer: fetching, refreshing and expiry.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use policy_core::token::{JwkFault, Jwks, KeyRing, RingKey, SkippedJwk, TokenError};
use tokio::{select, sync::Notify};

use super::fetch::{Document, FetchError, FetchedDocument};
use crate::base::{
    clock::{Clock, Random},
    escape::printable,
    event::log,
    locks::lock,
};

/// The time-out of a fetch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The minimum time for which a document counts as fresh, whatever its `max-age`.
const SHORTEST_AGE: Duration = Duration::from_secs(5 * 60);
const LONGEST_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long a stale document stays usable while it cannot be fetched again.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// The minimum age of a document before an unknown key id causes a fetch.
const EARLIEST: Duration = Duration::from_secs(30);
/// The delay after a first failure; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(10 * 60);

/// The JWK Set of one issuer. Its times are those of the monotonic clock, so that a time of day that
/// is set back makes no document newer.
///
/// Only [`run`](Self::run), and the start before it, fetch keys, so there is never more than one
/// fetch at a time.
#[derive(Debug)]
pub(in super::super) struct JwkSet {
    document: Document,
    held: ArcSwapOption<CachedKeys>,
    plan: Mutex<Plan>,
    /// Notified when a token names an unknown key.
    missed: Notify,
    clock: Clock,
    random: Random,
}

/// The keys of one document.
#[derive(Debug)]
pub(super) struct CachedKeys {
    /// `None` if the issuer has withdrawn all keys.
    keys: Option<Arc<KeyRing>>,
    skipped: Vec<SkippedJwk>,
    fetched: Duration,
    good_until: Duration,
}

/// When the document is fetched next.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    due: Duration,
    /// The number of failures since the last successful fetch.
    failures: u32,
}

impl CachedKeys {
    pub(super) fn keys(&self) -> Option<&Arc<KeyRing>> {
        self.keys.as_ref()
    }
}

impl JwkSet {
    pub(super) fn new(document: Document, clock: Clock, random: Random) -> Self {
        let (held, plan) = (ArcSwapOption::empty(), Mutex::new(Plan::default()));
        Self { document, held, plan, missed: Notify::new(), clock, random }
    }

    /// The keys, if they are usable and one of them has this id.
    pub(super) fn keys(&self, id: &str) -> Option<Arc<CachedKeys>> {
        let held = self.held.load_full()?;
        let is_there = held.keys.as_ref().is_some_and(|keys| keys.has(id));
        (is_there && self.clock.monotonic() < held.good_until).then_some(held)
    }

    /// The error for a token of this issuer whose key id matches no key in use. Unless the document
    /// is recent, it also requests a new fetch.
    pub(super) fn miss(&self, id: &str) -> TokenError {
        let is_recent = self.is_of_this_moment();
        if !is_recent {
            self.missed.notify_one();
        }
        match self.skipped(id) {
            Some(JwkFault::Algorithm) => TokenError::KeyUnsupported,
            Some(_) => TokenError::KeyUnusable,
            None if is_recent => TokenError::UnknownKey,
            None => TokenError::KeysUnavailable,
        }
    }

    /// Why the key with this id, if the document has it, is not used.
    fn skipped(&self, id: &str) -> Option<JwkFault> {
        let held = self.held.load();
        let skipped = held.as_ref()?.skipped.iter().find(|skipped| *skipped.id == *id)?;
        Some(skipped.fault)
    }

    /// Keeps the keys up to date for as long as it is polled.
    pub(in super::super) async fn run(&self) {
        loop {
            self.wait().await;
            self.refresh().await;
        }
    }

    /// Waits until the document is stale or a fetch is requested.
    async fn wait(&self) {
        let Plan { due, failures } = self.plan();
        let until_due = || self.clock.sleep(due.saturating_sub(self.clock.monotonic()));
        if failures > 0 {
            return until_due().await;
        }
        loop {
            select! {
                () = until_due() => return,
                () = self.missed.notified() => {
                    // It may have been fetched since the notification.
                    if !self.is_of_this_moment() {
                        return;
                    }
                }
            }
        }
    }

    /// Fetches the document once.
    pub(in super::super) async fn refresh(&self) {
        let began = self.clock.monotonic();
        let fetched = select! {
            fetched = self.document.fetch(TIMEOUT) => fetched,
            () = self.clock.sleep(TIMEOUT) => Err(FetchError::TimedOut),
        };
        let parsed = fetched.and_then(|FetchedDocument { body, max_age }| {
            let jwks = Jwks::parse(&body).map_err(|_no_set| FetchError::NoKeySet)?;
            Ok((jwks, max_age.unwrap_or_default().clamp(SHORTEST_AGE, LONGEST_AGE)))
        });
        match parsed {
            Ok((jwks, age)) => self.hold(jwks, began, age),
            Err(error) => self.put_off(&error),
        }
    }

    fn hold(&self, jwks: Jwks, began: Duration, age: Duration) {
        let address = self.document.address();
        jwks.skipped.iter().for_each(|skipped| tell(address, skipped));
        // The only possible error is a ring without keys, since a parsed document has each id once.
        let keys =
            KeyRing::new(jwks.keys.into_iter().map(RingKey::new).collect()).map(Arc::new).ok();
        if keys.is_none() {
            log!(IssuerWithoutKeys, address);
        }
        let due = began + age;
        let good_until = due + KEPT;
        let held = CachedKeys { keys, skipped: jwks.skipped, fetched: began, good_until };
        self.held.store(Some(Arc::new(held)));
        if self.set_plan(Plan { due, failures: 0 }).failures > 0 {
            log!(IssuerKeysBack, address);
        }
    }

    fn put_off(&self, error: &FetchError) {
        let failures = self.plan().failures.saturating_add(1);
        let due = self.clock.monotonic() + self.pause(failures);
        self.set_plan(Plan { due, failures });
        let error = printable(&error.to_string());
        log!(IssuerKeysAway, address = self.document.address(), %error, failures);
    }

    /// The delay after a number of failures: random between half and all of a doubling time, so
    /// that servers which failed together do not retry together.
    fn pause(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let whole = FIRST_RETRY.saturating_mul(doubled).min(LAST_RETRY);
        let drawn = self.random.draw().map_or(u32::MAX, u32::from_ne_bytes);
        (whole + whole.mul_f64(f64::from(drawn) / f64::from(u32::MAX))) / 2
    }

    /// Whether the document is too recent to be fetched again.
    fn is_of_this_moment(&self) -> bool {
        let now = self.clock.monotonic();
        self.held.load().as_ref().is_some_and(|held| now < held.fetched + EARLIEST)
    }

    fn plan(&self) -> Plan {
        *lock(&self.plan)
    }

    /// Returns the previous plan.
    fn set_plan(&self, plan: Plan) -> Plan {
        std::mem::replace(&mut *lock(&self.plan), plan)
    }
}

/// Logs why a key of a document is not used.
fn tell(address: &str, SkippedJwk { id, fault, .. }: &SkippedJwk) {
    let id = printable(id);
    match fault {
        JwkFault::Secret => log!(IssuerSecretPublished, address, %id),
        _ => tracing::debug!(address, %id, ?fault, "a key of an issuer is not used"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tokens::external::fetch::Address;

    /// An empty key set whose random source yields only this byte.
    fn drawing(byte: u8) -> JwkSet {
        let address = Address::parse("https://id.example/keys", false).unwrap();
        let random = Random::from_fn(move |bytes| bytes.fill(byte));
        JwkSet::new(Document::new(address, None).unwrap(), Clock::at(0), random)
    }

    #[test]
    fn pauses_double_up_to_ten_minutes_and_differ_by_up_to_a_half() {
        let (least, most) = (drawing(0), drawing(0xff));
        for (failures, seconds) in [(1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (40, 600)] {
            let whole = Duration::from_secs(seconds);
            assert_eq!((least.pause(failures), most.pause(failures)), (whole / 2, whole));
        }
        assert_eq!(most.pause(u32::MAX), LAST_RETRY);
    }
}
