//! Laws of the algebra of origins. The oracle evaluates an expression for one origin, and matches
//! patterns by comparing texts.

use policy_core::{
    origin::{Origin, OriginPattern, OriginSet},
    testing::{any_near_origin, any_pattern, origins_near},
};
use policy_core_tests::law::{Judged, Precondition, holds};
use policy_manifest::algebra::{OriginRegion, OriginWitness, WitnessKind};
use proptest::{collection::vec, prelude::*, sample::select};

/// A combination of patterns, `*` and `null`.
#[derive(Clone, Debug)]
enum Expression {
    Entry(String),
    Not(Box<Expression>),
    Both(Operation, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Union,
    Intersection,
    Difference,
    SymmetricDifference,
}

impl Expression {
    fn region(&self) -> OriginRegion {
        match self {
            Self::Entry(text) => text.parse().expect("an entry"),
            Self::Not(one) => one.region().complement(),
            Self::Both(operation, a, b) => {
                let (a, b) = (a.region(), b.region());
                match operation {
                    Operation::Union => a.union(&b),
                    Operation::Intersection => a.intersection(&b),
                    Operation::Difference => a.difference(&b),
                    Operation::SymmetricDifference => a.difference(&b).union(&b.difference(&a)),
                }
            }
        }
    }

    fn has(&self, origin: &str) -> bool {
        match self {
            Self::Entry(text) => entry_has(text, origin),
            Self::Not(one) => !one.has(origin),
            Self::Both(operation, a, b) => {
                let (a, b) = (a.has(origin), b.has(origin));
                match operation {
                    Operation::Union => a || b,
                    Operation::Intersection => a && b,
                    Operation::Difference => a && !b,
                    Operation::SymmetricDifference => a != b,
                }
            }
        }
    }

    fn entries(&self) -> Vec<&str> {
        match self {
            Self::Entry(text) => vec![text],
            Self::Not(one) => one.entries(),
            Self::Both(_, a, b) => [a.entries(), b.entries()].concat(),
        }
    }

    /// Origins that its entries match, and others that they nearly match.
    fn origins(&self) -> Vec<String> {
        let near = self.entries().into_iter().filter(|entry| entry.contains("://"));
        let near = near.flat_map(|entry| {
            let below = entry.replace("://*.", "://").replace("*-", "w-").replace("://", "://*.");
            // Labels in which prefix and suffix overlap, with much and with nothing between them.
            let short = ["", "-", "x", "x-", "-x", "y", "x-x", "x-y", "x-y-x", "y-x", "z"];
            let short = short.map(|middle| entry.replacen("*-", &format!("{middle}-"), 1));
            let short = short.map(|origin| origin.replace(":*", ":8443").into_bytes());
            origins_near(entry).chain(origins_near(&below)).chain(short).collect::<Vec<_>>()
        });
        let fixed = ["null", "https://evil.example", "app://x", "https://192.0.2.1", "https://a."];
        let near = near.filter_map(|origin| String::from_utf8(origin).ok());
        near.filter(|origin| Origin::parse(origin.as_bytes()).is_some())
            .chain(fixed.map(str::to_owned))
            .collect()
    }
}

fn entry_has(entry: &str, origin: &str) -> bool {
    if entry == "*" || origin == "null" || entry == "null" {
        return entry == "*" || origin == entry;
    }
    let (scheme, host, port) = parts(entry);
    let (its_scheme, its_host, its_port) = parts(origin);
    let is_below = |end: &str| its_host.ends_with(end) && its_host.len() > end.len();
    let in_host = match host.split_once('*') {
        None => host == its_host,
        Some(("", end)) if end.starts_with('.') => is_below(end),
        Some((front, end)) => {
            let rest = its_host.strip_prefix(front);
            let middle = rest.and_then(|rest| rest.strip_suffix(end));
            middle.is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
        }
    };
    scheme == its_scheme && in_host && (port == "*" || port == its_port)
}

/// The scheme, the host, and the port as it is written, or nothing.
fn parts(text: &str) -> (&str, &str, &str) {
    let (scheme, rest) = text.split_once("://").expect("a scheme");
    match rest.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (scheme, host, port),
        None => (scheme, rest, ""),
    }
}

