//! Rights on objects: handlers run only for callers whom the rules admit, and what a caller may not view is
//! as if it were not there.
//!
//! The objects are samples, in each combination of what rules can say of them; they are not loaded. Whether
//! a rule is true is read from its text, without the code that evaluates it for requests.

use policy_core::{
    Refusal,
    object::{Atom, Condition},
};

use super::{Fault, Law, LawSpec, Verdict, callers::fields_of};
use crate::{
    handler::object::{ObjectDescription, samples::SampleObject},
    testing::prove::{
        caller::Facts,
        declared::{Declaration, DeclaredApp},
        explorer::PathExplorer,
        server::Reply,
        tally::Tallies,
    },
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "handlers run only for callers whom the rules of their objects admit, and an object that a \
           caller may not view is as if it were not there",
    help: "please report this: the rules of objects are checked before a handler runs",
    silence: |app| {
        app.without(is_judged, "no route takes an object whose rules and samples decide")
    },
    judge_path,
    caveats,
    ..LawSpec::NONE
};

/// The action that is checked before every other one.
pub(super) const VIEW: &str = "view";

/// The most fields whose values are combined: 256 objects for each caller.
pub(super) const MAX_FIELDS: usize = 8;

/// Asks the app without its layers, which may respond in its place.
fn judge_path(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let callers = explorer.callers.clone();
    for route in explorer.path.routes.clone() {
        let objects = &route.objects;
        if has_lock_before_another(objects) {
            continue;
        }
        let fields = objects.iter().map(|it| it.fields.len()).max().unwrap_or(0);
        for caller in &callers {
            let ask = |object| {
                let request = explorer.by_own_page(caller, &route.method);
                let reply = explorer.ask_about(&request, object, None)?;
                Some((request, reply))
            };
            // Refused by a gate, whatever the object.
            let Some((_, reply)) = ask(None) else { continue };
            let facts = caller.facts_for(route);
            if reply.report.is_none() || facts.is_some_and(Facts::is_foreign) {
                continue;
            }
            let Some((_, missing)) = ask(Some(SampleObject::Missing)) else { continue };
            for values in 0..1_u32 << fields.min(MAX_FIELDS) {
                if !objects.iter().all(|object| (object.has_sample)(values)) {
                    break;
                }
                let sample = SampleObject::Present { values, caller: number_of(facts) };
                let Some(expected) = expected(objects, facts, values) else { continue };
                let Some((request, reply)) = ask(Some(sample)) else { continue };
                let verdict = judge(expected, &reply, &missing);
                let method = route.method.as_str();
                tallies.requests(Law::ObjectRights, explorer.path, method, &[&request], verdict);
            }
        }
    }
}

/// Whether the objects of a route are judged for every caller.
fn is_judged(route: &Declaration) -> bool {
    let is_code = |atom: &Atom| matches!(atom, Atom::With(_) | Atom::Engine);
    let is_data = |object: &ObjectDescription| {
        let rules = rules_of(object, &[VIEW, object.action]);
        !rules.iter().flat_map(Condition::atoms).any(is_code) && (object.has_sample)(0)
    };
    let objects = &route.objects;
    !objects.is_empty() && !has_lock_before_another(objects) && objects.iter().all(is_data)
}

/// The rules of an object for these actions.
pub(super) fn rules_of(object: &ObjectDescription, actions: &[&str]) -> Vec<Condition> {
    let rules = object.rules.iter().filter(|(action, _)| actions.contains(action));
    rules.filter_map(|(_, text)| text.parse().ok()).collect()
}

/// Whether an object that is loaded with a lock is not the last one. There are no locks for samples, so the
/// objects after it are not checked.
fn has_lock_before_another(objects: &[ObjectDescription]) -> bool {
    objects.iter().rev().skip(1).any(|object| object.is_locked)
}

/// The number that samples name as their caller.
pub(super) fn number_of(caller: Option<&Facts>) -> u64 {
    caller.and_then(|facts| facts.subject.parse().ok()).unwrap_or(1)
}

/// What the rules decide about objects with these values; `None` if a function or an engine of the app decides.
pub(super) fn expected(
    objects: &[ObjectDescription],
    caller: Option<&Facts>,
    values: u32,
) -> Option<Result<(), Refusal>> {
    for object in objects {
        let rule = |action: &str| {
            let (_, text) = object.rules.iter().find(|(name, _)| *name == action)?;
            is_true(text, &|atom| decide(atom, object, caller, values))
        };
        if !rule(VIEW)? {
            return Some(Err(Refusal::ObjectNotFound));
        }
        if !rule(object.action)? {
            return Some(Err(Refusal::ObjectDenied));
        }
    }
    Some(Ok(()))
}

/// Whether one statement is true.
fn decide(
    atom: &str,
    object: &ObjectDescription,
    caller: Option<&Facts>,
    values: u32,
) -> Option<bool> {
    let is_set = |field: &str| {
        let position = object.fields.iter().position(|known| known.name == field);
        position.is_some_and(|position| values >> position & 1 == 1)
    };
    let (word, argument) = match atom.split_once('(') {
        None => (atom, ""),
        Some((word, rest)) => (word, rest.trim_end_matches(')').trim_matches('"')),
    };
    Some(match (word, caller) {
        ("anyone", _) => true,
        ("with" | "engine", _) => return None,
        ("authenticated", caller) => caller.is_some(),
        ("owner" | "member" | "same", caller) => caller.is_some() && is_set(argument),
        ("role", caller) => caller.is_some_and(|it| it.roles.iter().any(|role| role == argument)),
        ("scope", caller) => caller.is_some_and(|it| it.scopes.iter().any(|one| one == argument)),
        (flag, _) => is_set(flag),
    })
}

