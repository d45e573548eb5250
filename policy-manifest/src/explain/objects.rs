//! What the objects of a route have to satisfy for one caller.

use policy_core::object::{Atom, Condition};

use crate::{Manifest, ManifestRoute, ObjectUse, engine::Login};

/// A rule that an object has to satisfy. The object is not part of the request, so only the caller
/// decides here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectFinding {
    /// The object, and the action that the route is about.
    pub object: ObjectUse,
    /// The rule, such as `Order.view`.
    pub rule: String,
    /// The condition of the rule.
    pub condition: String,
    /// What is left of it for this caller.
    pub left: LeftCondition,
    /// The engine of the app, if it may be asked for this caller.
    pub engine: Option<String>,
}

/// What is left of a condition once the caller is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftCondition {
    /// Every object satisfies it.
    Holds,
    /// No object satisfies it.
    Fails,
    /// The object decides by this condition.
    Object(String),
}

/// Evaluates, for one caller, the rules that the objects of a route have to satisfy, in the order in
/// which they are checked.
pub(super) fn evaluate(
    manifest: &Manifest,
    route: &ManifestRoute,
    login: Option<&Login>,
) -> Vec<ObjectFinding> {
    let holds = |held: fn(&Login) -> &Vec<String>, name: &String| {
        Some(login.is_some_and(|login| held(login).contains(name)))
    };
    let mut known = |atom: &Atom| match atom {
        Atom::Anyone => Some(true),
        Atom::Authenticated => Some(login.is_some()),
        Atom::Role(role) => holds(|login| &login.roles, role),
        Atom::Scope(scope) => holds(|login| &login.scopes, scope),
        Atom::Flag(_) => None,
        // All others name the caller.
        _ => login.is_none().then_some(false),
    };
    // Users of another issuer get no object: they could have the names of users.
    let is_foreign = login.is_some_and(|login| login.issuer.is_some());
    let uses = route.object.iter().flat_map(|objects| &objects.uses);
    let rules = uses.flat_map(|object| object.rules().map(move |rule| (object, rule)));
    let found = rules.filter_map(|(object, rule)| {
        let condition = manifest.condition(&rule)?;
        let left = if is_foreign { Err(false) } else { condition.reduced(&mut known) };
        let asks = left.as_ref().is_ok_and(Condition::asks_engine);
        let engine = manifest.app.engine.as_ref().filter(|_| asks);
        let engine = engine.map(|engine| engine.name.clone());
        let left = match left {
            Ok(left) => LeftCondition::Object(left.to_string()),
            Err(true) => LeftCondition::Holds,
            Err(false) => LeftCondition::Fails,
        };
        let condition = condition.to_string();
        Some(ObjectFinding { object: object.clone(), rule, condition, left, engine })
    });
    found.collect()
}