fn any_entry() -> impl Strategy<Value = String> {
    // Few, so that most of them are related.
    let few =
        "https://a.test https://*.a.test https://b.a.test https://*.b.a.test https://*.a.test:*
         https://b.a.test:* https://a.test:8443 https://a.test. http://a.test https://*.test
         https://10.0.0.1 https://10.0.0.1:* https://*-b.a.test https://x-*-b.a.test:*
         https://*-x-b.a.test https://x-y*-b.a.test https://x-x-b.a.test";
    let few: Vec<_> = few.split_ascii_whitespace().collect();
    prop_oneof![
        10 => select(few).prop_map(str::to_owned),
        3 => any_pattern(),
        1 => Just("*".to_owned()),
        1 => Just("null".to_owned()),
    ]
}

fn any_expression() -> impl Strategy<Value = Expression> + Clone {
    any_entry().boxed().prop_map(Expression::Entry).prop_recursive(3, 12, 2, |inner| {
        let operation = select(vec![
            Operation::Union,
            Operation::Intersection,
            Operation::Difference,
            Operation::SymmetricDifference,
        ]);
        let not = inner.clone().prop_map(|one| Expression::Not(Box::new(one)));
        let both = (operation, inner.clone(), inner);
        let both = both
            .prop_map(|(operation, a, b)| Expression::Both(operation, Box::new(a), Box::new(b)));
        prop_oneof![1 => not, 5 => both]
    })
}

fn precondition(precondition: bool) -> Judged {
    Ok(Precondition::met_if(precondition))
}

/// A region has exactly the origins that match its expression.
#[test]
fn regions_match_their_expressions() {
    let cases = (any_expression(), any_near_origin());
    holds("membership follows the expression", 74, cases, |(expression, near)| {
        let region = expression.region();
        let origins = expression.origins();
        for origin in &origins {
            let has = region.contains(origin.as_bytes());
            prop_assert_eq!(has, expression.has(origin), "{}", origin);
        }
        let value = near.value_for(&expression.entries());
        let is_origin = value == b"null" || Origin::parse(&value).is_some();
        prop_assert!(is_origin || !region.contains(&value));
        let has = |origin: &String| region.contains(origin.as_bytes());
        precondition(origins.iter().any(has) && !origins.iter().all(has))
    });
}

/// Regions are equal exactly if no origin is in only one of them.
#[test]
fn equal_regions_are_those_that_have_the_same_origins() {
    let cases = (any_expression(), any_expression());
    holds("equality is of the origins", 5, cases, |(one, another)| {
        let (a, b) = (one.region(), another.region());
        let difference = a.difference(&b).union(&b.difference(&a));
        prop_assert_eq!(a == b, difference.is_empty());
        let witness = difference.witness();
        let origin = witness.as_ref().map(OriginWitness::origin);
        prop_assert!(origin.is_none_or(|origin| one.has(origin) != another.has(origin)));
        let differs = |origin: &String| one.has(origin) != another.has(origin);
        let origins = [one.origins(), another.origins()].concat();
        prop_assert!(a != b || !origins.iter().any(differs));
        precondition(a == b)
    });
}

/// One region includes another exactly if the difference has no witness.
#[test]
fn a_region_includes_another_that_has_no_origin_outside() {
    let cases = (any_expression(), any_expression());
    holds("inclusion is of the origins", 36, cases, |(one, another)| {
        let (a, b) = (one.region(), another.region());
        let includes = a.includes(&b);
        prop_assert_eq!(includes, a.union(&b) == a);
        for witness in b.difference(&a).witnesses(8) {
            prop_assert!(!includes);
            let origin = witness.origin();
            prop_assert!(another.has(origin) && !one.has(origin), "{}", origin);
        }
        let outside = |origin: &String| another.has(origin) && !one.has(origin);
        prop_assert!(!includes || !another.origins().iter().any(outside));
        precondition(includes)
    });
}

