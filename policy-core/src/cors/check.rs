//! The rules about CORS, for attributes, constants, configuration files and run-time lists.

use std::collections::HashMap;

use super::{
    names,
    spec::{CorsPart, CorsSpec, Origins},
};
use crate::{
    catalogue::Rule,
    grammar::{entry, eq, is_token, names_contain},
    origin::{OriginKind, OriginPattern, OriginSet, Owners, owners},
    validator::validator,
};

validator!(CorsSpec, CorsPart; then check_lists);

impl<'a> CorsSpec<'a> {
    const fn value(&self, part: CorsPart, index: usize) -> &'a str {
        entry(self.entries(part), index)
    }

    /// The number of checks of a part: one for each entry, and one for a list as a whole.
    const fn slots(&self, part: CorsPart) -> usize {
        match (part, self.origins) {
            (CorsPart::MaxAge, _) => 1,
            (CorsPart::Origins, Origins::Listed([])) => 1,
            (CorsPart::Within, Origins::AtRunTime { within: None | Some([]), .. }) => 1,
            _ => self.entries(part).len(),
        }
    }

    const fn check(&self, part: CorsPart, index: usize) -> Option<Rule> {
        let list = self.entries(part);
        match part {
            CorsPart::MaxAge => self.check_max_age(),
            CorsPart::Origins if list.is_empty() => Some(Rule::OriginsMissing),
            CorsPart::Within => match self.origins {
                Origins::AtRunTime { within: None, .. }
                    if self.credentials && !self.dangerous_configured_bound =>
                {
                    Some(Rule::BoundMissing)
                }
                Origins::AtRunTime { within: Some([]), .. } => Some(Rule::OriginsMissing),
                _ if list.is_empty() => None,
                _ => self.check_origin(list, index),
            },
            CorsPart::Origins => self.check_origin(list, index),
            CorsPart::Methods => self.check_method(entry(list, index)),
            CorsPart::Headers => self.check_header(entry(list, index)),
            CorsPart::Expose => self.check_expose(entry(list, index)),
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
            Ok(_) if !self.credentials || self.dangerous_insecure_origins => None,
            Ok(pattern) => match pattern.kind() {
                OriginKind::Insecure => Some(Rule::InsecureOriginWithCredentials),
                OriginKind::Unknown => Some(Rule::UnknownSchemeWithCredentials),
                OriginKind::Web
                | OriginKind::Development
                | OriginKind::App
                | OriginKind::Extension => None,
            },
        }
    }

    /// The rules about origins that are not checked for constants: the public-suffix list is not
    /// available in constants, and comparing origins takes the compiler too long.
    fn check_lists(self, part: CorsPart) -> impl Fn(usize) -> Option<Rule> + use<'a> {
        let list = match part {
            CorsPart::Origins | CorsPart::Within => self.entries(part),
            _ => &[],
        };
        let all = OriginIndex::new(list);
        let risks_names = self.credentials && !self.dangerous_public_suffix;
        move |index| {
            let text = entry(list, index);
            let pattern = OriginPattern::parse(text).ok()?;
            match owners(&pattern) {
                Owners::Anybody if risks_names => Some(Rule::PublicSuffixWithCredentials),
                Owners::OfPlatform if risks_names => Some(Rule::PlatformNamesWithCredentials),
                _ => all.overlap(index, text, &pattern),
            }
        }
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

/// The entries of a list, to find those that another entry makes redundant.
struct OriginIndex<'a> {
    set: OriginSet,
    /// The first position of each text.
    first: HashMap<&'a str, usize>,
}

impl<'a> OriginIndex<'a> {
    fn new(list: &[&'a str]) -> Self {
        let mut this =
            Self { set: OriginSet::default(), first: HashMap::with_capacity(list.len()) };
        for (index, text) in list.iter().enumerate() {
            if let Ok(pattern) = OriginPattern::parse(text) {
                this.set.insert(&pattern);
            }
            this.first.entry(text).or_insert(index);
        }
        this
    }

    fn overlap(&self, index: usize, text: &str, pattern: &OriginPattern<'_>) -> Option<Rule> {
        if self.first.get(text).is_some_and(|first| *first < index) {
            Some(Rule::OriginRepeated)
        } else {
            self.set.covers_by_another(pattern).then_some(Rule::OriginCovered)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Severity;

    fn rules(list: &[&str], credentials: bool) -> Vec<(usize, Rule)> {
        let spec = CorsSpec { credentials, ..CorsSpec::new(Origins::Listed(list)) };
        spec.violations().map(|found| (found.index, found.rule)).collect()
    }

    /// A pattern that a help text proposes is accepted, with credentials, too.
    #[test]
    fn help_never_proposes_a_refused_policy() {
        let mut tried = 0;
        for rule in Rule::ALL {
            let texts = [rule.message(), rule.help(), rule.help_in_builder()];
            for quoted in texts.iter().flat_map(|text| text.split(['`', '"', '\''])) {
                // Texts with a placeholder are not meant to be copied, nor are other URLs.
                let is_origin = quoted.contains("://") && !quoted.contains("..");
                if !rule.code().starts_with("cors.") || !is_origin || quoted.contains(' ') {
                    continue;
                }
                let found = rules(&[quoted], true);
                let refused = found.iter().any(|(_, rule)| rule.severity() == Severity::Error);
                let is_begin = ["https://", "http://", "://"].contains(&quoted);
                assert!(is_begin || !refused, "{}: `{quoted}`: {found:?}", rule.code());
                tried += usize::from(!is_begin);
            }
        }
        assert!(tried > 10, "{tried}");
    }

    #[test]
    fn names_below_public_suffixes_belong_to_many_also_by_a_part_of_a_label() {
        let refused = vec![(0, Rule::PublicSuffixWithCredentials)];
        for text in [
            "https://*.vercel.app",
            "https://*.com",
            "https://shop-*-acme.com",
            "https://*.code.run",
            "https://shop-*-acme.kobe.jp",
        ] {
            assert_eq!(rules(&[text], true), refused, "{text}");
            assert_eq!(rules(&[text], false), [], "{text}");
        }
        for text in [
            "https://shop-*-acme.vercel.app",
            "https://*-acme.vercel.app",
            "https://shop-*-acme.code.run",
        ] {
            let warned = vec![(0, Rule::PlatformNamesWithCredentials)];
            assert_eq!(rules(&[text], true), warned, "{text}");
            assert_eq!(rules(&[text], false), [], "{text}");
        }
        for text in ["https://pr-*-web.shop.example", "https://*-web.acme.vercel.app"] {
            assert_eq!(rules(&[text], true), [], "{text}");
        }
    }

    #[test]
    fn entries_that_others_make_redundant_are_named() {
        let list = [
            "https://a.test",
            "https://*.b.test",
            "https://a.test",
            "https://x.b.test",
            "https://*-c.x.b.test",
            "https://s-*-c.d.test",
            "https://*-c.d.test",
            "https://s-1-c.d.test",
        ];
        let covered = |index| (index, Rule::OriginCovered);
        let repeated = (2, Rule::OriginRepeated);
        let found = [repeated, covered(3), covered(4), covered(5), covered(7)];
        assert_eq!(rules(&list, false), found);
    }
}
