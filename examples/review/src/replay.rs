//! The steps of the review, each by the command that a person or CI would run.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The repository of the shop: a package with its lock file, and a main branch.
pub(crate) struct Repository {
    folder: PathBuf,
    /// The app whose tests run.
    app: &'static str,
}

impl Repository {
    /// Commits the shop as it is on the main branch.
    pub(crate) fn new() -> io::Result<Self> {
        let folder = env::temp_dir().join(format!("policy-review-{}", std::process::id()));
        fs::create_dir_all(folder.join("src"))?;
        let folder = folder.canonicalize()?;
        let package = "[package]\nname = \"shop\"\nedition = \"2024\"\n\n[workspace]\n";
        fs::write(folder.join("Cargo.toml"), package)?;
        fs::write(folder.join("src/lib.rs"), "")?;
        fs::write(folder.join(".gitignore"), "target\nCargo.lock\n")?;
        let repository = Self { folder, app: "on_main" };
        for line in [
            "cargo test",
            "git init -q -b main",
            "git add .",
            "git -c user.name=ada -c user.email=ada@shop.example commit -q -m 'the shop'",
            "git update-ref refs/remotes/origin/main HEAD",
        ] {
            let output = repository.run(line)?;
            if !output.status.success() {
                return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
            }
        }
        Ok(repository)
    }

    /// The author or the reviewer edits the app.
    pub(crate) fn edit(&mut self, app: &'static str) {
        self.app = app;
    }

    /// Accepts in the lock file what the test has named, with a person and a reason.
    pub(crate) fn accept(&self, printed: &str, who: &str, why: &str) -> io::Result<()> {
        let line = printed.lines().find(|line| line.contains("\"who\":\"\"")).unwrap_or_default();
        let line = line.replace("\"who\":\"\"", &format!("\"who\":\"{who}\""));
        let line = line.replace("\"why\":\"\"", &format!("\"why\":\"{why}\""));
        let lock = fs::read_to_string(self.lock())?;
        let accepted = format!("  \"accepted\": [\n{line}\n  ],\n  \"routes\": [");
        fs::write(self.lock(), lock.replacen("  \"routes\": [", &accepted, 1))
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("policy.lock")
    }

    /// What a line of a shell prints, and how it ends.
    pub(crate) fn replay(&self, line: &str) -> io::Result<String> {
        let Output { status, stdout, stderr } = self.run(line)?;
        let mut printed = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        printed = printed.replace(&format!("{}/", self.folder.display()), "");
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        if let Some(code) = status.code().filter(|code| *code != 0) {
            printed += &format!("[exit code {code}]\n");
        }
        Ok(printed)
    }

    /// Runs a line. This program is `cargo policy` and the test of the lock file, too.
    fn run(&self, line: &str) -> io::Result<Output> {
        let words = words(line);
        let (variables, words) = match words.iter().position(|word| !word.contains('=')) {
            Some(first) => words.split_at(first),
            None => (&*words, &[][..]),
        };
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut command = match words.as_slice() {
            ["cargo", "test"] => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["test", self.app]).arg(&self.folder);
                command
            }
            ["cargo", arguments @ ..] => {
                let mut command = Command::new(env::current_exe()?);
                command.args(arguments);
                command
            }
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            [] => return Err(io::Error::other("the line has no command")),
        };
        let variables = variables.iter().filter_map(|variable| variable.split_once('='));
        command
            .current_dir(&self.folder)
            .env_remove("CI")
            .env_remove("POLICY_LOCK")
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("GIT_CONFIG_GLOBAL", Path::new("/dev/null"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(variables)
            .output()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The words of a line, some of them between single quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}
