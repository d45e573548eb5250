//! The limits of a route, and how levels compose.

use core::time::Duration;

use super::{
    Rate,
    spec::{LimitSpec, Violation},
};

/// The limits of a route. Each one is inherited by itself: the nearest level that states it
/// decides.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Limits, Rate};
///
/// const APP: Limits = Limits::NONE.body(64 << 10).timeout(Duration::from_secs(5));
/// const UPLOADS: Limits = Limits::NONE.body(1 << 30).rate(Rate::per_minute(10).by_principal());
/// const _: () = assert!(UPLOADS.first_error().is_none());
///
/// let route = UPLOADS.or(APP);
/// assert_eq!((route.body, route.timeout), (Some(1 << 30), Some(Duration::from_secs(5))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of a request's body.
    pub body: Option<u64>,
    /// The longest time until a response is ready.
    pub timeout: Option<Duration>,
    /// How often a client may call.
    pub rate: Option<Rate>,
    /// The most requests at work at once.
    pub concurrency: Option<u32>,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { body: None, timeout: None, rate: None, concurrency: None };

    /// Limits request bodies to this many bytes.
    #[must_use]
    pub const fn body(mut self, bytes: u64) -> Self {
        self.body = Some(bytes);
        self
    }

    /// Limits the time until a response is ready.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how often a client may call.
    #[must_use]
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Limits the number of concurrent requests.
    #[must_use]
    pub const fn concurrency(mut self, requests: u32) -> Self {
        self.concurrency = Some(requests);
        self
    }

    /// These limits, with those of an outer level for every limit that is not set here.
    #[must_use]
    pub const fn or(self, outer: Self) -> Self {
        Self {
            body: if self.body.is_some() { self.body } else { outer.body },
            timeout: if self.timeout.is_some() { self.timeout } else { outer.timeout },
            rate: if self.rate.is_some() { self.rate } else { outer.rate },
            concurrency: if self.concurrency.is_some() {
                self.concurrency
            } else {
                outer.concurrency
            },
        }
    }

    /// Every violation of the rules about limits, in the order of the parts.
    pub fn violations(self) -> impl Iterator<Item = Violation<'static>> {
        LimitSpec::of(self).violations()
    }

    /// The first error, for use in constants.
    pub const fn first_error(self) -> Option<Violation<'static>> {
        LimitSpec::of(self).first_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_level_decides_each_limit_by_itself() {
        let inner = Limits {
            body: Some(1),
            timeout: Some(Duration::from_secs(1)),
            rate: Some(Rate::per_second(1)),
            concurrency: Some(1),
        };
        let outer = Limits {
            body: Some(2),
            timeout: Some(Duration::from_secs(2)),
            rate: Some(Rate::per_second(2)),
            concurrency: Some(2),
        };
        for flags in 0..16_u8 {
            let has = |flag: u8| flags & (1 << flag) != 0;
            let stated = Limits {
                body: inner.body.filter(|_| has(0)),
                timeout: inner.timeout.filter(|_| has(1)),
                rate: inner.rate.filter(|_| has(2)),
                concurrency: inner.concurrency.filter(|_| has(3)),
            };
            let composed = stated.or(outer);
            assert_eq!(composed.body, if has(0) { inner.body } else { outer.body });
            assert_eq!(composed.timeout, if has(1) { inner.timeout } else { outer.timeout });
            assert_eq!(composed.rate, if has(2) { inner.rate } else { outer.rate });
            assert_eq!(
                composed.concurrency,
                if has(3) { inner.concurrency } else { outer.concurrency }
            );
            assert_eq!(stated.or(Limits::NONE), stated);
        }
    }
}
