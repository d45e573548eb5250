//! Violations of the rules, as constants can name them.

use super::spec::Part;
use crate::{catalogue::Rule, const_text::ConstText};

/// One entry of a policy that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The rule.
    pub rule: Rule,
    /// The part of the policy.
    pub part: Part,
    /// Which entry of that part, from 0.
    pub index: usize,
    /// The entry itself; empty where a part is missing or is a number.
    pub value: &'a str,
}

impl Violation<'_> {
    /// The violation in words, for a const panic.
    pub const fn text(&self) -> ConstText {
        let mut text = ConstText::new("unsafe headers policy: ").text(self.part.name());
        if !self.value.is_empty() {
            text = text.text(" `").text(self.value).text("`");
        }
        text.rule(self.rule)
    }
}
