//! Names under which anybody can register, from the Public Suffix List.

use super::OriginPattern;

/// Whether the pattern covers names that belong to different people. Not `const`: macros check
/// literals with it, and the start checks every policy.
pub(crate) fn covers_public_suffix(pattern: &OriginPattern<'_>) -> bool {
    pattern.is_wildcard() && is_public_suffix(pattern.host())
}

/// Whether names below this one belong to different people.
pub(crate) fn is_public_suffix(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name != "localhost" && psl2::lookup(name).is_none_or(|name| name.is_public_suffix())
}
