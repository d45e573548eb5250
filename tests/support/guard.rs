//! Third-party servers that end with this process, however it ends, and whose files are removed then.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
};

/// The folder of a server, and the server while it runs. The folder is removed at the end: by the shell
/// that stops the server, or when this is dropped while no server runs.
#[derive(Debug)]
pub struct Guarded {
    folder: PathBuf,
    /// The shell that stops the server once its input is closed.
    shell: Mutex<Option<Child>>,
}

/// Runs a server until its input ends, stops it by the signal `$1`, then removes the folder `$2` unless
/// it is told otherwise.
const SCRIPT: &str = "signal=$1; folder=$2; shift 2; \"$@\" & server=$!; read -r order; \
    kill -\"$signal\" $server 2>/dev/null; wait $server; [ \"$order\" = stay ] || rm -rf \"$folder\"";

impl Guarded {
    /// An empty folder, in which no server runs yet.
    pub fn new(folder: PathBuf) -> Self {
        // Left over from a run that was killed.
        let _none = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        Self { folder, shell: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the server, by a shell that was prepared by the caller. The signal stops it. Its log is
    /// a file of the folder.
    pub fn start<A: AsRef<OsStr>>(
        &self,
        mut shell: Command,
        signal: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) {
        let log = fs::File::options().create(true).append(true).open(self.folder.join("log"));
        shell.args(["-c", SCRIPT, "sh", signal]).arg(&self.folder).arg(program).args(arguments);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log.expect("a file"));
        *self.shell.lock().expect("no panic") = Some(shell.spawn().expect("a shell"));
    }

    /// Stops the server, and leaves its files.
    pub fn stop(&self) {
        let Some(mut shell) = self.shell.lock().expect("no panic").take() else { return };
        shell.stdin.as_mut().expect("its input").write_all(b"stay\n").expect("a shell");
        // This closes its input.
        shell.wait().expect("a shell");
    }

    pub fn is_running(&self) -> bool {
        self.shell.lock().expect("no panic").is_some()
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // While the server runs, the shell needs the folder.
        if !self.is_running() {
            let _gone = fs::remove_dir_all(&self.folder);
        }
    }
}
