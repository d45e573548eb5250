//! The order of rates and of caching policies. The oracles ask each policy about single requests.

use policy_core::{cache::Audience, limits::RateKey};
use policy_core_tests::law::{Precondition, holds};
use policy_manifest::{
    Auth, Cache, Direction, Manifest, ManifestRoute, OriginListFacts, RouteCors, RouteOrigins,
    RouteRate, RouteRequirement, RuntimeOrigins, SessionFacts, changes,
};
use proptest::{
    option,
    prelude::*,
    sample::{select, subsequence},
};

use crate::texts;

/// Whether a change of one route opens, and whether it narrows.
fn effects(edit: impl Fn(&mut ManifestRoute, bool)) -> (bool, bool) {
    let of = |is_new| {
        let mut manifest = Manifest::new();
        let mut route = ManifestRoute::handler("/", ["GET"], Auth::Public);
        edit(&mut route, is_new);
        manifest.routes.push(route);
        manifest
    };
    crate::effects(&of(false), &of(true))
}

fn rate() -> impl Strategy<Value = Option<(u32, u64)>> {
    option::weighted(0.9, (1_u32..6, 1_u64..6))
}

/// The most requests of one client that are granted until this time: all of a period at once, then
/// one after each share of it.
fn max_requests(rate: Option<(u32, u64)>, until: u64) -> u64 {
    rate.map_or(u64::MAX, |(count, per_ms)| u64::from(count) + until * u64::from(count) / per_ms)
}

/// How long a cache that may keep the response serves it: the user's own, and a shared one that sees
/// no `Authorization` (RFC 9111 3, 4.2.1).
fn freshness_lifetime(cache: &Cache, is_shared: bool) -> Option<i64> {
    let is_private = cache.audience == Audience::Private;
    if cache.no_store || (is_shared && is_private) {
        return None;
    }
    let age = if is_shared { cache.s_maxage.or(cache.max_age) } else { cache.max_age };
    Some(if cache.no_cache { 0 } else { age.unwrap_or(i64::MAX) })
}

fn cache() -> impl Strategy<Value = Cache> {
    let audience = select(vec![Audience::Private, Audience::Public]);
    let age = || option::of(0_i64..3);
    let vary = subsequence(vec!["x-one", "x-two"], 0..=2);
    let parts = (any::<bool>(), proptest::bool::weighted(0.2), audience, age(), age(), vary);
    parts.prop_map(|(no_cache, no_store, audience, max_age, s_maxage, vary)| {
        let is_public = audience == Audience::Public;
        Cache {
            no_store,
            no_cache: no_cache && !no_store,
            audience,
            max_age: max_age.filter(|_| !no_store),
            s_maxage: s_maxage.filter(|_| !no_store && is_public),
            vary: vary.into_iter().map(str::to_owned).collect(),
            ..Cache::default()
        }
    })
}

/// A rate that grants more requests at some time opens, and one that grants fewer narrows.
#[test]
fn a_rate_that_grants_more_at_some_time_opens() {
    holds("rates", 95, (rate(), rate()), |(old, new)| {
        let found = effects(|route, is_new| {
            let rate = if is_new { new } else { old };
            let by = RateKey::Address;
            route.limits.rate = rate.map(|(count, per_ms)| RouteRate { count, per_ms, by });
        });
        // After 100 periods, the speed decides.
        let times = || (0..100).chain([100_000]);
        let exceeds =
            |one, other| times().any(|until| max_requests(one, until) > max_requests(other, until));
        let expected = (exceeds(new, old), exceeds(old, new));
        prop_assert_eq!(found, expected);
        Ok(Precondition::met_if(expected != (false, false)))
    });
}

/// A policy opens if it lets some cache serve a response that it did not store before, for longer,
/// or to more requests.
#[test]
fn a_caching_policy_that_serves_more_opens() {
    holds("caching", 60, (cache(), cache()), |(old, new)| {
        let (opens, _) = effects(|route, is_new| {
            route.cache = Some(if is_new { new.clone() } else { old.clone() });
        });
        let serves_more = [false, true].into_iter().any(|is_shared| {
            let forgets = || old.vary.iter().any(|name| !new.vary.contains(name));
            freshness_lifetime(&new, is_shared).is_some_and(|after| {
                freshness_lifetime(&old, is_shared).is_none_or(|before| after > before || forgets())
            })
        });
        prop_assert!(!serves_more || opens, "{} to {}", old.control(), new.control());
        Ok(Precondition::met_if(serves_more))
    });
}

/// RFC 9111 3.5: each lets shared caches keep what an upstream authenticates by `Authorization`.
#[test]
fn a_caching_policy_that_keeps_responses_to_credentials_opens() {
    let old = Cache { max_age: Some(60), ..Cache::default() };
    for (new, narrows) in [
        (Cache { audience: Audience::Public, ..old.clone() }, false),
        (Cache { s_maxage: Some(60), ..old.clone() }, false),
        // It also ends the use of stale responses.
        (Cache { must_revalidate: true, ..old.clone() }, true),
    ] {
        let found = effects(|route, is_new| {
            route.cache = Some(if is_new { new.clone() } else { old.clone() });
        });
        assert_eq!(found, (true, narrows), "{}", new.control());
    }
}

