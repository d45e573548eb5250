//! The rules about scripts: one validator for attributes, constants and the start.

use super::spec::{JsonpSpec, Part, Violation};
use crate::{
    catalogue::Rule,
    grammar::{contains, eq},
    validator::validator,
};

validator!(JsonpSpec, violation);

impl<'a> JsonpSpec<'a> {
    /// How many questions a part has.
    const fn slots(&self, part: Part) -> usize {
        match part {
            Part::Methods => self.methods.len(),
            _ => 1,
        }
    }

    const fn violation(&self, part: Part, index: usize) -> Option<Violation<'a>> {
        let (rule, value) = match part {
            Part::Callback if self.callback.is_empty() => (Rule::JsonpParameterMissing, ""),
            Part::Callback if !is_unreserved(self.callback) => {
                (Rule::JsonpParameterName, self.callback)
            }
            Part::Methods => match self.methods.split_at(index) {
                (_, [method, ..]) if !is_of_scripts(method) => (Rule::JsonpMethod, *method),
                _ => return None,
            },
            Part::Callers if self.asks_who_calls => (Rule::JsonpNotPublic, ""),
            // Of a route that asks who calls, that is what has been said.
            Part::Session if self.takes_session && !self.asks_who_calls => {
                (Rule::JsonpWithSession, "")
            }
            Part::Csrf if self.csrf => (Rule::JsonpWithCsrf, ""),
            Part::Callback | Part::Callers | Part::Session | Part::Csrf => return None,
        };
        Some(Violation { rule, part, index, value })
    }
}

/// What a script element sends, and its HEAD.
const fn is_of_scripts(method: &str) -> bool {
    eq(method.as_bytes(), b"GET") || eq(method.as_bytes(), b"HEAD")
}

/// RFC 3986 2.3: what nobody has to percent-encode in a query.
const fn is_unreserved(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_alphanumeric() || contains(b"-._~", *byte)) {
            return false;
        }
        rest = tail;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonp::{Grammar, JsonpPolicy};

    const FINE: JsonpSpec<'static> =
        JsonpSpec { callback: "callback", methods: &["GET", "HEAD"], ..JsonpSpec::NOTHING };

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
            let found = rules(JsonpSpec { methods: &["GET", method], ..FINE });
            assert_eq!(found, [(Rule::JsonpMethod, 1)], "{method}");
        }
    }

    #[test]
    fn a_script_is_for_everybody() {
        let asks = JsonpSpec { asks_who_calls: true, ..FINE };
        assert_eq!(rules(asks), [(Rule::JsonpNotPublic, 0)]);
        let session = JsonpSpec { takes_session: true, ..FINE };
        assert_eq!(rules(session), [(Rule::JsonpWithSession, 0)]);
        assert_eq!(rules(JsonpSpec { takes_session: true, ..asks }), rules(asks));
        assert_eq!(rules(JsonpSpec { csrf: true, ..FINE }), [(Rule::JsonpWithCsrf, 0)]);
    }

    #[test]
    fn what_constants_are_told_is_the_first_error() {
        let mut errors = 0;
        for flags in 0..1 << 5 {
            let has = |flag: u32| flags & (1 << flag) != 0;
            let spec = JsonpSpec {
                callback: if has(0) { "a b" } else { FINE.callback },
                methods: if has(1) { &["GET", "POST", "PUT"] } else { FINE.methods },
                asks_who_calls: has(2),
                takes_session: has(3),
                csrf: has(4),
            };
            assert_eq!(spec.first_error(), spec.violations().next());
            errors += usize::from(spec.first_error().is_some());
        }
        assert_eq!(errors, 31);
    }

    #[test]
    fn a_constant_is_asked_for_its_parameter() {
        let policy = |callback| JsonpPolicy { callback, grammar: Grammar::Identifier };
        assert_eq!(JsonpSpec::of(&policy("cb")).first_error(), None);
        let violation = JsonpSpec::of(&policy("c b")).first_error().unwrap();
        let text = violation.text();
        assert!(text.as_str().starts_with("JSONP policy: callback `c b`: "), "{}", text.as_str());
    }
}
