//! Which of two values of a security header is the stricter one.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    ops::BitOr,
};

use super::csp;

/// What a new value allows compared with the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Something that the old value refuses.
    pub(super) opens: bool,
    /// Not everything that the old value allows.
    pub(super) narrows: bool,
}

impl Comparison {
    /// Compares two amounts: the larger one allows more.
    fn from_amounts<T: Copy + Ord>(old: T, new: T) -> Self {
        let order = new.cmp(&old);
        Self { opens: order == Ordering::Greater, narrows: order == Ordering::Less }
    }

    /// Compares whether each value has a protection.
    pub(super) fn from_protections(old: bool, new: bool) -> Self {
        Self::from_amounts(!old, !new)
    }
}

impl BitOr for Comparison {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { opens: self.opens || other.opens, narrows: self.narrows || other.narrows }
    }
}

/// Compares two values of a header. `None` if one of them cannot be read, so that the new one cannot be
/// shown to be as strict.
type Order = fn(&str, &str) -> Option<Comparison>;

/// Compares two values of the header of this lower-case name. `None` if they have no order that is
/// known here, so that the new one cannot be shown to be as strict.
pub(super) fn compare(name: &str, old: &str, new: &str) -> Option<Comparison> {
    order_of(name)?(old, new)
}

/// The order of the values of the header of this lower-case name, if one is known here.
pub(super) fn order_of(name: &str) -> Option<Order> {
    Some(match name {
        "content-security-policy" => csp::compare,
        // These only report.
        "content-security-policy-report-only" | "nel" | "report-to" | "reporting-endpoints" => {
            |_, _| Some(Comparison::default())
        }
        "cross-origin-embedder-policy" => {
            |old, new| ranked(&["require-corp", "credentialless", "unsafe-none"], old, new)
        }
        "cross-origin-opener-policy" => {
            |old, new| ranked(&["same-origin", "same-origin-allow-popups", "unsafe-none"], old, new)
        }
        "cross-origin-resource-policy" => {
            |old, new| ranked(&["same-origin", "same-site", "cross-origin"], old, new)
        }
        "origin-agent-cluster" => |old, new| ranked(&["?1", "?0"], old, new),
        "permissions-policy" => |old, new| Some(permissions(&allowlists(old)?, &allowlists(new)?)),
        "referrer-policy" => {
            |old, new| Some(referrers(parse_referrer_policy(old)?, parse_referrer_policy(new)?))
        }
        "strict-transport-security" => {
            |old, new| Some(transports(transport(old)?, transport(new)?))
        }
        "x-frame-options" => |old, new| ranked(&["deny", "sameorigin"], old, new),
        _ => return None,
    })
}

/// What browsers do without the header of this lower-case name, as one of its values, if another value
/// allows more.
pub(super) fn default_of(name: &str) -> Option<&'static str> {
    Some(match name {
        // A page with `require-corp` loads a resource of another origin only if it has the header.
        "cross-origin-resource-policy" => "same-origin",
        "permissions-policy" => "",
        "referrer-policy" => "strict-origin-when-cross-origin",
        _ => return None,
    })
}

/// Compares two values of a list that begins with the strictest one. Parameters, which only report,
/// do not count.
fn ranked(values: &[&str], old: &str, new: &str) -> Option<Comparison> {
    let rank = |text: &str| {
        let value = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        values.iter().position(|listed| *listed == value)
    };
    Some(Comparison::from_amounts(rank(old)?, rank(new)?))
}

/// How much of the address of a page `Referer` has (Referrer Policy 3): to its own origin, to other
/// origins, and from HTTPS to HTTP. Nothing, the origin, or everything.
type ReferrerLevels = [u8; 3];

/// Parses a `Referrer-Policy`. The last value that browsers know counts.
fn parse_referrer_policy(value: &str) -> Option<ReferrerLevels> {
    value.rsplit(',').find_map(|word| {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "no-referrer" => [0, 0, 0],
            "same-origin" => [2, 0, 0],
            "strict-origin" => [1, 1, 0],
            "origin" => [1, 1, 1],
            "strict-origin-when-cross-origin" => [2, 1, 0],
            "origin-when-cross-origin" => [2, 1, 1],
            "no-referrer-when-downgrade" => [2, 2, 0],
            "unsafe-url" => [2, 2, 2],
            _ => return None,
        })
    })
}

fn referrers(old: ReferrerLevels, new: ReferrerLevels) -> Comparison {
    let pairs = old.into_iter().zip(new);
    pairs
        .map(|(old, new)| Comparison::from_amounts(old, new))
        .fold(Comparison::default(), BitOr::bitor)
}

/// `max-age`, `includeSubDomains` and `preload` (RFC 6797 6.1).
type Transport = (u64, bool, bool);

fn transport(value: &str) -> Option<Transport> {
    let (mut age, mut subdomains, mut preload) = (None, false, false);
    for directive in value.split(';') {
        let directive = directive.trim().to_ascii_lowercase();
        match directive.as_str() {
            "includesubdomains" => subdomains = true,
            "preload" => preload = true,
            other => match other.strip_prefix("max-age=") {
                // Browsers ignore a header that states it twice.
                Some(_) if age.is_some() => return None,
                Some(seconds) => age = Some(seconds.trim_matches('"').parse().ok()?),
                None if other.is_empty() => (),
                None => return None,
            },
        }
    }
    Some((age?, subdomains, preload))
}

