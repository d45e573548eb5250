//! How often each law was put to the test, and what breaks it.

use super::{
    counterexample,
    equivalence_classes::Path,
    exchange::Exchange,
    laws::{Law, Verdict},
    server::ProbeRequest,
};

/// What became of each law.
#[derive(Debug)]
pub(super) struct Tallies {
    own: String,
    tallies: Vec<Tally>,
    /// How many cases were judged.
    pub(super) combinations: u64,
}

/// What became of one law.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// How often it said something.
    pub(super) tried: u64,
    pub(super) broken: u64,
    /// The first case that breaks it, in words: cases come from the simple to the odd.
    pub(super) counterexample: Option<String>,
}

impl Tallies {
    pub(super) fn new(own: &str) -> Self {
        let tallies = vec![Tally::default(); Law::ALL.len()];
        Self { own: own.to_owned(), tallies, combinations: 0 }
    }

    pub(super) fn of(&self, law: Law) -> Tally {
        self.tallies.get(law as usize).cloned().unwrap_or_default()
    }

    /// Notes what an exchange says about a law.
    pub(super) fn exchange(&mut self, law: Law, exchange: &Exchange<'_>, verdict: Verdict) {
        self.note(law, verdict, |fault| counterexample::describe_exchange(exchange, &fault));
    }

    /// Notes what some requests say about a law.
    pub(super) fn requests(
        &mut self,
        law: Law,
        path: &Path<'_>,
        method: &str,
        request: &[&ProbeRequest],
        verdict: Verdict,
    ) {
        self.combinations += 1;
        let own = self.own.clone();
        self.note(law, verdict, |fault| {
            counterexample::describe_requests(&own, path, method, request, &fault)
        });
    }

    fn note(
        &mut self,
        law: Law,
        verdict: Verdict,
        counterexample: impl FnOnce(super::laws::Fault) -> String,
    ) {
        let Some(tally) = self.tallies.get_mut(law as usize) else { return };
        match verdict {
            Verdict::Silent => (),
            Verdict::Holds => tally.tried += 1,
            Verdict::Broken(fault) => {
                tally.tried += 1;
                tally.broken += 1;
                tally.counterexample.get_or_insert_with(|| counterexample(fault));
            }
        }
    }

    /// Adds what was found elsewhere, behind what was found here.
    pub(super) fn merge(&mut self, other: Self) {
        self.combinations += other.combinations;
        for (tally, more) in self.tallies.iter_mut().zip(other.tallies) {
            tally.tried += more.tried;
            tally.broken += more.broken;
            if tally.counterexample.is_none() {
                tally.counterexample = more.counterexample;
            }
        }
    }
}
