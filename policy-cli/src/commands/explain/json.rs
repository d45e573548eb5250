//! An explanation as JSON.

use http::Request;
use policy_core::Refusal;
use policy_manifest::{
    Change, Explanation, LeftCondition, Unsent,
    engine::{Decision, Outcome, Verdict},
};
use serde_json::{Value, json};

use crate::escape::json_text;

pub(super) fn render(request: &Request<()>, explanation: &Explanation) -> String {
    let decision = &explanation.decision;
    let (outcome, code) = outcome(decision);
    let gates: Vec<_> = explanation
        .gates
        .iter()
        .map(|finding| {
            let (verdict, code) = match &finding.verdict {
                Some(Verdict::Passed) => ("passed", None),
                Some(Verdict::NotAsked) => ("not_asked", None),
                Some(Verdict::Ended) => ("ended", None),
                Some(Verdict::Refused(refusal)) => ("refused", Some(refusal.code())),
                None => ("not_reached", None),
            };
            json!({
                "gate": finding.gate.name(),
                "verdict": verdict,
                "code": code,
                "source": finding.source,
            })
        })
        .collect();
    let objects = explanation.objects.iter().map(|found| {
        let (verdict, left) = match &found.left {
            LeftCondition::Holds => ("holds", None),
            LeftCondition::Fails => ("fails", None),
            LeftCondition::Object(left) => ("object", Some(left)),
        };
        json!({
            "rule": found.rule,
            "key": found.object.key,
            "condition": found.condition,
            "verdict": verdict,
            "left": left,
            "engine": found.engine,
        })
    });
    let objects: Vec<_> = objects.collect();
    let route = explanation.route.as_ref();
    let route = route.map(|(path, methods)| json!({ "path": path, "methods": methods }));
    let nearest = explanation.nearest.as_ref().map(|nearest| nearest.steps.clone());
    let edit = explanation.edit.as_ref().map(|edit| {
        let changes: Vec<Value> = edit.changes.iter().map(change).collect();
        json!({ "steps": edit.steps, "source": edit.source, "changes": changes })
    });
    let browser = explanation.unsent.map(|unsent| {
        let (reason, refusal) = match unsent {
            Unsent::PreflightRefused(refusal) => ("preflight_refused", Some(refusal)),
            Unsent::CookiesNotAllowed => ("cookies_not_allowed", None),
            Unsent::MethodNotListed => ("method_not_listed", None),
            Unsent::HeaderNotListed => ("header_not_listed", None),
        };
        json!({
            "reason": reason,
            "code": refusal.map(Refusal::code),
            "status": refusal.map(Refusal::status),
        })
    });
    let outcomes = explanation
        .outcomes
        .as_ref()
        .map(|outcomes| json!({ "by_status": outcomes.by_status(), "open": outcomes.is_open }));
    let explanation = json!({
        "version": 1,
        "request": { "method": request.method().as_str(), "target": request.uri().to_string() },
        "outcome": outcome,
        "code": code,
        "status": decision.status,
        "if_listed": decision.if_listed,
        "unsent_by_browser": browser,
        "route": route,
        "outcomes": outcomes,
        "gates": gates,
        "objects": objects,
        "page": explanation.page,
        "nearest": nearest,
        "edit": edit,
    });
    json_text(&explanation)
}

/// The outcome of a decision, with the code of a refusal.
pub(in crate::commands) fn outcome(decision: &Decision) -> (&'static str, Option<&'static str>) {
    match decision.outcome {
        Outcome::Reached => ("reached", None),
        Outcome::PreflightGranted => ("preflight_granted", None),
        Outcome::Automatic => ("automatic", None),
        Outcome::Refused(refusal) => ("refused", Some(refusal.code())),
    }
}

fn change(change: &Change) -> Value {
    json!({
        "route": change.route(),
        "facet": change.facet,
        "opens": change.direction.opens(),
        "narrows": change.direction.narrows(),
        "words": change.words,
    })
}
