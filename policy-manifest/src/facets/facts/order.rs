//! Orders of facts: which change admits more. A value that has no order counts as opening, and the words
//! say so.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::forwarded::IpNetwork;

use super::{FactChange, Facts};
use crate::facets::{Direction, Effects, json, millis_in_words, seconds_in_words, set, sets};

/// A number: a larger one admits more; `None` is no limit.
pub(crate) fn more(old: &Option<u64>, new: &Option<u64>) -> FactChange {
    numbers(*old, *new, |number| number.to_string())
}

/// A time in seconds: a longer one admits more; `None` is no limit.
pub(crate) fn longer_s(old: &Option<u64>, new: &Option<u64>) -> FactChange {
    numbers(*old, *new, |seconds| seconds_in_words(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

/// A time in milliseconds: a longer one admits more; `None` is no limit.
pub(crate) fn longer_ms(old: &Option<u64>, new: &Option<u64>) -> FactChange {
    numbers(*old, *new, millis_in_words)
}

/// A number: a smaller one admits more; `None` is 0.
pub(crate) fn fewer(old: &Option<u64>, new: &Option<u64>) -> FactChange {
    reversed(more(&Some(old.unwrap_or(0)), &Some(new.unwrap_or(0))))
}

fn numbers(old: Option<u64>, new: Option<u64>, words: fn(u64) -> String) -> FactChange {
    let most = |value: Option<u64>| value.unwrap_or(u64::MAX);
    let direction = Direction::from_effects(most(new) > most(old), most(new) < most(old));
    let words = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), words);
    (old != new).then(|| {
        (direction.unwrap_or(Direction::Shifts), format!("was {}, is {}", words(old), words(new)))
    })
}

/// A flag that admits more.
pub(crate) fn opening(old: &bool, new: &bool) -> FactChange {
    let words = if *new { "is on" } else { "is off" };
    Direction::from_effects(*new && !old, *old && !new)
        .map(|direction| (direction, words.to_owned()))
}

/// A flag that protects.
pub(crate) fn protecting(old: &bool, new: &bool) -> FactChange {
    reversed(opening(old, new))
}

/// The change with its direction reversed.
fn reversed(change: FactChange) -> FactChange {
    let (direction, words) = change?;
    let reversed = Direction::from_effects(direction.narrows(), direction.opens());
    Some((reversed.unwrap_or(direction), words))
}

/// Joins several changes into one.
pub(super) fn join(changes: impl IntoIterator<Item = (Direction, String)>) -> FactChange {
    let mut found = Effects::default();
    changes.into_iter().for_each(|(direction, words)| found.add(direction, words));
    found.change("; ")
}

/// A value that changes responses, and admits nobody.
pub(crate) fn shifting<T: PartialEq + serde::Serialize>(old: &T, new: &T) -> FactChange {
    (old != new)
        .then(|| (Direction::Shifts, format!("was {}, is {}", describe(old), describe(new))))
}

/// A value without an order.
pub(crate) fn unordered<T: PartialEq + serde::Serialize>(old: &T, new: &T) -> FactChange {
    (old != new).then(|| {
        let words = format!(
            "was {}, is {}: it cannot be shown to be as strict",
            describe(old),
            describe(new)
        );
        (Direction::Opens, words)
    })
}

/// A list without an order.
pub(crate) fn unordered_list(old: &Vec<String>, new: &Vec<String>) -> FactChange {
    unordered(&old, &new)
}

/// A value as text.
fn describe(value: &impl serde::Serialize) -> String {
    match json(value).as_str() {
        "null" | "[]" => "none".to_owned(),
        text => format!("`{}`", text.trim_matches('"')),
    }
}

/// A set of which more members admit more.
pub(crate) fn members(old: &[String], new: &[String]) -> FactChange {
    sets(&set(old), &set(new))
}

/// A value that grants something, if there is one.
pub(crate) fn granting(old: &Option<String>, new: &Option<String>) -> FactChange {
    members(old.as_slice(), new.as_slice())
}

/// A set of requirements: fewer members admit more.
pub(crate) fn requirements(old: &[String], new: &[String]) -> FactChange {
    reversed(members(old, new))
}

/// Networks, each after its format. One inside another of the same format adds nothing.
pub(crate) fn networks(old: &[String], new: &[String]) -> FactChange {
    let beyond = |of: &[String], others: &[String]| -> BTreeSet<String> {
        let texts: BTreeSet<&String> = others.iter().collect();
        let widest = widest(others);
        let is_inside = |text: &String| {
            texts.contains(text) || network(text).is_some_and(|own| is_within(own, &widest))
        };
        of.iter().filter(|text| !is_inside(text)).cloned().collect()
    };
    let (gained, lost) = (beyond(new, old), beyond(old, new));
    sets(&lost, &gained)
}

/// A network after its format.
fn network(text: &str) -> Option<(&str, IpNetwork)> {
    let (format, network) = text.rsplit_once(' ')?;
    Some((format, IpNetwork::parse(network).ok()?))
}

/// The networks that are inside no other one.
fn widest(texts: &[String]) -> BTreeSet<(&str, IpNetwork)> {
    let all: BTreeSet<_> = texts.iter().filter_map(|text| network(text)).collect();
    let mut widest = BTreeSet::new();
    for own in all {
        if !is_within(own, &widest) {
            widest.insert(own);
        }
    }
    widest
}

/// Whether a network is in one of others that do not overlap: only the last one before it can contain it.
fn is_within(own: (&str, IpNetwork), others: &BTreeSet<(&str, IpNetwork)>) -> bool {
    let before = others.range(..=own).next_back();
    before.is_some_and(|(format, network)| *format == own.0 && own.1.is_within(network))
}

/// Facts that may be absent. `coming` is the effect on access if they are added, `going` if they are
/// removed.
pub(crate) fn optional<T: Facts>(
    old: &Option<T>,
    new: &Option<T>,
    coming: Direction,
    going: Direction,
) -> FactChange {
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => {
            let words = T::default().change(new).map(|(_, words)| format!(": {words}"));
            Some((coming, format!("are new{}", words.unwrap_or_default())))
        }
        (Some(_), None) => Some((going, "are gone".to_owned())),
        (Some(old), Some(new)) => old.change(new),
    }
}

