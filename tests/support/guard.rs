//! Third-party servers that end with this process, however it ends, and whose files are removed then.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::Mutex,
};

/// The folder of a server, and the server while it runs. The folder is removed at the end: by the shell
/// that stops the server, or when this is dropped while no server runs.
#[derive(Debug)]
pub struct Guarded {
    folder: PathBuf,
    guard: Mutex<Option<Guard>>,
}

impl Guarded {
    /// An empty folder, in which no server runs yet.
    pub fn new(folder: PathBuf) -> Self {
        // Left over from a run that was killed.
        let _none = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        Self { folder, guard: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the server, by a shell that was prepared by the caller. The signal stops it.
    pub fn start<A: AsRef<OsStr>>(
        &self,
        shell: Command,
        signal: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) {
        let guard = Guard::start(shell, signal, &self.folder, program, arguments);
        *self.guard.lock().expect("no panic") = Some(guard);
    }

    /// Stops the server, and leaves its files.
    pub fn stop(&self) {
        if let Some(guard) = self.guard.lock().expect("no panic").take() {
            guard.stop();
        }
    }

    pub fn is_running(&self) -> bool {
        self.guard.lock().expect("no panic").is_some()
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Otherwise the shell needs it until the server has stopped.
        if !self.is_running() {
            let _gone = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The shell that stops a server when this process is gone.
#[derive(Debug)]
struct Guard {
    process: Child,
    /// Closed at the end of this process.
    alive: ChildStdin,
}

/// Runs a server until its input ends, stops it by the signal `$1`, then removes the folder `$2` unless
/// it is told otherwise.
const SCRIPT: &str = "signal=$1; folder=$2; shift 2; \"$@\" & server=$!; read -r order; \
    kill -\"$signal\" $server 2>/dev/null; wait $server; [ \"$order\" = stay ] || rm -rf \"$folder\"";

impl Guard {
    /// Starts a server, by a shell that was prepared by the caller. Its log is a file of the folder.
    fn start<A: AsRef<OsStr>>(
        mut shell: Command,
        signal: &str,
        folder: &Path,
        server: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let log = fs::File::options().create(true).append(true).open(folder.join("log"));
        shell.args(["-c", SCRIPT, "sh", signal]).arg(folder).arg(server).args(arguments);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log.expect("a file"));
        let mut process = shell.spawn().expect("a shell");
        let alive = process.stdin.take().expect("its input");
        Self { process, alive }
    }

    /// Stops the server, and leaves its files.
    fn stop(self) {
        let Self { mut process, mut alive } = self;
        alive.write_all(b"stay\n").expect("a shell");
        drop(alive);
        process.wait().expect("a shell");
    }
}
