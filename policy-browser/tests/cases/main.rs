//! The model, tested with `tests/cases/cors.json`: its requests, and what pages can read. And visits
//! of several pages, by example.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod cache;
mod case;
mod visits;

use case::{Case, Server, browser, section};
use policy_browser::{Outcome, run};
use serde_json::json;

#[test]
fn every_fetch_goes_as_expected() {
    let cases: Vec<Case> = section("browser_cases");
    assert_eq!(cases.len(), 94);
    cases.iter().for_each(check);
}

fn check(case: &Case) {
    let mut server = Server::new(&case.responses);
    let (page, fetch) = case.script.fetch();
    let (_, outcome) = run(browser(7200), Some(&page), fetch, |sent| server.response(sent));
    case.expect.hold(&case.name, &outcome, &server.requests);
}

/// Keys of the format that no case has at the moment.
#[test]
fn every_key_of_the_format_is_compared() {
    let held = |visible: &str| {
        let case: Case = serde_json::from_value(json!({
            "name": "a case",
            "suite": null,
            "note": null,
            "script": {
                "origin": "https://a.test",
                "url": "https://api.test/",
                "headers": [["accept", ["text/html", "text/csv"]]],
            },
            "responses": [{
                "status": 200,
                "headers": [
                    ["access-control-allow-origin", "*"],
                    ["access-control-expose-headers", ["x-a", "x-b"]],
                    ["x-a", "1"],
                    ["x-b", "2"],
                ],
            }],
            "expect": { "visible_contains": ["x-a", visible] },
        }))
        .expect("a case");
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&case))).is_ok()
    };
    assert!(held("x-b"));
    assert!(!held("x-c"));
}

/// The outcome in the terms of a case.
fn result(outcome: &Outcome) -> &'static str {
    use policy_browser::Reason;
    let Outcome::Blocked(blocked) = outcome else { return "ok" };
    match blocked.reason {
        Reason::Address | Reason::Method | Reason::Header(_) | Reason::Content => "type_error",
        _ => "network_error",
    }
}
