//! What a route says about scripts, before anybody checked it.

use super::JsonpPolicy;
use crate::{catalogue::Rule, const_text::ConstText};

/// What a route says about scripts, unchecked, and what it has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonpSpec<'a> {
    /// `callback = ".."`; empty where it is not there.
    pub callback: &'a str,
    /// The methods of the route; empty where they are not known.
    pub methods: &'a [&'a str],
    /// Whether the route asks who calls: anything but `#[auth(public)]`.
    pub asks_who_calls: bool,
    /// Whether an argument of the handler is a `Session` or the `Sessions`.
    pub takes_session: bool,
    /// Whether there is a `#[csrf]`.
    pub csrf: bool,
}

impl JsonpSpec<'static> {
    /// A spec that says nothing.
    pub const NOTHING: Self = Self {
        callback: "",
        methods: &[],
        asks_who_calls: false,
        takes_session: false,
        csrf: false,
    };

    /// What this policy says, on a route that agrees with it.
    pub const fn of(policy: &JsonpPolicy) -> Self {
        Self { callback: policy.callback, ..Self::NOTHING }
    }
}

/// A part of what a route says about scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `callback`
    Callback,
    /// The methods of the route
    Methods,
    /// `#[auth]`
    Callers,
    /// The handler's argument
    Session,
    /// `#[csrf]`
    Csrf,
}

impl Part {
    /// Every part, in the order in which violations are reported.
    pub const ALL: [Self; 5] =
        [Self::Callback, Self::Methods, Self::Callers, Self::Session, Self::Csrf];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::Methods => "method",
            Self::Callers => "auth",
            Self::Session => "Session",
            Self::Csrf => "csrf",
        }
    }
}

/// A part of what a route says about scripts that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The rule.
    pub rule: Rule,
    /// The part.
    pub part: Part,
    /// Which entry of that part, from 0.
    pub index: usize,
    /// What is wrong; empty where the part has no text.
    pub value: &'a str,
}

impl Violation<'_> {
    /// The violation in words, for a const panic.
    pub const fn text(&self) -> ConstText {
        let mut text = ConstText::new("JSONP policy: ").text(self.part.name());
        if !self.value.is_empty() {
            text = text.text(" `").text(self.value).text("`");
        }
        text.rule(self.rule)
    }
}
