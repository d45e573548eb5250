//! A comparison as JSON, as docs/schema/diff-1.json describes it.

use http::Request;
use policy_manifest::{
    Change,
    algebra::ConditionWitness,
    diff::{Axis, Case, DiffFinding},
    engine::Decision,
};
use serde_json::{Value, json};

use super::{Compared, causes::is_of_objects, witness};
use crate::{commands::explain, escape::json_text};

pub(super) fn render(compared: &Compared) -> String {
    json_text(&value(compared))
}

pub(super) fn value(compared: &Compared) -> Value {
    let findings: Vec<_> =
        compared.diff.findings.iter().map(|found| finding(compared, found)).collect();
    let changes: Vec<_> =
        compared.diff.changes.iter().map(|found| change(compared, found)).collect();
    let has = |axis| {
        let mut of_objects = compared.diff.changes.iter().filter(|it| is_of_objects(it));
        compared.findings_on(axis).next().is_some()
            || of_objects.any(|change| match axis {
                Axis::Widened => change.direction.opens(),
                Axis::Narrowed => change.direction.narrows(),
            })
    };
    let verdict = match (has(Axis::Widened), has(Axis::Narrowed)) {
        (true, true) => "widened_and_narrowed",
        (true, false) => "widened",
        (false, true) => "narrowed",
        (false, false) if compared.diff.is_empty() => "equal",
        (false, false) => "same_access",
    };
    json!({
        "version": 1,
        "old": { "name": compared.old.name, "digest": compared.old.manifest.digest() },
        "new": { "name": compared.new.name, "digest": compared.new.manifest.digest() },
        "verdict": verdict,
        "opens": compared.opens(),
        "findings": findings,
        "changes": changes,
    })
}

fn finding(compared: &Compared, finding: &DiffFinding) -> Value {
    let places: Vec<_> = finding
        .places
        .iter()
        .map(|place| {
            json!({
                "path": place.path,
                "methods": place.methods,
                "every_other_method": place.every_other_method,
                "encoded_slash": place.encoded_slash,
                "before": place.before,
                "after": place.after,
            })
        })
        .collect();
    let cases: Vec<_> = finding.cases.iter().map(|found| case(compared, found)).collect();
    let changes: Vec<_> = finding.changes.iter().map(|found| change(compared, found)).collect();
    json!({
        "axis": finding.axis.name(),
        "severity": finding.severity,
        "places": places,
        "facets": finding.facets,
        "cases": cases,
        "because": changes,
    })
}

fn case(compared: &Compared, case: &Case) -> Value {
    let senders = &case.senders;
    let witness = &case.witness;
    let own = compared.new.manifest.app.public_origin.as_deref();
    let to_new = witness.moved.as_ref().unwrap_or(&witness.request);
    json!({
        "severity": case.severity,
        "senders": {
            "words": senders.words(),
            "programs": senders.programs,
            "own_pages": senders.own_pages,
            "pages": senders.pages.to_string(),
            "links": senders.links,
            "embeds": senders.embeds,
            "web_socket": senders.web_socket,
            "other_host": senders.other_host,
            "odd": senders.odd,
        },
        "callers": case.callers,
        "is_preflight": case.is_preflight(),
        "gains": case.gains,
        "words": case.gains.words(),
        "witness": {
            "request": request(&witness.request),
            "moved": witness.moved.as_ref().map(request),
            "credentials": witness.credentials,
            "before": outcome(&witness.before),
            "after": outcome(&witness.after),
            "fetch": witness::fetch(case, own),
            "curl": witness::curl(to_new, own),
        },
    })
}

fn request(request: &Request<()>) -> Value {
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]));
    json!({
        "method": request.method().as_str(),
        "target": request.uri().to_string(),
        "headers": headers.collect::<Vec<_>>(),
    })
}

fn outcome(decision: &Decision) -> Value {
    let (outcome, code) = explain::json::outcome(decision);
    json!({
        "outcome": outcome,
        "code": code,
        "status": decision.status,
        "if_listed": decision.if_listed,
    })
}

fn change(compared: &Compared, change: &Change) -> Value {
    json!({
        "route": change.route(),
        "facet": change.facet,
        "opens": change.direction.opens(),
        "narrows": change.direction.narrows(),
        "words": change.words,
        "gained": change.gained.as_ref().map(statements),
        "source": compared.source(change),
    })
}

/// What is true of a caller and an object, and what is not.
fn statements(witness: &ConditionWitness) -> Value {
    let of = |wanted: bool| {
        let statements = witness.statements().filter(move |(_, is_true)| *is_true == wanted);
        statements.map(|(atom, _)| atom.to_string()).collect::<Vec<_>>()
    };
    json!({ "words": witness.to_string(), "true": of(true), "false": of(false) })
}
