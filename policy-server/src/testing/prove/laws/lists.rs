//! Lists of objects: each has exactly the objects that its rules admit, whether it is filtered in memory or
//! by a database.
//!
//! The probe takes the list in place of the handler, and asks it about the samples by which
//! [`objects`](super::objects) judges: both read the rules in the same way.

use std::slice;

use policy_core::{
    Refusal,
    object::{Atom, Condition},
};

use super::{
    Fault, Law, LawSpec, Verdict,
    objects::{MAX_FIELDS, VIEW, expected, number_of, rules_of, untried_fields},
    predicate::Row,
};
use crate::{
    handler::object::{
        ObjectDescription, Predicate,
        samples::{ALIAS, FIRST, ListAnswers, ListTrial},
    },
    testing::prove::{
        caller::Facts,
        declared::{Declaration, DeclaredApp},
        explorer::PathExplorer,
        server::Reply,
        tally::Tallies,
    },
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "a list has exactly the objects that the rules of its action and of `view` admit, in memory and \
           by its predicate",
    help: "please report this: a list is filtered by the rules of its objects",
    silence: |app| {
        app.without(
            |route| route.lists.iter().any(is_judged),
            "no route takes a list whose rules and samples decide",
        )
    },
    judge_path,
    caveats,
    ..LawSpec::NONE
};

/// Asks the app without its layers, which may respond in its place.
fn judge_path(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let callers = explorer.callers.clone();
    for route in explorer.path.routes.clone() {
        for list in route.lists.iter().filter(|list| is_judged(list)) {
            let Some(probe) = list.list else { continue };
            let samples = 1_u32 << list.fields.len().min(MAX_FIELDS);
            for caller in &callers {
                let request = explorer.by_own_page(caller, &route.method);
                // Refused by a gate, whatever the list.
                let reply = explorer.ask_about(&request, None, None);
                if reply.is_none_or(|reply| reply.report.is_none()) {
                    continue;
                }
                let facts = caller.facts_for(route);
                let trial = ListTrial { probe, caller: number_of(facts), samples };
                // A new one, since a ticket is valid once.
                let request = explorer.by_own_page(caller, &route.method);
                let Some(reply) = explorer.ask_about(&request, None, Some(trial)) else { continue };
                for verdict in verdicts(list, facts, trial, &reply) {
                    let method = route.method.as_str();
                    tallies.requests(Law::ListRights, explorer.path, method, &[&request], verdict);
                }
            }
        }
    }
}

/// Whether the rules of a list and its samples decide its contents. No list can be filtered by
/// other rules.
fn is_judged(list: &ObjectDescription) -> bool {
    let is_data = |atom: &Atom| match atom {
        Atom::With(_) | Atom::Engine => false,
        Atom::Member(name) => {
            list.fields.iter().any(|field| field.name == name && field.relation.is_some())
        }
        _ => true,
    };
    let rules = rules_of(list, &[VIEW, list.action]);
    rules.iter().flat_map(Condition::atoms).all(is_data) && (list.has_sample)(0)
}

/// A verdict on each sample, or one if there is no list.
fn verdicts(
    list: &ObjectDescription,
    caller: Option<&Facts>,
    trial: ListTrial,
    reply: &Reply,
) -> Vec<Verdict> {
    let listed = reply.report.as_ref().and_then(|report| report.listed.as_ref());
    let code = &reply.code;
    let outcome = || match (&reply.report, listed) {
        (_, Some(_)) => "the handler gets a list".to_owned(),
        (Some(_), None) => "the handler ran without the list".to_owned(),
        (None, None) => format!("{} {}", reply.status, code.as_deref().unwrap_or("without a code")),
    };
    // Foreign users may have the names of users.
    if caller.is_some_and(Facts::is_foreign) {
        let refusal = Refusal::CallerForeign;
        let is_refused = reply.status == refusal.status()
            && reply.report.is_none()
            && code.as_deref() == Some(refusal.code());
        return vec![Verdict::unless(!is_refused, || Fault {
            expected: format!("{} {}", refusal.status(), refusal.code()),
            seen: outcome(),
            attribute: "object",
        })];
    }
    let Some(listed) = listed else {
        return vec![Verdict::Broken(Fault {
            expected: "the handler gets a list".to_owned(),
            seen: outcome(),
            attribute: "object",
        })];
    };
    (0..trial.samples).map(|values| judge(list, caller, (trial.caller, values), listed)).collect()
}

