//! The authentication and authorization of a route.
//!
//! [`AuthSpec`] is a policy as written, before validation; attributes and the start apply the same
//! rules to it. [`AuthPolicy`] is the policy that a route enforces.

mod check;
mod facts;
mod spec;
mod syntax;

use std::fmt;

pub use spec::{AuthPart, AuthSpec};
pub use syntax::{OWN_ISSUER, is_scope, seconds_of};

use crate::{
    csrf::{self, CsrfPolicy},
    method::is_safe,
};

#[cfg(feature = "engine")]
mod bearer;
#[cfg(feature = "engine")]
mod challenge;
#[cfg(feature = "engine")]
mod next;

#[cfg(feature = "engine")]
pub use bearer::{Authorization, authorization};
#[cfg(feature = "engine")]
pub use challenge::Challenges;
#[cfg(feature = "engine")]
pub use next::{is_page_load, local_path};

/// How a route identifies its callers, and which of them it admits.
///
/// It is displayed as the attribute writes it.
///
/// ```
/// use policy_core::auth::{AuthPolicy, Requirement};
///
/// let readers = Requirement {
///     session: true,
///     token: true,
///     scopes: &["orders:read", "orders:list"],
///     fresh: Some(600),
///     ..Requirement::NONE
/// };
/// let text = AuthPolicy::Required(readers).to_string();
/// assert_eq!(text, "session | token, scopes orders:read orders:list, fresh 10m");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthPolicy {
    /// Anybody may call, without credentials.
    Public,
    /// Callers need one of these credentials.
    Required(Requirement),
}

/// The credentials that a route takes, and the rights that they must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The cookie of a session.
    pub session: bool,
    /// A bearer token (RFC 6750).
    pub token: bool,
    /// A single-use ticket in the query, for clients that cannot send `Authorization`.
    pub ticket: bool,
    /// A custom authentication scheme.
    pub scheme: Option<OwnScheme>,
    /// Whether a caller without credentials is admitted as anonymous.
    pub optional: bool,
    /// The issuers whose tokens are taken, and tickets issued from these tokens: URLs, or
    /// [`OWN_ISSUER`] for the app itself. Empty for the app itself, or, in an app that signs no
    /// tokens, for its only issuer.
    pub issuers: &'static [&'static str],
    /// Scopes, all of which are needed.
    pub scopes: &'static [&'static str],
    /// Roles, one of which is needed; empty if none is.
    pub roles: &'static [&'static str],
    /// The longest time in seconds since the user last authenticated.
    pub fresh: Option<u32>,
}

/// A custom authentication scheme, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnScheme {
    /// Its name, as it is written in the attribute, without a path.
    pub name: &'static str,
    /// Whether browsers send its credential automatically, as they do cookies, Basic and client
    /// certificates.
    pub ambient: bool,
}

impl Requirement {
    /// No credential and no right: the start of a requirement.
    pub const NONE: Self = Self {
        session: false,
        token: false,
        ticket: false,
        scheme: None,
        optional: false,
        issuers: &[],
        scopes: &[],
        roles: &[],
        fresh: None,
    };

    /// Whether browsers send one of the credentials automatically, so that any page can cause
    /// authenticated requests.
    pub const fn is_ambient(&self) -> bool {
        self.session || matches!(self.scheme, Some(OwnScheme { ambient: true, .. }))
    }

    /// Whether every caller that meets this requirement meets `other`.
    fn is_as_strict_as(&self, other: &Self) -> bool {
        let credentials = (!self.session || other.session)
            && (!self.token || other.token)
            && (!self.ticket || other.ticket)
            && (self.scheme.is_none() || self.scheme == other.scheme);
        let roles = other.roles.is_empty()
            || (!self.roles.is_empty() && self.roles.iter().all(|role| other.roles.contains(role)));
        let fresh = other.fresh.is_none_or(|most| self.fresh.is_some_and(|own| own <= most));
        // If the other route names the app itself, the app signs tokens, and an empty list means
        // the app.
        let named =
            |list: &'static [&'static str]| if list.is_empty() { &[OWN_ISSUER] } else { list };
        let (issuers, others) = (named(self.issuers), named(other.issuers));
        let issuers =
            !(self.token || self.ticket) || issuers.iter().all(|issuer| others.contains(issuer));
        credentials
            && issuers
            && (!self.optional || other.optional)
            && other.scopes.iter().all(|scope| self.scopes.contains(scope))
            && roles
            && fresh
    }
}

