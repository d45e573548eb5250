//! Tests a law on many generated cases, enough of which meet its precondition.

use std::{
    cell::Cell,
    env,
    fmt::Debug,
    hash::{BuildHasher, RandomState},
};

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};

/// The number of cases for each law, unless `PROPTEST_CASES` is set.
const CASES: u32 = 750;

/// The maximum number of values that the filters of a strategy may reject for each case.
const REJECTS: u32 = 1000;

/// Whether a case meets the precondition of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    Met,
    Unmet,
}

impl Precondition {
    pub fn met_if(is_met: bool) -> Self {
        if is_met { Self::Met } else { Self::Unmet }
    }
}

pub type Judged = Result<Precondition, TestCaseError>;

/// Fails if a case breaks the law, and reports the smallest one found. Also fails if the
/// precondition was met much less often than usual, since a law without cases always holds. `usual`
/// is the share of cases that meet it, in percent, as printed by a run with many cases.
///
/// A run prints its seed, and `PROPTEST_RNG_SEED` repeats it.
#[track_caller]
pub fn holds<S>(law: &str, usual: u32, cases: S, judge: impl Fn(S::Value) -> Judged)
where
    S: Strategy<Value: Debug>,
{
    holds_in_fewer(1, law, usual, cases, judge);
}

/// The same for a law of large cases, whose number is divided by `times`.
#[track_caller]
pub fn holds_in_fewer<S>(
    times: u32,
    law: &str,
    usual: u32,
    cases: S,
    judge: impl Fn(S::Value) -> Judged,
) where
    S: Strategy<Value: Debug>,
{
    let number: Option<u32> = env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let number = number.unwrap_or(CASES).div_ceil(times);
    let config = Config::default();
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(law),
    };
    let config = Config {
        cases: number,
        failure_persistence: None,
        // The default is a fixed number, independent of the number of cases.
        max_local_rejects: number.saturating_mul(REJECTS),
        rng_seed: RngSeed::Fixed(seed),
        ..config
    };
    let (tried, hits) = (Cell::new(0_u64), Cell::new(0_u64));
    println!("{law}: PROPTEST_RNG_SEED={seed}");
    let outcome = TestRunner::new(config).run(&cases, |case| {
        tried.set(tried.get() + 1);
        hits.set(hits.get() + u64::from(judge(case)? == Precondition::Met));
        Ok(())
    });
    if let Err(broken) = outcome {
        panic!("{law}, PROPTEST_RNG_SEED={seed}: {broken}");
    }
    assert_usual(&format!("{law}: interesting"), hits.get(), tried.get(), usual);
}

/// Fails if far fewer of the cases than usual, in percent, are of a kind.
#[track_caller]
pub fn assert_usual(kind: &str, hits: u64, tried: u64, usual: u32) {
    let share = hits as f64 / tried as f64 * 100.0;
    println!("{kind}: {hits} of {tried} cases, {share:.1} %, usually {usual} %");
    let floor = floor(usual, tried);
    assert!(floor > 0 || tried < CASES.into(), "{kind}: {usual} % are too few to be tested");
    assert!(hits >= floor, "{kind}: only {hits} of {tried} cases, not {floor} or more");
}

/// The required number: half of the usual one, or less where random variation could fall below that
/// more often than once in a billion runs.
fn floor(usual: u32, tried: u64) -> u64 {
    let (usual, tried) = (f64::from(usual) / 100.0, tried as f64);
    // Chernoff bound: at most this few of `tried` has a probability of at most `exp(-tried *
    // distance)`.
    let distance = |share: f64| {
        let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
        term(share, usual) + term(1.0 - share, 1.0 - usual)
    };
    let mut floor = (tried * usual / 2.0).floor();
    while floor > 0.0 && tried * distance((floor - 1.0) / tried) < 1e9_f64.ln() {
        floor -= 1.0;
    }
    floor as u64
}
