//! Independent implementations: scripts that run with packages which the set-up step installs.

use std::{
    env,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

/// A script and its interpreter.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// The text of a Python script.
    Python(&'static str),
    /// The text of a Node.js script.
    Node(&'static str),
}

pub const PYJWT: Peer = Peer::Python(include_str!("pyjwt.py"));
pub const JOSE: Peer = Peer::Node(include_str!("jose.mjs"));
pub const CACHECONTROL: Peer = Peer::Python(include_str!("cachecontrol.py"));
pub const COOKIEJAR: Peer = Peer::Python(include_str!("cookiejar.py"));
pub const TOUGH_COOKIE: Peer = Peer::Node(include_str!("tough.mjs"));

impl Peer {
    /// Runs the script with this input and returns its output.
    pub fn run(self, arguments: &[&str], input: &Value) -> Value {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?}: {error}; `cargo xtask test` installs what is needed")
        });
        let mut stdin = process.stdin.take().expect("its input");
        stdin.write_all(input.to_string().as_bytes()).expect("a program that reads");
        drop(stdin);
        let output = process.wait_with_output().expect("its output");
        assert!(output.status.success(), "the script failed: {}", output.status);
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn command(self) -> Command {
        match self {
            Self::Python(script) => {
                let mut command = Command::new(installed("python/bin/python3"));
                command.args(["-c", script]);
                command
            }
            Self::Node(script) => {
                let mut command = Command::new("node");
                // Node.js resolves packages from the working folder.
                command.current_dir(installed("node"));
                command.args(["--input-type=module", "--eval", script]);
                command
            }
        }
    }
}

/// A path among what the set-up step of `cargo xtask test` installed.
pub fn installed(path: &str) -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(3).expect("the folder of the build");
    let path = target.join("interop").join(path);
    assert!(path.exists(), "{} is missing: `cargo xtask test` installs it", path.display());
    path
}
