//! A test that needs a process of its own: it runs itself once more, in a role.

use std::{
    env,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a process that was asked to end may take.
const PATIENCE: Duration = Duration::from_secs(30);

const ROLE: &str = "POLICY_TEST_ROLE";

/// What this process is to do, if it is not the test itself.
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// The test of this name, to be run in a role and with as many file descriptors as the system
/// grants.
pub fn again(test: &str, role: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n \"$(ulimit -H -n)\"; exec \"$0\" \"$@\""])
        .arg(env::current_exe().expect("the path of this test"))
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the test in a role to its end, which must be a good one.
pub fn succeeds(command: &mut Command) {
    let output = command.output().expect("a shell");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
}

/// A process that serves, ended when it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: Child,
    stderr: BufReader<ChildStderr>,
    /// The first line of its launch report.
    pub first_line: String,
    pub address: SocketAddr,
}

impl ServerProcess {
    /// Starts it, and reads the address from its launch report, which it prints once it listens.
    pub fn start(command: &mut Command) -> Self {
        let mut process = command.spawn().expect("a shell");
        let mut stderr = BufReader::new(process.stderr.take().expect("its errors"));
        let mut first_line = String::new();
        stderr.read_line(&mut first_line).expect("a launch report");
        let address = first_line.split("://").nth(1).and_then(|rest| rest.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("no address: `{first_line}`"));
        let address = address.parse().expect("an address");
        Self { process, stderr, first_line, address }
    }

    /// The next lines of its launch report.
    pub fn lines(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            self.stderr.read_line(&mut text).expect("a line");
        }
        text
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    /// Waits for its end, and says whether it was a good one, with what it still had to say.
    pub fn ended(mut self) -> (bool, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().expect("its status") {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "still there after {PATIENCE:?}");
            thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("a text");
        (status.success(), text)
    }

    /// How many sockets it has.
    pub fn sockets(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.process.id());
        let entries = std::fs::read_dir(folder).expect("Linux");
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// The memory that it really uses, in bytes.
    pub fn memory(&self) -> usize {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next());
        kibibytes.expect("a figure").parse::<usize>().expect("a figure") * 1024
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
