//! The sessions of an app.

use super::{FactChange, facts, order};
use crate::facets::Direction;

facts! {
    /// The sessions of an app.
    SessionFacts {
        /// The kind of its store, such as `memory` or `postgres`.
        store: String => order::shifting,
        /// The kind of the other store, while sessions move from one to the other.
        moving: Option<String> => order::shifting,
        /// The name of the cookie.
        cookie: String => cookies,
        /// `SameSite` of the cookie: `strict`, `lax` or `none`.
        same_site: String => same_sites,
        /// `Domain` of the cookie.
        domain: Option<String> => domains,
        /// Whether browsers keep a separate cookie below each top-level site.
        partitioned: bool => order::protecting,
        /// After how many seconds without a request a session ends.
        idle_s: Option<u64> => order::longer_s,
        /// After how many seconds a session ends.
        absolute_s: Option<u64> => order::longer_s,
        /// After how many seconds without a request a session ends whose user asked to stay logged in.
        remembered_idle_s: Option<u64> => order::longer_s,
        /// After how many seconds a session ends whose user asked to stay logged in.
        remembered_absolute_s: Option<u64> => order::longer_s,
        /// After how many seconds a session gets another id; none if only logins change it.
        renewal_s: Option<u64> => order::longer_s,
        /// How many sessions a user may have.
        limit_per_user: Option<u64> => order::more,
        /// Whether a login above the limit is refused, instead of ending the oldest session.
        refuses_above_limit: bool => order::shifting,
        /// Whether values are encrypted before the store gets them.
        encrypted: bool => order::protecting,
        /// Until when unencrypted values are accepted, in seconds since 1970.
        unencrypted_until_s: u64 => |old: &u64, new: &u64| order::more(&Some(*old), &Some(*new)),
        /// Whether a logout clears what the browser has stored.
        clear_site_data: bool => order::protecting,
        /// The path to which navigations without a session are redirected.
        login_page: Option<String> => order::shifting,
    }
}

impl SessionFacts {
    /// The facts of sessions whose cookie has no `Domain`.
    pub fn new(store: &str, cookie: &str, same_site: &str) -> Self {
        let [store, cookie, same_site] = [store, cookie, same_site].map(str::to_owned);
        Self { store, cookie, same_site, ..Self::default() }
    }
}

/// Sibling hosts, and pages without HTTPS, cannot set a cookie with one of these prefixes (RFC 6265bis
/// 4.1.3).
fn cookies(old: &str, new: &str) -> FactChange {
    let protection = |cookie: &str| match cookie.to_ascii_lowercase() {
        name if name.starts_with("__host-") => 2,
        name if name.starts_with("__secure-") => 1,
        _ => 0,
    };
    ranked(old, new, |cookie| -protection(cookie))
}

fn same_sites(old: &str, new: &str) -> FactChange {
    ranked(old, new, |same_site| match same_site {
        "strict" => 0,
        "lax" => 1,
        _ => 2,
    })
}

/// A text with a rank, of which a higher one admits more.
fn ranked(old: &str, new: &str, rank: impl Fn(&str) -> i32) -> FactChange {
    let direction = Direction::from_effects(rank(new) > rank(old), rank(new) < rank(old));
    (old != new).then(|| (direction.unwrap_or(Direction::Shifts), format!("was {old}, is {new}")))
}

/// With a domain, every host below it gets the cookie.
fn domains(old: &Option<String>, new: &Option<String>) -> FactChange {
    let words = |domain: &Option<String>| domain.clone().unwrap_or_else(|| "none".to_owned());
    let direction = Direction::from_effects(new.is_some(), old.is_some())?;
    (old != new).then(|| (direction, format!("was {}, is {}", words(old), words(new))))
}
