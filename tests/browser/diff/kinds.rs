//! What the generated cases contain: a run that passes has enough of each kind.

use std::{collections::BTreeMap, fmt};

use policy_browser::{Destination, Fetch, Mode};

use crate::diff::{
    case::{Case, Sandbox, Step},
    engine::{Engine, LeftOut},
    generate,
};

/// The number of cases of each kind.
#[derive(Debug, Default)]
pub(crate) struct Kinds(BTreeMap<&'static str, usize>);

/// At least one in this many cases is of the kind, several times less than what is generated.
const ENOUGH: &[(&str, usize)] = &[
    ("beacon", 80),
    ("client hint", 80),
    (COOKIE, 80),
    ("form in a window", 150),
    ("frame", 80),
    ("image", 80),
    ("keepalive", 80),
    ("page in a frame", 20),
    ("page sandboxed by its frame", 40),
    ("page sandboxed by its response", 40),
    ("page within a sandboxed frame", 40),
    ("preflight", 10),
    ("QUERY", 150),
    ("read after a tainted redirect", 1000),
    ("script", 80),
    ("upload", 80),
    ("WebSocket", 80),
    ("window", 80),
    ("window of a sandboxed page", 300),
];

const COOKIE: &str = "cookie of a script";

/// The smallest run that must have enough of each kind. Rarer kinds need a larger one.
const RUN: usize = 300;

impl Kinds {
    /// Counts a case, by its content and by the result in the model.
    pub(crate) fn count(&mut self, case: &Case, model: &[String]) {
        let mut of_case: Vec<&'static str> = case.steps.iter().flat_map(step_kinds).collect();
        let place = &case.place;
        if place.origins.len() > 1 {
            of_case.push("page in a frame");
        }
        match place.sandbox {
            Sandbox::None => {}
            Sandbox::Frame => of_case.push("page sandboxed by its frame"),
            Sandbox::Around => of_case.push("page within a sandboxed frame"),
            Sandbox::Response => of_case.push("page sandboxed by its response"),
        }
        if place.is_sandboxed() && of_case.contains(&"window") {
            of_case.push("window of a sandboxed page");
        }
        let has =
            |parts: &[&str]| model.iter().any(|line| parts.iter().all(|part| line.contains(part)));
        if has(&["sent OPTIONS", "access-control-request-method"]) {
            of_case.push("preflight");
        }
        let is_tainted = !place.is_sandboxed() && has(&["sent ", "origin: null", "mode: cors"]);
        if is_tainted && has(&["gave ", "redirected=true", "type=\"cors\""]) {
            of_case.push("read after a tainted redirect");
        }
        of_case.sort_unstable();
        of_case.dedup();
        for kind in of_case {
            *self.0.entry(kind).or_default() += 1;
        }
    }

    /// Asserts that a run of this many cases had enough of each kind.
    pub(crate) fn assert_enough(&self, cases: usize, engine: Engine) {
        for (kind, one_in) in ENOUGH {
            let is_left_out = *kind == COOKIE && engine.left_out().contains(&LeftOut::Cookies);
            if cases < RUN.max(*one_in) || is_left_out {
                continue;
            }
            let count = self.0.get(kind).copied().unwrap_or_default();
            assert!(count * one_in >= cases, "{cases} cases, and only {count} with: {kind}");
        }
    }
}

fn step_kinds(step: &Step) -> Vec<&'static str> {
    let (fetch, way) = match step {
        Step::Load(fetch) => (fetch, load_kind(fetch)),
        Step::Keepalive(fetch) => (fetch, "keepalive"),
        Step::Beacon(fetch) => (fetch, "beacon"),
        Step::WriteCookie(_) | Step::ReadCookies => return vec![COOKIE],
    };
    let mut kinds = vec![way];
    if fetch.destination == Destination::Document && fetch.method == "POST" {
        kinds.push("form in a window");
    }
    if fetch.method == "QUERY" {
        kinds.push("QUERY");
    }
    if fetch.headers.iter().any(|(name, _)| generate::is_hint(name)) {
        kinds.push("client hint");
    }
    kinds
}

fn load_kind(fetch: &Fetch) -> &'static str {
    match (fetch.mode, fetch.destination) {
        (Mode::WebSocket, _) => "WebSocket",
        (_, Destination::Script) => "script",
        (_, Destination::Image) => "image",
        (_, Destination::Document) => "window",
        (_, Destination::Frame) => "frame",
        _ if fetch.watches_upload => "upload",
        _ => "fetch",
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> =
            self.0.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        write!(f, "cases with: {}", all.join(", "))
    }
}
