//! Violations of the rules, as a start or a replacement reports them: all at once, with their
//! locations.

use std::{error::Error, fmt};

use super::CorsPart;
use crate::{
    Violation,
    catalogue::{Rule, Severity},
};

/// One entry of a policy that breaks a rule, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    location: String,
    rule: Rule,
    part: CorsPart,
    value: String,
}

impl PolicyError {
    /// An error about `value` in a part of the policy of `location`, such as `GET /orders/{id}`.
    pub(crate) fn new(location: &str, rule: Rule, part: CorsPart, value: &str) -> Self {
        Self { location: location.to_owned(), rule, part, value: value.to_owned() }
    }

    /// The error for a violation in the policy of `location`.
    pub(super) fn at(location: &str, found: &Violation<'_, CorsPart>) -> Self {
        Self::new(location, found.rule, found.part, found.value)
    }

    /// Sets the location of an error that has none yet.
    #[must_use]
    pub fn or_location(mut self, location: &str) -> Self {
        if self.location == Self::UNLOCATED {
            location.clone_into(&mut self.location);
        }
        self
    }

    /// The location of errors in a list itself, independent of the policies that use it.
    pub(super) const UNLOCATED: &str = "list of origins";

    /// The location of the policy.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The part of the policy.
    pub fn part(&self) -> CorsPart {
        self.part
    }

    /// The offending entry.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { location, rule, part, value } = self;
        write!(f, "{location}: {}", part.name())?;
        if !value.is_empty() {
            // Values may come from files and environment variables, so they are escaped to prevent
            // log injection.
            write!(f, " `{}`", value.escape_debug())?;
        }
        write!(f, ": {} ({})\n  help: {}", rule.message(), rule.code(), rule.help())
    }
}

/// All errors in a policy or a list of origins, not only the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyErrors(Vec<PolicyError>);

impl PolicyErrors {
    /// The individual errors.
    pub fn errors(&self) -> &[PolicyError] {
        &self.0
    }

    pub(crate) fn from_violations<'a>(
        location: &str,
        violations: impl Iterator<Item = Violation<'a, CorsPart>>,
    ) -> Result<(), Self> {
        violations
            .filter(|violation| violation.rule.severity() == Severity::Error)
            .map(|found| PolicyError::at(location, &found))
            .collect::<Self>()
            .into_result()
    }

    pub(crate) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl FromIterator<PolicyError> for PolicyErrors {
    fn from_iter<I: IntoIterator<Item = PolicyError>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

impl IntoIterator for PolicyErrors {
    type Item = PolicyError;
    type IntoIter = std::vec::IntoIter<PolicyError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl Error for PolicyErrors {}
