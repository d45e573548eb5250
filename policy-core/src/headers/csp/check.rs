//! The rules about one policy.

use super::{
    Directive, Name, Source, Takes,
    source::{is_any_host, is_flag, is_hash, is_host, is_keyword, is_scheme, is_word},
};
use crate::{catalogue::Rule, grammar::any};

/// The number of checks of a policy: one for each directive, and one for each of its sources.
pub(crate) const fn slots(policy: &[Directive<'_>]) -> usize {
    let (mut rest, mut slots) = (policy, 0);
    while let [Directive(_, sources), tail @ ..] = rest {
        slots += 1 + sources.len();
        rest = tail;
    }
    slots
}

/// The rule that the entry of a slot breaks.
pub(crate) const fn check(policy: &[Directive<'_>], slot: usize) -> Option<Rule> {
    match locate(policy, slot) {
        Some((before, directive, None)) => check_directive(before, directive),
        Some((_, directive, Some(source))) => check_source(policy, directive, source),
        None => None,
    }
}

/// The entry as text.
pub(crate) const fn text<'a>(policy: &[Directive<'a>], slot: usize) -> &'a str {
    match locate(policy, slot) {
        Some((_, Directive(name, _), None)) => name.text(),
        Some((_, _, Some(source))) => source.text(),
        None => "",
    }
}

/// Whether a policy has this directive.
pub(crate) const fn has(policy: &[Directive<'_>], name: Name) -> bool {
    any!(policy, Directive(other, _) => *other as usize == name as usize)
}

/// The directives before a slot, the directive of the slot, and its source if the slot is a source.
type Located<'p, 'a> = (&'p [Directive<'a>], Directive<'a>, Option<Source<'a>>);

const fn locate<'p, 'a>(policy: &'p [Directive<'a>], slot: usize) -> Option<Located<'p, 'a>> {
    let (mut rest, mut slot) = (policy, slot);
    while let [directive, tail @ ..] = rest {
        let Directive(_, sources) = *directive;
        if slot <= sources.len() {
            let (before, _) = policy.split_at(policy.len() - rest.len());
            let source = match slot.checked_sub(1) {
                None => None,
                Some(index) => match sources.split_at_checked(index) {
                    Some((_, [source, ..])) => Some(*source),
                    _ => None,
                },
            };
            return Some((before, *directive, source));
        }
        slot -= 1 + sources.len();
        rest = tail;
    }
    None
}

