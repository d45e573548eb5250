//! An example as its reader starts it: `cargo run --example ..`.

use std::{
    env,
    io::{BufRead, BufReader, Read, copy, sink},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::webdriver::Failure;

/// How long an example may take to answer and to end.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A running example. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Example {
    name: &'static str,
    process: Child,
}

impl Example {
    /// Starts an example with variables, and reads what it prints behind each of the labels, which
    /// it does once it listens.
    pub(crate) fn start<const N: usize>(
        name: &'static str,
        variables: &[(&str, &str)],
        labels: [&str; N],
    ) -> Result<(Self, [String; N]), Failure> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let process = Command::new(cargo)
            .args(["run", "--quiet", "--example", name])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // From here on the process is ended whatever happens.
        let mut example = Self { name, process };
        let stdout = example.process.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut stderr = example.process.stderr.take().ok_or("no errors")?;
        let mut found = [const { String::new() }; N];
        while found.iter().any(String::is_empty) {
            let Some(line) = lines.next().transpose()? else {
                let mut errors = format!("the example {name} ended at once: ");
                stderr.read_to_string(&mut errors)?;
                return Err(errors.into());
            };
            for (label, found) in labels.iter().zip(&mut found) {
                if let Some(value) = line.strip_prefix(label) {
                    value.trim().clone_into(found);
                }
            }
        }
        // Read on, or the example would wait for somebody to do so.
        thread::spawn(move || lines.for_each(drop));
        thread::spawn(move || copy(&mut stderr, &mut sink()));
        Ok((example, found))
    }

    /// Asks it to end, as a supervisor does, and waits until it did.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        // Cargo has replaced itself by the example, so the process is the example.
        let process = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &process]).status()?;
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            match self.process.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{} ended with {status}", self.name).into()),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!("{} is still there after {} s", self.name, LIMIT.as_secs()).into())
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
