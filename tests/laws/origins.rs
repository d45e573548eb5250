//! Sets of origins, compared with an oracle that uses whole lists of labels.

use policy_core::{
    origin::{OriginPattern, OriginSet},
    testing::{any_near_origin, any_pattern, origins_near},
};
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{
    law::{Precondition, holds},
    oracle,
};

/// A set matches an origin exactly if one of its patterns does.
#[test]
fn a_set_matches_exactly_the_origins_of_its_patterns() {
    let probes = vec(any_near_origin(), 4..10);
    // Small and large sets are searched in different ways.
    let patterns = prop_oneof![vec(any_pattern(), 0..8), vec(any_pattern(), 8..24)];
    holds("membership", 88, (patterns, probes), |(patterns, probes)| {
        let set = OriginSet::new(patterns.iter().map(String::as_str)).expect("a set");
        let (mut hits, mut misses) = (0, 0);
        for near in &probes {
            let origin = near.value_for(&patterns);
            let due = patterns.iter().any(|pattern| oracle::matches(pattern, &origin));
            let text = String::from_utf8_lossy(&origin);
            prop_assert_eq!(set.matches(&origin), due, "`{}`", text);
            if due {
                hits += 1;
            } else {
                misses += 1;
            }
        }
        Ok(Precondition::met_if(hits > 0 && misses > 0))
    });
}

/// Inclusion is sound: if a set includes another one, it matches every origin of that one. The
/// search for a counterexample tries all variations of every pattern.
#[test]
fn inclusion_of_origin_sets_is_sound() {
    let cases = (vec(any_pattern(), 1..8), vec(any_pattern(), 1..3), vec(any::<Index>(), 0..3));
    holds("inclusion", 61, cases, |(outer, inner, shared)| {
        // Some patterns in common, so that inclusion occurs.
        let inner: Vec<String> = match &*shared {
            [] => inner,
            shared => shared.iter().map(|index| narrower(index.get(&outer))).collect(),
        };
        let wide = OriginSet::new(outer.iter().map(String::as_str)).expect("a set");
        let narrow = OriginSet::new(inner.iter().map(String::as_str)).expect("a set");
        let included = wide.includes(&narrow);
        if included {
            let tried = inner.iter().flat_map(|entry| origins_near(entry));
            for origin in tried.filter(|origin| narrow.matches(origin)) {
                let text = String::from_utf8_lossy(&origin).into_owned();
                prop_assert!(wide.matches(&origin), "`{}`", text);
            }
        }
        Ok(Precondition::met_if(included))
    });
}

/// Inclusion is complete: if a pattern is not included, there is an origin that shows it, one with
/// a label and a port that no pattern names.
#[test]
fn inclusion_of_origin_sets_is_complete() {
    let cases = (vec(any_pattern(), 1..8), any_pattern(), any::<Index>(), any::<bool>());
    holds("exclusion", 43, cases, |(outer, other, index, related)| {
        let inner = if related { narrower(index.get(&outer)) } else { other };
        let wide = OriginSet::new(outer.iter().map(String::as_str)).expect("a set");
        let included = wide.includes_pattern(&OriginPattern::parse(&inner).expect("a pattern"));
        let due = outer.iter().any(|entry| oracle::covers(entry, &inner));
        prop_assert_eq!(included, due, "`{}`", inner);
        Ok(Precondition::met_if(!included))
    });
}

/// A pattern that matches some of the origins of `pattern`, or another one in some cases.
fn narrower(pattern: impl AsRef<str>) -> String {
    let pattern = pattern.as_ref();
    match pattern.len() % 3 {
        0 => pattern.replace("*.", "*.n."),
        1 => pattern.replace(":*", ":8443").replace("*.", "n."),
        _ => pattern.to_owned(),
    }
}
