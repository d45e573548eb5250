//! Runs an example as a reader of the documentation would.

use std::{
    ffi::OsStr,
    io,
    net::SocketAddr,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{output::Output, process::ChildProcess};

/// The longest that an example may take to listen. It catches a hang, and includes the time that
/// cargo needs to build the example on a slow machine.
const START: Duration = Duration::from_secs(30 * 60);

/// The longest that an example may take to exit.
const LIMIT: Duration = Duration::from_secs(60);

/// A running example. Dropping it kills it.
#[derive(Debug)]
pub struct Example {
    process: ChildProcess,
    /// The values that it printed, each under the words printed before it.
    printed: Vec<(&'static str, String)>,
}

impl Example {
    /// The command that starts a program.
    pub fn command(program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a program and reads the addresses that it prints after these words once it listens.
    pub fn start(command: &mut Command, words: &[&'static str]) -> io::Result<Self> {
        // From here on, dropping `example` kills the process, also after an error.
        let mut example = Self { process: ChildProcess(command.spawn()?), printed: Vec::new() };
        let process = &mut example.process.0;
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("no output"));
        };
        let (stdout, stderr) = (Output::new(stdout), Output::new(stderr));
        let (until, mut output) = (Instant::now() + START, String::new());
        while example.printed.len() < words.len() {
            let line = stdout.line(until);
            let Ok(Some(line)) = line else {
                // Kills the process, so that its output ends.
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

    /// The origin that it printed after a word.
    pub fn printed(&self, word: &str) -> &str {
        let found = self.printed.iter().find(|(known, _)| *known == word);
        found.map_or_else(|| panic!("it printed no `{word}`"), |(_, address)| address)
    }

    /// The address that it printed after a word.
    pub fn address(&self, word: &str) -> SocketAddr {
        let port = self.printed(word).rsplit(':').next().and_then(|port| port.parse().ok());
        SocketAddr::from(([127, 0, 0, 1], port.unwrap_or_default()))
    }

    /// Sends SIGTERM, as a supervisor does, and waits for the exit.
    pub fn stop(mut self) -> io::Result<()> {
        // Cargo replaces its process with the example (exec), so the id is that of the example.
        let process = self.process.0.id().to_string();
        Command::new("kill").args(["-TERM", &process]).status()?;
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            match self.process.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("ended with {status}"))),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(io::Error::other(format!("still there after {} s", LIMIT.as_secs())))
    }
}
