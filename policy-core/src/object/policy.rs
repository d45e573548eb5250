//! `#[object(none = "..", recheck = "..")]`: what a route states about its objects.

use core::time::Duration;

use crate::{
    catalogue::Rule,
    limits::{is_out_of_bounds, timeout_of},
};

/// What a route states about its objects.
///
/// ```
/// use std::time::Duration;
/// use policy_core::object::ObjectPolicy;
///
/// const BOARDS: ObjectPolicy = ObjectPolicy::NONE.exempt("every member may read every board");
/// assert_eq!(BOARDS.reason(), Some("every member may read every board"));
///
/// const FEED: ObjectPolicy = ObjectPolicy::NONE.recheck(Duration::from_secs(10));
/// assert_eq!(FEED.interval(), Duration::from_secs(10));
/// assert_eq!(BOARDS.interval(), ObjectPolicy::INTERVAL);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectPolicy {
    none: Option<&'static str>,
    recheck: Option<Duration>,
}

impl ObjectPolicy {
    /// Nothing is stated.
    pub const NONE: Self = Self { none: None, recheck: None };

    /// How often the objects of an open stream are loaded and checked again, unless its route states
    /// another interval: every minute.
    pub const INTERVAL: Duration = Duration::from_secs(60);

    /// Takes path parameters without an object, for this reason.
    ///
    /// # Panics
    ///
    /// If the reason is empty; the attribute checks that first.
    #[must_use]
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub const fn exempt(self, reason: &'static str) -> Self {
        match check_reason(reason) {
            Ok(()) => Self { none: Some(reason), ..self },
            Err(_) => panic!("`object` policy: the reason is missing"),
        }
    }

    /// Loads and checks the objects of an open stream this often.
    ///
    /// # Panics
    ///
    /// If the interval is zero or longer than a day; the attribute checks that first.
    #[must_use]
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub const fn recheck(self, interval: Duration) -> Self {
        if is_out_of_bounds(interval) {
            panic!("`object` policy: the interval must be longer than zero, and at most a day");
        }
        Self { recheck: Some(interval), ..self }
    }

    /// The reason for which path parameters are taken without an object.
    pub const fn reason(&self) -> Option<&'static str> {
        self.none
    }

    /// How often the objects of an open stream are loaded and checked.
    pub const fn interval(&self) -> Duration {
        match self.recheck {
            Some(interval) => interval,
            None => Self::INTERVAL,
        }
    }
}

/// Validates the reason of an exemption: it is for a reviewer, so it is not empty.
///
/// # Errors
///
/// [`Rule::ObjectReasonMissing`].
pub const fn check_reason(reason: &str) -> Result<(), Rule> {
    if reason.trim_ascii().is_empty() { Err(Rule::ObjectReasonMissing) } else { Ok(()) }
}

/// Parses how often objects are checked, written as a [time-out](timeout_of).
///
/// # Errors
///
/// [`Rule::ObjectRecheckMalformed`], and [`Rule::ObjectRecheckOutOfBounds`] for zero and for more than
/// a day.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{Rule, object::recheck_of};
///
/// assert_eq!(recheck_of("10s"), Ok(Duration::from_secs(10)));
/// assert_eq!(recheck_of("10"), Err(Rule::ObjectRecheckMalformed));
/// assert_eq!(recheck_of("0s"), Err(Rule::ObjectRecheckOutOfBounds));
/// ```
pub fn recheck_of(text: &str) -> Result<Duration, Rule> {
    timeout_of(text).map_err(|rule| match rule {
        Rule::LimitTimeoutMalformed => Rule::ObjectRecheckMalformed,
        _ => Rule::ObjectRecheckOutOfBounds,
    })
}

#[cfg(feature = "engine")]
impl crate::facet::FromSpec for ObjectPolicy {
    type Spec = Self;

    fn from_spec(spec: Self) -> Result<Self, crate::Violation<'static, &'static str>> {
        Ok(spec)
    }
}

#[cfg(feature = "engine")]
impl crate::facet::FacetPolicy for ObjectPolicy {
    type Compiled = Self;

    fn compile(&self) -> Self {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_not_empty() {
        assert_eq!(check_reason("public boards"), Ok(()));
        assert_eq!(check_reason(" \t"), Err(Rule::ObjectReasonMissing));
    }

    #[test]
    fn an_interval_is_at_most_a_day() {
        assert_eq!(recheck_of("1440m"), Ok(Duration::from_secs(86_400)));
        assert_eq!(recheck_of("1441m"), Err(Rule::ObjectRecheckOutOfBounds));
    }

    #[test]
    #[should_panic(expected = "at most a day")]
    fn a_constant_has_the_same_bounds() {
        let _ = ObjectPolicy::NONE.recheck(Duration::from_secs(86_401));
    }
}
