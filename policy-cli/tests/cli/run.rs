//! Runs the built binary.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use policy_manifest::{Lock, Manifest, Sources};

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
    run_at(&tests().join("manifests"), line)
}

/// Runs it with the words of a line, in a folder.
pub(crate) fn run_at(folder: &Path, line: &str) -> Ran {
    run_in(folder, &line.split_whitespace().collect::<Vec<_>>(), "")
}

/// Runs git in a folder.
pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let user = ["-c", "user.name=ada", "-c", "user.email=ada@shop.example"];
    let git = Command::new("git").args(user).args(arguments).current_dir(folder).output().unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
}

/// A page, with the names of its style and its script in their places.
pub(crate) fn without_style_and_script(page: &str) -> String {
    let files = [
        ("PAGE.CSS", include_str!("../../src/commands/show/html/page.css")),
        ("PAGE.JS", include_str!("../../src/commands/show/html/page.js")),
    ];
    files.into_iter().fold(page.to_owned(), |page, (name, text)| page.replace(text, name))
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
    files.iter().for_each(|(path, text)| write(&folder, path, text));
    folder
}

/// Writes a file below a folder.
pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A package whose tests have written its policy and the lines that decided, with more files.
pub(crate) fn package(
    name: &str,
    manifest: &Manifest,
    sources: &Sources,
    more: &[(&str, &str)],
) -> PathBuf {
    let files = [
        ("Cargo.toml", "[package]\nname = \"shop\"\nedition = \"2024\"\n\n[workspace]\n"),
        ("src/lib.rs", ""),
        ("target/policy/shop/manifest.json", &manifest.to_json()),
        ("target/policy/shop/sources.json", &serde_json::to_string(sources).unwrap()),
    ];
    folder(name, &[&files[..], more].concat())
}

/// A repository with the shop in a workspace below its root: its lock file, what its tests wrote, and
/// more files.
pub(crate) fn workspace(
    name: &str,
    lock: &Lock,
    sources: &Sources,
    more: &[(&str, &str)],
) -> PathBuf {
    let files = [
        (".git/HEAD", "ref: refs/heads/main"),
        ("rust/Cargo.toml", "[workspace]\nmembers = [\"shop\"]\nresolver = \"3\"\n"),
        ("rust/shop/Cargo.toml", "[package]\nname = \"shop\"\nedition = \"2024\"\n"),
        ("rust/shop/src/lib.rs", ""),
        ("rust/shop/policy.lock", &lock.to_json()),
        ("rust/target/policy/shop/manifest.json", &lock.manifest.to_json()),
        ("rust/target/policy/shop/sources.json", &serde_json::to_string(sources).unwrap()),
    ];
    folder(name, &[&files[..], more].concat()).join("rust/shop")
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}
