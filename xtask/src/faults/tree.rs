//! The copy of the tree that faults are applied to.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure, Outcome,
    command::{cargo, program},
    folders, project,
};

/// A copy of every file that is in version control or could be added to it.
pub(super) struct Tree {
    pub(super) folder: PathBuf,
    copy: PathBuf,
    /// Whether few tests run, in less time than it takes to optimise what they test.
    is_short: bool,
}

impl Tree {
    pub(super) fn in_target(is_short: bool) -> Outcome<Self> {
        let folder = folders::target().join("faults");
        let copy = folder.join("tree");
        fs::create_dir_all(&copy).map_err(Failure::with_path("create", &copy))?;
        take_built(&folder.join("target"))?;
        Ok(Self { folder, copy, is_short })
    }

    /// Makes the copy equal to the tree, except for these files. Unchanged files keep their
    /// modification time, so that cargo rebuilds only what has changed.
    pub(super) fn set(&self, changed: &BTreeMap<PathBuf, String>) -> Outcome {
        let files = list_files()?;
        self.remove_others(&self.copy, &files)?;
        for file in &files {
            let (from, to) = (folders::root().join(file), self.copy.join(file));
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(Failure::with_path("create", folder))?;
            }
            if let Ok(target) = fs::read_link(&from) {
                set_link(&to, &target)?;
                continue;
            }
            let content = match changed.get(file) {
                Some(text) => text.clone().into_bytes(),
                None => fs::read(&from).map_err(Failure::with_path("read", &from))?,
            };
            if fs::read(&to).is_ok_and(|old| old == content) {
                continue;
            }
            // Copy first, to keep the permissions.
            fs::copy(&from, &to).map_err(Failure::with_path("write", &to))?;
            fs::write(&to, content).map_err(Failure::with_path("write", &to))?;
        }
        Ok(())
    }

    /// Removes other files: deleted ones, and those that tests left behind.
    fn remove_others(&self, folder: &Path, files: &HashSet<PathBuf>) -> Outcome {
        let entries = fs::read_dir(folder).map_err(Failure::with_path("read", folder))?;
        for entry in entries {
            let path = entry.map_err(Failure::with_path("read", folder))?.path();
            if path.is_dir() && !path.is_symlink() {
                self.remove_others(&path, files)?;
            } else if !path.strip_prefix(&self.copy).is_ok_and(|name| files.contains(name)) {
                fs::remove_file(&path).map_err(Failure::with_path("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Cargo in the copy.
    pub(super) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = cargo(arguments);
        self.prepare(cargo.current_dir(&self.copy));
        // These builds are not debugged.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "none");
        if self.is_short {
            cargo.args(["--config", "profile.dev.package.policy-core.opt-level=0"]);
        }
        cargo
    }

    /// Sets the environment of a program in the copy.
    pub(super) fn prepare(&self, command: &mut Command) {
        command
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            // The minimal case is not needed.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0");
    }
}

/// Copies the built third-party crates from the target folder, unless they were copied before.
/// Cargo builds whatever it needs built differently.
fn take_built(target: &Path) -> Outcome {
    if target.exists() {
        return Ok(());
    }
    let packages = project::packages()?.into_iter();
    let names = packages.flat_map(|package| {
        let targets = package.targets.into_iter().map(|target| target.name);
        [package.name].into_iter().chain(targets).collect::<Vec<_>>()
    });
    let own: HashSet<String> = names.map(|name| name.replace('-', "_")).collect();
    let is_own = |file: &str| {
        let name = file.rsplit_once('-').map_or(file, |(name, _hash)| name).replace('-', "_");
        own.contains(&name) || name.strip_prefix("lib").is_some_and(|name| own.contains(name))
    };
    for part in [".fingerprint", "build", "deps"] {
        let from = folders::target().join("debug").join(part);
        copy_built(&from, &target.join("debug").join(part), &|name| !is_own(name))?;
    }
    Ok(())
}

/// Copies a folder with its times, by which cargo knows that nothing is to be built.
fn copy_built(from: &Path, to: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Outcome {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to).map_err(Failure::with_path("create", to))?;
    for entry in entries {
        let entry = entry.map_err(Failure::with_path("read", from))?;
        let name = entry.file_name();
        let (from, to) = (entry.path(), to.join(&name));
        if !is_wanted(&name.to_string_lossy()) {
            continue;
        }
        if from.is_dir() {
            copy_built(&from, &to, &|_name| true)?;
            continue;
        }
        let copy = || {
            fs::copy(&from, &to)?;
            let time = fs::metadata(&from)?.modified()?;
            fs::File::options().write(true).open(&to)?.set_modified(time)
        };
        copy().map_err(Failure::with_path("copy", &from))?;
    }
    Ok(())
}

/// The files of the tree: tracked, and untracked but not ignored.
fn list_files() -> Outcome<HashSet<PathBuf>> {
    let mut git = program("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().map_err(|error| Failure::new(format!("cannot run git: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    let files = names.split('\0').map(PathBuf::from);
    // A deleted file is listed until the deletion is committed.
    let is_there = |file: &PathBuf| {
        let path = folders::root().join(file);
        path.is_file() || path.is_symlink()
    };
    Ok(files.filter(is_there).collect())
}

/// Makes `path` a symbolic link to `target`, which is relative to its folder.
fn set_link(path: &Path, target: &Path) -> Outcome {
    if fs::read_link(path).is_ok_and(|old| old == target) {
        return Ok(());
    }
    // Also a link that leads nowhere.
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path).map_err(Failure::with_path("remove", path))?;
    }
    std::os::unix::fs::symlink(target, path).map_err(Failure::with_path("link", path))
}
