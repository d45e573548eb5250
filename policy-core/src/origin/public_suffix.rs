//! Names under which anybody can register, from the Public Suffix List.

use super::OriginPattern;
#[cfg(feature = "engine")]
use super::host::{is_address, is_loopback};

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

/// The registrable domain of a host, below which all names are of one site, or the host if it has none:
/// an address, a loopback name, a public suffix. A final dot is kept (URL, "registrable domain").
#[cfg(feature = "engine")]
pub(crate) fn registrable_domain(host: &str) -> &str {
    if is_address(host) || is_loopback(host.as_bytes()) {
        return host;
    }
    let bare = host.strip_suffix('.').unwrap_or(host);
    let domain = psl2::lookup(bare).and_then(|found| found.registrable_domain());
    let length = domain.map_or(bare.len(), str::len);
    bare.len().checked_sub(length).and_then(|start| host.get(start..)).unwrap_or(host)
}
