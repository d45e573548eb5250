//! The rules about caching, for attributes, constants and the start.

use super::spec::{Audience, CachePart, CacheSpec, LONGEST_AGE};
use crate::{
    catalogue::Rule,
    grammar::{entry, eq, is_token},
    method::{is_cacheable, is_safe},
    validator::validator,
};

validator!(CacheSpec, CachePart; then check_repeated);

impl<'a> CacheSpec<'a> {
    const fn value(&self, part: CachePart, index: usize) -> &'a str {
        entry(self.entries(part), index)
    }

    /// The number of checks of a part: one for each entry of a list, and one for any other part.
    const fn slots(&self, part: CachePart) -> usize {
        match part {
            CachePart::Vary | CachePart::Methods => self.entries(part).len(),
            _ => 1,
        }
    }

    const fn entries(&self, part: CachePart) -> &'a [&'a str] {
        match part {
            CachePart::Vary => self.vary,
            CachePart::Methods => self.route.methods,
            _ => &[],
        }
    }

    const fn check(&self, part: CachePart, index: usize) -> Option<Rule> {
        match part {
            CachePart::Whole if self.says_nothing() && self.vary.is_empty() => {
                Some(Rule::CacheUnsaid)
            }
            CachePart::Whole => None,
            CachePart::NoStore if self.no_store && self.uses_stored() => {
                Some(Rule::CacheNoStoreNotAlone)
            }
            CachePart::NoStore => None,
            CachePart::NoCache if self.no_cache && self.immutable => {
                Some(Rule::CacheImmutableAsked)
            }
            CachePart::NoCache => None,
            CachePart::Private if self.is_twofold => Some(Rule::CacheTwofold),
            CachePart::Private => None,
            CachePart::Public => self.check_shared(matches!(self.audience, Audience::Public)),
            CachePart::MaxAge => self.check_max_age(),
            CachePart::SMaxage => self.check_s_maxage(),
            CachePart::StaleWhileRevalidate => self.check_stale(self.stale_while_revalidate),
            CachePart::StaleIfError => self.check_stale(self.stale_if_error),
            CachePart::MustRevalidate => {
                self.check_shared(self.must_revalidate && !self.is_private())
            }
            CachePart::Immutable if self.immutable && !matches!(self.max_age, Some(1..)) => {
                Some(Rule::CacheImmutableAge)
            }
            CachePart::Immutable => None,
            CachePart::Vary => check_vary(entry(self.vary, index)),
            CachePart::Methods => self.check_method(entry(self.route.methods, index)),
        }
    }

    /// RFC 9111 3.5: three directives let a shared cache keep the response to a request with
    /// credentials. (`must_revalidate` does not if `private` is set.)
    const fn check_shared(&self, opens: bool) -> Option<Rule> {
        if opens && self.route.is_personal() { Some(Rule::CachePersonal) } else { None }
    }

    const fn check_max_age(&self) -> Option<Rule> {
        let is_unsaid = matches!(self.audience, Audience::Unstated);
        match self.max_age {
            Some(age) if !is_age(age) => Some(Rule::CacheAge),
            Some(_)
                if self.route.is_personal() && is_unsaid && !self.no_cache && !self.no_store =>
            {
                Some(Rule::CacheAudienceUnsaid)
            }
            _ => None,
        }
    }

    const fn check_s_maxage(&self) -> Option<Rule> {
        match self.s_maxage {
            None => None,
            Some(age) if !is_age(age) => Some(Rule::CacheAge),
            Some(_) if self.is_private() => Some(Rule::CacheSharedAgeOfPrivate),
            Some(_) => self.check_shared(true),
        }
    }

    const fn check_stale(&self, seconds: Option<i64>) -> Option<Rule> {
        match seconds {
            None => None,
            Some(age) if !is_age(age) => Some(Rule::CacheAge),
            Some(_) if self.no_cache || self.must_revalidate => Some(Rule::CacheStaleAsked),
            Some(_) if self.max_age.is_none() && self.s_maxage.is_none() => {
                Some(Rule::CacheStaleAge)
            }
            Some(_) => None,
        }
    }

    /// `no-store` is valid for every method, and so is a policy without directives.
    const fn check_method(&self, method: &str) -> Option<Rule> {
        if self.no_store || self.says_nothing() {
            None
        } else if eq(method.as_bytes(), b"QUERY") {
            Some(Rule::CacheQuery)
        } else if !is_cacheable(method) {
            Some(Rule::CacheMethod)
        } else if !is_safe(method) && self.max_age.is_none() {
            Some(Rule::CacheMethodAge)
        } else {
            None
        }
    }

    /// Whether the policy has no directive.
    const fn says_nothing(&self) -> bool {
        !self.no_store && !self.uses_stored()
    }

    /// Whether a directive is about stored responses.
    const fn uses_stored(&self) -> bool {
        let has_word = self.no_cache || self.must_revalidate || self.immutable || self.is_twofold;
        let has_age = self.max_age.is_some()
            || self.s_maxage.is_some()
            || self.stale_while_revalidate.is_some()
            || self.stale_if_error.is_some();
        has_word || has_age || !matches!(self.audience, Audience::Unstated)
    }

    const fn is_private(&self) -> bool {
        matches!(self.audience, Audience::Private)
    }

    /// Only a warning, so it is not checked for constants.
    fn check_repeated(self, part: CachePart) -> impl Fn(usize) -> Option<Rule> + use<'a> {
        let entries = self.entries(part);
        move |index| {
            let (before, rest) = entries.split_at_checked(index)?;
            let name = rest.first().filter(|_| part == CachePart::Vary)?;
            let is_same = |other: &&str| other.eq_ignore_ascii_case(name);
            before.iter().any(is_same).then_some(Rule::CacheVaryRepeated)
        }
    }
}

