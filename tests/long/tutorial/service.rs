//! The service of a reader, and other programs that run in another terminal.

use std::{
    net::{Ipv4Addr, TcpStream},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use policy_tests::{output::Output, process::ChildProcess};

/// The longest that a program may take, so that a hang fails the run: for some, cargo builds first.
const LIMIT: Duration = Duration::from_secs(30 * 60);

const PAUSE: Duration = Duration::from_millis(20);

/// A program, interrupted when it is dropped as by Ctrl-C.
pub(super) struct Service(ChildProcess);

impl Service {
    /// Starts the service and waits until it says that it listens.
    pub(super) fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = child.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut service = Self(ChildProcess(child));
        let stderr = Output::new(service.0.0.stderr.take().expect("its errors"));
        let (until, mut log) = (Instant::now() + LIMIT, String::new());
        loop {
            let line = stderr.line(until).unwrap_or_else(|_late| panic!("does not listen: {log}"));
            let line = line.unwrap_or_else(|| panic!("ended without listening: {log}"));
            log.push_str(&line);
            if line.contains("listening on http://") {
                return service;
            }
        }
    }

    /// Starts a server that does not say when it listens, and waits until it does.
    pub(super) fn start_at(command: &mut Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = child.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let service = Self(ChildProcess(child));
        let until = Instant::now() + LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < until, "nothing listens at {port}: {command:?}");
            thread::sleep(PAUSE);
        }
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // `cargo run` is replaced by the program that it built, so this is its id.
        let process = &mut self.0.0;
        let _told = Command::new("kill").args(["-INT", &process.id().to_string()]).status();
        let until = Instant::now() + Duration::from_secs(60);
        while matches!(process.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(PAUSE);
        }
    }
}