/// Without a policy, handlers may let shared caches keep responses to anybody.
#[test]
fn a_caching_policy_that_is_gone_opens_where_no_caller_is_required() {
    let session = RouteRequirement { session: true, ..RouteRequirement::default() };
    for (auth, expected) in
        [(Auth::Public, (true, false)), (Auth::Required(session), (false, false))]
    {
        let found = effects(|route, is_new| {
            route.auth = auth.clone();
            let cache = Cache { audience: Audience::Private, ..Cache::default() };
            route.cache = (!is_new).then_some(cache);
        });
        assert_eq!(found, expected, "{auth:?}");
    }
}

#[test]
fn a_rate_that_counts_another_property_opens_and_narrows() {
    let found = effects(|route, is_new| {
        let by = if is_new { RateKey::Address } else { RateKey::Principal };
        route.limits.rate = Some(RouteRate { count: 5, per_ms: 1000, by });
    });
    assert_eq!(found, (true, true));
}

/// Without a list, preflights allow the methods that are served, and the type of their bodies.
#[test]
fn methods_that_a_cors_policy_lists_no_more_open() {
    for (served, listed, headers, is_wider) in [
        (["GET", "PUT"], &["GET"][..], &["content-type"][..], true),
        (["GET", "PUT"], &["PUT"], &["x-own"], true),
        (["GET", "PUT"], &["PUT"], &["content-type"], false),
        (["GET", "PUT"], &["*"], &["*"], false),
        (["GET", "POST"], &["GET"], &["content-type"], false),
        (["GET", "POST"], &["POST"], &["x-own"], true),
        (["GET", "HEAD"], &["PUT"], &["x-own"], false),
    ] {
        let found = |was_listed: bool| {
            effects(|route, is_new| {
                let origins = RouteOrigins::Listed(texts(&["https://a.example"]));
                route.methods = texts(&served);
                route.cors = Some(RouteCors {
                    methods: (was_listed != is_new).then(|| texts(listed)),
                    headers: texts(headers),
                    ..RouteCors::new(origins)
                });
            })
        };
        assert_eq!(found(true), (is_wider, false), "{served:?} {listed:?} {headers:?}");
        assert_eq!(found(false), (false, is_wider), "{served:?} {listed:?} {headers:?}");
    }
}

#[test]
fn a_session_that_a_handler_takes_opens_it_to_pages_with_credentials() {
    for credentials in [true, false] {
        let found = effects(|route, is_new| {
            let origins = RouteOrigins::Listed(vec!["https://a.example".to_owned()]);
            route.cors = Some(RouteCors { credentials, ..RouteCors::new(origins) });
            route.takes_session = is_new;
        });
        assert_eq!(found, (credentials, false));
    }
}

/// All lists have the same bound.
#[test]
fn another_list_of_origins_opens_unless_the_code_lists_no_more_of_them() {
    const FEW: &[&str] = &["https://a.shop.example"];
    const MANY: &[&str] = &["https://a.shop.example", "https://b.shop.example"];
    let list = |name: &str, by: Option<&str>| {
        RouteOrigins::AtRunTime(RuntimeOrigins {
            list: name.to_owned(),
            within: Some(texts(&["https://*.shop.example"])),
            by: by.map(str::to_owned),
        })
    };
    let with = |origins: &RouteOrigins| {
        let mut manifest = Manifest::new();
        for (name, source, origins) in
            [("few", None, FEW), ("many", None, MANY), ("env", Some("env PARTNERS"), &[])]
        {
            let mut facts = OriginListFacts::default();
            facts.source = source.map(str::to_owned);
            facts.origins = texts(origins);
            manifest.app.lists.insert(name.to_owned(), facts);
        }
        let mut route = ManifestRoute::handler("/{tenant}", ["GET"], Auth::Public);
        route.cors = Some(RouteCors::new(origins.clone()));
        manifest.routes.push(route);
        manifest
    };
    let constant = |origins: &[&str]| RouteOrigins::Listed(texts(origins));
    for (old, new, expected) in [
        (list("few", None), list("many", None), Direction::Opens),
        (list("many", None), list("few", None), Direction::Narrows),
        (list("env", None), list("many", None), Direction::Opens),
        (list("few", None), list("env", None), Direction::Opens),
        (list("env", Some("tenant")), list("env", None), Direction::Opens),
        (list("many", None), constant(FEW), Direction::Narrows),
        (list("few", None), constant(MANY), Direction::OpensAndNarrows),
        (list("env", None), constant(FEW), Direction::OpensAndNarrows),
    ] {
        let changes = changes(&with(&old), &with(&new)).expect("two policies");
        let directions: Vec<_> = changes.iter().map(|change| change.direction).collect();
        assert_eq!(directions, [expected], "{changes:?}");
    }
}

#[test]
fn a_session_cookie_that_loses_its_prefix_opens() {
    for (old, new, expected) in [
        ("__Host-sid", "sid", (true, false)),
        ("__Host-sid", "__Secure-sid", (true, false)),
        ("sid", "__Host-sid", (false, true)),
        ("__Host-sid", "__host-id", (false, false)),
    ] {
        let of = |cookie: &str| {
            let mut manifest = Manifest::new();
            manifest.app.sessions = Some(SessionFacts::new("memory", cookie, "lax"));
            manifest
        };
        assert_eq!(crate::effects(&of(old), &of(new)), expected, "{old} to {new}");
        assert_eq!(changes(&of(old), &of(new)).expect("two policies").len(), 1);
    }
}