const fn is_age(seconds: i64) -> bool {
    0 <= seconds && seconds <= LONGEST_AGE as i64
}

const fn check_vary(name: &str) -> Option<Rule> {
    if eq(name.as_bytes(), b"*") {
        Some(Rule::CacheVaryAny)
    } else if !is_token(name.as_bytes()) {
        Some(Rule::CacheVaryInvalid)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facet::RouteFacts;

    const NOTHING: CacheSpec<'static> = CacheSpec::NOTHING;
    const MINUTE: CacheSpec<'static> = CacheSpec { max_age: Some(60), ..NOTHING };
    const PUBLIC: CacheSpec<'static> = CacheSpec { audience: Audience::Public, ..MINUTE };
    const PRIVATE: CacheSpec<'static> = CacheSpec { audience: Audience::Private, ..MINUTE };
    const NO_STORE: CacheSpec<'static> = CacheSpec { no_store: true, ..NOTHING };

    const PERSONAL: RouteFacts<'static> = RouteFacts { takes_session: true, ..RouteFacts::UNKNOWN };

    fn rules(spec: CacheSpec<'_>) -> Vec<(CachePart, Rule)> {
        spec.violations().map(|found| (found.part, found.rule)).collect()
    }

    #[test]
    fn a_policy_has_directives_and_no_store_stands_alone() {
        assert_eq!(rules(NOTHING), [(CachePart::Whole, Rule::CacheUnsaid)]);
        for alone in [MINUTE, PUBLIC, PRIVATE, NO_STORE, CacheSpec { no_cache: true, ..NOTHING }] {
            assert_eq!(rules(alone), []);
        }
        assert_eq!(rules(CacheSpec { vary: &["accept"], ..NO_STORE }), []);
        assert_eq!(rules(CacheSpec { vary: &["accept"], ..NOTHING }), []);
        let beside = [
            PUBLIC,
            CacheSpec { max_age: None, ..PRIVATE },
            MINUTE,
            CacheSpec { s_maxage: Some(0), ..NOTHING },
            CacheSpec { no_cache: true, ..NOTHING },
            CacheSpec { must_revalidate: true, ..NOTHING },
        ];
        for spec in beside {
            let found = rules(CacheSpec { no_store: true, ..spec });
            assert_eq!(found, [(CachePart::NoStore, Rule::CacheNoStoreNotAlone)]);
        }
    }

    #[test]
    fn words_that_contradict_each_other_are_refused() {
        let twofold = CacheSpec { is_twofold: true, ..PRIVATE };
        assert_eq!(rules(twofold), [(CachePart::Private, Rule::CacheTwofold)]);
        let shared = CacheSpec { s_maxage: Some(60), ..PRIVATE };
        assert_eq!(rules(shared), [(CachePart::SMaxage, Rule::CacheSharedAgeOfPrivate)]);
        let spec = CacheSpec { immutable: true, no_cache: true, ..PUBLIC };
        assert_eq!(rules(spec), [(CachePart::NoCache, Rule::CacheImmutableAsked)]);
        for max_age in [None, Some(0)] {
            let found = rules(CacheSpec { immutable: true, max_age, ..PUBLIC });
            assert_eq!(found, [(CachePart::Immutable, Rule::CacheImmutableAge)]);
        }
        assert_eq!(rules(CacheSpec { immutable: true, ..PUBLIC }), []);
    }

    #[test]
    fn stale_responses_need_an_age_and_no_revalidation() {
        let stale =
            |spec| CacheSpec { stale_while_revalidate: Some(1), stale_if_error: Some(1), ..spec };
        let both =
            |rule| [(CachePart::StaleWhileRevalidate, rule), (CachePart::StaleIfError, rule)];
        assert_eq!(rules(stale(PUBLIC)), []);
        let ageless = CacheSpec { max_age: None, ..PUBLIC };
        assert_eq!(rules(stale(ageless)), both(Rule::CacheStaleAge));
        assert_eq!(rules(stale(CacheSpec { s_maxage: Some(60), ..ageless })), []);
        for (no_cache, must_revalidate) in [(true, false), (false, true)] {
            let spec = CacheSpec { no_cache, must_revalidate, ..PUBLIC };
            assert_eq!(rules(stale(spec)), both(Rule::CacheStaleAsked));
        }
    }

    #[test]
    fn ages_are_delta_seconds() {
        for (age, is_age) in [
            (i64::MIN, false),
            (-1, false),
            (0, true),
            (i64::from(LONGEST_AGE), true),
            (i64::from(LONGEST_AGE) + 1, false),
        ] {
            let spec = CacheSpec {
                max_age: Some(age),
                s_maxage: Some(age),
                stale_while_revalidate: Some(age),
                stale_if_error: Some(age),
                ..PUBLIC
            };
            let found = rules(spec);
            assert!(found.iter().all(|(_, rule)| *rule == Rule::CacheAge));
            assert_eq!(found.len(), if is_age { 0 } else { 4 }, "{age}");
        }
    }

    #[test]
    fn answers_of_one_person_are_not_shared() {
        let personal = |spec| rules(CacheSpec { route: PERSONAL, ..spec });
        assert_eq!(personal(PUBLIC), [(CachePart::Public, Rule::CachePersonal)]);
        assert_eq!(personal(MINUTE), [(CachePart::MaxAge, Rule::CacheAudienceUnsaid)]);
        let shared = CacheSpec { s_maxage: Some(60), max_age: None, ..MINUTE };
        assert_eq!(personal(shared), [(CachePart::SMaxage, Rule::CachePersonal)]);
        let checked = CacheSpec { must_revalidate: true, ..NOTHING };
        assert_eq!(personal(checked), [(CachePart::MustRevalidate, Rule::CachePersonal)]);
        for private in [
            PRIVATE,
            NO_STORE,
            CacheSpec { must_revalidate: true, ..PRIVATE },
            CacheSpec { no_cache: true, ..MINUTE },
            CacheSpec { vary: &["accept"], ..NOTHING },
        ] {
            assert_eq!(personal(private), []);
        }
    }

    #[test]
    fn methods_must_be_cacheable() {
        fn rules_for<'a>(spec: CacheSpec<'a>, methods: &'a [&'a str]) -> Vec<(CachePart, Rule)> {
            rules(CacheSpec { route: RouteFacts { methods, ..RouteFacts::UNKNOWN }, ..spec })
        }
        for spec in [PUBLIC, PRIVATE] {
            assert_eq!(rules_for(spec, &["GET", "HEAD", "POST", "PATCH"]), []);
            for method in ["PUT", "DELETE", "OPTIONS", "PURGE", "get"] {
                assert_eq!(
                    rules_for(spec, &["GET", method]),
                    [(CachePart::Methods, Rule::CacheMethod)]
                );
                assert_eq!(rules_for(NO_STORE, &[method]), []);
            }
            assert_eq!(
                rules_for(spec, &["GET", "QUERY"]),
                [(CachePart::Methods, Rule::CacheQuery)]
            );
        }
        assert_eq!(rules_for(NO_STORE, &["QUERY"]), []);
        let ageless = CacheSpec { max_age: None, ..PUBLIC };
        let found = rules_for(ageless, &["GET", "POST", "PATCH"]);
        assert_eq!(found, [(CachePart::Methods, Rule::CacheMethodAge); 2]);
        let route = RouteFacts { methods: &["GET", "POST"], ..RouteFacts::UNKNOWN };
        let violation = CacheSpec { route, ..ageless }.first_error();
        assert_eq!(violation.map(|found| (found.index, found.value)), Some((1, "POST")));
    }

    #[test]
    fn vary_names_fields_once_each() {
        let of = |vary| {
            let violations = CacheSpec { vary, ..PUBLIC }.violations();
            violations.map(|found| (found.index, found.rule)).collect::<Vec<_>>()
        };
        assert_eq!(of(&["accept", "Accept-Language", "x_own"]), []);
        assert_eq!(of(&["accept", "*"]), [(1, Rule::CacheVaryAny)]);
        assert_eq!(of(&["", "a b"]), [(0, Rule::CacheVaryInvalid), (1, Rule::CacheVaryInvalid)]);
        assert_eq!(of(&["accept", "ACCEPT"]), [(1, Rule::CacheVaryRepeated)]);
        let repeated = CacheSpec { vary: &["accept", "accept"], ..PUBLIC };
        assert_eq!(repeated.first_error(), None);
    }
}
