//! The model of a browser, tested with `tests/cases/cors.json`: its requests, and what pages can
//! read.

mod cache;
mod case;

use case::{Case, Server, browser, section};
use policy_core::browser::{Outcome, run};

#[test]
fn every_fetch_goes_as_expected() {
    let cases: Vec<Case> = section("browser_cases");
    assert_eq!(cases.len(), 94);
    for case in cases {
        let mut server = Server::of(case.responses);
        let (page, fetch) = case.script.fetch();
        let (_, outcome) = run(browser(7200), Some(&page), fetch, |sent| server.response(sent));
        case.expect.hold(&case.name, &outcome, &server.requests);
    }
}

/// The outcome in the terms of a case.
fn result(outcome: &Outcome) -> &'static str {
    use policy_core::browser::Reason;
    let Outcome::Blocked(blocked) = outcome else { return "ok" };
    match blocked.reason {
        Reason::Address | Reason::Method | Reason::Header(_) | Reason::Content => "type_error",
        _ => "network_error",
    }
}
