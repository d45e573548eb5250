//! The lock file of an app's policy, and the policy of the last test run.

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
};

use policy_manifest::{Acceptance, Lock, Manifest, Sources, Update};

#[cfg(feature = "openapi")]
use super::document;
#[cfg(feature = "openapi")]
use crate::build::openapi::DocumentSource;
use crate::{app::AppParts, build};

/// The package of a test, and the app that it tests.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The folder of the package.
    pub folder: &'static str,
    /// Its name.
    pub package: &'static str,
    /// The name in `policy_tests!(name: ..)`; `policy_laws` without one.
    pub name: &'static str,
}

/// The policy of an app, to compare it with its lock file.
#[derive(Debug)]
pub(crate) struct LockTest {
    pub(super) manifest: Manifest,
    pub(super) sources: Sources,
    #[cfg(feature = "openapi")]
    documented: DocumentSource,
}

/// How to treat a lock file, according to the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A missing one is written, a changed one is an error.
    Check,
    /// The same, and a missing one is an error.
    Ci,
    /// A changed one is written.
    Update,
}

impl LockTest {
    pub(crate) fn new(app: &AppParts) -> Self {
        let (manifest, sources) = build::manifest::read(app);
        Self {
            manifest,
            sources,
            #[cfg(feature = "openapi")]
            documented: DocumentSource::new(app),
        }
    }

    /// Compares the policy with the lock file, and writes it below the target folder for
    /// `cargo policy`.
    pub(super) fn check(&self, subject: Subject) -> Result<(), String> {
        let mode = match (env::var("POLICY_LOCK").as_deref(), env::var_os("CI")) {
            (Ok("update"), _) => Mode::Update,
            (_, Some(_)) => Mode::Ci,
            (_, None) => Mode::Check,
        };
        self.leave(subject)?;
        self.compare(&lock_file(subject), mode)
    }

    /// Compares the OpenAPI document of the app with `openapi.json` beside the lock file, if there is
    /// one.
    #[cfg(feature = "openapi")]
    pub(super) fn check_document(&self, subject: Subject) -> Result<(), String> {
        document::check(&self.documented, &self.manifest, subject)
    }

    #[cfg(not(feature = "openapi"))]
    #[expect(clippy::print_stdout, reason = "a test says so")]
    pub(super) fn check_document(&self, subject: Subject) -> Result<(), String> {
        println!("not applicable: {} has no OpenAPI document without its feature", subject.package);
        Ok(())
    }

    fn compare(&self, path: &Path, mode: Mode) -> Result<(), String> {
        let Some(lock) = read_lock(path)? else {
            return match mode {
                Mode::Ci => Err(format!(
                    "there is no {}, and with `CI` set it is not written: run `cargo test` on your \
                     machine, look at the file, and commit it",
                    path.display()
                )),
                Mode::Check | Mode::Update => {
                    write(path, &Lock::new(self.manifest.clone()).to_json())
                }
            };
        };
        let update = lock.update(&self.manifest).map_err(|error| unreadable(path, &error))?;
        let is_same = lock.manifest == update.lock.manifest;
        match mode {
            Mode::Check | Mode::Ci if is_same => {
                match &*lock.stale().map_err(|error| unreadable(path, &error))? {
                    [] => Ok(()),
                    lines => Err(stale(path, lines)),
                }
            }
            Mode::Check | Mode::Ci => Err(changed(path, &update)),
            Mode::Update if !update.to_accept.is_empty() => Err(unaccepted(path, &update)),
            Mode::Update if update.lock == lock => Ok(()),
            Mode::Update => write(path, &update.lock.to_json()),
        }
    }

    /// Writes manifest and sources below the target folder.
    #[expect(clippy::print_stdout, reason = "a test says so what it saw")]
    fn leave(&self, subject: Subject) -> Result<(), String> {
        let test = env::current_exe().unwrap_or_default();
        let Some(target) = target_folder(&test) else {
            println!(
                "`cargo policy` does not name the lines of this policy: {} is below no target folder \
                 of cargo",
                test.display()
            );
            return Ok(());
        };
        let mut folder = target.join("policy").join(subject.package);
        if subject.name != UNNAMED {
            folder.push(subject.name);
        }
        fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
        let sources = serde_json::to_string_pretty(&self.sources).unwrap_or_default();
        write(&folder.join("manifest.json"), &self.manifest.to_json())?;
        write(&folder.join("sources.json"), &sources)
    }
}

