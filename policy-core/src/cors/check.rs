//! The rules about CORS, for attributes, constants, configuration files and run-time lists.

use super::{
    names,
    spec::{CorsSpec, Origins, Part, Violation},
};
use crate::{
    catalogue::Rule,
    grammar::{entry, eq, is_token, names_contain},
    origin::{OriginPattern, Port, covers_public_suffix},
    validator::validator,
};

validator!(CorsSpec; then check_lists);

impl<'a> CorsSpec<'a> {
    const fn value(&self, part: Part, index: usize) -> &'a str {
        entry(self.entries(part), index)
    }

    /// How many questions a part has: one for each entry, and one for a list as a whole.
    const fn slots(&self, part: Part) -> usize {
        match (part, self.origins) {
            (Part::MaxAge, _) => 1,
            (Part::Origins, Origins::Listed([])) => 1,
            (Part::Within, Origins::AtRunTime { within: None | Some([]), .. }) => 1,
            _ => self.entries(part).len(),
        }
    }

    const fn check(&self, part: Part, index: usize) -> Option<Rule> {
        let list = self.entries(part);
        match part {
            Part::MaxAge => self.check_max_age(),
            Part::Origins if list.is_empty() => Some(Rule::OriginsMissing),
            Part::Within => match self.origins {
                Origins::AtRunTime { within: None, .. }
                    if self.credentials && !self.dangerous_configured_bound =>
                {
                    Some(Rule::BoundMissing)
                }
                Origins::AtRunTime { within: Some([]), .. } => Some(Rule::OriginsMissing),
                _ if list.is_empty() => None,
                _ => self.check_origin(list, index),
            },
            Part::Origins => self.check_origin(list, index),
            Part::Methods => self.check_method(entry(list, index)),
            Part::Headers => self.check_header(entry(list, index)),
            Part::Expose => self.check_expose(entry(list, index)),
        }
    }

    const fn check_origin(&self, list: &[&str], index: usize) -> Option<Rule> {
        let text = entry(list, index);
        if eq(text.as_bytes(), b"*") {
            return if self.credentials {
                Some(Rule::AnyOriginWithCredentials)
            } else if list.len() > 1 {
                Some(Rule::AnyOriginNotAlone)
            } else {
                None
            };
        }
        match OriginPattern::parse(text) {
            Err(rule) => Some(rule),
            Ok(pattern) => {
                if self.credentials && !self.dangerous_insecure_origins && pattern.is_insecure() {
                    Some(Rule::InsecureOriginWithCredentials)
                } else {
                    None
                }
            }
        }
    }

    /// The rules about origins that are not checked for constants: the public-suffix list is not
    /// available in constants, and comparing every pair of origins takes the compiler too long.
    fn check_lists(&self, part: Part, index: usize) -> Option<Rule> {
        if !matches!(part, Part::Origins | Part::Within) {
            return None;
        }
        let list = self.entries(part);
        let pattern = OriginPattern::parse(entry(list, index)).ok()?;
        if self.credentials && !self.dangerous_public_suffix && covers_public_suffix(&pattern) {
            return Some(Rule::PublicSuffixWithCredentials);
        }
        check_overlap(list, index, &pattern)
    }

    const fn check_method(&self, text: &str) -> Option<Rule> {
        if eq(text.as_bytes(), b"*") {
            self.any_entry(Rule::AnyMethodWithCredentials)
        } else if !is_token(text.as_bytes()) {
            Some(Rule::MethodInvalid)
        } else if names::is_forbidden_method(text.as_bytes()) {
            Some(Rule::MethodForbidden)
        } else {
            None
        }
    }

    const fn check_header(&self, text: &str) -> Option<Rule> {
        let name = text.as_bytes();
        if eq(name, b"*") {
            self.any_entry(Rule::AnyHeaderWithCredentials)
        } else if !is_token(name) {
            Some(Rule::HeaderInvalid)
        } else if names::is_forbidden_request_header(name) {
            Some(Rule::HeaderForbidden)
        } else if names_contain(&names::CORS_RESPONSE_HEADERS, name) {
            Some(Rule::HeaderOfResponse)
        } else if names::is_safelisted_request_header(name) {
            Some(Rule::HeaderSafelisted)
        } else {
            None
        }
    }

    const fn check_expose(&self, text: &str) -> Option<Rule> {
        let name = text.as_bytes();
        if eq(name, b"*") {
            self.any_entry(Rule::AnyExposeWithCredentials)
        } else if !is_token(name) {
            Some(Rule::ExposeInvalid)
        } else if names::is_forbidden_response_header(name) {
            Some(Rule::ExposeForbidden)
        } else if names::is_of_request(name) {
            Some(Rule::ExposeOfRequest)
        } else if names::is_safelisted_response_header(name) {
            Some(Rule::ExposeSafelisted)
        } else {
            None
        }
    }

    const fn check_max_age(&self) -> Option<Rule> {
        match self.max_age {
            None | Some(-1..=7200) => None,
            Some(7201..=86400) => Some(Rule::MaxAgeCapped),
            Some(_) => Some(Rule::MaxAgeOutOfBounds),
        }
    }

    const fn any_entry(&self, rule: Rule) -> Option<Rule> {
        if self.credentials { Some(rule) } else { None }
    }
}

/// Whether another entry of the list makes this one redundant. Lists in attributes are short; lists
/// given at run time are checked entry by entry elsewhere.
fn check_overlap(list: &[&str], index: usize, pattern: &OriginPattern<'_>) -> Option<Rule> {
    list.iter().enumerate().filter(|(other, _)| *other != index).find_map(|(other, text)| {
        let cover = OriginPattern::parse(text).ok()?;
        if cover == *pattern {
            (other < index).then_some(Rule::OriginRepeated)
        } else {
            covers(&cover, pattern).then_some(Rule::OriginCovered)
        }
    })
}

/// Whether every origin of `inner` is one of `outer`.
fn covers(outer: &OriginPattern<'_>, inner: &OriginPattern<'_>) -> bool {
    let ports = outer.port() == Port::Any || outer.port() == inner.port();
    let is_below = || {
        let name = inner.host().strip_suffix(outer.host());
        name.is_some_and(|name| name.ends_with('.'))
    };
    let is_same = outer.host() == inner.host();
    let hosts = match (outer.is_wildcard(), inner.is_wildcard()) {
        (true, true) => is_same || is_below(),
        (true, false) => is_below(),
        (false, is_wildcard) => is_same && !is_wildcard,
    };
    ports && hosts && outer.scheme() == inner.scheme()
}
