//! Conditions on objects and callers.

use std::fmt;

/// What must be true of an object and a caller.
///
/// Its text is canonical: conditions that differ only in the order or the grouping of their parts have
/// the same text.
///
/// ```
/// use policy_core::object::Condition;
///
/// let condition: Condition = "same(team) & role(\"lead\") | owner(user)".parse().unwrap();
/// assert_eq!(condition.to_string(), "owner(user) | role(\"lead\") & same(team)");
/// assert!("owner(user) |".parse::<Condition>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// A single statement.
    Atom(Atom),
    /// The opposite.
    Not(Box<Self>),
    /// All of these.
    All(Vec<Self>),
    /// At least one of these.
    Any(Vec<Self>),
}

/// A statement about an object and a caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Atom {
    /// It is always true, also without a caller.
    Anyone,
    /// There is a caller.
    Authenticated,
    /// The engine of the app decides about the caller.
    Engine,
    /// The field is a flag, and set.
    Flag(String),
    /// The users in the field include the caller.
    Member(String),
    /// The field names the caller.
    Owner(String),
    /// The caller has the role.
    Role(String),
    /// The field names the tenant of the caller.
    SameTenant(String),
    /// The scope was granted.
    Scope(String),
    /// The function of this path decides.
    With(String),
}

impl Condition {
    /// Whether it is true, given whether each of its statements is.
    pub fn holds(&self, decide: &mut dyn FnMut(&Atom) -> bool) -> bool {
        match self {
            Self::Atom(atom) => decide(atom),
            Self::Not(inner) => !inner.holds(decide),
            Self::All(parts) => parts.iter().all(|part| part.holds(decide)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(decide)),
        }
    }

    /// The condition that is left when some statements are known to be true or false.
    ///
    /// # Errors
    ///
    /// The value of the condition, if the known statements decide it.
    pub fn reduced(&self, known: &mut dyn FnMut(&Atom) -> Option<bool>) -> Result<Self, bool> {
        match self {
            Self::Atom(atom) => known(atom).map_or_else(|| Ok(self.clone()), Err),
            Self::Not(inner) => match inner.reduced(known) {
                Ok(left) => Ok(Self::Not(Box::new(left))),
                Err(value) => Err(!value),
            },
            Self::All(parts) => left_of(parts, false, known).map(Self::All),
            Self::Any(parts) => left_of(parts, true, known).map(Self::Any),
        }
    }

    /// Its statements, each once, in their order.
    pub fn atoms(&self) -> Vec<&Atom> {
        let mut atoms = Vec::new();
        self.collect(&mut atoms);
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Whether one of its statements is the engine's.
    pub fn asks_engine(&self) -> bool {
        self.atoms().contains(&&Atom::Engine)
    }

    fn collect<'a>(&'a self, atoms: &mut Vec<&'a Atom>) {
        match self {
            Self::Atom(atom) => atoms.push(atom),
            Self::Not(inner) => inner.collect(atoms),
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.collect(atoms));
            }
        }
    }

    /// The same condition in its canonical form.
    pub(super) fn normal(self) -> Self {
        match self {
            Self::Atom(_) => self,
            Self::Not(inner) => match inner.normal() {
                Self::Not(twice) => *twice,
                other => Self::Not(Box::new(other)),
            },
            Self::All(parts) => flatten(parts, Self::All, |part| match part {
                Self::All(inner) => Ok(inner),
                other => Err(other),
            }),
            Self::Any(parts) => flatten(parts, Self::Any, |part| match part {
                Self::Any(inner) => Ok(inner),
                other => Err(other),
            }),
        }
    }
}

/// The parts that the known statements do not decide; the value of the whole is `decisive` if one
/// part has this value.
fn left_of(
    parts: &[Condition],
    decisive: bool,
    known: &mut dyn FnMut(&Atom) -> Option<bool>,
) -> Result<Vec<Condition>, bool> {
    let mut left = Vec::new();
    for part in parts {
        match part.reduced(known) {
            Ok(part) => left.push(part),
            Err(value) if value == decisive => return Err(decisive),
            Err(_) => (),
        }
    }
    if left.is_empty() { Err(!decisive) } else { Ok(left) }
}

