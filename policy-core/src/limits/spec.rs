//! What a route says about limits, before anybody checked it, and the rules.

use core::time::Duration;

use super::{Limits, RateKey};
use crate::{
    catalogue::{Rule, Severity},
    const_text::ConstText,
};

/// What a route says about limits, unchecked, and what it has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSpec {
    /// The limits.
    pub limits: Limits,
    /// Whether the route asks nobody who they are.
    pub is_public: bool,
}

/// A part of what a route says about limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `body`
    Body,
    /// `timeout`
    Timeout,
    /// `rate`
    Rate,
    /// `concurrency`
    Concurrency,
}

impl Part {
    /// Every part, in the order in which violations are reported.
    pub const ALL: [Self; 4] = [Self::Body, Self::Timeout, Self::Rate, Self::Concurrency];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Timeout => "timeout",
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
        }
    }
}

/// A limit that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The part.
    pub part: Part,
}

impl Violation {
    /// The violation in words, for a const panic.
    pub const fn text(&self) -> ConstText {
        ConstText::new(self.part.name()).rule(self.rule)
    }
}

/// A day: what takes longer is a task to start and to ask about, not an answer to wait for.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

impl LimitSpec {
    /// A spec that says nothing.
    pub const NOTHING: Self = Self::of(Limits::NONE);

    /// These limits, on a route that nothing is known of.
    pub const fn of(limits: Limits) -> Self {
        Self { limits, is_public: false }
    }

    /// Every violation, errors and warnings, in the order of the parts.
    pub fn violations(&self) -> impl Iterator<Item = Violation> + use<> {
        let spec = *self;
        Part::ALL
            .into_iter()
            .filter_map(move |part| Some(Violation { rule: spec.check(part)?, part }))
    }

    /// The first error, as constants can be asked for it.
    pub const fn first_error(&self) -> Option<Violation> {
        let mut parts: &[Part] = &Part::ALL;
        while let [part, tail @ ..] = parts {
            if let Some(rule) = self.check(*part)
                && matches!(rule.severity(), Severity::Error)
            {
                return Some(Violation { rule, part: *part });
            }
            parts = tail;
        }
        None
    }

    const fn check(&self, part: Part) -> Option<Rule> {
        let Limits { body, timeout, rate, concurrency } = self.limits;
        match (part, body, timeout, rate, concurrency) {
            (Part::Body, Some(0), ..) => Some(Rule::LimitBodyOutOfBounds),
            (Part::Timeout, _, Some(timeout), ..)
                if timeout.is_zero() || timeout.as_nanos() > LONGEST_TIMEOUT.as_nanos() =>
            {
                Some(Rule::LimitTimeoutOutOfBounds)
            }
            (Part::Rate, _, _, Some(rate), _) if rate.count == 0 || rate.per.is_zero() => {
                Some(Rule::LimitRateOutOfBounds)
            }
            (Part::Rate, _, _, Some(rate), _)
                if self.is_public && matches!(rate.by, RateKey::Principal) =>
            {
                Some(Rule::LimitRateOfNobody)
            }
            (Part::Concurrency, _, _, _, Some(0)) => Some(Rule::LimitConcurrencyZero),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Rate;

    fn rules(spec: LimitSpec) -> Vec<(Part, Rule)> {
        spec.violations().map(|found| (found.part, found.rule)).collect()
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(rules(LimitSpec::NOTHING), []);
        let smallest = Limits::NONE
            .body(1)
            .timeout(Duration::from_nanos(1))
            .rate(Rate { per: Duration::from_nanos(1), ..Rate::per_second(1) })
            .concurrency(1);
        assert_eq!(rules(LimitSpec::of(smallest)), []);
        let nothing =
            Limits::NONE.body(0).timeout(Duration::ZERO).rate(Rate::per_second(0)).concurrency(0);
        let all = [
            (Part::Body, Rule::LimitBodyOutOfBounds),
            (Part::Timeout, Rule::LimitTimeoutOutOfBounds),
            (Part::Rate, Rule::LimitRateOutOfBounds),
            (Part::Concurrency, Rule::LimitConcurrencyZero),
        ];
        assert_eq!(rules(LimitSpec::of(nothing)), all);
        let timeless = Rate { per: Duration::ZERO, ..Rate::per_second(1) };
        let long = Limits::NONE.timeout(LONGEST_TIMEOUT + Duration::from_nanos(1)).rate(timeless);
        assert_eq!(rules(LimitSpec::of(long)), all[1..3]);
        assert_eq!(rules(LimitSpec::of(Limits::NONE.timeout(LONGEST_TIMEOUT))), []);
    }

    #[test]
    fn a_principal_is_counted_where_one_is_asked_for() {
        for (rate, is_public, wrong) in [
            (Rate::per_second(1), true, false),
            (Rate::per_second(1).by_principal(), true, true),
            (Rate::per_second(1).by_principal(), false, false),
        ] {
            let found = rules(LimitSpec { limits: Limits::NONE.rate(rate), is_public });
            let want = [(Part::Rate, Rule::LimitRateOfNobody)];
            assert_eq!(found, if wrong { &want[..] } else { &[] });
        }
    }

    #[test]
    fn what_constants_are_told_is_the_first_violation() {
        for flags in 0..32_u8 {
            let has = |flag: u8| flags & (1 << flag) != 0;
            let limits = Limits {
                body: has(0).then_some(0),
                timeout: has(1).then_some(Duration::ZERO),
                rate: has(2).then(|| Rate::per_second(u32::from(has(4))).by_principal()),
                concurrency: has(3).then_some(0),
            };
            let spec = LimitSpec { limits, is_public: true };
            assert_eq!(spec.first_error(), spec.violations().next());
            assert_eq!(spec.violations().count(), (flags & 15).count_ones() as usize);
            assert_eq!(limits.first_error(), limits.violations().next());
        }
    }
}
