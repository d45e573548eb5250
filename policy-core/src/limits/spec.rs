//! The limits of a route as written, before validation, and their rules.

use core::time::Duration;

use super::{Limits, Rate, RateKey};
use crate::{
    catalogue::Rule,
    facet::RouteFacts,
    validator::{parts, validator},
};

/// The limits of a route before validation, and the facts about the route that they must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSpec<'a> {
    /// The limits.
    pub limits: Limits,
    /// The route.
    pub route: RouteFacts<'a>,
}

parts! {
    /// A part of the limits of a route.
    LimitPart: "limit" {
        /// `body`
        Body = "body",
        /// `timeout`
        Timeout = "timeout",
        /// `rate`
        Rate = "rate",
        /// `concurrency`
        Concurrency = "concurrency",
        /// `message`
        Message = "message",
        /// `silence`
        Silence = "silence",
        /// `sockets`
        Sockets = "sockets",
        /// `sockets_per_caller`
        SocketsPerCaller = "sockets_per_caller",
        /// `misses`
        Misses = "misses",
    }
}

/// One day. Longer work belongs in a background task that the client polls.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

validator!(LimitSpec, LimitPart);

impl LimitSpec<'static> {
    /// An empty spec.
    pub const NOTHING: Self = Self::new(Limits::NONE);

    /// These limits, on a route without known facts.
    pub const fn new(limits: Limits) -> Self {
        Self { limits, route: RouteFacts::UNKNOWN }
    }
}

impl<'a> LimitSpec<'a> {
    const fn slots(&self, _part: LimitPart) -> usize {
        1
    }

    /// No limit is a text.
    const fn value(&self, _part: LimitPart, _index: usize) -> &'a str {
        ""
    }

    const fn check(&self, part: LimitPart, _index: usize) -> Option<Rule> {
        let limits = self.limits;
        match part {
            LimitPart::Body => match limits.body {
                Some(0) => Some(Rule::LimitBodyOutOfBounds),
                _ => None,
            },
            LimitPart::Timeout => match limits.timeout {
                Some(timeout) if is_out_of_bounds(timeout) => Some(Rule::LimitTimeoutOutOfBounds),
                _ => None,
            },
            LimitPart::Rate => match limits.rate {
                Some(rate) if is_of_nothing(rate) => Some(Rule::LimitRateOutOfBounds),
                Some(rate) if self.route.is_public() && matches!(rate.by, RateKey::Principal) => {
                    Some(Rule::LimitRateOfNobody)
                }
                _ => None,
            },
            LimitPart::Concurrency => match limits.concurrency {
                Some(0) => Some(Rule::LimitConcurrencyZero),
                _ => None,
            },
            LimitPart::Message => match limits.message {
                Some(0) => Some(Rule::LimitMessageOutOfBounds),
                _ => None,
            },
            LimitPart::Silence => match limits.silence {
                Some(silence) if is_out_of_bounds(silence) => Some(Rule::LimitSilenceOutOfBounds),
                _ => None,
            },
            LimitPart::Sockets => match limits.sockets {
                Some(0) => Some(Rule::LimitSocketsZero),
                _ => None,
            },
            LimitPart::SocketsPerCaller => match limits.sockets_per_caller {
                Some(0) => Some(Rule::LimitSocketsZero),
                _ => None,
            },
            LimitPart::Misses => match limits.misses {
                Some(rate) if is_of_nothing(rate) => Some(Rule::LimitMissesOutOfBounds),
                _ => None,
            },
        }
    }
}

const fn is_of_nothing(rate: Rate) -> bool {
    rate.count == 0 || rate.per.is_zero()
}

