//! Names under which anybody can register, from the Public Suffix List.

use super::OriginPattern;

/// Whether the pattern covers names that belong to different people. Not `const`: macros check
/// literals with it, and the start checks every policy.
pub(crate) fn covers_public_suffix(pattern: &OriginPattern<'_>) -> bool {
    let host = pattern.host().trim_end_matches('.');
    pattern.is_wildcard()
        && host != "localhost"
        && psl2::lookup(host).is_none_or(|name| name.is_public_suffix())
}
