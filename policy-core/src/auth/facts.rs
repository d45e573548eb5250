//! The facts about a route that follow from its auth policy.

use super::AuthSpec;
use crate::facet::{Authentication, RouteFacts};

impl<'a> RouteFacts<'a> {
    /// The facts that follow from the auth policy of a route.
    pub const fn new(auth: &AuthSpec<'_>, methods: &'a [&'a str], has_jsonp: bool) -> Self {
        let authentication = if auth.public {
            Authentication::Public
        } else if auth.names_credential() {
            Authentication::Asked
        } else {
            Authentication::Unknown
        };
        Self { methods, authentication, takes_session: auth.takes_session, has_jsonp }
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
            // Its own rule refuses this; the facts must not break another rule.
            (AuthSpec { public: true, ..session }, Authentication::Public),
        ] {
            for takes_session in [false, true] {
                let auth = AuthSpec { takes_session, ..auth };
                let facts = RouteFacts::new(&auth, &["GET"], true);
                let is_asked = authentication == Authentication::Asked;
                assert_eq!(facts.authentication, authentication);
                assert_eq!(facts.asks_caller(), is_asked);
                assert_eq!(facts.is_public(), auth.public);
                assert_eq!(facts.is_personal(), is_asked || takes_session);
                assert!(facts.has_jsonp && facts.methods == ["GET"]);
            }
        }
        let unknown = RouteFacts::new(&nothing, &[], false);
        assert_eq!(unknown, RouteFacts::UNKNOWN);
    }
}
