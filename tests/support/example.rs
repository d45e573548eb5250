//! An example as its reader starts it.

use std::{
    ffi::OsStr,
    io,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::output::Output;

/// How long an example may take until it listens: a bound on what hangs, and longer than cargo
/// takes to build it before on a slow machine.
const START: Duration = Duration::from_secs(30 * 60);

/// How long an example may take to end.
const LIMIT: Duration = Duration::from_secs(60);

/// A running example. Dropping it kills it.
#[derive(Debug)]
pub struct Example {
    process: Child,
    /// What it printed, by the words before it.
    printed: Vec<(&'static str, String)>,
}

impl Example {
    /// The command that starts a program.
    pub fn command(program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts it and reads the addresses, which it prints behind these words once it listens.
    pub fn start(command: &mut Command, words: &[&'static str]) -> io::Result<Self> {
        // From here on the process is ended whatever happens.
        let mut example = Self { process: command.spawn()?, printed: Vec::new() };
        let (stdout, stderr) = (example.process.stdout.take(), example.process.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("no output"));
        };
        let (stdout, stderr) = (Output::of(stdout), Output::of(stderr));
        let (until, mut output) = (Instant::now() + START, String::new());
        while example.printed.len() < words.len() {
            let line = stdout.line(until);
            let Ok(Some(line)) = line else {
                // So that its outputs end.
                drop(example);
                let errors = stderr.rest();
                return Err(io::Error::other(format!(
                    "waited for the addresses behind {words:?}, {START:?} at most, and got \
                     {line:?}\nerrors: {errors}\noutput: {output}"
                )));
            };
            if let Some((word, address)) = line.split_once(": ")
                && let Some(word) = words.iter().find(|known| **known == word)
            {
                example.printed.push((word, address.trim().to_owned()));
            }
            output.push_str(&line);
        }
        Ok(example)
    }

    /// The address that it printed behind a word: an origin.
    pub fn printed(&self, word: &str) -> &str {
        let found = self.printed.iter().find(|(known, _)| *known == word);
        found.map_or_else(|| panic!("it printed no `{word}`"), |(_, address)| address)
    }

    /// Where it listens, which it printed behind a word.
    pub fn address(&self, word: &str) -> SocketAddr {
        let port = self.printed(word).rsplit(':').next().and_then(|port| port.parse().ok());
        SocketAddr::from(([127, 0, 0, 1], port.unwrap_or_default()))
    }

    /// Asks it to end, as a supervisor does, and waits until it did.
    pub fn stop(mut self) -> io::Result<()> {
        // Cargo replaces itself by the example, so the process is the example.
        let process = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &process]).status()?;
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            match self.process.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("ended with {status}"))),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(io::Error::other(format!("still there after {} s", LIMIT.as_secs())))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
