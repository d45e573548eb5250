//! Conditions on objects are compared as if all callers and objects were tried. The oracle tries
//! them, with its own evaluator.

use std::collections::BTreeMap;

use policy_core::object::{Atom, Condition};
use policy_core_tests::law::{Precondition, holds};
use policy_manifest::{
    Auth, Manifest, ManifestRoute, ObjectKey, ObjectUse, RouteObjects,
    algebra::{Implication, implies},
    changes,
};
use proptest::{collection::vec, prelude::*, sample::select};

/// The statements of the conditions, the first of which follows from each of the next seven.
const STATEMENTS: [&str; 10] = [
    "authenticated",
    "owner(user)",
    "same(team)",
    "member(watchers)",
    "role(\"lead\")",
    "scope(\"orders\")",
    "with(own::rule)",
    "engine",
    "draft",
    "locked",
];

#[derive(Clone, Debug)]
enum Tree {
    Anyone,
    Statement(usize),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        let joined = |parts: &[Self], sign| {
            let parts: Vec<_> = parts.iter().map(|part| format!("({})", part.text())).collect();
            parts.join(sign)
        };
        match self {
            Self::Anyone => "anyone".to_owned(),
            Self::Statement(number) => STATEMENTS[*number].to_owned(),
            Self::Not(inner) => format!("!({})", inner.text()),
            Self::All(parts) => joined(parts, "&"),
            Self::Any(parts) => joined(parts, "|"),
        }
    }

    /// The number of its statements.
    fn size(&self) -> usize {
        match self {
            Self::Anyone | Self::Statement(_) => 1,
            Self::Not(inner) => inner.size(),
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::size).sum(),
        }
    }

    fn is_true(&self, of: [bool; 10]) -> bool {
        match self {
            Self::Anyone => true,
            Self::Statement(number) => of[*number],
            Self::Not(inner) => !inner.is_true(of),
            Self::All(parts) => !parts.iter().any(|part| !part.is_true(of)),
            Self::Any(parts) => parts.iter().any(|part| part.is_true(of)),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let statement = select((0..STATEMENTS.len()).collect::<Vec<_>>()).prop_map(Tree::Statement);
    let leaf = prop_oneof![1 => Just(Tree::Anyone), 19 => statement];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|inner| Tree::Not(Box::new(inner))),
            2 => vec(inner.clone(), 2..4).prop_map(Tree::All),
            2 => vec(inner, 2..4).prop_map(Tree::Any),
        ]
    })
}

/// All that may be true of a caller and an object: a caller who is named is authenticated.
fn everything() -> impl Iterator<Item = [bool; 10]> {
    let all = (0..1_u32 << 10).map(|bits| std::array::from_fn(|number| bits >> number & 1 == 1));
    all.filter(|of: &[bool; 10]| of[0] || !of[1..8].contains(&true))
}

fn app(edit: &str) -> Manifest {
    let mut manifest = Manifest::new();
    let mut route = ManifestRoute::handler("/orders/{id}", ["PUT"], Auth::Public);
    let key = ObjectKey::Parameter("id".to_owned());
    let edits = ObjectUse { object: "Order".to_owned(), action: "edit".to_owned(), key };
    route.object = Some(RouteObjects::new([edits]));
    manifest.routes.push(route);
    for (name, text) in [("Order.view", "anyone"), ("Order.edit", edit)] {
        manifest.objects.insert(name.to_owned(), text.to_owned());
    }
    manifest
}

/// A pair of rules: independent ones, or two with a part in common.
fn pairs() -> impl Strategy<Value = (Tree, Tree)> {
    let any = |one: &Tree, other: &Tree| Tree::Any(vec![one.clone(), other.clone()]);
    let all = |one: &Tree, other: &Tree| Tree::All(vec![one.clone(), other.clone()]);
    let pairs = (tree(), tree(), 0..4_u8).prop_map(move |(one, other, kind)| match kind {
        0 => (one, other),
        1 => (one.clone(), any(&one, &other)),
        2 => (one.clone(), all(&one, &other)),
        _ => (any(&all(&one, &other), &one), one),
    });
    // A manifest allows no larger conditions.
    pairs.prop_filter("too large", |(one, other)| one.size().max(other.size()) <= 24)
}

fn effects(old: &Tree, new: &Tree) -> (bool, bool) {
    crate::effects(&app(&old.text()), &app(&new.text()))
}

/// A change of a rule opens if some caller may do with some object what was refused, and narrows if some
/// caller may not do what was allowed.
#[test]
fn a_rule_opens_if_somebody_gains_by_it() {
    holds("rules of objects", 49, pairs(), |(old, new)| {
        let gains = everything().any(|of| new.is_true(of) && !old.is_true(of));
        let loses = everything().any(|of| old.is_true(of) && !new.is_true(of));
        prop_assert_eq!(effects(&old, &new), (gains, loses), "{} -> {}", old.text(), new.text());
        Ok(Precondition::met_if(gains != loses))
    });
}

/// At least one caller matches a witness, and every such caller gains by the change, whatever else
/// is true of them.
#[test]
fn a_witness_gains_whatever_else_is_true() {
    holds("witnesses of objects", 40, pairs(), |(old, new)| {
        let [before, after] = [&old, &new].map(|tree| tree.text().parse::<Condition>());
        let (before, after) = (before.expect("a condition"), after.expect("a condition"));
        let Implication::Fails(witness) = implies(&after, &before) else {
            return Ok(Precondition::met_if(false));
        };
        let statement = |atom: &Atom| STATEMENTS.iter().position(|text| *text == atom.to_string());
        let statements: BTreeMap<usize, bool> = witness
            .statements()
            .map(|(atom, is_true)| (statement(atom).expect("a statement"), is_true))
            .collect();
        let is_said = |of: &[bool; 10]| statements.iter().all(|(number, is)| of[*number] == *is);
        let mut of_witness = everything().filter(is_said).peekable();
        prop_assert!(of_witness.peek().is_some(), "{witness:?}");
        for of in of_witness {
            prop_assert!(new.is_true(of) && !old.is_true(of), "{witness:?} {of:?}");
        }
        // The words name each statement, and each change shows them.
        let changes = changes(&app(&old.text()), &app(&new.text())).expect("two policies");
        prop_assert_eq!(changes[0].gained.as_ref(), Some(&witness));
        Ok(Precondition::met_if(!statements.is_empty()))
    });
}