/// Whether a canonical text is true; `None` if one of its statements is not known.
fn is_true(text: &str, decide: &impl Fn(&str) -> Option<bool>) -> Option<bool> {
    let any = parts(text, " | ");
    if any.len() > 1 {
        let values: Option<Vec<bool>> = any.into_iter().map(|part| is_true(part, decide)).collect();
        return Some(values?.contains(&true));
    }
    let all = parts(text, " & ");
    if all.len() > 1 {
        let values: Option<Vec<bool>> = all.into_iter().map(|part| is_true(part, decide)).collect();
        return Some(!values?.contains(&false));
    }
    if let Some(negated) = text.strip_prefix('!') {
        return is_true(negated, decide).map(|value| !value);
    }
    match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => is_true(inner, decide),
        None => decide(text),
    }
}

/// The parts of a text between separators that are in no parentheses and quotes.
fn parts<'a>(text: &'a str, between: &str) -> Vec<&'a str> {
    let (mut parts, mut begin, mut depth, mut is_quoted) = (Vec::new(), 0, 0_i32, false);
    for (index, sign) in text.char_indices() {
        match sign {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            _ => (),
        }
        let rest = text.get(index..).unwrap_or_default();
        if depth == 0 && !is_quoted && rest.starts_with(between) {
            parts.extend(text.get(begin..index));
            begin = index + between.len();
        }
    }
    parts.extend(text.get(begin..));
    parts
}

fn judge(expected: Result<(), Refusal>, reply: &Reply, missing: &Reply) -> Verdict {
    let code = &reply.code;
    let (is_right, words) = match expected {
        Ok(()) => (reply.report.is_some(), "the handler runs".to_owned()),
        Err(Refusal::ObjectNotFound) => (
            reply.report.is_none()
                && reply.status == missing.status
                && reply.body == missing.body
                && fields_of(&reply.headers) == fields_of(&missing.headers),
            format!("the response to an object that is not there, {}", missing.status),
        ),
        Err(refusal) => (
            reply.report.is_none()
                && reply.status == refusal.status()
                && code.as_deref() == Some(refusal.code()),
            format!("{} {}", refusal.status(), refusal.code()),
        ),
    };
    Verdict::unless(!is_right, || Fault {
        expected: words,
        seen: match &reply.report {
            Some(_) => "the handler ran".to_owned(),
            None => format!("{} {}", reply.status, code.as_deref().unwrap_or("without a code")),
        },
        attribute: "object",
    })
}

/// The fields of an object whose values are not combined.
pub(super) fn untried_fields(object: &ObjectDescription) -> Option<String> {
    let (name, all) = (object.name, object.fields.len());
    let words = || format!("only {MAX_FIELDS} of the {all} fields of `{name}` are combined");
    (all > MAX_FIELDS).then(words)
}

/// Exemptions, functions and engines that decide, objects without samples, and fields beyond those that are
/// combined.
fn caveats(_: &DeclaredApp, route: &Declaration) -> Vec<String> {
    let none = route.route.object.as_ref().and_then(|object| object.none.as_ref());
    let none = none.map(|reason| format!("a path parameter without an object: {reason}"));
    let objects = route.objects.iter().flat_map(|object| {
        let name = object.name;
        let rules = object.rules.iter().filter_map(|(_, text)| text.parse().ok());
        let rules: Vec<Condition> = rules.collect();
        let (mut function, mut engine) = (None, None);
        for atom in rules.iter().flat_map(Condition::atoms) {
            match atom {
                Atom::With(_) => function = Some(format!("a function decides about `{name}`")),
                Atom::Engine => engine = Some(format!("the engine decides about `{name}`")),
                _ => (),
            }
        }
        let unknown = (!(object.has_sample)(0))
            .then(|| format!("`{name}` has no samples: state `#[object(sample = ..)]`"));
        function.into_iter().chain(engine).chain(unknown).chain(untried_fields(object))
    });
    let lock = has_lock_before_another(&route.objects);
    let lock = lock.then(|| "an object is loaded with a lock before another one".to_owned());
    none.into_iter().chain(objects).chain(lock).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_are_written() {
        let of = |text: &str, set: &[&str]| {
            let is_known = |atom: &str| atom != "with(f)" && atom != "engine";
            is_true(text, &|atom| is_known(atom).then_some(set.contains(&atom)))
        };
        for (text, set, value) in [
            ("a", &["a"][..], Some(true)),
            ("a | b & c", &["b"], Some(false)),
            ("a | b & c", &["b", "c"], Some(true)),
            ("(a | b) & c", &["a"], Some(false)),
            ("(a | b) & !c", &["a"], Some(true)),
            ("!(a | b)", &[], Some(true)),
            ("role(\"x | y\") & a", &["a", "role(\"x | y\")"], Some(true)),
            ("a | with(f)", &["a"], None),
            ("a & engine", &["a"], None),
        ] {
            assert_eq!(of(text, set), value, "{text} {set:?}");
        }
    }
}
