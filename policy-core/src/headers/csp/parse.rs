//! Parses the text of a policy.

use super::{Directive, Name, Source, Takes};
use crate::catalogue::Rule;

/// The result of parsing a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parsed<'a> {
    /// The directives that could be read.
    pub directives: Vec<(Name, Vec<Source<'a>>)>,
    /// The parts that could not be read, with the offending words.
    pub violations: Vec<(Rule, &'a str)>,
}

/// Parses `directive source ..; ..`, the syntax of the header, with `'nonce'` for the nonce that
/// changes with each response. It does not validate the directives.
///
/// ```
/// use policy_core::headers::csp::{Name, Source, parse};
///
/// let parsed = parse("default-src 'self'; script-src 'self' 'nonce'");
/// assert_eq!(parsed.directives[1], (Name::ScriptSrc, vec![Source::SelfOrigin, Source::Nonce]));
/// assert!(parsed.violations.is_empty());
/// ```
pub fn parse(text: &str) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    for directive in text.split(';') {
        let mut words = directive.split_ascii_whitespace();
        let Some(word) = words.next() else { continue };
        let Some(name) = Name::parse(word) else {
            parsed.violations.push((Rule::CspDirectiveUnknown, word));
            continue;
        };
        parsed.directives.push((name, words.map(|word| read(name, word)).collect()));
    }
    parsed
}

impl Parsed<'_> {
    /// The directives in borrowed form.
    pub fn borrowed(&self) -> Vec<Directive<'_>> {
        self.directives.iter().map(|(name, sources)| Directive(*name, sources)).collect()
    }
}

fn read(name: Name, word: &str) -> Source<'_> {
    let quoted = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
    match (quoted, name.takes()) {
        (Some(quoted), _) => Source::quoted(quoted),
        (None, Takes::Flags | Takes::Group | Takes::Addresses) => Source::Word(word),
        (None, Takes::Policies) if word != "*" => Source::Word(word),
        _ if word == "*" => Source::Any,
        _ if word.ends_with(':') => Source::Scheme(word),
        _ => Source::Host(word),
    }
}