/// Facts by name. Adding or removing one changes what refers to it, which has its own direction.
pub(crate) fn by_name<T: Facts>(
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
) -> FactChange {
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    join(names.into_iter().filter_map(|name| {
        let (direction, words) = match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => old.change(new)?,
            (None, _) => (Direction::Shifts, "is new".to_owned()),
            (_, None) => (Direction::Shifts, "is gone".to_owned()),
        };
        Some((direction, format!("`{name}` {words}")))
    }))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{AppFacts, TlsFacts},
        *,
    };
    use crate::samples::texts;

    #[test]
    fn each_order_knows_both_directions_and_equality() {
        use Direction::{Narrows, Opens, OpensAndNarrows, Shifts};
        let direction = |change: FactChange| change.map(|(direction, _)| direction);
        for (order, one, other, expected) in [
            (more as fn(&_, &_) -> _, Some(1), Some(2), Opens),
            (more, Some(2), None, Opens),
            (more, Some(u64::MAX), None, Shifts),
            (longer_s, Some(60), Some(61), Opens),
            (longer_ms, None, Some(1), Narrows),
            (fewer, Some(64), Some(63), Opens),
            (fewer, Some(64), None, Opens),
        ] {
            assert_eq!(direction(order(&one, &other)), Some(expected), "{one:?} {other:?}");
            assert_eq!(order(&one, &one), None);
            let back = match expected {
                Opens => Narrows,
                Narrows => Opens,
                other => other,
            };
            assert_eq!(direction(order(&other, &one)), Some(back), "{other:?} {one:?}");
        }
        assert_eq!(direction(opening(&false, &true)), Some(Opens));
        assert_eq!(direction(protecting(&false, &true)), Some(Narrows));
        assert_eq!(direction(protecting(&true, &false)), Some(Opens));
        let lists = [texts(&["a", "b"]), texts(&["b", "c"])];
        assert_eq!(direction(members(&lists[0], &lists[1])), Some(OpensAndNarrows));
        assert_eq!(direction(requirements(&lists[0], &texts(&["a"]))), Some(Opens));
        let claims = ["tid", "org"].map(|claim| Some(claim.to_owned()));
        assert_eq!(direction(granting(&None, &claims[0])), Some(Opens));
        assert_eq!(direction(granting(&claims[0], &None)), Some(Narrows));
        assert_eq!(direction(granting(&claims[0], &claims[1])), Some(OpensAndNarrows));
        assert_eq!(granting(&claims[0], &claims[0]), None);
        assert_eq!(direction(unordered_list(&lists[0], &texts(&["b", "a"]))), Some(Opens));
        assert_eq!(direction(shifting(&"a", &"b")), Some(Shifts));
    }

    #[test]
    fn tls_that_is_gone_opens() {
        let change = |was_on: bool, is_on: bool| {
            let [old, new] = [was_on, is_on].map(|is_on| {
                let tls = is_on.then(TlsFacts::default);
                AppFacts { tls, ..AppFacts::default() }
            });
            let changes = old.changes(&new).into_iter();
            changes.map(|(name, direction, _)| (name, direction)).collect::<Vec<_>>()
        };
        assert_eq!(change(true, false), [("tls", Direction::Opens)]);
        assert_eq!(change(false, true), [("tls", Direction::Shifts)]);
    }

    #[test]
    fn a_network_inside_another_adds_nothing() {
        let change = |old: &[&str], new: &[&str]| networks(&texts(old), &texts(new));
        let direction = |old: &[&str], new: &[&str]| change(old, new).map(|(it, _)| it);
        let (wide, narrow) = ("x-forwarded 10.0.0.0/8", "x-forwarded 10.1.0.0/16");
        assert_eq!(direction(&[wide], &[narrow]), Some(Direction::Narrows));
        assert_eq!(direction(&[narrow], &[wide]), Some(Direction::Opens));
        assert_eq!(direction(&[wide], &[wide, narrow]), None);
        // Another format is another statement.
        let other = "forwarded 10.1.0.0/16";
        assert_eq!(direction(&[wide], &[other]), Some(Direction::OpensAndNarrows));
        let wide_other = "forwarded 10.0.0.0/8";
        assert_eq!(direction(&[wide_other], &[narrow]), Some(Direction::OpensAndNarrows));
        // The one around it begins before others.
        let many =
            ["x-forwarded 10.0.0.0/8", "x-forwarded 10.0.0.0/24", "x-forwarded ::/0", wide_other];
        assert_eq!(direction(&many, &[&many[..], &[narrow, "x-forwarded ::1"]].concat()), None);
        let outside = "x-forwarded 11.0.0.0/8";
        assert_eq!(direction(&many, &[&many[..], &[outside]].concat()), Some(Direction::Opens));
        assert_eq!(direction(&["forwarded unix"], &["forwarded unix"]), None);
    }
}
