//! The quickstart example as its reader starts it: `cargo run --example quickstart`.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write, copy, sink},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::webdriver::Failure;

/// How long the example may take to answer and to end.
const LIMIT: Duration = Duration::from_secs(20);

/// The running example. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Quickstart {
    process: Child,
    granted: String,
    refused: String,
}

impl Quickstart {
    /// Starts the example on free ports and reads the addresses, which it prints once it listens.
    pub(crate) fn start() -> Result<Self, Failure> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let process = Command::new(cargo)
            .args(["run", "--quiet", "--example", "quickstart"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("POLICY_QUICKSTART_PORTS", "0,0,0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // From here on the process is ended whatever happens.
        let mut quickstart = Self { process, granted: String::new(), refused: String::new() };
        let stdout = quickstart.process.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut stderr = quickstart.process.stderr.take().ok_or("no errors")?;
        while quickstart.granted.is_empty() || quickstart.refused.is_empty() {
            let Some(line) = lines.next().transpose()? else {
                let mut errors = String::from("the quickstart ended at once: ");
                stderr.read_to_string(&mut errors)?;
                return Err(errors.into());
            };
            if let Some(address) = line.strip_prefix("granted page: ") {
                quickstart.granted = address.to_owned();
            } else if let Some(address) = line.strip_prefix("refused page: ") {
                quickstart.refused = address.to_owned();
            }
        }
        // Read on, or the example would wait for somebody to do so.
        thread::spawn(move || lines.for_each(drop));
        thread::spawn(move || copy(&mut stderr, &mut sink()));
        Ok(quickstart)
    }

    /// The page that the API grants, without a slash at the end.
    pub(crate) fn granted(&self) -> &str {
        &self.granted
    }

    /// The page that the API does not grant.
    pub(crate) fn refused(&self) -> &str {
        &self.refused
    }

    /// What the refused page's server answers to somebody who opens it without a browser.
    pub(crate) fn answer(&self) -> Result<String, Failure> {
        let host = self.refused.strip_prefix("http://").ok_or("no address")?;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
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
                Some(status) => return Err(format!("ended with {status}").into()),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!("still there after {} s", LIMIT.as_secs()).into())
    }
}

impl Drop for Quickstart {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
