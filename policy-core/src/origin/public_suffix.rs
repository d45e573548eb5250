//! Names under which the public can register names, from the Public Suffix List.

#[cfg(feature = "engine")]
use super::host::{is_address, is_loopback};
use super::{HostPattern, OriginPattern};

/// The possible owners of the names that a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    /// One owner.
    One,
    /// They have the suffix of one account of a platform, such as a team's previews below
    /// `vercel.app`. The platform decides who else may take such a name.
    OfPlatform,
    /// Anybody.
    Anybody,
}

/// The owners of the names that the pattern covers. Not `const`: macros check literals with it, and
/// the start checks every policy.
pub(crate) fn owners(pattern: &OriginPattern<'_>) -> Owners {
    if !pattern.is_wildcard() || !is_public_suffix(pattern.host()) {
        return Owners::One;
    }
    let suffix = psl2::lookup(pattern.host().trim_end_matches('.'));
    // The list's private section has the domains of platforms. Below the other suffixes, anyone can
    // register.
    let is_platform = suffix.is_some_and(|name| name.typ() == Some(psl2::Type::Private));
    match pattern.hosts() {
        HostPattern::Label { .. } if is_platform => Owners::OfPlatform,
        _ => Owners::Anybody,
    }
}

/// Whether names below this one belong to different people.
pub fn is_public_suffix(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name != "localhost" && psl2::lookup(name).is_none_or(|name| name.is_public_suffix())
}

/// The registrable domain of a host, below which all names are of one site, or the host if it has none:
/// an address, a loopback name, a public suffix. A final dot is kept (URL, "registrable domain").
#[cfg(feature = "engine")]
pub fn registrable_domain(host: &str) -> &str {
    if is_address(host) || is_loopback(host.as_bytes()) {
        return host;
    }
    let bare = host.strip_suffix('.').unwrap_or(host);
    let domain = psl2::lookup(bare).and_then(|found| found.registrable_domain());
    let length = domain.map_or(bare.len(), str::len);
    bare.len().checked_sub(length).and_then(|start| host.get(start..)).unwrap_or(host)
}
