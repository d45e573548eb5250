//! The server against `tests/cases/cors.json`: every exchange, in-process.

use policy_core_tests::{
    assembly,
    case::{Cases, Level},
};

#[test]
fn every_exchange_goes_as_expected() {
    let Cases { cases } = Cases::read();
    assert_eq!(cases.len(), 79);
    let differences: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            // What a parser of HTTP would change is tested with the engine alone.
            let respond = match case.level {
                Level::Any => crate::server::respond,
                Level::Policy => assembly::respond,
            };
            case.differences(&respond(&case.scenario(), &case.request()))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
