//! How long sessions last.

use std::time::Duration;

use super::Record;
use crate::{catalogue::Rule, time::Timestamp};

/// How long one session lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lifetime {
    /// The idle timeout.
    pub idle: Duration,
    /// The maximum lifetime, counted from the login.
    pub absolute: Duration,
}

impl Lifetime {
    /// A session that ends after it was unused for `idle`, and `absolute` after its login.
    pub const fn new(idle: Duration, absolute: Duration) -> Self {
        Self { idle, absolute }
    }
}

/// Periodic renewal of the session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renewal {
    /// The maximum age of an id.
    pub every: Duration,
    /// How long the old id is still accepted, for requests that were sent with it.
    pub grace: Duration,
}

impl Renewal {
    /// Renews the id after each `every`; the old one is accepted for `grace` longer.
    pub const fn new(every: Duration, grace: Duration) -> Self {
        Self { every, grace }
    }
}

/// The time settings of sessions.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{Rule, session::Timings};
///
/// let mut timings = Timings::default();
/// assert_eq!(timings.lifetime.idle, Duration::from_secs(15 * 60));
/// assert!(timings.violations().is_empty());
/// timings.touch_interval = Duration::from_secs(600);
/// assert_eq!(timings.violations()[0].0, Rule::SessionTouchInterval);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// An ordinary session. 15 minutes and 8 hours by default (OWASP Session Management).
    pub lifetime: Lifetime,
    /// The lifetime of a session whose cookie outlives the browser. 14 and 30 days by default.
    pub remembered: Lifetime,
    /// The store records the last use at most once per interval. One minute by default.
    pub touch_interval: Duration,
    /// Periodic renewal of the id. None by default, because a login changes the id anyway.
    pub renewal: Option<Renewal>,
}

impl Default for Timings {
    fn default() -> Self {
        let (minute, day) = (Duration::from_secs(60), Duration::from_secs(24 * 3600));
        Self {
            lifetime: Lifetime { idle: 15 * minute, absolute: 8 * 60 * minute },
            remembered: Lifetime { idle: 14 * day, absolute: 30 * day },
            touch_interval: minute,
            renewal: None,
        }
    }
}

impl Timings {
    /// The maximum time for which browsers keep a cookie (RFC 6265bis 5.5): 400 days.
    const MAX_REMEMBERED: Duration = Duration::from_secs(400 * 24 * 3600);

    /// Every violated rule, with the offending value.
    pub fn violations(&self) -> Vec<(Rule, String)> {
        let mut found = Vec::new();
        let named = [
            ("idle", self.lifetime.idle),
            ("absolute", self.lifetime.absolute),
            ("remembered idle", self.remembered.idle),
            ("remembered absolute", self.remembered.absolute),
            ("touch_interval", self.touch_interval),
            ("renewal", self.renewal.map_or(Duration::MAX, |renewal| renewal.every)),
            ("renewal grace", self.renewal.map_or(Duration::MAX, |renewal| renewal.grace)),
        ];
        for (name, duration) in named {
            if duration.is_zero() {
                found.push((Rule::SessionTimeZero, format!("{name} {duration:?}")));
            }
        }
        for (kind, Lifetime { idle, absolute }) in
            [("", self.lifetime), ("remembered ", self.remembered)]
        {
            if idle > absolute {
                let value = format!("{kind}idle {idle:?}, absolute {absolute:?}");
                found.push((Rule::SessionIdle, value));
            }
            // A zero is already reported above.
            if !idle.is_zero() && self.touch_interval > idle / 4 {
                let value =
                    format!("touch_interval {:?}, {kind}idle {idle:?}", self.touch_interval);
                found.push((Rule::SessionTouchInterval, value));
            }
        }
        if self.remembered.absolute > Self::MAX_REMEMBERED {
            let value = format!("remembered absolute {:?}", self.remembered.absolute);
            found.push((Rule::SessionRemembered, value));
        }
        if let Some(Renewal { every, grace }) = self.renewal
            && grace >= every
        {
            found.push((Rule::SessionRenewal, format!("renewal {every:?}, grace {grace:?}")));
        }
        found
    }

    /// The new idle deadline of a live session that is used now, if it must be stored.
    pub fn touch(&self, record: &Record, now: Timestamp) -> Option<Timestamp> {
        // A session may be older than the settings, and have a shorter idle timeout.
        let interval = self.touch_interval.min(record.idle / 4);
        (now >= record.last_seen.after(interval)).then(|| record.idle_deadline_at(now))
    }

    /// The grace period of the old id, if a live session gets a new one now.
    pub fn renewal(&self, record: &Record, now: Timestamp) -> Option<Timestamp> {
        let renewal = self.renewal?;
        (now >= record.rotated.after(renewal.every)).then(|| now.after(renewal.grace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_rule_is_named_at_once() {
        let second = Duration::from_secs(1);
        let timings = Timings {
            lifetime: Lifetime { idle: Duration::ZERO, absolute: 10 * second },
            remembered: Lifetime { idle: 12 * second, absolute: 11 * second },
            touch_interval: 4 * second,
            renewal: Some(Renewal { every: second, grace: second }),
        };
        let rules: Vec<_> = timings.violations().into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(
            rules,
            [
                Rule::SessionTimeZero,
                Rule::SessionIdle,
                Rule::SessionTouchInterval,
                Rule::SessionRenewal
            ]
        );
        let remembered = Lifetime { idle: second * 100, absolute: Duration::MAX };
        let timings = Timings { remembered, ..Timings::default() };
        let violations = timings.violations();
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert_eq!(violations[1].0, Rule::SessionRemembered);
    }

    #[test]
    fn a_touch_interval_of_a_quarter_is_allowed() {
        let mut timings =
            Timings { touch_interval: Duration::from_secs(225), ..Timings::default() };
        assert_eq!(timings.violations(), []);
        timings.touch_interval += Duration::from_millis(1);
        assert_eq!(timings.violations().len(), 1);
    }
}
