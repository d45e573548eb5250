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
