//! Explanations: what decided, what was not reached, and what would have to change.
//!
//! The naive interpreter judges what an explanation promises. Explanations count run-time lists with
//! their bounds, so the interpreter gets no present entries.
//!
//! Covers: preflights and the requests that they announce, several policies of one path,
//! routes that fall to a mount or to the fallback, and edits of a facet that other gates read, too.

use http::Request;
use policy_core::{Refusal, route::Level};
use policy_manifest::{
    Auth, Change, Csrf, Dangers, Explanation, FacetSource, Manifest, ManifestRoute, RouteCors,
    RouteLimits, RouteOrigins, Sources, changes,
    engine::{Engine, Gate, RequestCredentials, Verdict},
    explain,
    facet::enforced_by,
};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    generate::{caller, site, sketch},
    naive::{self, Lists},
};
use crate::law::{Precondition, holds_in_fewer};

/// The number of requests to each manifest.
const REQUESTS: usize = 3;

/// The facets that a gate reads besides its own.
fn also_read(gate: Gate) -> &'static [&'static str] {
    match gate {
        // Pages of granted origins and scripts of JSONP pass; early data may not carry credentials.
        Gate::FetchMetadata => &["cors", "jsonp", "auth"],
        Gate::Authenticate | Gate::Csrf | Gate::Authorize => &["cors", "csrf", "auth"],
        _ => &[],
    }
}

const FACETS: [&str; 6] = ["cors", "isolation", "auth", "csrf", "limits", "jsonp"];

/// A copy of a manifest in which the route of an explanation has other facets.
fn with_route(
    manifest: &Manifest,
    explanation: &Explanation,
    edit: impl Fn(&mut ManifestRoute),
) -> Manifest {
    let mut manifest = manifest.clone();
    for route in &mut manifest.routes {
        let place = (route.path.clone(), route.methods.clone());
        if Some(place) == explanation.route {
            edit(route);
        }
    }
    manifest
}

fn take(route: &mut ManifestRoute, facet: &str, other: &ManifestRoute) {
    match facet {
        "cors" => route.cors.clone_from(&other.cors),
        "isolation" => route.isolation = other.isolation,
        "auth" => route.auth = other.auth.clone(),
        "csrf" => route.csrf = other.csrf.clone(),
        "limits" => route.limits = other.limits,
        _ => route.jsonp.clone_from(&other.jsonp),
    }
}

/// Removes what a facet requires.
fn free(route: &mut ManifestRoute, facet: &str, request: &Request<()>) {
    match facet {
        "cors" => {
            let origin = request.headers().get("origin").and_then(|value| value.to_str().ok());
            route.cors = Some(RouteCors {
                origins: RouteOrigins::Listed(origin.map(str::to_owned).into_iter().collect()),
                credentials: true,
                methods: None,
                headers: Vec::new(),
                expose: Vec::new(),
                max_age: None,
                dangers: Dangers { insecure_origins: true, public_suffix: true },
            });
        }
        "isolation" => route.isolation = None,
        "auth" => route.auth = Auth::Public,
        "csrf" => route.csrf = Csrf::Exempt("a law".to_owned()),
        "limits" => route.limits = RouteLimits::default(),
        _ => route.jsonp = None,
    }
}

/// The gate that refused, with its refusal.
fn find_refusal(explanation: &Explanation) -> Option<(Gate, Refusal)> {
    explanation.gates.iter().find_map(|found| match found.verdict {
        Some(Verdict::Refused(refusal)) => Some((found.gate, refusal)),
        _ => None,
    })
}

fn verdicts(explanation: &Explanation) -> Vec<(Gate, Option<Verdict>)> {
    explanation.gates.iter().map(|found| (found.gate, found.verdict.clone())).collect()
}

/// T22. What an explanation says was not reached can be anything. What it names decides: without
/// it, the request is not refused for that reason.
#[test]
fn t22_named_facts_of_an_explanation_decide() {
    let cases = (site(), vec((sketch(), caller()), REQUESTS), any::<Index>());
    holds_in_fewer(6, "T22, what decides", 70, cases, |(site, requests, other)| {
        let manifest = &site.manifest;
        let other = manifest.routes[other.index(manifest.routes.len())].clone();
        let mut is_met = false;
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let explained =
                |manifest: &Manifest| explain(manifest, &Sources::default(), &request, caller).ok();
            let explanation = explained(manifest).expect("a manifest that starts");
            // A preflight that was granted states what the page needs.
            let is_of_page = request.headers().contains_key("origin");
            let reached = |facet: &&str| {
                (is_of_page && *facet == "cors")
                    || explanation.gates.iter().any(|found| {
                        found.verdict.is_some()
                            && (enforced_by(found.gate) == Some(*facet)
                                || also_read(found.gate).contains(facet))
                    })
            };
            let open: Vec<_> = FACETS.iter().filter(|facet| !reached(facet)).collect();
            let changed = with_route(manifest, &explanation, |route| {
                open.iter().for_each(|facet| take(route, facet, &other));
            });
            let again = explained(&changed);
            let again = again.as_ref().map(verdicts);
            prop_assert_eq!(again, Some(verdicts(&explanation)), "{:?} {:?}", open, request);
            let Some((gate, refusal)) = find_refusal(&explanation) else { continue };
            if explanation.route.is_none() {
                continue;
            }
            let Some(facet) = enforced_by(gate).filter(|_| is_of_a_facet(refusal)) else {
                continue;
            };
            is_met = true;
            let freed = with_route(manifest, &explanation, |route| free(route, facet, &request));
            // No policy can grant a value that is no origin.
            let Some(freed) = explained(&freed).filter(|_| !is_from_no_origin(&request)) else {
                continue;
            };
            prop_assert_ne!(find_refusal(&freed), Some((gate, refusal)), "{} {:?}", facet, request);
        }
        Ok(Precondition::met_if(is_met))
    });
}

