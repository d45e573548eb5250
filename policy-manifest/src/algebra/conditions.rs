//! Conditions on objects, compared by the callers and the objects that satisfy them.

use std::{collections::BTreeMap, fmt, ptr, slice};

use policy_core::object::{Atom, Condition};

/// Whether everything that satisfies one condition satisfies another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implication {
    /// It does.
    Holds,
    /// It does not: this satisfies the first condition, and not the other one.
    Fails(ConditionWitness),
    /// The conditions are too large to tell.
    Unknown,
}

/// Statements about a caller and an object that decide a comparison: none of them can be left out, and
/// those that are not among them do not matter.
///
/// Its text is a noun: ``callers of the same `team` who are not the `user` ``.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionWitness(BTreeMap<Atom, bool>);

/// The most statements that a comparison reads in all its cases. Thirteen statements need fewer, and most
/// conditions far fewer.
const MOST_READ: usize = 1 << 17;

/// Whether everything that satisfies a condition satisfies another one. Statements are independent of each
/// other, except that a caller who owns an object, is in its tenant or among its members, has a role or a scope,
/// or whom a function or the engine admits is authenticated.
///
/// ```
/// use policy_manifest::algebra::{Implication, implies};
///
/// let [owner, team] = ["owner(user)", "owner(user) | same(team)"].map(|it| it.parse().unwrap());
/// assert_eq!(implies(&owner, &team), Implication::Holds);
/// let Implication::Fails(witness) = implies(&team, &owner) else { panic!() };
/// assert_eq!(witness.to_string(), "callers of the same `team` who are not the `user`");
/// ```
pub fn implies(one: &Condition, other: &Condition) -> Implication {
    Search { known: BTreeMap::new(), left: MOST_READ }.implication(one, other)
}

impl ConditionWitness {
    /// The statements, each with whether it is true.
    pub fn statements(&self) -> impl Iterator<Item = (&Atom, bool)> {
        self.0.iter().map(|(atom, is_true)| (atom, *is_true))
    }

    /// What these callers do, as a sentence: ``callers of the same `team` may now edit it if it is `draft` ``.
    pub(crate) fn who(&self, does: &str) -> String {
        format!("{}{does}{}", self.callers(), self.objects())
    }
}

/// The conditions are too large to compare.
struct TooLarge;

/// A search for statements that satisfy one condition and not another one.
struct Search {
    known: BTreeMap<Atom, bool>,
    /// The number of statements that may still be read.
    left: usize,
}

impl Search {
    fn implication(mut self, one: &Condition, other: &Condition) -> Implication {
        match self.find(one, other) {
            Ok(false) => Implication::Holds,
            Ok(true) => {
                self.shorten(one, other);
                Implication::Fails(ConditionWitness(self.known))
            }
            Err(TooLarge) => Implication::Unknown,
        }
    }

    /// Whether a statement is true, if that follows from what is known.
    fn value(&self, atom: &Atom) -> Option<bool> {
        let stated = |atom: &Atom| self.known.get(atom).copied();
        let names_somebody = || {
            let mut stated = self.known.iter();
            stated.any(|(atom, is_true)| *is_true && names_caller(atom))
        };
        match atom {
            Atom::Anyone => Some(true),
            Atom::Authenticated => stated(atom).or_else(|| names_somebody().then_some(true)),
            Atom::Flag(_) => stated(atom),
            atom => stated(atom)
                .or_else(|| (stated(&Atom::Authenticated) == Some(false)).then_some(false)),
        }
    }