impl AuthPolicy {
    /// Whether `other` admits every caller that this policy admits, with the same credential or
    /// with none. `false` may also mean that this is not known.
    ///
    /// ```
    /// use policy_core::auth::{AuthPolicy, Requirement};
    ///
    /// let staff = Requirement { session: true, roles: &["hr", "it"], ..Requirement::NONE };
    /// let hr = AuthPolicy::Required(Requirement { roles: &["hr"], ..staff });
    /// let staff = AuthPolicy::Required(staff);
    /// assert!(hr.is_as_strict_as(&staff) && !staff.is_as_strict_as(&hr));
    /// assert!(hr.is_as_strict_as(&AuthPolicy::Public));
    /// ```
    pub fn is_as_strict_as(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Public) => true,
            // Anonymous callers are admitted by `optional`.
            (Self::Public, Self::Required(other)) => other.optional,
            (Self::Required(own), Self::Required(other)) => own.is_as_strict_as(other),
        }
    }

    /// The request headers, lower case, that a page of another origin needs for the credentials of
    /// a route with this policy: `authorization` for a token, and the CSRF header if a request with
    /// this method needs a CSRF token. A cookie needs none, and the headers of a custom scheme are
    /// known only to its author.
    pub fn request_headers(&self, csrf: &CsrfPolicy, method: &str) -> &'static [&'static str] {
        let Self::Required(requirement) = self else { return &[] };
        let proves = requirement.is_ambient() && *csrf == CsrfPolicy::Token && !is_safe(method);
        match (requirement.token, proves) {
            (true, true) => &["authorization", csrf::HEADER],
            (true, false) => &["authorization"],
            (false, true) => &[csrf::HEADER],
            (false, false) => &[],
        }
    }
}