/// The laws of a Boolean algebra, between regions and not only between their origins.
#[test]
fn regions_are_a_boolean_algebra() {
    let cases = (any_expression(), any_expression(), any_expression());
    holds("a Boolean algebra", 16, cases, |(one, another, third)| {
        let (a, b, c) = (one.region(), another.region(), third.region());
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b).intersection(&c), a.intersection(&b.intersection(&c)));
        prop_assert_eq!(
            a.intersection(&b.union(&c)),
            a.intersection(&b).union(&a.intersection(&c))
        );
        prop_assert_eq!(a.union(&b.intersection(&c)), a.union(&b).intersection(&a.union(&c)));
        prop_assert_eq!(&a.union(&a.intersection(&b)), &a);
        prop_assert_eq!(&a.intersection(&a.union(&b)), &a);
        prop_assert_eq!(a.union(&a.complement()), OriginRegion::all());
        prop_assert_eq!(a.intersection(&a.complement()), OriginRegion::empty());
        prop_assert_eq!(&a.complement().complement(), &a);
        prop_assert_eq!(a.union(&b).complement(), a.complement().intersection(&b.complement()));
        prop_assert_eq!(a.difference(&b), a.intersection(&b.complement()));
        prop_assert_eq!(&a.union(&OriginRegion::empty()), &a);
        prop_assert_eq!(&a.intersection(&OriginRegion::all()), &a);
        prop_assert_eq!(a.union(&b).is_cofinite(), a.is_cofinite() || b.is_cofinite());
        precondition(!a.intersection(&b).is_empty() && !a.includes(&b) && !b.includes(&a))
    });
}

/// Witnesses are origins as browsers write them, and in the region; only the empty one has none.
#[test]
fn witnesses_are_inside_and_only_the_empty_region_has_none() {
    let cases = (any_expression(), 0..12_usize);
    holds("witnesses", 80, cases, |(expression, limit)| {
        let region = expression.region();
        prop_assert_eq!(region.witness().is_none(), region.is_empty());
        let all = region.witnesses(usize::MAX);
        for witness in &all {
            let origin = witness.origin();
            let is_inside = expression.has(origin) && region.contains(origin.as_bytes());
            prop_assert!(is_inside, "{}", origin);
            let is_single = OriginPattern::parse(origin).is_ok_and(|pattern| pattern.is_single());
            prop_assert!(origin == "null" || is_single, "{}", origin);
        }
        let some = region.witnesses(limit);
        prop_assert_eq!(some.len(), limit.min(all.len()));
        let is_once = |(at, witness)| !some[..at].contains(witness);
        prop_assert!(some.iter().enumerate().all(is_once));
        precondition(!region.is_empty())
    });
}

