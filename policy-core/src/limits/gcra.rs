//! The decision about one request: the generic cell rate algorithm (ITU-T I.371), made strict.
//!
//! GCRA keeps one number, the time at which the next request is due if requests are evenly spaced.
//! With a burst of `count`, plain GCRA grants nearly twice `count` within the period that begins
//! with the burst. This version uses the due time alone only for evenly spaced requests, and counts
//! bursts, so that no period of any phase has more than `count`.

use core::time::Duration;

use super::Rate;

/// A granted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RateGrant {
    /// How many more requests would be granted at once.
    pub remaining: u32,
    /// The time to wait after these for the next one.
    pub reset: Duration,
}

impl RateGrant {
    /// A granted request after which this many are left.
    pub const fn new(remaining: u32, reset: Duration) -> Self {
        Self { remaining, reset }
    }
}

/// A request that comes too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RateRefusal {
    /// The time to wait.
    pub retry_after: Duration,
}

impl RateRefusal {
    /// A refused request, which would be granted after this time.
    pub const fn new(retry_after: Duration) -> Self {
        Self { retry_after }
    }
}

/// A rate in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    count: u32,
    per: u64,
    /// The time between two evenly spaced requests, rounded up: `count` of them take at least one
    /// period.
    interval: u64,
}

impl Pace {
    /// `None` for a rate of zero.
    pub(super) fn new(rate: &Rate) -> Option<Self> {
        let per = nanos(rate.per);
        let count = rate.count;
        (count != 0).then(|| Self { count, per, interval: per.div_ceil(u64::from(count)) })
    }
}

/// The grants of one client that still matter.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Account, Rate};
///
/// let (rate, now) = (Rate::per_minute(2), Duration::from_secs(7));
/// let mut account = Account::EMPTY;
/// assert_eq!(account.take(&rate, now).map(|granted| granted.remaining), Ok(1));
/// assert_eq!(account.take(&rate, now).map(|granted| granted.remaining), Ok(0));
/// let refused = account.take(&rate, now).unwrap_err();
/// assert!(account.take(&rate, now + refused.retry_after).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// When the current stretch began. It lasts for at least a period.
    start: u64,
    /// When the next request is due, if requests are evenly spaced.
    due: u64,
    /// The due time at the end of the previous burst.
    due_before: u64,
    /// When every grant is at least a period ago.
    free_at: u64,
    /// The number of grants in the current stretch.
    taken: u32,
    /// The number of grants in the previous stretch.
    taken_before: u32,
}

impl Account {
    /// The account of a client without requests.
    pub const EMPTY: Self =
        Self { start: 0, due: 0, due_before: 0, free_at: 0, taken: 0, taken_before: 0 };

    /// Decides about a request at `now`, which all calls measure from the same point. One account
    /// is used with one rate only.
    ///
    /// Evenly spaced requests, `per / count` apart, are never refused, and a client that was silent
    /// for `per` can send `count` at once. Between these extremes, single grants are not recorded,
    /// and the account errs on the side of refusing.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time after which the same call would succeed.
    pub fn take(&mut self, rate: &Rate, now: Duration) -> Result<RateGrant, RateRefusal> {
        self.take_up_to(rate, now, 1).map(|(_, granted)| granted)
    }

    /// Decides about up to `wanted` simultaneous requests, and returns how many are granted: at
    /// least one.
    ///
    /// # Errors
    ///
    /// Like [`take`](Self::take).
    pub fn take_up_to(
        &mut self,
        rate: &Rate,
        now: Duration,
        wanted: u32,
    ) -> Result<(u32, RateGrant), RateRefusal> {
        let Some(pace) = Pace::new(rate) else { return Err(RateRefusal { retry_after: rate.per }) };
        let now = nanos(now);
        self.advance(&pace, now);
        self.decide_up_to(&pace, now, wanted)
    }

    /// Whether the account equals one without requests.
    pub fn is_empty_at(&self, now: Duration) -> bool {
        self.is_free(nanos(now))
    }

    // Inlined: the call would take a tenth of the time of a decision.
    #[inline(always)]
    pub(super) fn take_at(&mut self, pace: &Pace, now: u64) -> Result<RateGrant, RateRefusal> {
        self.advance(pace, now);
        self.decide(pace, now)
    }

