//! Seeded faults: do the tests detect a broken rule?
//!
//! Every entry of `faults/CRATE/MODULE.toml` breaks one rule and names the test that must fail.
//! `docs/faults.md` describes the format.
//!
//! An edit is found by its text and the item around it, in any file of the crate. The tree itself
//! is never changed: faults are applied to a copy below the target folder, as many as possible in
//! one build (see [`switched`]) and the others one at a time.

mod build;
mod check;
mod entry;
mod items;
mod killer;
mod matrix;
mod placed;
mod results;
mod sources;
mod squeezed;
mod switched;
mod tree;
mod verdict;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use crate::{Failure, Outcome, steps::Seconds};
use build::Binaries;
use check::{Crates, check};
use entry::Fault;
use killer::Killer;
use matrix::Matrix;
use placed::Placed;
use results::Results;
use switched::{Switched, is_switchable};
use tree::Tree;
use verdict::Verdict;

/// The faults to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    All,
    /// Those marked `short`.
    Short,
    /// Those whose name, description, file or tests contain one of the texts.
    Matching(&'a [&'a str]),
}

impl Selection<'_> {
    fn has(self, fault: &Fault) -> bool {
        match self {
            Self::All => true,
            Self::Short => fault.short,
            Self::Matching(texts) => {
                let (file, killer) = (fault.file.to_string_lossy(), fault.killed_by.to_string());
                let parts = [&*fault.name, &fault.what, &file, &killer];
                texts.iter().any(|text| parts.iter().any(|part| part.contains(text)))
            }
        }
    }

    /// The results file, so that a short run does not overwrite a long one.
    fn file(self) -> &'static str {
        if self == Self::Short { "short.jsonl" } else { "results.jsonl" }
    }
}

/// The results of all faults.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) killed: usize,
    pub(crate) survived: usize,
}

impl Verdicts {
    pub(crate) fn into_outcome(self) -> Outcome {
        match self.survived {
            0 => Ok(()),
            survived => Err(Failure::new(format!(
                "{survived} of {} faults were not killed by their named tests",
                self.killed + survived
            ))),
        }
    }
}

/// Runs the faults, or those that the last run has not killed, and prints a table of fault, killing
/// test and time, followed by the faults that each test killed.
///
/// # Errors
///
/// An entry is stale, or the named tests fail without any fault.
pub(crate) fn run(selection: Selection<'_>, is_resumed: bool) -> Outcome<Verdicts> {
    let faults = entry::read()?;
    let crates = Crates::new(&faults)?;
    check(&faults, &crates)?;
    let tree = Tree::in_target(selection == Selection::Short)?;
    let results = Results::begin(&tree.folder.join(selection.file()), is_resumed)?;
    let mut placed = Vec::new();
    for fault in faults.iter().filter(|fault| selection.has(fault) && !results.has(&fault.name)) {
        placed.push(Placed { fault, places: crates.places(fault).map_err(Failure::new)? });
    }
    if placed.is_empty() && results.results.is_empty() {
        return Err(Failure::new("no fault is selected"));
    }
    let width = placed.iter().map(|placed| placed.fault.what.chars().count()).max().unwrap_or(0);
    let mut trials = Trials { tree, results, width };
    let alone = trials.together(placed)?;
    trials.alone(alone)?;
    let matrix = Matrix::new(&trials.results.results);
    let killed = trials.results.results.iter().filter(|trial| !trial.killed_by.is_empty()).count();
    let survived = trials.results.results.len() - killed;
    println!("\n{matrix}\n{killed} faults killed, {survived} not");
    Ok(Verdicts { killed, survived })
}

/// The state of a run.
struct Trials {
    tree: Tree,
    results: Results,
    width: usize,
}

impl Trials {
    /// Runs the faults that fit into one build, and returns the others: those that did not fit, and
    /// those that survived, since that may be due to the switches.
    fn together<'a>(&mut self, faults: Vec<Placed<'a>>) -> Outcome<Vec<Placed<'a>>> {
        let killers: BTreeSet<&Killer> =
            faults.iter().map(|placed| &placed.fault.killed_by).collect();
        let (mut together, mut alone): (Vec<_>, Vec<_>) =
            faults.into_iter().partition(is_switchable);
        let binaries = loop {
            println!("{} faults in one build, {} alone", together.len(), alone.len());
            let switched = Switched::new(&together)?;
            self.tree.set(&switched.files)?;
            let targets = killers.iter().map(|killer| &killer.target).collect::<BTreeSet<_>>();
            let error = match Binaries::build(&self.tree, targets)? {
                Ok(binaries) => break binaries,
                Err(error) => error,
            };
            let blamed = switched.suspects(&error);
            if blamed.is_empty() {
                return Err(Failure::new(error.text));
            }
            let (fit, others): (Vec<_>, Vec<_>) =
                together.into_iter().partition(|placed| !blamed.contains(&*placed.fault.name));
            together = fit;
            alone.extend(others);
        };
        self.without_faults(&binaries, &killers)?;
        println!("{:<width$}  {:<60}  time", "fault", "killing test", width = self.width);
        for placed in together {
            let began = Instant::now();
            let fault = placed.fault;
            let verdict =
                Verdict::from_captured(&binaries.run(&self.tree, &fault.killed_by, &fault.name)?);
            if matches!(verdict, Verdict::Killed { .. }) {
                self.note(fault, &verdict, began.elapsed())?;
            } else {
                alone.push(placed);
            }
        }
        Ok(alone)
    }

    /// A test that fails anyway detects nothing.
    fn without_faults(&self, binaries: &Binaries, killers: &BTreeSet<&Killer>) -> Outcome {
        for killer in killers {
            let captured = binaries.run(&self.tree, killer, "")?;
            let time = Seconds(captured.took);
            match Verdict::from_captured(&captured) {
                Verdict::Survived => println!("passes without faults: {killer}  {time}"),
                verdict => {
                    let output = captured.output;
                    let text = format!("without any fault, `{killer}`: {verdict}\n{output}");
                    return Err(Failure::new(text));
                }
            }
        }
        Ok(())
    }

    /// Runs each in a separate build.
    fn alone(&mut self, mut faults: Vec<Placed<'_>>) -> Outcome {
        // Neighbours share most of a build.
        faults.sort_by(|a, b| {
            let key = |placed: &Placed<'_>| {
                (placed.fault.package.clone(), placed.fault.killed_by.clone())
            };
            key(a).cmp(&key(b))
        });
        for placed in faults {
            let began = Instant::now();
            let fault = placed.fault;
            self.tree.set(&placed.files())?;
            let verdict = match Binaries::build(&self.tree, [&fault.killed_by.target])? {
                Ok(binaries) => Verdict::from_captured(&binaries.run(
                    &self.tree,
                    &fault.killed_by,
                    &fault.name,
                )?),
                Err(error) => Verdict::NotBuilt(error.text),
            };
            self.note(fault, &verdict, began.elapsed())?;
        }
        self.tree.set(&BTreeMap::new())
    }

    fn note(&mut self, fault: &Fault, verdict: &Verdict, took: Duration) -> Outcome {
        let (width, time) = (self.width, Seconds(took));
        println!("{:<width$}  {:<60}  {time}", fault.what, verdict.to_string());
        if let Some(output) = verdict.output() {
            let file = fault.file.display();
            println!("   `{}` of {file}, `{}`:\n{output}", fault.name, fault.killed_by);
        }
        self.results.add(&fault.name, verdict, took)
    }
}
