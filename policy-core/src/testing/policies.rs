//! Policies that break no rule.

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};

use super::any_pattern;
use crate::cors::{Cors, CorsConfig};

/// A policy that breaks no rule, for all origins or for a few. If these are risky with credentials,
/// it has the flags that accept the risk.
///
/// ```
/// use policy_core::{cors::Cors, testing::any_policy};
/// use proptest::prelude::*;
///
/// proptest!(|(policy in any_policy())| {
///     prop_assert!(Cors::from_config("a test", &policy).is_ok());
/// });
/// ```
pub fn any_policy() -> impl Strategy<Value = CorsConfig> + Clone {
    let origins = prop_oneof![3 => vec(any_pattern(), 1..5), 1 => Just(vec!["*".to_owned()])];
    let parts = (origins, any::<bool>(), methods(), headers(), expose(), max_age());
    parts.prop_map(|(origins, credentials, methods, headers, expose, max_age)| {
        let credentials = credentials && origins.iter().all(|origin| origin != "*");
        let named = |mut list: Vec<String>| {
            list.retain(|name| !credentials || name != "*");
            list
        };
        let policy = CorsConfig {
            origins,
            credentials,
            methods: methods.map(named),
            headers: named(headers),
            expose: named(expose),
            max_age,
            ..CorsConfig::default()
        };
        let is_risky = Cors::from_config("generated", &policy).is_err();
        CorsConfig {
            dangerous_insecure_origins: is_risky,
            dangerous_public_suffix: is_risky,
            ..policy
        }
    })
}

fn methods() -> impl Strategy<Value = Option<Vec<String>>> + Clone {
    let listed = names(&["*", "GET", "put", "PATCH", "DELETE", "PURGE", "patch", "OPTIONS"]);
    prop_oneof![4 => Just(None), 3 => listed.prop_map(Some), 1 => Just(Some(vec![]))]
}

fn headers() -> impl Strategy<Value = Vec<String>> + Clone {
    names(&["*", "Authorization", "X-A", "content-type", "Accept", "Range", "X-B"])
}

fn expose() -> impl Strategy<Value = Vec<String>> + Clone {
    names(&["*", "X-Total", "ETag", "Content-Type"])
}

fn max_age() -> impl Strategy<Value = Option<i64>> + Clone {
    option::of(select(&[-1, 0, 600, 86400][..]))
}

/// Some of these names; the first, `*`, hides the others, so it is in fewer lists.
fn names(all: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> + Clone {
    let of = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let named: Vec<_> = all.iter().skip(1).copied().collect();
    prop_oneof![
        3 => subsequence(named, 0..all.len()).prop_map(of),
        1 => subsequence(all.to_vec(), 0..=all.len()).prop_map(of),
        1 => Just(vec!["*".to_owned()]),
    ]
}