impl fmt::Display for AuthPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Required(requirement) => requirement.fmt(f),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, token, ticket, scheme, optional, issuers, scopes, roles, fresh } = self;
        let words = [("session", session), ("token", token), ("ticket", ticket)];
        let words: Vec<_> =
            words.into_iter().filter_map(|(word, is_taken)| is_taken.then_some(word)).collect();
        f.write_str(&words.join(" | "))?;
        if let Some(scheme) = scheme {
            write!(f, "scheme {}", scheme.name)?;
        }
        if *optional {
            f.write_str(", optional")?;
        }
        for (word, list) in [("issuers", issuers), ("scopes", scopes), ("roles", roles)] {
            if !list.is_empty() {
                write!(f, ", {word} {}", list.join(" "))?;
            }
        }
        match fresh {
            None => Ok(()),
            Some(seconds) => {
                let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
                let unit = units.into_iter().find(|(unit, _)| seconds % unit == 0);
                let (unit, name) = unit.unwrap_or((1, "s"));
                write!(f, ", fresh {}{name}", seconds / unit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_displayed_as_its_attribute_writes_it() {
        let everything = Requirement {
            session: true,
            token: true,
            ticket: true,
            optional: true,
            issuers: &["own", "https://id.example"],
            scopes: &["a", "b"],
            roles: &["x", "y"],
            fresh: Some(90),
            ..Requirement::NONE
        };
        let keys = Some(OwnScheme { name: "ApiKeys", ambient: false });
        let display = |requirement| AuthPolicy::Required(requirement).to_string();
        assert_eq!(AuthPolicy::Public.to_string(), "public");
        assert_eq!(
            display(everything),
            "session | token | ticket, optional, issuers own https://id.example, scopes a b, \
             roles x y, fresh 90s"
        );
        assert_eq!(display(Requirement { scheme: keys, ..Requirement::NONE }), "scheme ApiKeys");
        for (seconds, text) in [(7_200, "2h"), (86_400, "1d"), (5_400, "90m"), (61, "61s")] {
            let fresh = Requirement { token: true, fresh: Some(seconds), ..Requirement::NONE };
            assert_eq!(display(fresh), format!("token, fresh {text}"));
        }
    }

    #[test]
    fn a_policy_is_as_strict_as_another_if_it_admits_no_other_caller() {
        let session = Requirement { session: true, ..Requirement::NONE };
        let either = Requirement { token: true, ..session };
        let keys = |name| Requirement {
            scheme: Some(OwnScheme { name, ambient: false }),
            ..Requirement::NONE
        };
        let scoped = Requirement { scopes: &["a", "b"], ..session };
        let in_roles = Requirement { roles: &["x", "y"], ..session };
        let fresh = Requirement { fresh: Some(60), ..session };
        let guests = Requirement { optional: true, ..session };
        let token = Requirement { token: true, ..Requirement::NONE };
        let of = |issuers| Requirement { issuers, ..token };
        for (strict, lax) in [
            (session, either),
            (session, guests),
            (scoped, session),
            (scoped, Requirement { scopes: &["b"], ..session }),
            (in_roles, session),
            (Requirement { roles: &["y"], ..session }, in_roles),
            (fresh, session),
            (Requirement { fresh: Some(59), ..session }, fresh),
            (
                Requirement { ticket: true, ..Requirement::NONE },
                Requirement { ticket: true, ..session },
            ),
            (token, of(&[OWN_ISSUER, "https://a.example"])),
            (of(&["https://a.example"]), of(&[OWN_ISSUER, "https://a.example"])),
        ] {
            let [strict, lax] = [strict, lax].map(AuthPolicy::Required);
            assert!(strict.is_as_strict_as(&lax), "{strict} {lax}");
            assert!(!lax.is_as_strict_as(&strict), "{lax} {strict}");
            assert!(strict.is_as_strict_as(&strict) && strict.is_as_strict_as(&AuthPolicy::Public));
            assert_eq!(
                AuthPolicy::Public.is_as_strict_as(&lax),
                lax == AuthPolicy::Required(guests)
            );
        }
        let [own, a, b] =
            [&[OWN_ISSUER][..], &["https://a.example"], &["https://b.example"]].map(of);
        for (one, other) in [(token, a), (own, a), (a, b), (a, token)] {
            assert!(!AuthPolicy::Required(one).is_as_strict_as(&AuthPolicy::Required(other)));
        }
        let [own, token] = [own, token].map(AuthPolicy::Required);
        assert!(own.is_as_strict_as(&token) && token.is_as_strict_as(&own));
        let [one, other] = ["One", "Other"].map(|name| AuthPolicy::Required(keys(name)));
        assert!(one.is_as_strict_as(&one) && !one.is_as_strict_as(&other));
        assert!(!one.is_as_strict_as(&AuthPolicy::Required(session)));
    }

    #[test]
    fn headers_of_credentials_follow_from_the_policy() {
        let none = Requirement::NONE;
        let session = Requirement { session: true, ..none };
        let token = Requirement { token: true, ..none };
        let either = Requirement { session: true, ..token };
        let scheme =
            |ambient| Requirement { scheme: Some(OwnScheme { name: "Own", ambient }), ..none };
        let of = |requirement, csrf, method| {
            AuthPolicy::Required(requirement).request_headers(&csrf, method).join(",")
        };
        let by_token = CsrfPolicy::Token;
        assert_eq!(of(session, by_token, "GET"), "");
        assert_eq!(of(session, by_token, "POST"), "x-csrf-token");
        assert_eq!(of(session, CsrfPolicy::Origin, "POST"), "");
        assert_eq!(of(session, CsrfPolicy::Exempt("why"), "POST"), "");
        assert_eq!(of(token, by_token, "POST"), "authorization");
        assert_eq!(of(either, by_token, "GET"), "authorization");
        assert_eq!(of(either, by_token, "PURGE"), "authorization,x-csrf-token");
        assert_eq!(of(scheme(true), by_token, "PUT"), "x-csrf-token");
        assert_eq!(of(scheme(false), by_token, "PUT"), "");
        assert_eq!(AuthPolicy::Public.request_headers(&by_token, "POST"), [""; 0]);
    }
}
