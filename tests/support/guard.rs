//! Third-party servers that end with this process, however it ends, and whose files are removed then.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// The shell that stops a server when this process is gone.
#[derive(Debug)]
pub struct Guard {
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
    pub fn start<A: AsRef<OsStr>>(
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
    pub fn stop(self) {
        let Self { mut process, mut alive } = self;
        alive.write_all(b"stay\n").expect("a shell");
        drop(alive);
        process.wait().expect("a shell");
    }
}
