//! The preflight cache: which of several fetches send a preflight again.

use policy_browser::{Event, run, step};
use serde::{Deserialize, de::IgnoredAny};
use std::time::Duration;

use crate::{
    case::{Respond, Script, Server, browser, section},
    result,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheCase {
    name: String,
    /// The longest time in seconds that the browser keeps a preflight.
    cap: u64,
    steps: Vec<Step>,
    #[serde(rename = "suite")]
    _suite: IgnoredAny,
    #[serde(rename = "note")]
    _note: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Seconds since the start.
    at: u64,
    fetch: Script,
    respond: Vec<Respond>,
    /// Whether the first request is a preflight.
    preflight: bool,
    #[serde(default = "ok")]
    result: String,
    #[serde(rename = "note", default)]
    _note: IgnoredAny,
}

fn ok() -> String {
    "ok".to_owned()
}

#[test]
fn every_preflight_is_repeated_when_it_must_be() {
    let cases: Vec<CacheCase> = section("cache_cases");
    assert_eq!(cases.len(), 11);
    for case in cases {
        let mut state = browser(case.cap);
        let start = state.now();
        for (number, wanted) in case.steps.into_iter().enumerate() {
            let passed = start + Duration::from_secs(wanted.at) - state.now();
            (state, _) = step(state, Event::Elapse(passed));
            let mut server = Server::new(&wanted.respond);
            let (page, fetch) = wanted.fetch.fetch();
            let outcome;
            (state, outcome) = run(state, Some(&page), fetch, |sent| server.response(sent));
            let name = format!("{}, step {number}", case.name);
            assert_eq!(server.requests[0].is_preflight, wanted.preflight, "{name}");
            assert_eq!(result(&outcome), wanted.result, "{name}: {outcome:?}");
        }
    }
}