fn transports(old: Transport, new: Transport) -> Comparison {
    Comparison::from_amounts(new.0, old.0)
        | Comparison::from_protections(old.1, new.1)
        | Comparison::from_protections(old.2, new.2)
}

/// The origins that may use each feature, as written; `*` is every origin (Permissions Policy 5).
type Allowlists<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// `None` for a value that is not of the form `feature=(origin ..), ..`.
fn allowlists(value: &str) -> Option<Allowlists<'_>> {
    let mut lists = Allowlists::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        let (feature, behind) = rest.split_once('=')?;
        let (list, behind) = match behind.strip_prefix('(') {
            Some(list) => list.split_once(')')?,
            None => behind.split_at(behind.find([',', ';']).unwrap_or(behind.len())),
        };
        lists.insert(feature.trim(), list.split_ascii_whitespace().collect());
        // Parameters only report.
        let (parameters, next) = behind.split_once(',').unwrap_or((behind, ""));
        let parameters = parameters.trim();
        if !parameters.is_empty() && !parameters.starts_with(';') {
            return None;
        }
        rest = next.trim_start();
    }
    Some(lists)
}

fn permissions(old: &Allowlists<'_>, new: &Allowlists<'_>) -> Comparison {
    // The default of a feature is `self` or `*`.
    let (least, most) = (BTreeSet::from(["self"]), BTreeSet::from(["*"]));
    let exceeds = |one: &BTreeSet<&str>, other: &BTreeSet<&str>| {
        !other.contains("*") && !one.is_subset(other)
    };
    let mut found = Comparison::default();
    for feature in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(feature), new.get(feature));
        found.opens |= exceeds(after.unwrap_or(&most), before.unwrap_or(&least));
        found.narrows |= exceeds(before.unwrap_or(&most), after.unwrap_or(&least));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(name: &str, old: &str, new: &str) -> Option<(bool, bool)> {
        compare(name, old, new).map(|Comparison { opens, narrows }| (opens, narrows))
    }

    #[test]
    fn a_weaker_value_opens_and_a_stricter_one_narrows() {
        for (name, strict, lax) in [
            ("x-frame-options", "DENY", "SAMEORIGIN"),
            ("cross-origin-opener-policy", "same-origin", "unsafe-none"),
            (
                "cross-origin-opener-policy",
                "same-origin; report-to=\"x\"",
                "same-origin-allow-popups",
            ),
            ("cross-origin-embedder-policy", "require-corp", "credentialless"),
            ("cross-origin-resource-policy", "same-site", "cross-origin"),
            ("origin-agent-cluster", "?1", "?0"),
            (
                "referrer-policy",
                "unsafe-url, same-origin",
                "same-origin, no-referrer-when-downgrade",
            ),
            ("strict-transport-security", "max-age=31536000", "max-age=0"),
            ("strict-transport-security", "max-age=9; includeSubDomains", "max-age=9"),
            ("strict-transport-security", "max-age=9; preload", "max-age=\"9\""),
            ("permissions-policy", "camera=()", "camera=(self)"),
            ("permissions-policy", "camera=(), usb=()", "usb=()"),
            ("permissions-policy", "camera=(self \"https://a.example\")", "camera=*"),
        ] {
            assert_eq!(effects(name, strict, lax), Some((true, false)), "{name}: {strict}, {lax}");
            assert_eq!(effects(name, lax, strict), Some((false, true)), "{name}: {lax}, {strict}");
            assert_eq!(effects(name, lax, lax), Some((false, false)), "{name}: {lax}");
        }
    }

    #[test]
    fn values_that_each_allow_something_open_and_narrow() {
        for (name, old, new) in [
            ("strict-transport-security", "max-age=9; includeSubDomains", "max-age=10"),
            ("permissions-policy", "camera=(), usb=(self)", "camera=(self), usb=()"),
            ("permissions-policy", "camera=(\"https://a.example\")", "usb=()"),
        ] {
            assert_eq!(effects(name, old, new), Some((true, true)), "{name}: {old}, {new}");
        }
    }

    #[test]
    fn a_value_without_a_known_order_is_no_value() {
        for (name, value) in [
            ("x-frame-options", "ALLOW-FROM https://a.example"),
            ("x-content-type-options", "sniff"),
            ("cross-origin-opener-policy", "noopener-allow-popups"),
            ("referrer-policy", "everything"),
            ("strict-transport-security", "includeSubDomains"),
            ("strict-transport-security", "max-age=many"),
            ("strict-transport-security", "max-age=0; max-age=9"),
            ("permissions-policy", "camera"),
            ("permissions-policy", "camera=(self"),
            ("permissions-policy", "camera=(self) usb=()"),
            ("x-own", "1"),
        ] {
            assert_eq!(compare(name, value, value), None, "{name}: {value}");
        }
    }
}
