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

/// The name that its owner registered, below which all names are of one site; for an address, and a
/// name that is a suffix, the host itself.
#[cfg(feature = "manifest")]
pub(crate) fn registrable_domain(host: &str) -> &str {
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    let found = psl2::lookup(host).and_then(|name| name.registrable_domain());
    let before =
        found.filter(|_| !is_address).and_then(|found| host.len().checked_sub(found.len()));
    before.and_then(|before| host.get(before..)).unwrap_or(host)
}