/// The kinds of a witness are correct, and no kind is left out for another witness of a kind that
/// is already shown.
#[test]
fn witnesses_show_every_kind_that_the_region_has() {
    const KINDS: usize = 9;
    holds("kinds of witnesses", 55, any_expression(), |expression| {
        let region = expression.region();
        let kinds = |limit| {
            let witnesses = region.witnesses(limit).into_iter();
            let mut kinds: Vec<_> = witnesses.flat_map(|one| one.kinds().to_vec()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds
        };
        let all = kinds(usize::MAX);
        prop_assert_eq!(&all, &kinds(KINDS));
        for witness in region.witnesses(KINDS) {
            let origin = witness.origin();
            let is = |kind| witness.kinds().contains(&kind);
            prop_assert_eq!(is(WitnessKind::Null), origin == "null");
            if origin != "null" {
                let (scheme, host, port) = parts(origin);
                prop_assert_eq!(is(WitnessKind::PortVariant), !port.is_empty());
                prop_assert_eq!(is(WitnessKind::SchemeDowngrade), scheme == "http");
                let is_other = !matches!(scheme, "http" | "https");
                prop_assert_eq!(is(WitnessKind::OtherScheme), is_other);
                let is_address =
                    host.starts_with('[') || host.ends_with(|c: char| c.is_ascii_digit());
                prop_assert_eq!(is(WitnessKind::Address), is_address, "{}", origin);
                prop_assert!(!is(WitnessKind::Descendant) || host.starts_with("deep."));
            }
        }
        let hosts =
            |scheme: &str| region.contains(format!("{scheme}://evil.stranger.example").as_bytes());
        prop_assert_eq!(region.is_cofinite(), hosts("https"));
        prop_assert_eq!(region.is_cofinite(), hosts("app"));
        if region.is_cofinite() {
            for kind in
                [WitnessKind::AttackerDomain, WitnessKind::Address, WitnessKind::PortVariant]
            {
                prop_assert!(all.contains(&kind), "{:?}", kind);
            }
        }
        precondition(all.len() > 2)
    });
}

/// A region equals the region that is parsed from its text.
#[test]
fn a_text_is_read_as_the_region_that_wrote_it() {
    holds("texts of regions", 30, any_expression(), |expression| {
        let region = expression.region();
        let text = region.to_string();
        let read = text.parse();
        prop_assert_eq!(read, Ok(region), "{}", text);
        precondition(text.contains(" except "))
    });
}

/// Regions that nested lists describe, with default ports only: no text has fewer patterns.
#[test]
fn a_text_has_no_more_patterns_than_any_other() {
    let host = select(vec!["a.test", "*.a.test", "b.a.test", "*.b.a.test", "c.b.a.test", "x.test"]);
    let pattern = (select(vec!["https", "http"]), host);
    let pattern = pattern.prop_map(|(scheme, host)| format!("{scheme}://{host}"));
    let entry = prop_oneof![12 => pattern, 1 => Just("*".to_owned()), 1 => Just("null".to_owned())];
    let levels = vec(vec(entry, 1..4), 1..5);
    holds("the fewest patterns", 70, levels, |levels| {
        let region = levels.iter().rev().fold(OriginRegion::empty(), |rest, level| {
            let level: OriginRegion = level.join(", ").parse().expect("a list");
            level.difference(&rest)
        });
        let text = region.to_string();
        let entries = text.matches("://").count()
            + text.split([' ', ',', '(', ')']).filter(|word| matches!(*word, "*" | "null")).count();
        let limit = levels.iter().map(Vec::len).sum();
        prop_assert!(entries <= limit, "`{}`", text);
        precondition(entries < limit && entries > 0)
    });
}

/// A region of patterns decides as the set that serves requests does, for any value of a header.
#[test]
fn a_region_of_a_set_matches_the_origins_of_the_set() {
    let cases = (vec(any_pattern(), 0..12), vec(any_near_origin(), 8));
    holds("regions and sets", 91, cases, |(patterns, near)| {
        let set = OriginSet::new(patterns.iter().map(String::as_str)).expect("patterns");
        let region: OriginRegion = set.patterns().collect();
        let values: Vec<_> = near.iter().map(|near| near.value_for(&patterns)).collect();
        for value in &values {
            prop_assert_eq!(region.contains(value), set.matches(value), "{:?}", value);
        }
        precondition(values.iter().any(|value| set.matches(value)))
    });
}

/// A region includes another of patterns exactly if the set of the first includes that of the
/// second.
#[test]
fn regions_of_sets_include_each_other_as_the_sets_do() {
    let cases = (vec(any_pattern(), 0..12), vec(any_pattern(), 0..3), any::<prop::sample::Index>());
    holds("inclusion of sets", 33, cases, |(bound, mut list, index)| {
        // A pattern of the bound, or one below it, so that the bound may include it.
        if !bound.is_empty() {
            let known = &bound[index.index(bound.len())];
            list.push(known.replace("://*.", "://*.y.").replace(":*", ":81"));
            list.drain(..list.len().saturating_sub(2));
        }
        let [bound, list] = [&bound, &list]
            .map(|texts| OriginSet::new(texts.iter().map(String::as_str)).expect("patterns"));
        let [outer, inner] = [&bound, &list].map(|set| set.patterns().collect::<OriginRegion>());
        let includes = outer.includes(&inner);
        prop_assert_eq!(includes, bound.includes(&list));
        precondition(includes && !list.is_empty())
    });
}

/// The patterns of a union are all needed, and independent of how the union was written.
#[test]
fn the_patterns_of_a_region_are_the_shortest_list() {
    holds("patterns", 50, vec(any_entry(), 0..10), |texts| {
        let texts: Vec<&str> =
            texts.iter().map(String::as_str).filter(|text| text.contains("://")).collect();
        let union = |texts: &[&str]| -> OriginRegion {
            texts.iter().map(|text| OriginPattern::parse(text).expect("a pattern")).collect()
        };
        let region = union(&texts);
        let text = region.to_string();
        let shortest: Vec<&str> = text.split(", ").filter(|_| !texts.is_empty()).collect();
        prop_assert_eq!(&union(&shortest), &region);
        for at in 0..shortest.len() {
            let others = [&shortest[..at], &shortest[at + 1..]].concat();
            prop_assert_ne!(&union(&others), &region, "without {}", shortest[at]);
        }
        precondition(!texts.is_empty() && shortest.len() < texts.len())
    });
}
