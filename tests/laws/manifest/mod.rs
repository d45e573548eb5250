//! Manifests: an app decides as its manifest says, whichever engine reads it.

mod diff;
mod explain;
mod generate;
mod lints;
mod naive;
mod normal;
mod report_only;
mod rewording;

use std::{cell::RefCell, collections::BTreeMap};

use policy_core::{head::NormalPath, path::TrailingSlash};
use policy_manifest::{
    Manifest,
    engine::{Decision, Engine, Outcome},
};
use proptest::{collection::vec, prelude::*};

use self::{
    generate::{caller, site, sketch},
    naive::Verdict,
};
use crate::law::{Precondition, holds_in_fewer};

/// The number of requests to each manifest.
const REQUESTS: usize = 12;

/// T26. Three ways to decide about a request agree: the engine of a manifest, the engine of the
/// manifest that is read from its text, and the naive interpreter of its JSON value.
#[test]
fn t26_three_ways_agree() {
    let occurred = RefCell::new(BTreeMap::<String, u64>::new());
    let cases = (site(), vec((sketch(), caller()), REQUESTS));
    holds_in_fewer(6, "T26, three ways agree", 100, cases, |(site, requests)| {
        let engine = site.engine();
        let read = Manifest::parse(&site.manifest.to_json()).expect("its own text");
        let of_text = site.engine_of(&read).expect("the same policies");
        let value = serde_json::to_value(&site.manifest).expect("a value");
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let decision = engine.decide(&request, caller);
            let naive = naive::decide(&value, &site.lists, &request, caller);
            let details = || format!("{request:?}\n{caller:?}\n{:#?}", decision.steps);
            prop_assert_eq!(&naive, &verdict(&decision), "naive, engine: {}", details());
            let again = of_text.decide(&request, caller);
            prop_assert_eq!(
                summary(&of_text, &again),
                summary(&engine, &decision),
                "{}",
                details()
            );
            *occurred.borrow_mut().entry(naive.outcome).or_default() += 1;
        }
        Ok(Precondition::Met)
    });
    assert_usual_outcomes(&occurred.borrow());
}

/// Unless slashes are strict, one route decides about both spellings of a path, so that neither
/// bypasses the policy of the other.
#[test]
fn both_spellings_of_a_path_are_decided_by_one_route() {
    let cases = (site(), vec((sketch(), caller()), REQUESTS));
    holds_in_fewer(6, "one route for both spellings", 45, cases, |(site, requests)| {
        if site.manifest.app.trailing_slash == TrailingSlash::Strict {
            return Ok(Precondition::met_if(false));
        }
        let engine = site.engine();
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let path = request.uri().path();
            let other = match path.strip_suffix('/') {
                Some("") | None if !path.starts_with('/') || path == "/" => continue,
                Some(other) => other.to_owned(),
                None => format!("{path}/"),
            };
            if NormalPath::parse(path).is_err() || NormalPath::parse(&other).is_err() {
                continue;
            }
            let mut spelled = request.clone();
            *spelled.uri_mut() =
                request.uri().to_string().replacen(path, &other, 1).parse().expect("a target");
            let routes = [&request, &spelled].map(|request| engine.decide(request, caller).route);
            prop_assert_eq!(routes[0], routes[1], "{:?} and {}", request, other);
        }
        Ok(Precondition::Met)
    });
}

