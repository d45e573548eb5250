//! The example of a catalogue as its reader starts it: `cargo run --example catalogue`.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::{
    env,
    io::{self, BufRead, BufReader, Read, copy, sink},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
};

/// The running example. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Catalogue {
    process: Child,
    origin: String,
    partner: String,
}

impl Catalogue {
    /// Starts it on free ports and reads the addresses, which it prints once it listens.
    pub(crate) fn start() -> io::Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let process = Command::new(cargo)
            .args(["run", "--quiet", "--example", "catalogue"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("POLICY_CATALOGUE_PORTS", "0,0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // From here on the process is ended whatever happens.
        let mut catalogue = Self { process, origin: String::new(), partner: String::new() };
        let (stdout, stderr) = (catalogue.process.stdout.take(), catalogue.process.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("no output"));
        };
        let mut lines = BufReader::new(stdout).lines();
        while catalogue.origin.is_empty() || catalogue.partner.is_empty() {
            let Some(line) = lines.next().transpose()? else {
                let mut errors = String::from("the example ended at once: ");
                stderr.read_to_string(&mut errors)?;
                return Err(io::Error::other(errors));
            };
            if let Some(origin) = line.strip_prefix("catalogue: ") {
                catalogue.origin = origin.trim().to_owned();
            } else if let Some(origin) = line.strip_prefix("partner: ") {
                catalogue.partner = origin.trim().to_owned();
            }
        }
        // Read on, or the example would wait for somebody to do so.
        thread::spawn(move || lines.for_each(drop));
        thread::spawn(move || copy(&mut stderr, &mut sink()));
        Ok(catalogue)
    }

    /// The origin of the catalogue: `http://localhost:` and a port.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        let port = self.origin.rsplit(':').next().and_then(|port| port.parse().ok());
        SocketAddr::from(([127, 0, 0, 1], port.unwrap_or_default()))
    }

    /// The origin of the partner's page, of another site.
    pub(crate) fn partner(&self) -> &str {
        &self.partner
    }

    /// Asks it to end, as a supervisor does, and waits until it did.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        // Cargo has replaced itself by the example, so the process is the example.
        let id = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("ended: {status}"))) }
    }
}

impl Drop for Catalogue {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