/// The name of the tests of a package's only app.
pub(super) const UNNAMED: &str = "policy_laws";

/// The lock file of an app, if there is one.
pub(super) fn read_lock(path: &Path) -> Result<Option<Lock>, String> {
    match fs::read_to_string(path) {
        // A checkout may have changed its line ends.
        Ok(text) => Lock::parse(&text).map(Some).map_err(|error| unreadable(path, &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, &error)),
    }
}

pub(super) fn lock_file(subject: Subject) -> PathBuf {
    let folder = Path::new(subject.folder);
    match subject.name {
        UNNAMED => folder.join("policy.lock"),
        name => folder.join(format!("policy.{name}.lock")),
    }
}

/// The target folder above a test; `None` if it runs elsewhere. Cargo tags the folders that it
/// makes, and describes its compiler in each folder that it uses, such as an existing volume.
fn target_folder(test: &Path) -> Option<&Path> {
    let is_target = |folder: &&Path| {
        ["CACHEDIR.TAG", ".rustc_info.json"].iter().any(|name| folder.join(name).is_file())
    };
    test.ancestors().find(is_target)
}

/// Replaces a file atomically, since other tests may read it.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(new);
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

fn unreadable(path: &Path, error: &impl fmt::Display) -> String {
    format!(
        "{}: {error}\n  help      mend it, restore it from the repository, or delete it to have it \
         written anew",
        path.display()
    )
}

fn changed(path: &Path, update: &Update) -> String {
    format!(
        "the policy of the app is not the one in {}:\n\n{}\n  help      if that is meant, run \
         `POLICY_LOCK=update cargo test`",
        path.display(),
        lines_of(&update.changes)
    )
}

/// `lines` accept another policy than their route has.
fn stale(path: &Path, lines: &[&Acceptance]) -> String {
    format!(
        "{} accepts policies that its routes do not have, of earlier or in advance:\n\n{}\n  help      \
         remove these lines, or run `POLICY_LOCK=update cargo test`",
        path.display(),
        lines_of(lines)
    )
}

fn unaccepted(path: &Path, update: &Update) -> String {
    let changes = update.to_accept.iter().map(|(change, _)| change);
    let mut lines: Vec<_> = update.to_accept.iter().map(|(_, line)| line.to_string()).collect();
    lines.dedup();
    format!(
        "the policy of the app has opening changes that are not accepted:\n\n{}\n  help      if that \
         is meant, add these lines to `accepted` in {}, with who accepts it and why, and run \
         `POLICY_LOCK=update cargo test` again:\n\n  \"accepted\": [\n    {}\n  ],",
        lines_of(changes),
        path.display(),
        lines.join(",\n    ")
    )
}

