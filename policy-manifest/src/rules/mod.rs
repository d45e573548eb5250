//! Rules about policies: what must be public and nothing else, who must never reach what from where,
//! and what every route of a kind needs.
//!
//! A document of rules, `policy.rules`, is TOML; `docs/rules.md` of the repository describes it. [`Rules`]
//! reads it, and [`check`] decides by the engine whether policies keep to it: each [`RuleViolation`] has a
//! request as a witness.

mod budget;
mod check;
mod document;
mod error;
mod files;
mod glob;
mod names;
mod protections;
mod report;
mod rule;
mod selector;
mod subject;
mod table;
#[cfg(test)]
mod tests;

pub use check::check;
pub use error::{CheckError, Place, RulesError};
pub use files::Rules;
pub use glob::glob_matches;
pub use report::{CheckReport, CheckedPolicy, RuleProblem, RuleViolation, RuleWitness};
use rule::CallerKind;
pub use rule::{Exception, PolicyRule};
