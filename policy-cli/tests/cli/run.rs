//! Runs the built binary.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs it in a folder, with an input.
pub(crate) fn run_in(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-policy"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs it with the words of a line, beside the manifests.
pub(crate) fn run(line: &str) -> Ran {
    let arguments: Vec<_> = line.split_whitespace().collect();
    run_in(&tests().join("manifests"), &arguments, "")
}

/// Compares a result with a file in `tests/snapshots`; `POLICY_SNAPSHOTS=update` writes it.
pub(crate) fn compare(name: &str, text: &str) {
    let file = tests().join("snapshots").join(name);
    if env::var_os("POLICY_SNAPSHOTS").is_some_and(|value| value == "update") {
        fs::write(&file, text).unwrap();
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == known,
        "this is not `{}`; `POLICY_SNAPSHOTS=update cargo test -p policy-cli` writes it anew:\n{text}",
        file.display()
    );
}

/// A folder of this test run with files in it.
pub(crate) fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}
