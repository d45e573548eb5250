//! Lints about rights on objects: rules that say nothing, rules that no comparison sees, changes without a
//! rule.

use std::collections::BTreeSet;

use policy_core::{
    Lint,
    object::{Atom, Condition},
};

use super::{Authority, Effect, Finding, Gain, Gainer, Manifest, effect};
use crate::{
    ManifestRoute,
    algebra::{Implication, constant, implies},
};

pub(super) fn look(manifest: &Manifest, found: &mut Vec<Finding>) {
    found.extend(manifest.routes.iter().filter_map(unchecked_change));
    found.extend(manifest.routes.iter().filter_map(unchecked_fields));
    for (name, text) in &manifest.objects {
        let Ok(condition) = text.parse::<Condition>() else { continue };
        found.extend(always_true(manifest, name, &condition));
        found.extend(opaque(name, &condition));
    }
}

fn unchecked_change(route: &ManifestRoute) -> Option<Finding> {
    let reason = route.object.as_ref()?.none.as_ref()?;
    route.auth.requirement().filter(|_| effect(route) == Effect::Write)?;
    let finding = Finding::for_route(Lint::ObjectUncheckedChange, route, "object");
    Some(finding.gain(by_any_caller(route)).about(format!("{reason:?}")))
}

fn unchecked_fields(route: &ManifestRoute) -> Option<Finding> {
    let fields = &route.object.as_ref()?.fields;
    let names: Vec<_> = fields.iter().map(|name| format!("`{name}`")).collect();
    let finding = Finding::for_route(Lint::ObjectFieldUnchecked, route, "object");
    (!names.is_empty()).then(|| finding.gain(by_any_caller(route)).about(names.join(", ")))
}

fn always_true(manifest: &Manifest, name: &str, condition: &Condition) -> Option<Finding> {
    let anyone = constant(true);
    if *condition == anyone || implies(&anyone, condition) != Implication::Holds {
        return None;
    }
    let uses_it = |route: &&ManifestRoute| {
        let mut uses = route.object.iter().flat_map(|objects| &objects.uses);
        uses.any(|it| it.rules().any(|rule| rule == name))
    };
    let gains = manifest.routes.iter().filter(uses_it).map(by_any_caller);
    let gain = gains.max_by_key(|gain| gain.severity())?;
    let finding = Finding::new(Lint::ObjectRuleAlwaysTrue, name.to_owned(), "object");
    Some(finding.gain(gain).about(format!("`{condition}`")))
}

/// The gain of a caller whom no rule about an object refuses.
fn by_any_caller(route: &ManifestRoute) -> Gain {
    let authority = match route.auth.requirement() {
        None => Authority::Nobody,
        Some(_) if route.is_ambient() => Authority::Ambient,
        Some(_) => Authority::Held,
    };
    Gain { who: Gainer::Anybody, what: effect(route), authority }
}

fn opaque(name: &str, condition: &Condition) -> Option<Finding> {
    let is_opaque = |atom: &&Atom| matches!(atom, Atom::With(_) | Atom::Engine);
    let opaque = condition.atoms().into_iter().filter(is_opaque);
    let opaque: BTreeSet<String> = opaque.map(|atom| format!("`{atom}`")).collect();
    let finding = Finding::new(Lint::ObjectRuleOpaque, name.to_owned(), "object");
    let about = opaque.into_iter().collect::<Vec<_>>().join(", ");
    (!about.is_empty()).then(|| finding.about(about))
}
