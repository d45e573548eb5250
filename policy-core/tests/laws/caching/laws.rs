//! Laws for every combination of a handler and a declaration.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, EXPIRES, VARY},
};
use policy_core::{
    cache::{Audience, CacheExchange, CachePolicy, CacheSpec, Caching, ResponseFacts, apply},
    route::FromSpec as _,
};
use policy_core_tests::{
    caching::{CACHEABLE_BY_DEFAULT, Cache, Field, may_store},
    law::{Precondition, holds},
};
use proptest::{collection::vec, option, prelude::*, sample::select};

/// One exchange, with the caching that its handler and its declaration state.
#[derive(Clone, Debug)]
struct Case {
    policy: Option<CachePolicy>,
    written: Vec<String>,
    method: Method,
    status: u16,
    facts: ResponseFacts,
    has_location: bool,
}

impl Case {
    fn before(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in &self.written {
            let line = HeaderValue::from_bytes(line.as_bytes()).expect("a value");
            headers.append(CACHE_CONTROL, line);
        }
        headers.insert(EXPIRES, HeaderValue::from_static("Thu, 01 Jan 2099 00:00:00 GMT"));
        headers.insert("cdn-cache-control", HeaderValue::from_static("public, max-age=9"));
        headers.insert(VARY, HeaderValue::from_static("x-own"));
        if self.has_location {
            headers.insert(CONTENT_LOCATION, HeaderValue::from_static("/a"));
        }
        headers
    }

    fn after(&self) -> HeaderMap {
        let status = StatusCode::from_u16(self.status).expect("a status");
        let mut headers = self.before();
        let exchange = CacheExchange { method: &self.method, status, facts: self.facts };
        apply(self.policy.map(|policy| Caching::new(&policy)).as_ref(), exchange, &mut headers);
        headers
    }

    fn is_secret(&self) -> bool {
        let ResponseFacts { cookie_set, csrf_token_rendered, credential_issued, refused, .. } =
            self.facts;
        cookie_set || csrf_token_rendered || credential_issued || refused
    }

    fn is_personal(&self) -> bool {
        self.facts.session_read || self.facts.bearer
    }

    /// The declaration in the terms of RFC 9111; `None` without one.
    fn declared(&self) -> Option<Field> {
        let spec = *self.policy?.spec();
        let mut directives = Vec::new();
        let mut word =
            |name: &str, is_said| directives.extend(Some(name.to_owned()).filter(|_| is_said));
        word("no-store", spec.no_store);
        word("no-cache", spec.no_cache);
        word("private", spec.audience == Audience::Private);
        word("public", spec.audience == Audience::Public);
        word("must-revalidate", spec.must_revalidate);
        word("immutable", spec.immutable);
        let ages = [
            ("max-age", spec.max_age),
            ("s-maxage", spec.s_maxage),
            ("stale-while-revalidate", spec.stale_while_revalidate),
            ("stale-if-error", spec.stale_if_error),
        ];
        directives
            .extend(ages.iter().filter_map(|(name, age)| Some(format!("{name}={}", (*age)?))));
        (!directives.is_empty()).then(|| Field::parse(directives))
    }

    /// The fields that the handler wrote and that were declared, if there are any.
    fn fields(&self) -> impl Iterator<Item = Field> {
        let handler = Field::read(&self.before(), CACHE_CONTROL);
        handler.into_iter().chain(self.declared())
    }
}

fn handler_lines() -> impl Strategy<Value = Vec<String>> {
    let directive = select(vec![
        "public",
        "private",
        "no-store",
        "no-cache",
        "max-age=60",
        "max-age=0",
        "max-age = 7",
        "MAX-AGE=5",
        "max-age=x",
        "max-age",
        "max-age=99999999999999999999",
        "s-maxage=30",
        "s-maxage=600",
        "must-revalidate",
        "proxy-revalidate",
        "must-understand",
        "no-transform",
        "immutable",
        "private=\"x-a\"",
        "no-cache=\"set-cookie, x-a\"",
        "x=\"a, private, max-age=9, no-store\"",
        "x=\"\\\", public\"",
        "Private",
        "stale-while-revalidate=9",
        "stale-if-error=90",
        "",
        "é",
    ]);
    vec(vec(directive, 1..5).prop_map(|words| words.join(" , ")), 0..3)
}