/// Judges what a list says of one sample.
fn judge(
    list: &ObjectDescription,
    facts: Option<&Facts>,
    (caller, values): (u64, u32),
    listed: &ListAnswers,
) -> Verdict {
    let Some(admitted) = expected(slice::from_ref(list), facts, values) else {
        return Verdict::Silent;
    };
    // The type may have no sample with these values.
    let Some(is_contained) = listed.contained.get(values as usize) else { return Verdict::Silent };
    let is_right = |has: Option<bool>| has == Some(admitted.is_ok());
    let says = |of: &str, has: Option<bool>| match has {
        Some(true) => format!("{of} has it"),
        Some(false) => format!("{of} does not have it"),
        None => format!("{of} cannot be read"),
    };
    let mut seen = Vec::new();
    if !is_right(Some(*is_contained)) {
        seen.push(says("the list in memory", Some(*is_contained)));
    }
    for (predicate, table, first) in [(&listed.predicate, "", 1), (&listed.of_alias, ALIAS, FIRST)]
    {
        for has_nulls in [false, true] {
            let (fields, key) = (list.fields, list.key_column);
            let row = Row { fields, key, values, caller, has_nulls };
            let selected = row.is_selected(predicate, table, first);
            if !is_right(selected) {
                let nulls = if has_nulls { " with NULL in the other columns" } else { "" };
                seen.push(says(&text_of(predicate), selected) + nulls);
            }
        }
    }
    Verdict::unless(!seen.is_empty(), || {
        let has = if admitted.is_ok() { "has" } else { "does not have" };
        Fault {
            expected: format!("the list {has} an object {}", described(list, values)),
            seen: seen.join(", "),
            attribute: "object",
        }
    })
}

fn text_of(Predicate { sql, values }: &Predicate) -> String {
    format!("the predicate `{sql}` with {values:?}")
}

/// A sample in words: the fields that name the caller or their tenant, or are set.
fn described(list: &ObjectDescription, values: u32) -> String {
    let fields = list.fields.iter().enumerate();
    let set = fields.filter(|(position, _)| values >> position & 1 == 1);
    let set: Vec<_> = set.map(|(_, field)| format!("`{}`", field.name)).collect();
    match set.is_empty() {
        true => format!("`{}` that has nothing to do with the caller", list.name),
        false => format!("`{}` with {}", list.name, set.join(", ")),
    }
}

/// Lists that are not judged, and fields beyond those that are combined.
fn caveats(_: &DeclaredApp, route: &Declaration) -> Vec<String> {
    let unjudged = route.lists.iter().filter(|list| !is_judged(list));
    let unjudged = unjudged.map(|list| match (list.has_sample)(0) {
        true => format!("no list can be filtered by the rules of `{}`", list.name),
        false => format!("`{}` has no samples: state `#[object(sample = ..)]`", list.name),
    });
    unjudged.chain(route.lists.iter().filter_map(untried_fields)).collect()
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use policy_core::object::{Field, FieldKind};

    use super::*;
    use crate::handler::object::KeyOrigin;

    const FIELDS: &[Field] = &[Field {
        name: "draft",
        kind: FieldKind::Flag,
        column: "draft",
        is_number: false,
        is_optional: false,
        relation: None,
    }];

    /// The verdicts on a list of an object with and without `draft`, for the rule `!draft`.
    fn judge_samples(contained: [bool; 2], sql: &str, of_alias: &str) -> String {
        let list = ObjectDescription {
            id: TypeId::of::<()>(),
            name: "Order",
            action: VIEW,
            key: KeyOrigin::List,
            rules: &[(VIEW, "!draft")],
            places: &[],
            fields: FIELDS,
            is_versioned: false,
            is_locked: false,
            has_sample: |_| true,
            key_column: "id",
            list: None,
        };
        let [predicate, of_alias] =
            [sql, of_alias].map(|sql| Predicate { sql: sql.to_owned(), values: Vec::new() });
        let listed = ListAnswers { contained: contained.to_vec(), predicate, of_alias };
        let seen = [0, 1].map(|values| match judge(&list, None, (1, values), &listed) {
            Verdict::Broken(fault) => format!("{}: {}", fault.expected, fault.seen),
            verdict => format!("{verdict:?}"),
        });
        seen.join("; ")
    }

    const PLAIN: &str = "(NOT (COALESCE(draft, 1 = 0)))";
    const OF_ALIAS: &str = "(NOT (COALESCE(policy_probe.draft, 1 = 0)))";

    #[test]
    fn a_list_that_says_what_the_rule_says_is_right() {
        assert_eq!(judge_samples([true, false], PLAIN, OF_ALIAS), "Holds; Holds");
    }

    #[test]
    fn each_form_of_a_list_is_judged() {
        for (contained, sql, of_alias, words) in [
            (
                [true, true],
                PLAIN,
                OF_ALIAS,
                "Holds; the list does not have an object `Order` with `draft`: the list in memory has it",
            ),
            (
                [false, false],
                PLAIN,
                OF_ALIAS,
                "the list has an object `Order` that has nothing to do with the caller: the list in \
                 memory does not have it; Holds",
            ),
            (
                [true, false],
                "(NOT (draft))",
                OF_ALIAS,
                "the list has an object `Order` that has nothing to do with the caller: the predicate \
                 `(NOT (draft))` with [] does not have it with NULL in the other columns; Holds",
            ),
            (
                [true, false],
                PLAIN,
                PLAIN,
                "the list has an object `Order` that has nothing to do with the caller: the predicate \
                 `(NOT (COALESCE(draft, 1 = 0)))` with [] cannot be read",
            ),
        ] {
            let seen = judge_samples(contained, sql, of_alias);
            assert!(seen.contains(words), "{seen}");
        }
    }
}