    /// Decides about a request, when the account has [advanced](Self::advance) to `now`.
    #[inline(always)]
    pub(super) fn decide(&mut self, pace: &Pace, now: u64) -> Result<RateGrant, RateRefusal> {
        self.decide_up_to(pace, now, 1).map(|(_, granted)| granted)
    }

    #[inline(always)]
    fn decide_up_to(
        &mut self,
        pace: &Pace,
        now: u64,
        wanted: u32,
    ) -> Result<(u32, RateGrant), RateRefusal> {
        let used = self.taken.saturating_add(self.still_counted(pace, now));
        if used >= pace.count && self.due > now {
            return Err(RateRefusal { retry_after: self.wait(pace, now) });
        }
        // A request that is due is granted even if the count is used up.
        let free = pace.count.saturating_sub(used);
        let taken = wanted.min(free).max(1);
        self.add(pace, now, taken);
        let remaining = free.saturating_sub(taken);
        let mut emptied = *self;
        emptied.add(pace, now, remaining);
        Ok((taken, RateGrant { remaining, reset: emptied.wait(pace, now) }))
    }

    /// Counts a request that another account has granted.
    pub(super) fn charge(&mut self, pace: &Pace, now: u64) {
        self.advance(pace, now);
        self.add(pace, now, 1);
    }

    /// Whether no grant matters any more.
    pub(super) const fn is_free(&self, now: u64) -> bool {
        self.free_at <= now
    }

    /// Advances the account to `now`. Returns whether a new stretch begins, in which the client is
    /// granted at most its count.
    #[inline(always)]
    pub(super) fn advance(&mut self, pace: &Pace, now: u64) -> bool {
        if self.is_free(now) {
            *self = Self { start: now, ..Self::EMPTY };
            return true;
        }
        let begins = now >= self.start.saturating_add(pace.per);
        if begins {
            (self.due_before, self.taken_before) = (self.due, self.taken);
            (self.start, self.taken) = (now, 0);
        }
        begins
    }

    /// The account as it is stored. Zeros are the account of a client without requests.
    pub(super) const fn to_words(self) -> [u64; 5] {
        let taken = self.taken as u64 | (self.taken_before as u64) << 32;
        [self.free_at, self.start, self.due, self.due_before, taken]
    }

    /// The account that these words store.
    pub(super) const fn from_words([free_at, start, due, due_before, taken]: [u64; 5]) -> Self {
        let (taken, taken_before) = (taken as u32, (taken >> 32) as u32);
        Self { start, due, due_before, free_at, taken, taken_before }
    }

    /// The maximum number of grants of the previous stretch within the period that ends now.
    ///
    /// Each grant moves the due time by at least one interval, and at the first of them the due
    /// time was not in the past. So after n grants since some time, the due time is more than n
    /// intervals after that time.
    fn still_counted(&self, pace: &Pace, now: u64) -> u32 {
        let behind = self.due_before.saturating_add(pace.per).saturating_sub(now);
        match behind.checked_sub(1).and_then(|behind| behind.checked_div(pace.interval)) {
            Some(most) => u32::try_from(most).unwrap_or(u32::MAX).min(self.taken_before),
            None => 0,
        }
    }

    fn add(&mut self, pace: &Pace, now: u64, count: u32) {
        let time = pace.interval.saturating_mul(u64::from(count));
        self.taken = self.taken.saturating_add(count);
        self.due = self.due.max(now).saturating_add(time);
        self.free_at = self.free_at.max(now.saturating_add(pace.per));
    }

    /// The time until the next request is granted: when it is due, or earlier, when enough of the
    /// previous burst is more than a period ago, when the present burst becomes the previous one,
    /// or when everything is more than a period ago.
    fn wait(&self, pace: &Pace, now: u64) -> Duration {
        let mut then = self.due.min(self.free_at);
        if let Some(left @ 1..) = pace.count.checked_sub(self.taken) {
            let room = pace.interval.saturating_mul(u64::from(left));
            let counted_until = self.due_before.saturating_add(pace.per).saturating_sub(room);
            then = then.min(counted_until).min(self.start.saturating_add(pace.per));
        }
        Duration::from_nanos(then.saturating_sub(now))
    }
}

/// `u64` holds five centuries of nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(time.subsec_nanos()))
}
