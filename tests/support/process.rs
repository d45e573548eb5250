//! For tests that need a process of their own: the test binary runs itself again, in a role.

use std::{
    env,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::output::Output;

/// The longest that a process may take to exit after a signal.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest that a process may take to print a line, so that a hang fails the test.
const LINE: Duration = Duration::from_secs(300);

const ROLE: &str = "POLICY_TEST_ROLE";

/// The role of this process, or `None` in the test itself.
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// The command that runs the test of this name in a role, with as many file descriptors as the
/// system allows. A file that reaches a limit of its size fails to grow and does not end the process.
pub fn again(test: &str, role: &str) -> Command {
    again_with_files(test, role, "\"$(ulimit -H -n)\"")
}

/// The command that runs the test of this name in a role, with this many file descriptors.
pub fn again_with_files(test: &str, role: &str, files: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("trap '' XFSZ; ulimit -n {files}; exec \"$0\" \"$@\"")])
        .arg(env::current_exe().expect("the path of this test"))
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a program, as the test in a role, and asserts that it succeeds.
pub fn succeeds(command: &mut Command) {
    let output = command.output().expect("a program");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}\n{err}");
}

/// A process with a server, killed when it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: ChildProcess,
    stderr: Output,
    /// The first line of its launch report.
    pub first_line: String,
    pub address: SocketAddr,
}

impl ServerProcess {
    /// Starts the process and reads the address from its launch report, which it prints once it
    /// listens.
    pub fn start(command: &mut Command) -> Self {
        let mut process = ChildProcess(command.spawn().expect("a shell"));
        let stdout = Output::new(process.0.stdout.take().expect("its output"));
        let stderr = Output::new(process.0.stderr.take().expect("its errors"));
        let first_line = stderr.line(Instant::now() + LINE);
        if let Ok(Some(line)) = &first_line
            && let Some(address) = address_in(line)
        {
            return Self { process, stderr, first_line: line.clone(), address };
        }
        // Kills the process, so that its output ends.
        drop(process);
        let (errors, output) = (stderr.rest(), stdout.rest());
        panic!(
            "waited for the first line of a launch report, {LINE:?} at most, and got \
             {first_line:?}\nerrors: {errors}\noutput: {output}"
        );
    }

    /// The next lines of its launch report.
    pub fn lines(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let line = self.stderr.line(Instant::now() + LINE);
            let line = line.unwrap_or_else(|_late| panic!("no line within {LINE:?} behind {text}"));
            text.push_str(&line.unwrap_or_default());
        }
        text
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.process.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    /// Limits the size to which its files may grow, as a full disk does, or ends that.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let mut prlimit = Command::new("prlimit");
        prlimit.arg(format!("--pid={}", self.process.0.id())).arg(format!("--fsize={limit}:"));
        assert!(prlimit.status().expect("prlimit of util-linux").success());
    }

    /// Waits for the exit. Returns whether it succeeded, and the rest of its output.
    pub fn wait_for_exit(mut self) -> (bool, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.process.0.try_wait().expect("its status") {
                break status;
            }
            if begun.elapsed() >= PATIENCE {
                drop(self.process);
                panic!("still there after {PATIENCE:?}, and said: {}", self.stderr.rest());
            }
            thread::sleep(Duration::from_millis(5));
        };
        (status.success(), self.stderr.rest())
    }

    pub fn sockets(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.process.0.id());
        let entries = std::fs::read_dir(folder).expect("Linux");
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// Its resident memory in bytes.
    pub fn memory(&self) -> usize {
        let path = format!("/proc/{}/status", self.process.0.id());
        let status = std::fs::read_to_string(path).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next());
        kibibytes.expect("a figure").parse::<usize>().expect("a figure") * 1024
    }
}

/// The origin behind `listening on`.
fn address_in(line: &str) -> Option<SocketAddr> {
    line.split("://").nth(1)?.split_whitespace().next()?.parse().ok()
}

/// A process, killed when it is dropped.
#[derive(Debug)]
pub struct ChildProcess(pub Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