    /// Completes what is known so that one condition is true and the other false. Returns whether that is
    /// possible.
    fn find(&mut self, one: &Condition, other: &Condition) -> Result<bool, TooLarge> {
        let read = 1 + one.atoms().len() + other.atoms().len();
        self.left = self.left.checked_sub(read).ok_or(TooLarge)?;
        let [one, other] = [one, other].map(|it| it.reduced(&mut |atom| self.value(atom)));
        if one == Err(false) || other == Err(true) {
            return Ok(false);
        }
        let [one, other] = [one, other].map(|it| it.unwrap_or_else(constant));
        let Some(atom) = next(&one, &other).cloned() else { return Ok(true) };
        for is_true in [false, true] {
            self.known.insert(atom.clone(), is_true);
            if self.find(&one, &other)? {
                return Ok(true);
            }
            self.known.remove(&atom);
        }
        Ok(false)
    }

    /// Leaves out what does not matter.
    fn shorten(&mut self, one: &Condition, other: &Condition) {
        for atom in self.known.keys().cloned().collect::<Vec<_>>() {
            let Some(is_true) = self.known.remove(&atom) else { continue };
            let [one, other] = [one, other].map(|it| it.reduced(&mut |atom| self.value(atom)));
            if (one, other) != (Err(true), Err(false)) {
                self.known.insert(atom, is_true);
            }
        }
    }
}

/// The statement to decide next: one that has to be true or false by itself, else one that both conditions
/// have, else one of the smaller condition. `None` if both are decided.
fn next<'a>(one: &'a Condition, other: &'a Condition) -> Option<&'a Atom> {
    let forced = |condition: &'a Condition| {
        let parts = match condition {
            Condition::All(parts) if ptr::eq(condition, one) => parts.as_slice(),
            Condition::Any(parts) if ptr::eq(condition, other) => parts.as_slice(),
            condition => slice::from_ref(condition),
        };
        parts.iter().find_map(|part| match part {
            Condition::Atom(atom) => Some(atom),
            Condition::Not(inner) => match &**inner {
                Condition::Atom(atom) => Some(atom),
                _ => None,
            },
            _ => None,
        })
    };
    let is_open = |atom: &&Atom| **atom != Atom::Anyone;
    let [of_one, of_other] =
        [one, other].map(|it| it.atoms().into_iter().filter(is_open).collect::<Vec<_>>());
    let forced = [one, other].into_iter().filter_map(forced).find(is_open);
    let common = || of_one.iter().find(|atom| of_other.contains(atom)).copied();
    let smaller = || {
        let mut sides = [&of_one, &of_other];
        sides.sort_by_key(|atoms| atoms.len());
        sides.into_iter().flatten().next().copied()
    };
    forced.or_else(common).or_else(smaller)
}

/// A condition that is always true, or always false.
pub(crate) fn constant(is_true: bool) -> Condition {
    let anyone = Condition::Atom(Atom::Anyone);
    if is_true { anyone } else { Condition::Not(Box::new(anyone)) }
}

/// Whether a statement is about a caller who is authenticated.
fn names_caller(atom: &Atom) -> bool {
    !matches!(atom, Atom::Anyone | Atom::Authenticated | Atom::Flag(_))
}

impl ConditionWitness {
    fn callers(&self) -> String {
        let mut words = String::from(match self.0.get(&Atom::Authenticated) {
            Some(true) => "authenticated callers",
            Some(false) => "anonymous callers",
            None if self.0.keys().any(names_caller) => "callers",
            None => "all callers",
        });
        // The shortest first: `callers of the same team who are not the owner`.
        let order = |atom: &Atom| match atom {
            Atom::SameTenant(_) => 0,
            Atom::Role(_) | Atom::Scope(_) => 1,
            _ => 2,
        };
        let mut statements: Vec<_> = self.statements().collect();
        statements.sort_by_key(|(atom, _)| order(atom));
        for (atom, is_true) in statements {
            let word = |yes, no| if is_true { yes } else { no };
            words += &match atom {
                Atom::SameTenant(field) => format!(" of {} `{field}`", word("the same", "another")),
                Atom::Role(role) => format!(" {} the role `{role}`", word("with", "without")),
                Atom::Scope(scope) => format!(" {} the scope `{scope}`", word("with", "without")),
                Atom::Member(field) => format!(" who are {}among the `{field}`", word("", "not ")),
                Atom::Owner(field) => format!(" who are {}the `{field}`", word("", "not ")),
                Atom::Engine => format!(" whom the engine {}", word("admits", "refuses")),
                Atom::With(path) => format!(" whom `{path}` {}", word("admits", "refuses")),
                _ => String::new(),
            };
        }
        words
    }