fn policies() -> impl Strategy<Value = CachePolicy> {
    let audience = select(vec![Audience::Unstated, Audience::Private, Audience::Public]);
    let age = || option::of(select(vec![0_i64, 5, 45, 600]));
    let flags = [0.05, 0.2, 0.2, 0.2].map(prop::bool::weighted);
    let vary: [&'static [&'static str]; 3] = [&[], &["accept"], &["Accept", "x-own"]];
    (audience, age(), age(), age(), age(), flags, select(vary.to_vec())).prop_filter_map(
        "a policy",
        |(audience, max_age, s_maxage, stale_while_revalidate, stale_if_error, flags, vary)| {
            let [no_store, no_cache, must_revalidate, immutable] = flags;
            let kept = |age: Option<i64>| age.filter(|_| !no_store);
            let spec = CacheSpec {
                no_store,
                no_cache: no_cache && !no_store,
                audience: if no_store { Audience::Unstated } else { audience },
                max_age: kept(max_age),
                s_maxage: kept(s_maxage).filter(|_| audience != Audience::Private),
                stale_while_revalidate: kept(stale_while_revalidate),
                stale_if_error: kept(stale_if_error),
                must_revalidate: must_revalidate && !no_store,
                immutable: immutable && !no_store,
                vary,
                ..CacheSpec::NOTHING
            };
            CachePolicy::from_spec(spec).ok()
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let mut methods = vec!["HEAD", "POST", "PATCH", "PUT", "DELETE", "QUERY", "PURGE"];
    methods.resize(16, "GET");
    let mut statuses = vec![201, 206, 301, 302, 304, 404, 410, 500];
    statuses.resize(20, 200);
    let flags = [0.03, 0.03, 0.03, 0.03, 0.2, 0.2, 0.5].map(prop::bool::weighted);
    let policy = option::weighted(0.8, policies());
    (policy, handler_lines(), select(methods), select(statuses), flags, any::<bool>()).prop_map(
        |(policy, written, method, status, flags, has_location)| {
            let [cookie_set, csrf_token_rendered, credential_issued, refused, ..] = flags;
            let [.., session_read, bearer, authorization_sent] = flags;
            let facts = ResponseFacts {
                cookie_set,
                csrf_token_rendered,
                credential_issued,
                refused,
                session_read,
                authorization_sent,
                bearer,
                bearer_absent: !bearer && session_read,
                nonce_written: false,
            };
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            Case { policy, written, method, status, facts, has_location }
        },
    )
}

/// The result has every restriction of both, no longer lifetime and no further permission than the
/// handler wrote and the declaration has, and no directive that neither has except `private`,
/// `no-cache` and `no-store`.
#[test]
fn the_result_is_never_weaker_than_handler_and_declaration() {
    holds("never weaker", 19, cases(), |case| {
        let (fields, after) = (case.fields().collect::<Vec<_>>(), case.after());
        let Some(result) = Field::read(&after, CACHE_CONTROL) else {
            // A result without directives is valid only if neither side states a restriction or an
            // age.
            let is_free = |field: &Field| {
                let bound = ["no-store", "no-cache", "private", "must-revalidate", "max-age"];
                !bound.iter().any(|name| field.has(name))
            };
            prop_assert!(fields.iter().all(is_free) && !case.is_secret() && !case.is_personal());
            return Ok(Precondition::Unmet);
        };
        let ours = ["private", "no-cache", "no-store"];
        if !result.has("no-store") {
            for field in &fields {
                for name in ["no-store", "no-cache", "private"] {
                    prop_assert!(!field.has(name) || result.has(name), "{name}: {result:?}");
                }
                // A cache that must revalidate before each use also revalidates when stale.
                for name in ["must-revalidate", "proxy-revalidate"] {
                    let is_kept = result.has(name)
                        || result.has_plain("no-cache")
                        || (name == "proxy-revalidate" && result.has_plain("private"));
                    prop_assert!(!field.has(name) || is_kept, "{name}: {result:?}");
                }
                for cache in [Cache::OfOne, Cache::OfMany] {
                    let is_kept_out = result.has_plain("no-cache")
                        || (cache == Cache::OfMany && result.has_plain("private"));
                    if let (Some(limit), false) = (field.lifetime(cache), is_kept_out) {
                        let lifetime = result.lifetime(cache);
                        prop_assert!(lifetime.is_some_and(|age| age <= limit), "{result:?}");
                    }
                }
                for name in ["public", "immutable"] {
                    prop_assert!(!result.has(name) || field.has(name), "{name}: {result:?}");
                }
                for name in ["stale-while-revalidate", "stale-if-error"] {
                    let is_less = result
                        .seconds(name)
                        .is_none_or(|age| field.seconds(name).is_some_and(|limit| age <= limit));
                    prop_assert!(is_less, "{name}: {result:?}");
                }
            }
        }
        if case.is_personal() && !result.has("no-store") {
            let control = after.get(CACHE_CONTROL).expect("one").to_str().expect("text");
            let words: Vec<&str> = control.split(", ").collect();
            prop_assert_eq!(words.iter().filter(|word| **word == "private").count(), 1);
            prop_assert!(words.iter().all(|word| is_harmless(word)), "{control}");
        }
        let is_said = |name: &str| fields.iter().any(|field| field.has(name));
        prop_assert!(result.names().all(|name| ours.contains(&name) || is_said(name)));
        Ok(Precondition::met_if(fields.len() == 2 && !result.has("no-store")))
    });
}

/// Whether a directive may be on a response to one person: without an argument, or with an age.
fn is_harmless(word: &str) -> bool {
    match word.split_once('=') {
        Some((name, age)) => {
            let is_age = ["max-age", "stale-while-revalidate", "stale-if-error"].contains(&name);
            is_age && age.parse::<u64>().is_ok()
        }
        None => {
            ["private", "no-cache", "must-revalidate", "no-transform", "immutable"].contains(&word)
        }
    }
}

/// In every case, a shared cache stores nothing personal, no cache stores a secret, and none uses a
/// response without revalidation that the handler's fields or the declaration alone would keep it
/// from using.
#[test]
fn caches_store_only_permitted_responses() {
    holds("storability", 38, cases(), |case| {
        let after = case.after();
        let result = Field::read(&after, CACHE_CONTROL).unwrap_or_default();
        if case.is_secret() {
            prop_assert_eq!(after.get(CACHE_CONTROL).expect("one"), "no-store");
        }
        // A 304 updates a stored response, and follows the same rules.
        let status = if case.status == 304 { 200 } else { case.status };
        let stored = |cache, field: &Field, is_authorized| {
            may_store(cache, (&case.method, is_authorized, case.has_location), status, field)
        };
        for cache in [Cache::OfOne, Cache::OfMany] {
            let is_stored = stored(cache, &result, case.facts.bearer);
            prop_assert!(!is_stored || !case.is_secret());
            prop_assert!(!is_stored || !case.is_personal() || cache == Cache::OfOne);
            // An age makes POST cacheable, whichever side states it; a declaration applies to
            // successful responses.
            let handler = Field::read(&case.before(), CACHE_CONTROL).map(|field| (field, status));
            for (field, status) in
                handler.into_iter().chain(case.declared().map(|field| (field, 200)))
            {
                for is_authorized in [false, case.facts.authorization_sent] {
                    let read = (&Method::GET, is_authorized, false);
                    let alone = may_store(cache, read, status, &field);
                    let is_used =
                        stored(cache, &result, is_authorized) && !result.has_plain("no-cache");
                    prop_assert!(!is_used || alone, "{cache:?} {is_authorized}: {result:?}");
                }
            }
        }
        let is_kept = stored(Cache::OfOne, &result, false);
        Ok(Precondition::met_if(is_kept && case.fields().count() > 0))
    });
}

/// A response that no cache may store does not say that it could be stored.
#[test]
fn methods_that_are_not_cacheable_never_say_so() {
    holds("methods", 23, cases(), |case| {
        let result = Field::read(&case.after(), CACHE_CONTROL);
        let fields: Vec<Field> = case.fields().collect();
        let is_exempt = match case.method.as_str() {
            "GET" | "HEAD" => true,
            "POST" | "PATCH" => {
                let states_age = |field: &Field| field.lifetime(Cache::OfOne).is_some();
                case.has_location && fields.iter().any(states_age)
            }
            _ => false,
        };
        // A query is never answered from a cache that knows only its address, whatever is said.
        if is_exempt || fields.is_empty() && case.method != Method::QUERY {
            return Ok(Precondition::Unmet);
        }
        prop_assert!(result.is_some_and(|field| field.has("no-store")));
        Ok(Precondition::Met)
    });
}

/// A declaration applies to successful responses; others are not stored unless their handler says
/// so.
#[test]
fn errors_are_not_stored_for_a_declaration() {
    holds("errors", 5, cases(), |case| {
        let is_good =
            case.status < 400 && CACHEABLE_BY_DEFAULT.contains(&case.status) || case.status == 304;
        if is_good || !case.written.is_empty() || case.declared().is_none() {
            return Ok(Precondition::Unmet);
        }
        let after = case.after();
        prop_assert_eq!(after.get(CACHE_CONTROL).expect("one"), "no-store");
        Ok(Precondition::Met)
    });
}

/// Where the response sets any caching field, no field contradicts another, and `Vary` names what
/// is declared and what made a difference. Without a declaration, a response to GET with neither a
/// secret nor personal content stays as it is.
#[test]
fn no_other_field_contradicts() {
    holds("other fields", 87, cases(), |case| {
        let (before, after) = (case.before(), case.after());
        let vary = |name: &str| {
            let lines = after.get_all(VARY).iter().map(|line| line.to_str().expect("text"));
            let names = lines.flat_map(|line| line.split(','));
            names.filter(|found| found.trim().eq_ignore_ascii_case(name)).count()
        };
        for name in case.policy.map_or(&[][..], |policy| policy.spec().vary) {
            prop_assert_eq!(vary(name), 1);
        }
        prop_assert_eq!(vary("x-own"), 1);
        let ResponseFacts { cookie_set, csrf_token_rendered, session_read, .. } = case.facts;
        let by_cookies = cookie_set || csrf_token_rendered || session_read;
        prop_assert_eq!(vary("cookie"), usize::from(by_cookies));
        let is_reused = |value: &HeaderValue| value != "no-store" && value != "private, no-cache";
        let by_token = (case.facts.bearer || case.facts.bearer_absent)
            && after.get(CACHE_CONTROL).is_none_or(is_reused);
        prop_assert_eq!(vary("authorization"), usize::from(by_token));
        let untouched = case.declared().is_none() && !case.is_secret() && !case.is_personal();
        let targeted = HeaderName::from_static("cdn-cache-control");
        let has_rivals = after.contains_key(EXPIRES) || after.contains_key(targeted);
        let is_same = before.get_all(CACHE_CONTROL).iter().eq(after.get_all(CACHE_CONTROL));
        let is_left = untouched && is_same;
        prop_assert!(!has_rivals || is_left);
        if case.policy.is_none() && untouched && case.method == Method::GET {
            prop_assert_eq!(&after, &before);
        }
        prop_assert!(is_left || after.get_all(CACHE_CONTROL).iter().count() < 2);
        Ok(Precondition::met_if(!untouched))
    });
}
