//! Facts about a route that the rules of several policies use.

use crate::auth::AuthSpec;

/// Facts about a route, its callers and its readers. Macros and the start both fill it by
/// [`RouteFacts::of`], so that they agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts<'a> {
    /// Its methods, each once; empty where they are not known.
    pub methods: &'a [&'a str],
    /// Whether the route takes credentials.
    pub authentication: Authentication,
    /// Whether an argument of the handler is a `Session`, the `Sessions` or a `CsrfToken`.
    pub takes_session: bool,
    /// Whether pages of other origins may read its responses, by CORS or JSONP.
    pub is_shared: bool,
}

/// Whether a route takes credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Authentication {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// `public`: it does not.
    Public,
    /// It does; `optional` or not.
    Asked,
}

impl RouteFacts<'static> {
    /// A route of which nothing is known: every policy agrees with it.
    pub const UNKNOWN: Self = Self {
        methods: &[],
        authentication: Authentication::Unknown,
        takes_session: false,
        is_shared: false,
    };

    /// A public route.
    pub const PUBLIC: Self = Self { authentication: Authentication::Public, ..Self::UNKNOWN };
}

impl<'a> RouteFacts<'a> {
    /// The facts that follow from the auth policy of a route.
    pub const fn of(auth: &AuthSpec<'_>, methods: &'a [&'a str], is_shared: bool) -> Self {
        let authentication = if auth.public {
            Authentication::Public
        } else if auth.names_credential() {
            Authentication::Asked
        } else {
            Authentication::Unknown
        };
        Self { methods, authentication, takes_session: auth.takes_session, is_shared }
    }

    /// Whether the route takes credentials.
    pub const fn asks_caller(&self) -> bool {
        matches!(self.authentication, Authentication::Asked)
    }

    /// Whether it is `public`, so that it never has a principal.
    pub const fn is_public(&self) -> bool {
        matches!(self.authentication, Authentication::Public)
    }

    /// Whether its responses may depend on the caller: it takes credentials, or its handler takes a
    /// session.
    pub const fn is_personal(&self) -> bool {
        self.asks_caller() || self.takes_session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_knows_its_caller_by_credentials_or_by_a_session() {
        let nothing = AuthSpec::NOTHING;
        let public = AuthSpec { public: true, ..nothing };
        let session = AuthSpec { session: true, optional: true, ..nothing };
        let scheme = AuthSpec { scheme: true, ..nothing };
        for (auth, authentication) in [
            (nothing, Authentication::Unknown),
            (public, Authentication::Public),
            (session, Authentication::Asked),
            (AuthSpec { token: true, ..nothing }, Authentication::Asked),
            (AuthSpec { ticket: true, ..nothing }, Authentication::Asked),
            (scheme, Authentication::Asked),
            // It is refused for that; no other rule is to be broken by it.
            (AuthSpec { public: true, ..session }, Authentication::Public),
        ] {
            for takes_session in [false, true] {
                let auth = AuthSpec { takes_session, ..auth };
                let facts = RouteFacts::of(&auth, &["GET"], true);
                let is_asked = authentication == Authentication::Asked;
                assert_eq!(facts.authentication, authentication);
                assert_eq!(facts.asks_caller(), is_asked);
                assert_eq!(facts.is_public(), auth.public);
                assert_eq!(facts.is_personal(), is_asked || takes_session);
                assert!(facts.is_shared && facts.methods == ["GET"]);
            }
        }
        let unknown = RouteFacts::of(&nothing, &[], false);
        assert_eq!(unknown, RouteFacts::UNKNOWN);
    }
}
