//! Seeded faults: do the tests notice when a rule is broken?
//!
//! Every file `faults/*.patch` breaks one rule and names the test that must notice:
//!
//! ```text
//! # fault: `https://*.example.com` also matches `https://evilexample.com`
//! # killed by: --package policy-core --lib origin::
//! # short
//! --- a/policy-core/src/origin/set.rs
//! +++ b/policy-core/src/origin/set.rs
//! ..
//! ```
//!
//! What follows `killed by:` are arguments of `cargo test`. A patch marked `short` is one of those
//! that `cargo xtask test` tries as well. The patches are applied, one at a time, to a copy of the
//! tree under the target folder; the tree itself is never touched.

mod matrix;
mod patch;
mod tree;
mod verdict;

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use crate::{Failure, Outcome, project, run::Seconds};
use matrix::Matrix;
use patch::Fault;
use tree::Tree;
use verdict::Verdict;

/// How long the tests of one fault may take, their build included.
const LIMIT: Duration = Duration::from_secs(600);

/// Which faults to try.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'a> {
    All,
    /// Those marked `short`.
    Short,
    /// Those whose file name or description has the text.
    Matching(&'a str),
}

/// What became of the faults.
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
                "{survived} of {} faults were not killed by the test that each names",
                self.killed + survived
            ))),
        }
    }
}

/// Tries the faults and prints a table: fault, test that killed it, time; and at the end which test
/// killed which faults.
///
/// # Errors
///
/// A patch cannot be read, or the tests that the patches name fail without any fault.
pub(crate) fn run(selection: Selection<'_>) -> Outcome<Verdicts> {
    let faults: Vec<Fault> =
        read()?.into_iter().filter(|fault| is_selected(fault, selection)).collect();
    if faults.is_empty() {
        return Err(Failure::new("no fault is selected"));
    }
    let tree = Tree::in_target()?;
    tree.restore()?;
    without_faults(&tree, &faults)?;
    let width = faults.iter().map(|fault| fault.what.chars().count()).max().unwrap_or(0);
    println!("{:<width$}  {:<60}  time", "fault", "killing test");
    let (mut verdicts, mut matrix) = (Verdicts::default(), Matrix::default());
    for fault in &faults {
        let began = Instant::now();
        let verdict = attempt(&tree, fault)?;
        match &verdict {
            Verdict::Killed { tests } => {
                verdicts.killed += 1;
                matrix.add(tests, &fault.what, began.elapsed());
            }
            _ => verdicts.survived += 1,
        }
        let time = Seconds(began.elapsed());
        println!("{:<width$}  {:<60}  {time}", fault.what, verdict.to_string());
        if let Some(output) = verdict.output() {
            println!("   {}, `cargo test {}`:\n{output}", fault.file, fault.killed_by);
        }
    }
    println!("\n{matrix}\n{} faults killed, {} not", verdicts.killed, verdicts.survived);
    Ok(verdicts)
}

fn read() -> Outcome<Vec<Fault>> {
    let folder = project::root().join("faults");
    let entries = fs::read_dir(&folder).map_err(Failure::with_path("read", &folder))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    paths.sort();
    paths.iter().map(|path| Fault::read(path)).collect()
}

fn is_selected(fault: &Fault, selection: Selection<'_>) -> bool {
    match selection {
        Selection::All => true,
        Selection::Short => fault.short,
        Selection::Matching(text) => fault.file.contains(text) || fault.what.contains(text),
    }
}

/// A test that fails anyway kills nothing.
fn without_faults(tree: &Tree, faults: &[Fault]) -> Outcome {
    let tests: BTreeSet<&str> = faults.iter().map(|fault| &*fault.killed_by).collect();
    for arguments in tests {
        let captured = tree.test(arguments, LIMIT)?;
        let time = Seconds(captured.took);
        match Verdict::of(&captured) {
            Verdict::Survived => println!("passes without faults: {arguments}  {time}"),
            verdict => {
                return Err(Failure::new(format!(
                    "without any fault, `cargo test {arguments}`: {verdict}\n{}",
                    captured.output
                )));
            }
        }
    }
    Ok(())
}

fn attempt(tree: &Tree, fault: &Fault) -> Outcome<Verdict> {
    let verdict = match tree.apply(fault)? {
        Ok(()) => Verdict::of(&tree.test(&fault.killed_by, LIMIT)?),
        Err(why) => Verdict::DoesNotApply(why),
    };
    tree.restore()?;
    Ok(verdict)
}
