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
    if !pattern.is_wildcard() || !has_public_names(pattern.host()) {
        return Owners::One;
    }
    // The list's private section has the domains of platforms. Below the other suffixes, anyone can
    // register.
    let is_platform = psl2::lookup(&name_below(pattern.host()))
        .is_some_and(|name| name.typ() == Some(psl2::Type::Private));
    match pattern.hosts() {
        HostPattern::Label { .. } if is_platform => Owners::OfPlatform,
        _ => Owners::Anybody,
    }
}

/// Whether the names directly below this one belong to different people: it is a public suffix, or
/// the list has a wildcard for them. With `*.kobe.jp` alone, `kobe.jp` itself is no suffix.
///
/// ```
/// use policy_core::origin::has_public_names;
///
/// assert!(has_public_names("co.uk") && has_public_names("kobe.jp"));
/// assert!(!has_public_names("shop.co.uk") && !has_public_names("shop.any.kobe.jp"));
/// ```
pub fn has_public_names(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name != "localhost"
        && psl2::lookup(&name_below(name)).is_none_or(|below| below.suffix().len() >= name.len())
}

/// A name directly below this one. No rule of the list names its label, so a wildcard covers it.
fn name_below(name: &str) -> String {
    format!("no-rule-has-this.{}", name.trim_end_matches('.'))
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