const fn check_directive(before: &[Directive<'_>], directive: Directive<'_>) -> Option<Rule> {
    let Directive(name, sources) = directive;
    let may_be_empty = matches!(name.takes(), Takes::Flags | Takes::Policies | Takes::Nothing);
    if has(before, name) {
        Some(Rule::CspDirectiveRepeated)
    } else if sources.is_empty() && !may_be_empty {
        Some(Rule::CspDirectiveEmpty)
    } else {
        None
    }
}

const fn check_source(
    policy: &[Directive<'_>],
    directive: Directive<'_>,
    source: Source<'_>,
) -> Option<Rule> {
    let Directive(name, sources) = directive;
    if let Some(rule) = check_text(source) {
        Some(rule)
    } else if !takes(name, sources, source) {
        Some(Rule::CspSourceMisplaced)
    } else if matches!(source, Source::None) && sources.len() > 1 {
        Some(Rule::CspNoneNotAlone)
    } else if matches!(source, Source::StrictDynamic) && !SourceKinds::new(sources).marks {
        Some(Rule::CspStrictDynamicAlone)
    } else if decides_scripts(policy, name) {
        check_scripts(sources, source)
    } else {
        None
    }
}

const fn check_text(source: Source<'_>) -> Option<Rule> {
    match source {
        Source::Host(text) if is_keyword(text) => Some(Rule::CspKeywordUnquoted),
        Source::Host(text) if !is_host(text) => Some(Rule::CspSourceInvalid),
        Source::Scheme(text) if !is_scheme(text) => Some(Rule::CspSourceInvalid),
        Source::Hash(text) if is_nonce(text) => Some(Rule::CspNonceFixed),
        Source::Hash(text) if !is_hash(text) => Some(Rule::CspKeywordUnknown),
        Source::Word(text) if !is_word(text) => Some(Rule::CspSourceInvalid),
        _ => None,
    }
}

const fn is_nonce(text: &str) -> bool {
    matches!(text.as_bytes(), [b'n', b'o', b'n', b'c', b'e', b'-', ..])
}

const fn takes(name: Name, sources: &[Source<'_>], source: Source<'_>) -> bool {
    let is_location = matches!(
        source,
        Source::None | Source::SelfOrigin | Source::Any | Source::Scheme(_) | Source::Host(_)
    );
    let is_of_styles = matches!(
        source,
        Source::Nonce
            | Source::Hash(_)
            | Source::ReportSample
            | Source::DangerousUnsafeInline
            | Source::DangerousUnsafeHashes
    );
    let is_of_scripts = matches!(
        source,
        Source::StrictDynamic | Source::WasmUnsafeEval | Source::DangerousUnsafeEval
    );
    match (name.takes(), source) {
        (Takes::Locations, _) => is_location,
        (Takes::Styles, _) => is_location || is_of_styles,
        (Takes::Scripts, _) => is_location || is_of_styles || is_of_scripts,
        (Takes::Flags, Source::Word(flag)) => is_flag(flag),
        (Takes::Group, Source::Word(_)) => sources.len() == 1,
        (Takes::Addresses | Takes::Policies, Source::Word(_)) => true,
        (Takes::Policies, _) => {
            matches!(source, Source::None | Source::Any | Source::AllowDuplicates)
        }
        (Takes::Script, _) => matches!(source, Source::Script),
        _ => false,
    }
}

/// `default-src` applies to everything without its own directive.
const fn decides_scripts(policy: &[Directive<'_>], name: Name) -> bool {
    match name {
        Name::DefaultSrc => !has(policy, Name::ScriptSrc),
        name => matches!(name.takes(), Takes::Scripts),
    }
}

/// Sources that make a policy useless against injected scripts.
const fn check_scripts(sources: &[Source<'_>], source: Source<'_>) -> Option<Rule> {
    let has = SourceKinds::new(sources);
    match source {
        // Browsers ignore `'unsafe-inline'` beside a nonce or a hash, and hosts and schemes beside
        // `'strict-dynamic'`.
        Source::DangerousUnsafeInline if !has.marks => Some(Rule::CspScriptsInline),
        Source::Any if !has.strict_dynamic => Some(Rule::CspScriptsOfAnybody),
        Source::Scheme(scheme) if !has.strict_dynamic && is_open(scheme) => {
            Some(Rule::CspScriptsOfAnybody)
        }
        Source::Host(host) if !has.strict_dynamic && is_any_host(host) => {
            Some(Rule::CspScriptsOfAnybody)
        }
        _ => None,
    }
}

/// Whether a scheme matches scripts of any host. `ws:` and `wss:` also match the address of a script
/// (CSP 3, 6.7.2.9).
const fn is_open(scheme: &str) -> bool {
    let scheme = scheme.as_bytes();
    scheme.eq_ignore_ascii_case(b"https:")
        || scheme.eq_ignore_ascii_case(b"http:")
        || scheme.eq_ignore_ascii_case(b"wss:")
        || scheme.eq_ignore_ascii_case(b"ws:")
        || scheme.eq_ignore_ascii_case(b"data:")
}

/// The kinds of sources that a directive has.
struct SourceKinds {
    /// A nonce or a hash.
    marks: bool,
    strict_dynamic: bool,
}

impl SourceKinds {
    const fn new(sources: &[Source<'_>]) -> Self {
        let mut has = Self { marks: false, strict_dynamic: false };
        let mut rest = sources;
        while let [source, tail @ ..] = rest {
            match source {
                Source::Nonce | Source::Hash(_) => has.marks = true,
                Source::StrictDynamic => has.strict_dynamic = true,
                _ => (),
            }
            rest = tail;
        }
        has
    }
}
