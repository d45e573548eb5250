//! The algebra of origins, compared with the results of a second model in
//! `tests/cases/regions.json`.

use std::{collections::BTreeMap, process::Command};

use policy_manifest::algebra::OriginRegion;
use serde::Deserialize;

const CASES: &str = include_str!("../../../tests/cases/regions.json");

/// Two expressions, and the results of the model for their regions.
#[derive(Debug, Deserialize)]
struct Case {
    a: Expression,
    b: Expression,
    /// Whether each of the regions has the origin.
    origins: BTreeMap<String, [bool; 2]>,
    a_is_empty: bool,
    equal: bool,
    a_includes_b: bool,
    /// Some origins of `a` that `b` does not have, if there are any.
    only_in_a: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Expression {
    Entry(String),
    Not(String, Box<Expression>),
    Both(String, Box<Expression>, Box<Expression>),
}

impl Expression {
    fn region(&self) -> OriginRegion {
        match self {
            Self::Entry(text) => text.parse().expect("an entry"),
            Self::Not(operation, one) => {
                assert_eq!(operation, "not");
                one.region().complement()
            }
            Self::Both(operation, a, b) => {
                let (a, b) = (a.region(), b.region());
                match operation.as_str() {
                    "or" => a.union(&b),
                    "and" => a.intersection(&b),
                    "minus" => a.difference(&b),
                    "xor" => a.difference(&b).union(&b.difference(&a)),
                    _ => panic!("no operation is called {operation}"),
                }
            }
        }
    }
}

#[test]
fn regions_match_the_model() {
    let cases: Vec<Case> = serde_json::from_str(CASES).expect("cases");
    let (mut origins, mut members, mut witnesses) = (0, 0, 0);
    for case in &cases {
        let (a, b) = (case.a.region(), case.b.region());
        for (origin, [in_a, in_b]) in &case.origins {
            assert_eq!(a.contains(origin.as_bytes()), *in_a, "{origin} in a of {case:?}");
            assert_eq!(b.contains(origin.as_bytes()), *in_b, "{origin} in b of {case:?}");
            origins += 1;
            members += usize::from(*in_a);
        }
        assert_eq!(a.is_empty(), case.a_is_empty, "{case:?}");
        assert_eq!(a == b, case.equal, "{case:?}");
        assert_eq!(a.includes(&b), case.a_includes_b, "{case:?}");
        let difference = a.difference(&b);
        for origin in &case.only_in_a {
            assert!(difference.contains(origin.as_bytes()), "{origin} of {case:?}");
            witnesses += 1;
        }
        assert_eq!(difference.witness().is_none(), case.only_in_a.is_empty(), "{case:?}");
    }
    let count = |is: fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count();
    let kinds = [count(|c| c.a_is_empty), count(|c| c.equal), count(|c| c.a_includes_b)];
    assert_eq!((cases.len(), kinds), (300, [31, 105, 217]));
    assert_eq!((origins, members, witnesses), (2399, 733, 333));
}

#[test]
#[ignore = "needs Python: `cargo xtask test` runs it"]
fn the_cases_are_those_that_the_model_prints() {
    let output = Command::new("python3").args(["-c", include_str!("regions.py")]).output();
    let output = output.expect("Python; `cargo xtask test` installs what is needed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), CASES);
}