/// Each outcome, and its usual number in 10,000 requests.
const USUAL: &[(&str, u64)] = &[
    ("auth.authorization-malformed", 235),
    ("auth.credential-invalid", 65),
    ("auth.credentials-missing", 922),
    ("auth.credentials-unchecked", 78),
    ("auth.login-too-old", 18),
    ("auth.rights-missing", 82),
    ("auth.ticket-invalid", 16),
    ("auth.token-expired", 15),
    ("auth.token-invalid", 85),
    ("automatic", 493),
    ("cookie.request-too-large", 92),
    ("cors.origin-not-granted", 766),
    ("cors.preflight-origin-repeated", 41),
    ("cors.request-method-malformed", 41),
    ("cors.websocket-origin-not-granted", 31),
    ("csrf.origin", 223),
    ("csrf.token", 17),
    ("isolation.cross-site", 481),
    ("jsonp.callback-invalid", 29),
    ("origin.forwarded-in-development", 34),
    ("origin.host-not-loopback", 88),
    ("origin.host-unknown", 216),
    ("preflight", 261),
    ("reached", 2307),
    ("request.body-too-large", 19),
    ("request.content-range", 32),
    ("request.media-type", 71),
    ("route.method-not-allowed", 443),
    ("route.method-unknown", 204),
    ("route.not-found", 457),
    ("route.protocol-unknown", 80),
    ("tunnel.credentials", 60),
    ("tunnel.origin", 24),
    ("wire.connection-field", 72),
    ("wire.content-length-malformed", 197),
    ("wire.expectation-unknown", 58),
    ("wire.host-malformed", 176),
    ("wire.host-missing", 43),
    ("wire.host-repeated", 49),
    ("wire.path-dot-segment", 301),
    ("wire.path-empty-segment", 105),
    ("wire.path-encoded-slash", 364),
    ("wire.path-encoding", 144),
    ("wire.scheme-unknown", 146),
    ("wire.target-form", 43),
    ("wire.too-early", 25),
    ("wire.transfer-coding", 56),
    ("wire.transfer-encoding-malformed", 108),
];

/// Fails if an outcome is not listed, or occurred much less often than usual.
#[expect(clippy::print_stdout, reason = "how often each outcome occurred")]
fn assert_usual_outcomes(occurred: &BTreeMap<String, u64>) {
    let total: u64 = occurred.values().sum();
    for (outcome, count) in occurred {
        let share = count * 10_000 / total;
        println!("{outcome}: {count} of {total} requests, {share} of 10,000");
    }
    for outcome in occurred.keys() {
        assert!(USUAL.iter().any(|(listed, _)| listed == outcome), "`{outcome}` is not listed");
    }
    for (outcome, usual) in USUAL {
        let count = occurred.get(*outcome).copied().unwrap_or_default();
        let floor = total * usual / 10_000 / 8;
        assert!(count >= floor, "`{outcome}`: only {count} of {total} requests, not {floor}");
    }
}

/// Fails if something occurred less often than its minimum, in a run of the usual number of cases.
#[expect(clippy::print_stdout, reason = "how often each occurred")]
fn assert_floors(occurred: &BTreeMap<&'static str, u64>, floors: &[(&'static str, u64)]) {
    occurred.iter().for_each(|(what, count)| println!("{what}: {count}"));
    let is_usual = std::env::var_os("PROPTEST_CASES").is_none();
    for (what, floor) in floors.iter().filter(|_| is_usual) {
        let count = occurred.get(what).copied().unwrap_or_default();
        assert!(count >= *floor, "{what}: only {count}, not {floor}");
    }
}

/// The parts of a decision that are compared.
fn verdict(decision: &Decision) -> Verdict {
    let outcome = match decision.outcome {
        Outcome::Reached => "reached",
        Outcome::PreflightGranted => "preflight",
        Outcome::Automatic => "automatic",
        Outcome::Refused(refusal) => refusal.code(),
    };
    let fields = decision.cors.iter().map(|(name, value)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let mut cors: Vec<_> = fields.collect();
    cors.sort();
    Verdict { outcome: outcome.to_owned(), status: decision.status, cors }
}

/// All of a decision but the number of the route.
fn summary(engine: &Engine, decision: &Decision) -> impl PartialEq + std::fmt::Debug + use<> {
    let route = engine.route(decision).map(|route| (route.path.clone(), route.kind));
    (verdict(decision), decision.steps.clone(), decision.is_authenticated, route)
}
