//! The rules: one validator for attributes, constants, configuration files and run-time lists.
//!
//! It asks about one entry at a time, so that the compiler can run it on constants (where
//! nothing can be collected) and everybody else gets every violation at once.

use super::{
    names,
    spec::{CorsSpec, Field, Origins},
    violation::Violation,
};
use crate::{
    catalogue::{Rule, Severity},
    grammar::{entry, eq, is_token, names_contain},
    origin::{OriginPattern, Port, covers_public_suffix},
};

impl<'a> CorsSpec<'a> {
    /// Every violation, errors and warnings, in the order of the spec. The public-suffix list is
    /// asked here and not in [`first_error`](Self::first_error), and so is what only warns.
    pub fn violations(&self) -> impl Iterator<Item = Violation<'a>> + use<'a> {
        let spec = *self;
        Field::ALL.into_iter().flat_map(move |field| {
            (0..spec.slots(field)).filter_map(move |index| {
                let rule =
                    spec.check(field, index).or_else(|| spec.check_at_leisure(field, index))?;
                Some(spec.violation(field, index, rule))
            })
        })
    }

    /// The first error, as constants can be asked for it.
    pub const fn first_error(&self) -> Option<Violation<'a>> {
        let mut fields: &[Field] = &Field::ALL;
        while let [field, tail @ ..] = fields {
            let mut index = 0;
            while index < self.slots(*field) {
                if let Some(rule) = self.check(*field, index)
                    && matches!(rule.severity(), Severity::Error)
                {
                    return Some(self.violation(*field, index, rule));
                }
                index += 1;
            }
            fields = tail;
        }
        None
    }

    const fn violation(&self, field: Field, index: usize, rule: Rule) -> Violation<'a> {
        Violation { rule, field, index, value: entry(self.entries(field), index) }
    }

    /// How many questions a part has: one for each entry, and one for a list as a whole.
    const fn slots(&self, field: Field) -> usize {
        match (field, self.origins) {
            (Field::MaxAge, _) => 1,
            (Field::Origins, Origins::Listed([])) => 1,
            (Field::Within, Origins::AtRunTime { within: None | Some([]), .. }) => 1,
            _ => self.entries(field).len(),
        }
    }

    const fn check(&self, field: Field, index: usize) -> Option<Rule> {
        let list = self.entries(field);
        match field {
            Field::MaxAge => self.check_max_age(),
            Field::Origins if list.is_empty() => Some(Rule::OriginsMissing),
            Field::Within => match self.origins {
                Origins::AtRunTime { within: None, .. } if self.credentials => {
                    Some(Rule::BoundMissing)
                }
                Origins::AtRunTime { within: Some([]), .. } => Some(Rule::OriginsMissing),
                _ if list.is_empty() => None,
                _ => self.check_origin(list, index),
            },
            Field::Origins => self.check_origin(list, index),
            Field::Methods => self.check_method(entry(list, index)),
            Field::Headers => self.check_header(entry(list, index)),
            Field::Expose => self.check_expose(entry(list, index)),
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

    /// The rules about origins that constants are not asked: the public-suffix list is no
    /// constant, and the compiler takes long to compare every origin with every other.
    fn check_at_leisure(&self, field: Field, index: usize) -> Option<Rule> {
        if !matches!(field, Field::Origins | Field::Within) {
            return None;
        }
        let list = self.entries(field);
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

/// Whether another entry of the list makes this one needless. Lists in attributes are short;
/// those that come at run time are checked entry by entry and do not pass here.
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
