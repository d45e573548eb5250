//! The keys that an issuer publishes: kept, fetched in time, and for how long they are good.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use policy_core::{
    time::Timestamp,
    token::{JwkFault, Jwks, KeyRing, RingKey, SkippedJwk, TokenError},
};
use tokio::{select, sync::Notify};

use super::fetch::{Document, FetchError, Fetched};
use crate::base::{
    clock::{Clock, Random},
    escape::printable,
    event::log,
};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a document is the latest word, whatever it says itself.
const SHORTEST_AGE: Duration = Duration::from_secs(5 * 60);
const LONGEST_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long after its age a document is still good, where it cannot be fetched again.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// How old a document has to be, at least, for an unknown key to have it fetched again.
const EARLIEST: Duration = Duration::from_secs(30);
/// How long after a first failure it is tried again; each time twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(10 * 60);

/// The keys of one issuer.
///
/// Only [`run`](Self::run) fetches them, and what comes before it at the start: there is never
/// more than one fetch at a time, whoever asked for it.
#[derive(Debug)]
pub(in super::super) struct JwkSet {
    document: Document,
    held: ArcSwapOption<Held>,
    plan: Mutex<Plan>,
    /// A token named a key that is not there.
    missed: Notify,
    clock: Clock,
    random: Random,
}

/// The keys of one document.
#[derive(Debug)]
pub(super) struct Held {
    /// None, where the issuer has withdrawn all.
    keys: Option<KeyRing>,
    fetched: Timestamp,
    good_until: Timestamp,
}

/// When the document is fetched next.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    due: Timestamp,
    /// How often it could not be fetched since it last could.
    failures: u32,
}

impl Held {
    pub(super) fn keys(&self) -> Option<&KeyRing> {
        self.keys.as_ref()
    }
}

impl JwkSet {
    pub(super) fn new(document: Document, clock: Clock, random: Random) -> Self {
        let (held, plan) = (ArcSwapOption::empty(), Mutex::new(Plan::default()));
        Self { document, held, plan, missed: Notify::new(), clock, random }
    }

    /// The keys, where they are good and one has this id.
    pub(super) fn keys(&self, id: &str, now: Timestamp) -> Option<Arc<Held>> {
        let held = self.held.load_full()?;
        let is_there = held.keys.as_ref().is_some_and(|keys| keys.has(id));
        (is_there && now < held.good_until).then_some(held)
    }

    /// Why a token of this issuer is refused that names a key which is not there. Where the
    /// document is not of this moment, it is fetched again soon.
    pub(super) fn miss(&self, now: Timestamp) -> TokenError {
        if self.is_of_this_moment(now) {
            TokenError::UnknownKey
        } else {
            self.missed.notify_one();
            TokenError::KeysUnavailable
        }
    }

    /// Keeps the keys up to date for as long as it is polled.
    pub(in super::super) async fn run(&self) {
        loop {
            self.wait().await;
            self.refresh().await;
        }
    }

    /// Waits until the document is due, or wanted.
    async fn wait(&self) {
        let Plan { due, failures } = self.plan();
        if failures > 0 {
            return self.clock.wait_until(due).await;
        }
        loop {
            select! {
                () = self.clock.wait_until(due) => return,
                () = self.missed.notified() => {
                    // It may have been fetched since.
                    if !self.is_of_this_moment(self.clock.now()) {
                        return;
                    }
                }
            }
        }
    }

    /// Fetches the document once.
    pub(in super::super) async fn refresh(&self) {
        let began = self.clock.now();
        let fetched = select! {
            fetched = self.document.fetch() => fetched,
            () = self.clock.wait_until(began.after(TIMEOUT)) => Err(FetchError::TimedOut),
        };
        let parsed = fetched.and_then(|Fetched { body, max_age }| {
            let jwks = Jwks::parse(&body).map_err(|_no_set| FetchError::NoKeySet)?;
            Ok((jwks, max_age.unwrap_or_default().clamp(SHORTEST_AGE, LONGEST_AGE)))
        });
        match parsed {
            Ok((jwks, age)) => self.hold(jwks, began, age),
            Err(error) => self.put_off(&error),
        }
    }

    fn hold(&self, jwks: Jwks, began: Timestamp, age: Duration) {
        let address = self.document.address();
        jwks.skipped.iter().for_each(|skipped| tell(address, skipped));
        // Only a ring without keys is none: a document has each id once.
        let keys = KeyRing::new(jwks.keys.into_iter().map(RingKey::new).collect()).ok();
        if keys.is_none() {
            log!(IssuerWithoutKeys, address);
        }
        let due = began.after(age);
        let held = Held { keys, fetched: began, good_until: due.after(KEPT) };
        self.held.store(Some(Arc::new(held)));
        if self.set_plan(Plan { due, failures: 0 }).failures > 0 {
            log!(IssuerKeysBack, address);
        }
    }

    fn put_off(&self, error: &FetchError) {
        let failures = self.plan().failures.saturating_add(1);
        let due = self.clock.now().after(self.pause(failures));
        self.set_plan(Plan { due, failures });
        let error = printable(&error.to_string());
        log!(IssuerKeysAway, address = self.document.address(), %error, failures);
    }

    /// How long to wait after so many failures: between the half and the whole of a time that
    /// doubles, so that servers which failed together do not come back together.
    fn pause(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let whole = FIRST_RETRY.saturating_mul(doubled).min(LAST_RETRY);
        let drawn = self.random.draw().map_or(u32::MAX, u32::from_ne_bytes);
        (whole + whole.mul_f64(f64::from(drawn) / f64::from(u32::MAX))) / 2
    }

    /// Whether the document is too young to be fetched again.
    fn is_of_this_moment(&self, now: Timestamp) -> bool {
        self.held.load().as_ref().is_some_and(|held| now < held.fetched.after(EARLIEST))
    }

    fn plan(&self) -> Plan {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the plan before.
    fn set_plan(&self, plan: Plan) -> Plan {
        std::mem::replace(&mut *self.plan.lock().unwrap_or_else(PoisonError::into_inner), plan)
    }
}

/// Says why an entry of a document is not used.
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

    /// Keys of nobody, whose random numbers are all this byte.
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
