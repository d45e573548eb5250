//! `#[headers]`: security headers of responses.

mod csp;
mod strictness;

use std::collections::{BTreeMap, BTreeSet};

use policy_core::{
    head::PublicOrigin,
    headers::{HeadersPolicy, SecurityHeaders},
};
use serde::{Deserialize, Serialize};

use super::{Cell, Column, Direction, Effects, FacetEntry, FromPolicy, Side};
use crate::Manifest;

/// The security headers of responses: lower-case names and values. A nonce in a
/// `content-security-policy` is written as `'nonce'`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Headers {
    /// On every response.
    pub every: BTreeMap<String, String>,
    /// On pages only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, String>,
}

impl Headers {
    /// The prefix of its digest by which routes refer to it.
    pub(crate) fn name(&self) -> String {
        let mut text = String::new();
        for (set, fields) in [("every", &self.every), ("pages", &self.pages)] {
            fields.iter().for_each(|(name, value)| text += &format!("{set} {name}: {value}\n"));
        }
        crate::name_of(&text)
    }

    /// Whether a value of the header of this lower-case name is at least as strict as the required
    /// one; not if it cannot be shown. `None` if the values of this header have no order.
    ///
    /// ```
    /// use policy_manifest::Headers;
    ///
    /// let is_as_strict = |value| Headers::is_as_strict("content-security-policy", "default-src 'self'", value);
    /// assert_eq!(is_as_strict("default-src 'none'"), Some(true));
    /// assert_eq!(is_as_strict("default-src *"), Some(false));
    /// assert_eq!(Headers::is_as_strict("x-team", "ours", "yours"), None);
    /// ```
    pub fn is_as_strict(name: &str, required: &str, value: &str) -> Option<bool> {
        let order = strictness::order_of(name)?;
        Some(order(required, value).map_or(required == value, |order| !order.opens))
    }
}

impl From<&SecurityHeaders> for Headers {
    fn from(headers: &SecurityHeaders) -> Self {
        let [every, pages] = headers.texts();
        Self { every, pages }
    }
}

/// The name of the set in the manifest. Only a public origin with HTTPS has headers about the
/// transport.
impl FromPolicy<HeadersPolicy> for String {
    fn from_policy(policy: &HeadersPolicy, manifest: &mut Manifest) -> Self {
        manifest.add_security_headers(SecurityHeaders::new(policy))
    }
}

impl Manifest {
    /// Adds the security headers of a policy, and returns the name by which routes refer to them.
    /// Those about the transport are left out without a public origin.
    ///
    /// ```
    /// use policy_core::headers::{HeadersPolicy, SecurityHeaders};
    /// use policy_manifest::Manifest;
    ///
    /// let mut manifest = Manifest::new();
    /// let name = manifest.add_security_headers(SecurityHeaders::new(&HeadersPolicy::DEFAULT));
    /// assert_eq!(manifest.headers[&name].every["x-content-type-options"], "nosniff");
    /// ```
    pub fn add_security_headers(&mut self, headers: SecurityHeaders) -> String {
        let own = self.app.public_origin.as_deref();
        let own = own.and_then(|text| PublicOrigin::parse(text).ok());
        let headers = match own.is_some_and(|own| !own.is_loopback()) {
            true => headers,
            false => headers.without_transport(),
        };
        self.add_headers((&headers).into())
    }
}

const COLUMN: Column = Column {
    position: 8,
    is_secondary: true,
    is_rare: true,
    absent: Some("none"),
    ..Column::new("Headers")
};

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "headers",
    attribute: "headers",
    about: "security headers of responses",
    why: "Browsers silently ignore a security header, or a part of it, that they cannot \
         parse. A typing error switches off a protection, and nothing looks different.",
    links: &[
        ("Content Security Policy Level 3", "https://www.w3.org/TR/CSP3/"),
        (
            "OWASP, HTTP Headers",
            "https://cheatsheetseries.owasp.org/cheatsheets/HTTP_Headers_Cheat_Sheet.html",
        ),
    ],
    columns: &[(COLUMN, |subject| {
        let own = subject.route.headers.as_deref();
        let set = own.and_then(|own| subject.header_sets.get(own));
        set.map_or_else(Cell::nothing, Cell::plain)
    })],
    decides_access: false,
    change,
    ..FacetEntry::NONE
};

/// Whether a value of the header of this lower-case name protects as well as another one does. A
/// value that cannot be compared protects as well as an equal one only.
pub(crate) fn is_as_strict(name: &str, value: &str, than: &str) -> bool {
    value == than || strictness::compare(name, than, value).is_some_and(|order| !order.opens)
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let mut found = Effects::default();
    let nothing = Headers::default();
    let [old, new] =
        [old, new].map(|side| side.manifest.headers_of(side.route).unwrap_or(&nothing));
    for (before, after, on) in [(&old.every, &new.every, ""), (&old.pages, &new.pages, " of pages")]
    {
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            match (before.get(name), after.get(name)) {
                (Some(_), None) => found.add(Direction::Opens, format!("`{name}`{on} is gone")),
                (None, Some(value)) => {
                    let before = strictness::default_of(name);
                    let order = before.and_then(|old| strictness::compare(name, old, value));
                    found.opens |= order.is_some_and(|order| order.opens);
                    found.add(Direction::Narrows, format!("`{name}: {value}`{on} is new"));
                }
                (Some(one), Some(other)) if one != other => {
                    let order = strictness::compare(name, one, other);
                    found.opens |= order.is_none_or(|order| order.opens);
                    found.narrows |= order.is_some_and(|order| order.narrows);
                    let doubt = match order {
                        Some(_) => "",
                        None => ", which cannot be shown to be as strict",
                    };
                    found.words.push(format!("`{name}`{on} was `{one}`, is `{other}`{doubt}"));
                }
                _ => (),
            }
        }
    }
    found.change(", ")
}