/// Joins the canonical forms of the parts, in order and each once. A group of the same kind is
/// replaced by its own parts.
fn flatten(
    parts: Vec<Condition>,
    join: fn(Vec<Condition>) -> Condition,
    inner: fn(Condition) -> Result<Vec<Condition>, Condition>,
) -> Condition {
    let parts = parts.into_iter().map(Condition::normal).map(inner);
    let mut flat: Vec<_> = parts.flat_map(|part| part.unwrap_or_else(|one| vec![one])).collect();
    flat.sort_unstable();
    flat.dedup();
    match <[Condition; 1]>::try_from(flat) {
        Ok([one]) => one,
        Err(flat) => join(flat),
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anyone => f.write_str("anyone"),
            Self::Authenticated => f.write_str("authenticated"),
            Self::Engine => f.write_str("engine"),
            Self::Flag(field) => f.write_str(field),
            Self::Member(field) => write!(f, "member({field})"),
            Self::Owner(field) => write!(f, "owner({field})"),
            Self::Role(role) => quoted("role", role, f),
            Self::SameTenant(field) => write!(f, "same({field})"),
            Self::Scope(scope) => quoted("scope", scope, f),
            Self::With(path) => write!(f, "with({path})"),
        }
    }
}

/// A name in quotes. Only `\` and `"` are escaped, as the parser of [`Condition`] expects.
fn quoted(word: &str, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{word}(\"{}\")", name.replace('\\', r"\\").replace('"', "\\\""))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grouped = |part: &Self, is_group: bool, f: &mut fmt::Formatter<'_>| match is_group {
            true => write!(f, "({part})"),
            false => write!(f, "{part}"),
        };
        match self {
            Self::Atom(atom) => write!(f, "{atom}"),
            Self::Not(inner) => {
                f.write_str("!")?;
                grouped(inner, !matches!(**inner, Self::Atom(_)), f)
            }
            Self::All(parts) => {
                each(parts, " & ", f, |part, f| grouped(part, matches!(part, Self::Any(_)), f))
            }
            Self::Any(parts) => each(parts, " | ", f, |part, f| write!(f, "{part}")),
        }
    }
}

fn each(
    parts: &[Condition],
    between: &str,
    f: &mut fmt::Formatter<'_>,
    write: impl Fn(&Condition, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write(part, f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn the_text_is_canonical() {
        for (text, canonical) in [
            ("owner(a)", "owner(a)"),
            ("((owner(a)))", "owner(a)"),
            ("!!draft", "draft"),
            ("!(owner(a) | draft)", "!(draft | owner(a))"),
            ("draft | draft", "draft"),
            ("(owner(a) & draft) & same(t)", "draft & owner(a) & same(t)"),
            ("owner(a) & (draft | role(\"x y\"))", "owner(a) & (draft | role(\"x y\"))"),
            ("with(a::b) | anyone", "anyone | with(a::b)"),
            ("owner(a) & !locked | engine", "engine | owner(a) & !locked"),
            ("scope(\"a:b\")|member(m)", "member(m) | scope(\"a:b\")"),
            ("role(\"a\\\"b\\\\c\nd\u{301}\")", "role(\"a\\\"b\\\\c\nd\u{301}\")"),
            ("!na\u{308}me", "!na\u{308}me"),
            ("with(::a::b)", "with(::a::b)"),
        ] {
            let condition = parsed(text);
            let again = parsed(&condition.to_string());
            assert_eq!(again, condition, "{text}");
            assert_eq!(condition.to_string(), canonical, "{text}");
        }
        assert_eq!(parsed("same(t) & owner(a)"), parsed("owner(a) & same(t)"));
    }

    #[test]
    fn only_its_own_statement_asks_the_engine() {
        assert!(parsed("owner(a) | !(draft & engine)").asks_engine());
        assert!(!parsed("owner(engine) | role(\"engine\") | with(engine)").asks_engine());
    }

    #[test]
    fn known_statements_are_left_out() {
        let role = |has: bool| move |atom: &Atom| matches!(atom, Atom::Role(_)).then_some(has);
        let condition = parsed("owner(a) | same(t) & role(\"lead\")");
        assert_eq!(
            condition.reduced(&mut role(true)).unwrap(),
            parsed_raw(&["owner(a)", "same(t)"])
        );
        assert_eq!(condition.reduced(&mut role(false)).unwrap().to_string(), "owner(a)");
        assert_eq!(parsed("role(\"a\") | !role(\"b\")").reduced(&mut role(true)), Err(true));
        assert_eq!(parsed("!(role(\"a\") | draft)").reduced(&mut role(true)), Err(false));
    }

    /// One of these, of which the last is alone in its group.
    fn parsed_raw(parts: &[&str]) -> Condition {
        let [first, last] = [parts[0], parts[1]].map(parsed);
        Condition::Any(vec![first, Condition::All(vec![last])])
    }

    #[test]
    fn statements_are_listed_once() {
        let condition = parsed("owner(a) & !draft | owner(a) & same(t)");
        let names: Vec<String> = condition.atoms().into_iter().map(Atom::to_string).collect();
        assert_eq!(names, ["draft", "owner(a)", "same(t)"]);
    }
}