fn is_from_no_origin(request: &Request<()>) -> bool {
    let mut origins = request.headers().get_all("origin").iter();
    origins.next().is_some_and(|origin| origin.as_bytes().contains(&b'*'))
        || origins.next().is_some()
}

/// Whether a facet of the route causes this refusal, not the request alone.
fn is_of_a_facet(refusal: Refusal) -> bool {
    !matches!(
        refusal,
        Refusal::ContentRange
            | Refusal::MediaType
            | Refusal::CookiesTooLarge
            | Refusal::CredentialsUnchecked
            | Refusal::TunnelOrigin
            | Refusal::PreflightOriginRepeated
            | Refusal::PreflightMethod
            | Refusal::TooEarly
    )
}

/// T23. The nearest request is let through, the edit lets this one through, and what else the edit
/// opens is listed: whatever is newly let through belongs to a route of the list.
#[test]
fn t23_edits_of_an_explanation_work() {
    let cases = (site(), vec((sketch(), caller()), REQUESTS));
    holds_in_fewer(6, "T23, counterfactuals", 20, cases, |(site, requests)| {
        let manifest = &site.manifest;
        let before = value_of(manifest);
        let mut is_met = false;
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let explanation = explain(manifest, &Sources::default(), &request, caller);
            let explanation = explanation.expect("a manifest that starts");
            if let Some(near) = &explanation.nearest {
                prop_assert!(lets_through(&before, &near.request, &near.caller), "{near:?}");
                prop_assert!(!near.steps.is_empty());
            }
            let Some(edit) = &explanation.edit else { continue };
            is_met = true;
            let after = value_of(&edit.manifest);
            prop_assert!(lets_through(&after, &request, caller), "{:?} {request:?}", edit.steps);
            prop_assert_eq!(&changes(manifest, &edit.manifest).expect("policies"), &edit.changes);
            let engine = Engine::new(&edit.manifest).expect("a policy");
            for (sketch, caller) in &requests {
                let request = sketch.to_request(&site);
                let is_new = lets_through(&after, &request, caller)
                    && !lets_through(&before, &request, caller);
                if is_new {
                    let decision = engine.decide(&request, caller);
                    let path = engine.route(&decision).map(|route| route.path.as_str());
                    let is_listed = |change: &Change| {
                        change.direction.opens() && Some(change.path.as_str()) == path
                    };
                    prop_assert!(edit.changes.iter().any(is_listed), "{path:?} {:?}", edit.changes);
                }
            }
        }
        Ok(Precondition::met_if(is_met))
    });
}

fn value_of(manifest: &Manifest) -> serde_json::Value {
    serde_json::to_value(manifest).expect("a value")
}

fn lets_through(
    manifest: &serde_json::Value,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> bool {
    let verdict = naive::decide(manifest, &Lists::new(), request, caller);
    matches!(verdict.outcome.as_str(), "reached" | "preflight" | "automatic")
}

/// T24. A rule that changes no decision changes no explanation: a new route elsewhere, an origin
/// that sent no request. Each gate names the line of its own facet.
#[test]
fn t24_facts_that_do_not_decide_are_not_named() {
    let cases = (site(), vec((sketch(), caller()), REQUESTS));
    holds_in_fewer(6, "T24, stability", 95, cases, |(site, requests)| {
        let manifest = &site.manifest;
        let sources = sources_of(manifest);
        let mut grown = manifest.clone();
        grown.routes.insert(0, ManifestRoute::handler("/t24/{id}", ["GET"], Auth::Public));
        for route in &mut grown.routes {
            if let Some(RouteCors { origins: RouteOrigins::Listed(patterns), .. }) = &mut route.cors
                && !patterns.iter().any(|pattern| pattern == "*")
            {
                patterns.push("https://t24.example".to_owned());
            }
        }
        let mut is_met = false;
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let of = |manifest| explain(manifest, &sources, &request, caller).expect("a policy");
            let (explanation, again) = (of(manifest), of(&grown));
            prop_assert_eq!(verdicts(&again), verdicts(&explanation), "{:?}", request);
            prop_assert_eq!(&again.page, &explanation.page);
            prop_assert_eq!(&again.route, &explanation.route);
            for (found, same) in explanation.gates.iter().zip(&again.gates) {
                prop_assert_eq!(&found.source, &same.source);
                let Some((source, (path, methods))) =
                    found.source.as_ref().zip(explanation.route.as_ref())
                else {
                    continue;
                };
                is_met = true;
                let facet = enforced_by(found.gate).expect("a source is of a facet");
                let is_own = |method: &String| source.file == place(method, path, facet);
                prop_assert!(methods.iter().any(is_own), "{source:?} {path} {methods:?}");
            }
        }
        Ok(Precondition::met_if(is_met))
    });
}

/// A separate file for each facet of each method and path.
fn sources_of(manifest: &Manifest) -> Sources {
    let mut sources = Sources::default();
    for route in &manifest.routes {
        for method in &route.methods {
            let of_facet = |facet: &&str| {
                let file = place(method, &route.path, facet);
                ((*facet).to_owned(), FacetSource { level: Level::Route, file, line: 1 })
            };
            let decided = FACETS.iter().map(of_facet).collect();
            sources.decided.insert(format!("{method} {}", route.path), decided);
        }
    }
    sources
}

fn place(method: &str, path: &str, facet: &str) -> String {
    format!("{method} {path} {facet}")
}