fn lines_of(lines: impl IntoIterator<Item: fmt::Display>) -> String {
    lines.into_iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use policy_core_tests::folder::Folder;

    use super::*;
    use crate::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    async fn closed() {}

    #[get("/orders")]
    #[auth(public)]
    async fn open() {}

    #[get("/orders")]
    #[auth(session, roles = ["staff"])]
    async fn narrow() {}

    fn app(routes: Vec<Route<()>>) -> LockTest {
        LockTest::new(&App::new(()).sessions(Sessions::memory()).routes(routes).parts)
    }

    use crate::app::route::Route;

    /// The path of a lock file in its folder.
    fn lock() -> (Folder, PathBuf) {
        let folder = Folder::new().unwrap();
        let file = folder.path().join("policy.lock");
        (folder, file)
    }

    /// Writes a lock file of the closed app that accepts the open one, in this name.
    fn accept(file: &Path, who: &str, why: &str) {
        app(routes![closed]).compare(file, Mode::Check).unwrap();
        let refused = app(routes![open]).compare(file, Mode::Update).unwrap_err();
        let line = refused.lines().find(|line| line.contains("\"who\"")).unwrap();
        let signed = format!("\"who\":\"{who}\",\"why\":\"{why}\"");
        let line = line.replace("\"who\":\"\",\"why\":\"\"", &signed);
        let text = fs::read_to_string(file).unwrap();
        let accepted = format!("\"accepted\": [{line}],\n  \"routes\"");
        fs::write(file, text.replacen("\"routes\"", &accepted, 1)).unwrap();
    }

    /// As in a volume that was made before cargo used it.
    #[test]
    fn a_target_folder_that_cargo_did_not_make_is_found() {
        for mark in ["CACHEDIR.TAG", ".rustc_info.json"] {
            let folder = Folder::new().unwrap();
            let target = folder.path();
            let test = target.join("debug/deps/laws-1");
            assert_eq!(target_folder(&test), None, "{mark}");
            fs::write(target.join(mark), "").unwrap();
            assert_eq!(target_folder(&test), Some(target), "{mark}");
        }
    }

    #[test]
    fn the_first_run_writes_the_lock_file_but_not_in_ci() {
        let (_folder, file) = lock();
        let missing = app(routes![closed]).compare(&file, Mode::Ci).unwrap_err();
        assert!(missing.contains("run `cargo test` on your machine"), "{missing}");
        app(routes![closed]).compare(&file, Mode::Check).unwrap();
        app(routes![closed]).compare(&file, Mode::Ci).unwrap();
    }

    #[test]
    fn a_changed_policy_fails_and_updates_take_over_closing_changes() {
        let (_folder, file) = lock();
        app(routes![closed]).compare(&file, Mode::Check).unwrap();
        let changed = app(routes![narrow]).compare(&file, Mode::Check).unwrap_err();
        let change = "narrows: GET /orders: auth: was `session`, is `session, roles = [\"staff\"]`";
        assert!(changed.contains(change) && changed.contains("POLICY_LOCK=update"), "{changed}");
        app(routes![narrow]).compare(&file, Mode::Update).unwrap();
        app(routes![narrow]).compare(&file, Mode::Ci).unwrap();
    }

    #[test]
    fn updates_take_over_an_opening_change_with_its_accepted_line() {
        let (_folder, file) = lock();
        accept(&file, "ada", "launch");
        app(routes![open]).compare(&file, Mode::Update).unwrap();
        app(routes![open]).compare(&file, Mode::Ci).unwrap();
        assert!(fs::read_to_string(&file).unwrap().contains("launch"));
    }

    #[test]
    fn an_acceptance_in_advance_is_refused() {
        let (_folder, file) = lock();
        accept(&file, "eve", "later");
        for mode in [Mode::Check, Mode::Ci] {
            let refused = app(routes![closed]).compare(&file, mode).unwrap_err();
            assert!(refused.contains("in advance") && refused.contains("eve"), "{refused}");
        }
        app(routes![closed]).compare(&file, Mode::Update).unwrap();
        app(routes![closed]).compare(&file, Mode::Ci).unwrap();
    }

    #[test]
    fn an_acceptance_without_a_name_is_refused_in_every_mode() {
        let (_folder, file) = lock();
        accept(&file, "", "");
        for mode in [Mode::Check, Mode::Ci, Mode::Update] {
            let refused = app(routes![open]).compare(&file, mode).unwrap_err();
            let missing = "the acceptance of `GET /orders` has an empty `who`: write into its line";
            assert!(refused.contains(missing), "{refused}");
        }
    }

    #[test]
    fn an_unreadable_lock_file_is_an_error() {
        let (_folder, file) = lock();
        fs::write(&file, "<<<<<<< ours").unwrap();
        for mode in [Mode::Check, Mode::Ci, Mode::Update] {
            let error = app(routes![closed]).compare(&file, mode).unwrap_err();
            assert!(error.contains("restore it"), "{error}");
        }
    }
}
