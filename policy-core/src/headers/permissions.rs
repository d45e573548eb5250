//! `Permissions-Policy`: the device features that a page may use.

use crate::{
    catalogue::Rule,
    grammar::{any, eq, every, len_until, strip_prefix, strip_suffix},
    origin::{HostPattern, OriginPattern, Port},
};

/// The rule that an entry breaks.
pub(super) const fn check(entries: &[&str], index: usize) -> Option<Rule> {
    let Some((before, [entry, ..])) = entries.split_at_checked(index) else { return None };
    let Some((feature, allowed)) = split(entry.as_bytes()) else {
        return Some(Rule::PermissionInvalid);
    };
    if !is_feature(feature) || !is_allowlist(allowed) {
        return Some(Rule::PermissionInvalid);
    }
    let is_repeated = any!(
        before,
        other => matches!(split(other.as_bytes()), Some((other, _)) if eq(other, feature))
    );
    if is_repeated { Some(Rule::PermissionRepeated) } else { None }
}

/// The text before the first `=` and the text after it.
const fn split(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    match entry.split_at(len_until(entry, b"=")) {
        (feature, [_, allowed @ ..]) => Some((feature, allowed)),
        (_, []) => None,
    }
}

/// Lower-case words with `-` between.
const fn is_feature(feature: &[u8]) -> bool {
    matches!(feature, [b'a'..=b'z', ..])
        && every!(feature, byte => matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// `*`, `self`, or words and origins in parentheses.
const fn is_allowlist(allowed: &[u8]) -> bool {
    if eq(allowed, b"*") || eq(allowed, b"self") {
        return true;
    }
    let inner = match strip_prefix(allowed, b"(") {
        Some(inner) => strip_suffix(inner, b")"),
        None => None,
    };
    let Some(mut rest) = inner else { return false };
    while !rest.is_empty() {
        let (member, end) = rest.split_at(len_until(rest, b" "));
        if !is_member(member) {
            return false;
        }
        rest = match end {
            [_, tail @ ..] if !tail.is_empty() => tail,
            [_, ..] => return false,
            [] => end,
        };
    }
    true
}

const fn is_member(member: &[u8]) -> bool {
    match member {
        b"self" | b"src" | b"*" => true,
        [b'"', origin @ .., b'"'] => match core::str::from_utf8(origin) {
            Ok(origin) => is_origin(origin),
            Err(_) => false,
        },
        _ => false,
    }
}

/// Whether this is an origin, or `*.` for the names below one, the only wildcard of the standard.
const fn is_origin(text: &str) -> bool {
    match OriginPattern::parse(text) {
        Ok(pattern) => {
            !matches!(pattern.hosts(), HostPattern::Label { .. })
                && !matches!(pattern.port(), Port::Any)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_form_of_the_standard() {
        for entry in [
            "camera=()",
            "geolocation=(self)",
            "geolocation=self",
            "fullscreen=*",
            "payment=(self \"https://pay.example\" \"https://*.pay.example\")",
            "ch-ua-platform=(self)",
        ] {
            assert_eq!(check(&[entry], 0), None, "{entry}");
        }
        for entry in [
            "",
            "camera",
            "camera=",
            "=()",
            "Camera=()",
            "camera=none",
            "camera='none'",
            "camera=( )",
            "camera=(self )",
            "camera=(self,self)",
            "camera=(https://a.example)",
            "camera=(\"a.example\")",
            "camera=()\n",
            "camera=(), microphone=()",
            "-a=()",
            "camera=(\"https://a.example/\")",
            "camera=(\"http://localhost:*\")",
            "camera=(\"https://shop-*-acme.vercel.app\")",
            "camera=(\")",
            "camera=(self",
        ] {
            assert_eq!(check(&[entry], 0), Some(Rule::PermissionInvalid), "{entry}");
        }
    }

    #[test]
    fn a_feature_is_listed_once() {
        assert_eq!(check(&["camera=()", "camera=*"], 0), None);
        assert_eq!(check(&["camera=()", "camera=*"], 1), Some(Rule::PermissionRepeated));
    }
}
