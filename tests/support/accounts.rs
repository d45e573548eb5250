//! The example of accounts as its reader starts it: `cargo run --example accounts`.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, copy, sink},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// A folder of its own, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("policy-accounts-{}-{count}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// The running example. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Accounts {
    process: Child,
    service: String,
    page: String,
}

impl Accounts {
    /// The command that starts it on free ports.
    pub(crate) fn command(folder: &Folder) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(["run", "--quiet", "--example", "accounts"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("POLICY_ACCOUNTS_PORTS", "0,0")
            .env("POLICY_ACCOUNTS_FOLDER", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it and reads the addresses, which it prints once it listens.
    pub(crate) fn start(folder: &Folder) -> io::Result<Self> {
        let process = Self::command(folder).spawn()?;
        // From here on the process is ended whatever happens.
        let mut accounts = Self { process, service: String::new(), page: String::new() };
        let (stdout, stderr) = (accounts.process.stdout.take(), accounts.process.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("no output"));
        };
        let mut lines = BufReader::new(stdout).lines();
        while accounts.service.is_empty() || accounts.page.is_empty() {
            let Some(line) = lines.next().transpose()? else {
                let mut errors = String::from("the example ended at once: ");
                stderr.read_to_string(&mut errors)?;
                return Err(io::Error::other(errors));
            };
            if let Some(origin) = line.strip_prefix("service: ") {
                accounts.service = origin.trim().to_owned();
            } else if let Some(origin) = line.strip_prefix("page: ") {
                accounts.page = origin.trim().to_owned();
            }
        }
        // Read on, or the example would wait for somebody to do so.
        thread::spawn(move || lines.for_each(drop));
        thread::spawn(move || copy(&mut stderr, &mut sink()));
        Ok(accounts)
    }

    /// The origin of the service: `http://localhost:` and a port.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// The origin of the page.
    pub(crate) fn page(&self) -> &str {
        &self.page
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

impl Drop for Accounts {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
