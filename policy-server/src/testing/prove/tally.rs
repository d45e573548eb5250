//! The number of cases of each law, and its counterexample.

use super::{
    counterexample,
    equivalence_classes::Path,
    exchange::Exchange,
    laws::{Law, Verdict, outcomes::Seen},
    server::ProbeRequest,
};

/// The results of all laws.
#[derive(Debug)]
pub(super) struct Tallies {
    own: String,
    tallies: Vec<Tally>,
    /// What the path of these results responded.
    pub(super) seen: Seen,
    /// How many cases were judged.
    pub(super) combinations: u64,
}

/// The result of one law.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The number of cases to which it applied.
    pub(super) tried: u64,
    pub(super) broken: u64,
    /// The first counterexample as text: cases come in order of complexity.
    pub(super) counterexample: Option<String>,
}

impl Tallies {
    pub(super) fn new(own: &str) -> Self {
        let tallies = vec![Tally::default(); Law::ALL.len()];
        Self { own: own.to_owned(), tallies, seen: Seen::default(), combinations: 0 }
    }

    pub(super) fn tally(&self, law: Law) -> Tally {
        self.tallies.get(law as usize).cloned().unwrap_or_default()
    }

    /// Records the verdict of a law on an exchange.
    pub(super) fn exchange(&mut self, law: Law, exchange: &Exchange<'_>, verdict: Verdict) {
        self.note(law, verdict, |fault| counterexample::describe_exchange(exchange, &fault));
    }

    /// Records the verdict of a law on some requests.
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

    /// Appends the results of another part.
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
