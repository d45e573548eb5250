//! A row of steps, each with its heading and its time, that stops at the first failure.

use std::{
    fmt,
    process::Command,
    sync::{Mutex, PoisonError},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use crate::{Failure, Outcome, command, totals::Totals};

/// Runs steps, and keeps the time of each and the counts of their tests.
pub(crate) struct StepRunner {
    began: Instant,
    times: Vec<(String, Duration)>,
    totals: Totals,
}

impl StepRunner {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), times: Vec::new(), totals: Totals::default() }
    }

    /// A step of any kind.
    pub(crate) fn step(
        &mut self,
        heading: &str,
        work: impl FnOnce(&mut Totals) -> Outcome,
    ) -> Outcome {
        println!("\n== {heading}");
        let began = Instant::now();
        let outcome = work(&mut self.totals);
        let took = began.elapsed();
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("-- {heading}: {verdict}, {}", Seconds(took));
        self.times.push((heading.to_owned(), took));
        outcome
    }

    /// A step that runs commands one after the other; the tests among them are counted.
    pub(crate) fn commands(
        &mut self,
        heading: &str,
        commands: impl IntoIterator<Item = Command>,
    ) -> Outcome {
        self.commands_beside(heading, commands, || Ok(()))
    }

    /// The same, with other work in a thread of its own.
    pub(crate) fn commands_beside(
        &mut self,
        heading: &str,
        commands: impl IntoIterator<Item = Command>,
        work: impl FnOnce() -> Outcome + Send,
    ) -> Outcome {
        self.step(heading, |totals| {
            thread::scope(|scope| {
                let work = scope.spawn(work);
                let done = commands.into_iter().try_for_each(|mut command| {
                    command::stream(&mut command, |line| totals.read(line))
                });
                done.and(join(work))
            })
        })
    }

    /// A step of rows of commands, all at once: while one waits, its processor is free for the others.
    /// The output of one test binary is printed as a whole. A failure ends its row only.
    pub(crate) fn side_by_side<const ROWS: usize>(
        &mut self,
        heading: &str,
        rows: [Vec<Command>; ROWS],
    ) -> Outcome {
        self.step(heading, |totals| {
            let totals = Mutex::new(totals);
            let row = |commands: Vec<Command>| {
                for mut command in commands {
                    command::stream_in_parts(&mut command, |line| {
                        totals.lock().unwrap_or_else(PoisonError::into_inner).read(line);
                    })?;
                }
                Ok(())
            };
            thread::scope(|scope| {
                let rows = rows.map(|commands| scope.spawn(|| row(commands)));
                rows.map(join).into_iter().collect()
            })
        })
    }

    /// The names of failed tests, the times of all steps, and the counts as the last line.
    pub(crate) fn close(&self) {
        if !self.totals.names_of_failed().is_empty() {
            println!("\n== failed\n{}", self.totals.names_of_failed().join("\n"));
        }
        println!("\n== times");
        for (heading, took) in &self.times {
            println!("{:>8}  {heading}", Seconds(*took).to_string());
        }
        println!("{:>8}  in all\n", Seconds(self.began.elapsed()).to_string());
        println!("{}", self.totals);
    }
}

fn join(work: ScopedJoinHandle<'_, Outcome>) -> Outcome {
    work.join().unwrap_or_else(|_panic| Err(Failure::new("a thread of the step panicked")))
}

/// A time as people read it.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}

/// A command with a variable.
pub(crate) fn with_env(mut command: Command, name: &str, value: &str) -> Command {
    command.env(name, value);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::program;

    #[test]
    fn a_failed_step_is_timed_and_its_tests_are_counted() {
        let mut run = StepRunner::new();
        let script = "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 3";
        assert!(run.commands("tests", [program("sh", &["-c", script])]).is_err());
        assert_eq!(run.totals.to_string(), "1 passed, 2 failed");
        assert_eq!(run.times.len(), 1);
    }

    #[test]
    fn a_step_fails_with_the_work_beside_its_commands() {
        let mut run = StepRunner::new();
        let work = || Err(Failure::new("no network"));
        let failure = run.commands_beside("build", [program("true", &[])], work).unwrap_err();
        assert!(failure.to_string().contains("no network"), "{failure}");
        assert!(run.commands_beside("build", [program("false", &[])], || Ok(())).is_err());
    }

    /// Each of these commands ends when the other one has begun.
    #[test]
    fn two_rows_of_commands_run_concurrently_and_all_tests_are_counted() {
        let folder = std::env::temp_dir().join(format!("policy-rows-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let begins = |own: &str, other: &str, status: u8| {
            let folder = folder.display();
            let script = format!(
                "echo 'test {own} ... FAILED'; echo 'test result: ok. 2 passed; 1 failed' >&2; \
                 touch {folder}/{own}; until [ -e {folder}/{other} ]; do sleep 0.1; done; exit {status}"
            );
            program("sh", &["-c", &script])
        };
        let counted = || program("echo", &["test result: ok. 5 passed; 0 failed"]);
        let mut run = StepRunner::new();
        let rows = [vec![begins("a", "b", 3), counted()], vec![begins("b", "a", 0), counted()]];
        let outcome = run.side_by_side("tests", rows);
        std::fs::remove_dir_all(folder).unwrap();
        assert!(outcome.is_err());
        // The command behind the failed one did not run.
        assert_eq!(run.totals.to_string(), "9 passed, 2 failed");
        let mut failed = run.totals.names_of_failed().to_vec();
        failed.sort();
        assert_eq!(failed, ["a", "b"]);
    }
}
