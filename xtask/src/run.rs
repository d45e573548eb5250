//! A row of steps, each with its heading and its time, that stops at the first failure.

use std::{
    fmt,
    process::Command,
    time::{Duration, Instant},
};

use crate::{Outcome, command, totals::Totals};

/// The steps so far.
pub(crate) struct Run {
    began: Instant,
    times: Vec<(String, Duration)>,
    totals: Totals,
}

impl Run {
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
        self.step(heading, |totals| {
            for mut command in commands {
                command::stream(&mut command, |line| totals.read(line))?;
            }
            Ok(())
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
        let mut run = Run::new();
        let script = "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 3";
        assert!(run.commands("tests", [program("sh", &["-c", script])]).is_err());
        assert_eq!(run.totals.to_string(), "1 passed, 2 failed");
        assert_eq!(run.times.len(), 1);
    }
}
