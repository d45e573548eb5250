//! The server against `tests/cases/cors.json`: every exchange, in-process.

use policy_core_tests::case::{Cases, Level};

#[test]
fn every_exchange_goes_as_expected() {
    let Cases { cases } = Cases::read();
    assert_eq!(cases.len(), 79);
    let differences: Vec<String> = cases
        .iter()
        // What a parser of HTTP would change is tested with the engine alone.
        .filter(|case| case.level == Level::Any)
        .flat_map(|case| {
            case.differences(&crate::server::respond(&case.scenario(), &case.request()))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
