//! The name of the function to call.

use super::Grammar;
use crate::{catalogue::Refusal, head::decode_parameter};

/// The name of a function, in at most 64 characters of `A-Z a-z 0-9 _ $`, and dots. Reserved words
/// of JavaScript are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback(Box<str>);

impl Callback {
    /// The maximum number of characters.
    pub const MAX_LEN: usize = 64;

    /// Reads a decoded name.
    ///
    /// ```
    /// use policy_core::jsonp::{Callback, Grammar};
    ///
    /// assert!(Callback::parse("jQuery36_1", Grammar::Identifier).is_some());
    /// assert!(Callback::parse("app.show", Grammar::Identifier).is_none());
    /// assert!(Callback::parse("app.show", Grammar::Dotted).is_some());
    /// assert!(Callback::parse("alert(1)", Grammar::Dotted).is_none());
    /// ```
    pub fn parse(name: &str, grammar: Grammar) -> Option<Self> {
        let most = match grammar {
            Grammar::Identifier => 1,
            Grammar::Dotted => 3,
        };
        let valid = name.len() <= Self::MAX_LEN
            && name.split('.').count() <= most
            && name.split('.').all(is_identifier);
        valid.then(|| Self(name.into()))
    }

    /// Finds the parameter of this name in a query; `None` if it is absent, and the response is
    /// ordinary JSON. Names and values are percent-decoded once.
    ///
    /// # Errors
    ///
    /// [`Refusal::CallbackInvalid`] for a value that is empty or outside of the grammar, or for
    /// more than one. The value must not be written anywhere.
    ///
    /// ```
    /// use policy_core::{Refusal, jsonp::{Callback, Grammar}};
    ///
    /// let of = |query| Callback::from_query(query, "callback", Grammar::Identifier);
    /// assert_eq!(of("page=2"), Ok(None));
    /// assert_eq!(of("callback=%63b").unwrap().unwrap().as_str(), "cb");
    /// assert_eq!(of("callback="), Err(Refusal::CallbackInvalid));
    /// assert_eq!(of("callback=a&callback=b"), Err(Refusal::CallbackInvalid));
    /// ```
    pub fn from_query(query: &str, name: &str, grammar: Grammar) -> Result<Option<Self>, Refusal> {
        let mut values = query.split('&').filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_parameter(key)? == name).then_some(value)
        });
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(Refusal::CallbackInvalid);
        }
        let callback = decode_parameter(value).and_then(|value| Self::parse(&value, grammar));
        callback.map(Some).ok_or(Refusal::CallbackInvalid)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_identifier(word: &str) -> bool {
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    word.as_bytes().first().is_some_and(begins)
        && word.bytes().all(|byte| begins(&byte) || byte.is_ascii_digit())
        && !RESERVED.contains(&word)
}

/// ECMA-262 12.7.2, words that are reserved somewhere, and two that cannot be bound.
const RESERVED: [&str; 48] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];
