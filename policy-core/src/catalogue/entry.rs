//! An entry of any table.

use super::{Event, Lint, Refusal, Rule};

/// An entry of the catalogue, to be found by its code.
///
/// ```
/// use policy_core::{Entry, Rule};
///
/// let entry = Entry::from_code("cors.any-origin-with-credentials");
/// assert_eq!(entry, Some(Entry::Rule(Rule::AnyOriginWithCredentials)));
/// assert_eq!(entry.map(Entry::area), Some("cors"));
/// assert_eq!(Entry::from_code("cors.unheard-of"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entry {
    /// A rule about a policy or a setting.
    Rule(Rule),
    /// A reason to refuse a request.
    Refusal(Refusal),
    /// Something that a server logs.
    Event(Event),
    /// Something odd about the policy of an app.
    Lint(Lint),
}

impl Entry {
    /// All entries: rules, refusals, events, lints.
    pub fn all() -> impl Iterator<Item = Self> {
        let rules = Rule::ALL.iter().copied().map(Self::Rule);
        let refusals = Refusal::ALL.iter().copied().map(Self::Refusal);
        let events = Event::ALL.iter().copied().map(Self::Event);
        let lints = Lint::ALL.iter().copied().map(Self::Lint);
        rules.chain(refusals).chain(events).chain(lints)
    }

    /// The entry with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::all().find(|entry| entry.code() == code)
    }

    /// Its code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.code(),
            Self::Refusal(refusal) => refusal.code(),
            Self::Event(event) => event.code(),
            Self::Lint(lint) => lint.code(),
        }
    }

    /// The text of the entry: the message of a rule, an event or a lint, the title of a refusal.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.message(),
            Self::Refusal(refusal) => refusal.title(),
            Self::Event(event) => event.message(),
            Self::Lint(lint) => lint.message(),
        }
    }

    /// The explanation of the entry, which is its documentation.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.about(),
            Self::Refusal(refusal) => refusal.about(),
            Self::Event(event) => event.about(),
            Self::Lint(lint) => lint.about(),
        }
    }

    /// The first word of its code, such as `cors`.
    pub fn area(self) -> &'static str {
        let code = self.code();
        code.split_once('.').map_or(code, |(area, _)| area)
    }
}
