//! The rules about scripts, for attributes, constants and the start.

use super::spec::{JsonpPart, JsonpSpec};
use crate::{
    catalogue::Rule,
    grammar::{contains, entry, eq, every},
    validator::validator,
};

validator!(JsonpSpec, JsonpPart);

impl<'a> JsonpSpec<'a> {
    /// The number of checks of a part.
    const fn slots(&self, part: JsonpPart) -> usize {
        match part {
            JsonpPart::Methods => self.route.methods.len(),
            _ => 1,
        }
    }

    const fn value(&self, part: JsonpPart, index: usize) -> &'a str {
        match part {
            JsonpPart::Callback => self.callback,
            JsonpPart::Methods => entry(self.route.methods, index),
            JsonpPart::Auth | JsonpPart::Session | JsonpPart::Csrf => "",
        }
    }

    const fn check(&self, part: JsonpPart, index: usize) -> Option<Rule> {
        let asks_caller = self.route.asks_caller();
        match part {
            JsonpPart::Callback if self.callback.is_empty() => Some(Rule::JsonpParameterMissing),
            JsonpPart::Callback if !is_unreserved(self.callback) => Some(Rule::JsonpParameterName),
            JsonpPart::Methods if !is_of_scripts(entry(self.route.methods, index)) => {
                Some(Rule::JsonpMethod)
            }
            JsonpPart::Auth if asks_caller => Some(Rule::JsonpNotPublic),
            // For a route with credentials this is already reported.
            JsonpPart::Session if self.route.takes_session && !asks_caller => {
                Some(Rule::JsonpWithSession)
            }
            JsonpPart::Csrf if self.csrf => Some(Rule::JsonpWithCsrf),
            JsonpPart::Callback
            | JsonpPart::Methods
            | JsonpPart::Auth
            | JsonpPart::Session
            | JsonpPart::Csrf => None,
        }
    }
}

/// The methods that a script element can cause: GET, and HEAD.
const fn is_of_scripts(method: &str) -> bool {
    eq(method.as_bytes(), b"GET") || eq(method.as_bytes(), b"HEAD")
}

/// RFC 3986 2.3: characters that never need percent-encoding in a query.
const fn is_unreserved(text: &str) -> bool {
    every!(text.as_bytes(), byte => byte.is_ascii_alphanumeric() || contains(b"-._~", *byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facet::{Authentication, RouteFacts},
        jsonp::JsonpPolicy,
    };

    const ROUTE: RouteFacts<'static> = RouteFacts {
        methods: &["GET", "HEAD"],
        authentication: Authentication::Public,
        ..RouteFacts::UNKNOWN
    };
    const FINE: JsonpSpec<'static> =
        JsonpSpec { callback: "callback", route: ROUTE, ..JsonpSpec::NOTHING };

    fn rules(spec: JsonpSpec<'_>) -> Vec<(Rule, usize)> {
        spec.violations().map(|found| (found.rule, found.index)).collect()
    }

    #[test]
    fn a_parameter_has_a_name_that_needs_no_encoding() {
        for byte in 0..=u8::MAX {
            let name = char::from(byte).to_string();
            let is_fine = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            let found = rules(JsonpSpec { callback: &name, ..FINE });
            assert_eq!(found, [(Rule::JsonpParameterName, 0)][usize::from(is_fine)..], "{name:?}");
        }
        assert_eq!(rules(JsonpSpec::NOTHING), [(Rule::JsonpParameterMissing, 0)]);
    }

    #[test]
    fn a_script_is_got() {
        assert_eq!(rules(FINE), []);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "QUERY", "get"] {
            let route = RouteFacts { methods: &["GET", method], ..ROUTE };
            let found = rules(JsonpSpec { route, ..FINE });
            assert_eq!(found, [(Rule::JsonpMethod, 1)], "{method}");
        }
    }

    #[test]
    fn a_script_is_for_everybody() {
        let of = |authentication, takes_session| {
            let route = RouteFacts { authentication, takes_session, ..ROUTE };
            rules(JsonpSpec { route, ..FINE })
        };
        assert_eq!(of(Authentication::Asked, false), [(Rule::JsonpNotPublic, 0)]);
        assert_eq!(of(Authentication::Public, true), [(Rule::JsonpWithSession, 0)]);
        assert_eq!(of(Authentication::Asked, true), [(Rule::JsonpNotPublic, 0)]);
        assert_eq!(rules(JsonpSpec { csrf: true, ..FINE }), [(Rule::JsonpWithCsrf, 0)]);
    }

    #[test]
    fn a_constant_needs_its_parameter() {
        assert!(JsonpPolicy::callback("cb").try_build().is_ok());
        let violation = JsonpPolicy::callback("c b").try_build().unwrap_err();
        let text = violation.text();
        assert!(text.as_str().starts_with("jsonp policy: callback `c b`: "), "{}", text.as_str());
    }
}