    /// What is true of the object; empty if nothing has to be.
    fn objects(&self) -> String {
        let flags = self.statements().filter_map(|(atom, is_true)| match atom {
            Atom::Flag(field) => Some(format!("{}`{field}`", if is_true { "" } else { "not " })),
            _ => None,
        });
        let flags: Vec<_> = flags.collect();
        if flags.is_empty() { String::new() } else { format!(" if it is {}", flags.join(" and ")) }
    }
}

impl fmt::Display for ConditionWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Condition {
        text.parse().unwrap()
    }

    /// The callers who satisfy one condition and not the other, in words; empty if there are none.
    fn beyond(one: &str, other: &str) -> String {
        match implies(&read(one), &read(other)) {
            Implication::Holds => String::new(),
            Implication::Fails(witness) => witness.to_string(),
            Implication::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn a_witness_is_told_by_what_matters() {
        for (one, other, words) in [
            ("owner(user)", "owner(user) | same(team)", ""),
            ("owner(a) & !owner(a)", "owner(b)", ""),
            ("anyone", "draft | !draft", ""),
            (
                "owner(user) | same(team)",
                "owner(user)",
                "callers of the same `team` who are not the `user`",
            ),
            (
                "same(team) & !locked",
                "same(team) & !locked & role(\"lead\")",
                "callers of the same `team` without the role `lead` if it is not `locked`",
            ),
            ("anyone", "owner(user)", "callers who are not the `user`"),
            ("anyone", "authenticated", "anonymous callers"),
            ("authenticated", "scope(\"a\")", "authenticated callers without the scope `a`"),
            ("anyone", "!anyone", "all callers"),
            (
                "with(own::rule) & member(watchers)",
                "role(\"x\")",
                "callers without the role `x` who are among the `watchers` whom `own::rule` admits",
            ),
            ("!draft & open", "draft", "all callers if it is not `draft` and `open`"),
            ("same(team)", "with(f)", "callers of the same `team` whom `f` refuses"),
            (
                "engine | owner(user)",
                "owner(user)",
                "callers whom the engine admits who are not the `user`",
            ),
        ] {
            assert_eq!(beyond(one, other), words, "{one} => {other}");
        }
    }

    #[test]
    fn who_satisfies_a_statement_about_a_caller_is_authenticated() {
        for text in
            ["owner(a)", "member(a)", "same(a)", "role(\"a\")", "scope(\"a\")", "with(a)", "engine"]
        {
            assert_eq!(beyond(text, "authenticated"), "", "{text}");
            assert_ne!(beyond("authenticated", text), "", "{text}");
            assert_eq!(beyond(&format!("{text} & !authenticated"), "!anyone"), "", "{text}");
        }
        assert_eq!(beyond("draft", "authenticated"), "anonymous callers if it is `draft`");
    }

    #[test]
    fn a_comparison_is_bounded() {
        let many = |sign: &str, names: [&str; 2]| {
            let parts = (0..11).map(|it| format!("({}{it} {sign} {}{it})", names[0], names[1]));
            parts.collect::<Vec<_>>()
        };
        // Deciding statements are found among many others.
        let one = format!("{} & z", many("|", ["a", "b"]).join(" & "));
        let other = format!("{} | z", many("&", ["c", "d"]).join(" | "));
        assert_eq!(beyond(&one, &other), "");
        let (one, other) = ("(a | b) & (c | d)", "a & c | a & d | b & c | b & d");
        assert_eq!(beyond(one, other), "");
        let search = Search { known: BTreeMap::new(), left: 20 };
        assert_eq!(search.implication(&read(one), &read(other)), Implication::Unknown);
    }
}