/// Whether a time is zero, or longer than a day.
pub(crate) const fn is_out_of_bounds(time: Duration) -> bool {
    time.is_zero() || time.as_nanos() > LONGEST_TIMEOUT.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facet::Authentication;

    fn on(limits: Limits, authentication: Authentication) -> LimitSpec<'static> {
        LimitSpec { limits, route: RouteFacts { authentication, ..RouteFacts::UNKNOWN } }
    }

    fn rules(spec: LimitSpec<'_>) -> Vec<(LimitPart, Rule)> {
        spec.violations().map(|found| (found.part, found.rule)).collect()
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(rules(LimitSpec::NOTHING), []);
        let smallest = Limits::NONE
            .body(1)
            .timeout(Duration::from_nanos(1))
            .rate(Rate { per: Duration::from_nanos(1), ..Rate::per_second(1) })
            .concurrency(1)
            .message(1)
            .silence(Duration::from_nanos(1))
            .sockets(1)
            .sockets_per_caller(1)
            .misses(Rate::per_day(1));
        assert_eq!(rules(LimitSpec::new(smallest)), []);
        let nothing = Limits::NONE
            .body(0)
            .timeout(Duration::ZERO)
            .rate(Rate::per_second(0))
            .concurrency(0)
            .message(0)
            .silence(Duration::ZERO)
            .sockets(0)
            .sockets_per_caller(0)
            .misses(Rate::per_day(0));
        let all = [
            (LimitPart::Body, Rule::LimitBodyOutOfBounds),
            (LimitPart::Timeout, Rule::LimitTimeoutOutOfBounds),
            (LimitPart::Rate, Rule::LimitRateOutOfBounds),
            (LimitPart::Concurrency, Rule::LimitConcurrencyZero),
            (LimitPart::Message, Rule::LimitMessageOutOfBounds),
            (LimitPart::Silence, Rule::LimitSilenceOutOfBounds),
            (LimitPart::Sockets, Rule::LimitSocketsZero),
            (LimitPart::SocketsPerCaller, Rule::LimitSocketsZero),
            (LimitPart::Misses, Rule::LimitMissesOutOfBounds),
        ];
        assert_eq!(rules(LimitSpec::new(nothing)), all);
        let timeless = Rate { per: Duration::ZERO, ..Rate::per_second(1) };
        let long = Limits::NONE.timeout(LONGEST_TIMEOUT + Duration::from_nanos(1)).rate(timeless);
        assert_eq!(rules(LimitSpec::new(long)), all[1..3]);
        assert_eq!(rules(LimitSpec::new(Limits::NONE.timeout(LONGEST_TIMEOUT))), []);
        let silent = Limits::NONE.silence(LONGEST_TIMEOUT + Duration::from_nanos(1));
        assert_eq!(rules(LimitSpec::new(silent)), all[5..6]);
        assert_eq!(rules(LimitSpec::new(Limits::NONE.misses(timeless))), all[8..]);
    }

    #[test]
    fn a_rate_per_principal_needs_a_principal() {
        let by_principal = Rate::per_second(1).by_principal();
        for (rate, authentication, wrong) in [
            (Rate::per_second(1), Authentication::Public, false),
            (by_principal, Authentication::Public, true),
            (by_principal, Authentication::Asked, false),
            (by_principal, Authentication::Unknown, false),
        ] {
            // Misses of callers without a principal count by address.
            let limits = Limits::NONE.rate(rate).misses(rate);
            let found = rules(on(limits, authentication));
            let want = [(LimitPart::Rate, Rule::LimitRateOfNobody)];
            assert_eq!(found, if wrong { &want[..] } else { &[] });
        }
    }

    #[test]
    fn constants_report_the_first_violation() {
        for flags in 0..32_u8 {
            let has = |flag: u8| flags & (1 << flag) != 0;
            let limits = Limits {
                body: has(0).then_some(0),
                timeout: has(1).then_some(Duration::ZERO),
                rate: has(2).then(|| Rate::per_second(u32::from(has(4))).by_principal()),
                concurrency: has(3).then_some(0),
                ..Limits::NONE
            };
            let spec = on(limits, Authentication::Public);
            assert_eq!(spec.first_error(), spec.violations().next());
            assert_eq!(spec.violations().count(), (flags & 15).count_ones() as usize);
            assert_eq!(limits.first_error(), limits.violations().next());
        }
    }
}
