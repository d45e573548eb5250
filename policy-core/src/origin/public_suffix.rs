//! Names under which anybody can register, from the Public Suffix List.

use super::OriginPattern;

/// Whether the pattern covers names that belong to different people. Not `const`: macros check
/// literals with it, and the start checks every policy.
pub(crate) fn covers_public_suffix(pattern: &OriginPattern<'_>) -> bool {
    let host = pattern.host().trim_end_matches('.').as_bytes();
    pattern.is_wildcard()
        && host != b"localhost"
        && psl::suffix(host).is_some_and(|suffix| suffix.as_bytes().len() == host.len())
}
