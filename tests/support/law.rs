//! How a law is put to the test: on many generated cases, enough of them interesting.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::{cell::Cell, env, fmt::Debug};

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestRunner},
};

/// Cases of each law, unless `PROPTEST_CASES` says another number.
const CASES: u32 = 1000;

/// Whether a case is one that the law says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Premise {
    Met,
    Unmet,
}

impl Premise {
    pub(crate) fn met_if(met: bool) -> Self {
        if met { Self::Met } else { Self::Unmet }
    }
}

pub(crate) type Judged = Result<Premise, TestCaseError>;

/// Fails if a case breaks the law, with the smallest one that was found, or if the premise was
/// met in fewer than `floor` percent of the cases: a law about nothing always holds.
#[track_caller]
pub(crate) fn holds<S>(law: &str, floor: u64, cases: S, judge: impl Fn(S::Value) -> Judged)
where
    S: Strategy<Value: Debug>,
{
    let number = env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let config =
        Config { cases: number.unwrap_or(CASES), failure_persistence: None, ..Config::default() };
    let (tried, met) = (Cell::new(0_u64), Cell::new(0_u64));
    let outcome = TestRunner::new(config).run(&cases, |case| {
        tried.set(tried.get() + 1);
        met.set(met.get() + u64::from(judge(case)? == Premise::Met));
        Ok(())
    });
    if let Err(broken) = outcome {
        panic!("{law}: {broken}");
    }
    let (tried, met) = (tried.get(), met.get());
    println!("{law}: {met} of {tried} cases were interesting");
    assert!(met * 100 >= floor * tried, "{law}: only {met} of {tried} cases were interesting");
}
