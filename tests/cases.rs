//! The server against `tests/cases/cors.json`: every exchange, in-process.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

#[path = "../policy-core/tests/support/assembly.rs"]
mod assembly;
#[path = "support/case.rs"]
mod case;
#[path = "support/config.rs"]
mod config;
#[path = "support/exchange.rs"]
mod exchange;
#[path = "support/server.rs"]
mod server;
#[path = "support/verdict.rs"]
mod verdict;

use case::{Cases, Level};

#[test]
fn every_exchange_goes_as_expected() {
    let Cases { cases } = Cases::read();
    assert_eq!(cases.len(), 79);
    let differences: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            // Below the parser of HTTP there is the engine alone.
            let answer = match case.level {
                Level::Any => server::answer,
                Level::Policy => assembly::answer,
            };
            case.differences(&answer(&case.world(), &case.request()))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
