//! Violations of the rules, as constants can name them.

use super::spec::Field;
use crate::{catalogue::Rule, const_text::ConstText};

/// One entry of a policy that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The rule.
    pub rule: Rule,
    /// The part of the policy.
    pub field: Field,
    /// Which entry of that part, from 0.
    pub index: usize,
    /// The entry itself; empty where a part is missing or is a number.
    pub value: &'a str,
}

impl Violation<'_> {
    /// The violation in words, for a const panic: value, message, code and, on a line of its
    /// own, the fix.
    pub const fn text(&self) -> ConstText {
        let mut text = ConstText::new("unsafe CORS policy: ").text(self.field.name());
        if !self.value.is_empty() {
            text = text.text(" #").number(self.index + 1).text(" `").text(self.value).text("`");
        }
        text.rule(self.rule)
    }
}
