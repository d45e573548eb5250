//! The manifest that a command reads: of a package, or what `--from` names.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use policy_manifest::{FacetSource, Lock, Manifest, Sources};

use crate::{
    failure::Failure,
    output::Output,
    package::{Package, PackageArguments, app_of},
    route_lines::RouteLines,
    sarif::SarifLocation,
};

/// Which manifest a command reads.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// Read this instead of the package's own policy: a file, `-` for standard input, a git
    /// revision (its policy.lock), or REVISION:PATH.
    #[arg(long, value_name = "INPUT", help_heading = "Package")]
    from: Option<String>,
    #[command(flatten)]
    package: PackageArguments,
}

/// The size of the largest manifest: more than 100,000 routes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// A manifest.
#[derive(Debug)]
pub(crate) struct Input {
    /// The name of the package, or what was named.
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    /// The folder of its file, in which its rules are.
    pub(crate) folder: PathBuf,
    /// The lines that decided, if they are known.
    pub(crate) sources: Option<Sources>,
    /// The policy with the acceptances and suppressions of its lock file. The lock file of a package may
    /// be unreadable although its policy is known.
    pub(crate) signed: Result<Lock, Failure>,
    /// The lock file, if it is in a repository.
    pub(crate) lock: Option<LockFile>,
}

/// A lock file in a repository.
#[derive(Debug)]
pub(crate) struct LockFile {
    /// The path from the root of the repository.
    path: String,
    lines: RouteLines,
    /// The workspace in the repository, to which the paths of the compiler are relative.
    workspace: PathBuf,
}

/// The root of the repository in which a path is.
pub(crate) fn repository_of(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.join(".git").exists())
}

impl LockFile {
    fn new(path: &Path, workspace: &Path, text: &str) -> Self {
        let root = repository_of(workspace).unwrap_or(workspace);
        let from_root = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
        let path = from_root(path).display().to_string();
        Self { path, lines: RouteLines::parse(text), workspace: from_root(workspace) }
    }

    /// A file that is named, if it is a lock file of a repository.
    fn find(path: &Path, text: &str) -> Option<Self> {
        app_of(path.file_name()?.to_str()?)?;
        let path = path.canonicalize().ok()?;
        let root = repository_of(&path)?;
        Some(Self::new(&path, root, text))
    }

    /// The path of a source file, from the root of the repository.
    fn below(&self, file: &str) -> String {
        self.workspace.join(file).display().to_string()
    }
}

impl InputArguments {
    /// Reads the named manifest; otherwise the files of the last test run of the package; otherwise
    /// its lock file, with a note on how to get the lines as well.
    pub(crate) fn read(&self, output: &Output) -> Result<Input, Failure> {
        match &self.from {
            Some(named) => Input::read_named(named, &self.package),
            None => Input::read_package(&self.package, output),
        }
    }
}

impl Input {
    /// Reads a manifest that is named: a file, `-`, a git revision, or REVISION:PATH.
    pub(crate) fn read_named(named: &str, package: &PackageArguments) -> Result<Self, Failure> {
        Self::from_text(&LOCK.text_of(named, package)?, named)
    }

    /// Reads a file, which is named after its path.
    pub(crate) fn read_file(path: &str) -> Result<Self, Failure> {
        Self::from_text(&read(Path::new(path))?, path)
    }

    fn from_text(text: &str, named: &str) -> Result<Self, Failure> {
        let signed = parse(text, named)?;
        let lock = LockFile::find(Path::new(named), text);
        let (name, manifest) = (named.to_owned(), signed.manifest.clone());
        let folder = Path::new(named).parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { name, manifest, folder, sources: None, signed: Ok(signed), lock })
    }

    /// Reads the files of the last test run of the package; otherwise its lock file, with a note on
    /// how to get the lines as well.
    pub(crate) fn read_package(
        arguments: &PackageArguments,
        output: &Output,
    ) -> Result<Self, Failure> {
        read_package(&Package::find(arguments)?, output)
    }

    /// The line of the source that decided, else the line of the first of these routes in the lock
    /// file.
    pub(crate) fn line_of<'r>(
        &self,
        source: Option<&FacetSource>,
        routes: impl IntoIterator<Item = &'r str>,
    ) -> Option<SarifLocation> {
        if let Some(source) = source {
            let file = self.lock.as_ref().map(|lock| lock.below(&source.file));
            let file = file.unwrap_or_else(|| source.file.clone());
            return Some(SarifLocation { file, line: source.line });
        }
        let lock = self.lock.as_ref()?;
        let index = routes.into_iter().find_map(|route| lock.lines.find(route));
        let line = u32::try_from(index.unwrap_or_default()).unwrap_or_default().saturating_add(1);
        Some(SarifLocation { file: lock.path.clone(), line })
    }
}

/// A kind of document that commands read.
pub(crate) struct Kind {
    /// What it is called.
    words: &'static str,
    /// The name of its file in the folder of a package.
    file: fn(&Package) -> String,
    /// The name of that file where there is no package.
    usual: &'static str,
}

/// Lock files, and manifests.
const LOCK: Kind = Kind { words: "manifest", file: Package::lock_name, usual: "policy.lock" };

/// OpenAPI documents.
pub(crate) const OPENAPI: Kind =
    Kind { words: "document", file: Package::openapi_name, usual: "openapi.json" };

/// The text of a document, and what it was named.
pub(crate) struct NamedText {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Kind {
    /// Reads a document that is named: a file, `-`, a git revision, or REVISION:PATH.
    pub(crate) fn read_named(
        &self,
        named: &str,
        package: &PackageArguments,
    ) -> Result<NamedText, Failure> {
        Ok(NamedText { name: named.to_owned(), text: self.text_of(named, package)? })
    }

    /// Reads the file of the package.
    pub(crate) fn read_package(&self, arguments: &PackageArguments) -> Result<NamedText, Failure> {
        let package = Package::find(arguments)?;
        let path = package.folder.join((self.file)(&package));
        if !path.is_file() {
            let message = format!("the package `{}` has no `{}`", package.name, path.display());
            let help = format!("run `cargo test -p {}`, or name one with `--from`", package.name);
            return Err(Failure::new(message).help(help));
        }
        Ok(NamedText { name: (self.file)(&package), text: read(&path)? })
    }

    fn text_of(&self, named: &str, package: &PackageArguments) -> Result<String, Failure> {
        if named == "-" {
            return match text_within_bound(io::stdin().lock()) {
                Ok(text) if !text.trim().is_empty() => Ok(text),
                Ok(_) => Err(Failure::new("standard input is empty")
                    .help(format!("pipe a {} into this command, or name a file", self.words))),
                Err(error) => Err(Failure::new(format!("standard input cannot be read: {error}"))
                    .help(format!("pipe a {} into this command, in UTF-8", self.words))),
            };
        }
        let path = Path::new(named);
        if path.is_dir() {
            return Err(Failure::new(format!("`{named}` is a folder")).help(format!(
                "name the {} in it, or its package with `--manifest-path`",
                self.usual
            )));
        }
        if path.exists() {
            return read(path);
        }
        let is_revision = !named.starts_with('-') && !named.is_empty();
        if is_revision && named.contains(':') {
            return git(Path::new("."), named).map_err(|reason| {
                Failure::new(format!("git does not have `{named}`: {reason}"))
                    .help("write REVISION:PATH, with the path from the root of the repository")
            });
        }
        let absent = || {
            Failure::new(format!("there is no file `{named}`")).help(format!(
                "name a {}, `-`, a revision such as `HEAD~1`, or REVISION:PATH",
                self.words
            ))
        };
        if !is_revision {
            return Err(absent());
        }
        let package = Package::find_in_revision(package)?;
        let folder = package.as_ref().map_or(Path::new("."), |package| &package.folder);
        let file = package.as_ref().map_or_else(|| self.usual.to_owned(), self.file);
        git(folder, &format!("{named}:./{file}")).map_err(|reason| {
            let absent = absent();
            let message = &absent.message;
            let message =
                format!("{message}, and git has no {file} in a revision of this name: {reason}");
            Failure { message, ..absent }
        })
    }
}

fn read_package(package: &Package, output: &Output) -> Result<Input, Failure> {
    let (manifest, lock) = (package.manifest(), package.lock());
    let name = package.app_name().to_owned();
    let folder = package.folder.clone();
    let test = format!("cargo test -p {}", package.name);
    let locked = match lock.is_file() {
        true => Some(read(&lock)?),
        false => None,
    };
    let parsed = locked.as_ref().map(|text| parse(text, &lock.display().to_string()));
    let lock = locked.map(|text| LockFile::new(&lock, &package.workspace, &text));
    if manifest.is_file() {
        let file = package.sources();
        let sources = match file.is_file() {
            true => Some(parse_sources(&read(&file)?, &file)?),
            false => None,
        };
        let text = read(&manifest)?;
        let manifest = parse(&text, &manifest.display().to_string())?.manifest;
        let mut signed = parsed.unwrap_or_else(|| Ok(Lock::new(Manifest::new())));
        if let Ok(lock) = &mut signed {
            lock.manifest = manifest.clone();
        }
        return Ok(Input { name, manifest, folder, sources, signed, lock });
    }
    if let Some(parsed) = parsed {
        output.note(&format!(
            "this is {}; `{test}` adds the lines that decided, in {}",
            package.lock_name(),
            manifest.parent().unwrap_or(&manifest).display()
        ));
        let signed = parsed?;
        let manifest = signed.manifest.clone();
        return Ok(Input { name, manifest, folder, sources: None, signed: Ok(signed), lock });
    }
    Err(Failure::new(format!(
        "the package `{}` has no policy yet: neither `{}` nor `{}` is there",
        package.name,
        package.lock().display(),
        manifest.display()
    ))
    .help(format!("run `{test}`: the tests of its policies write it")))
}

/// The text of a file that is or names manifests.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    read_text(path, "name a manifest in UTF-8 that you may read")
}

/// The text of a file, unless it is longer than [`MAX_BYTES`]. The help is for one that cannot be read.
pub(crate) fn read_text(path: &Path, help: &str) -> Result<String, Failure> {
    File::open(path).and_then(text_within_bound).map_err(|error| {
        Failure::new(format!("`{}` cannot be read: {error}", path.display())).help(help)
    })
}

/// All that is read, unless it is longer than [`MAX_BYTES`].
fn text_within_bound(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(io::Error::other(format!("it is longer than {} MiB", MAX_BYTES >> 20))),
        false => Ok(text),
    }
}

/// A lock file, or a manifest as one.
fn parse(text: &str, name: &str) -> Result<Lock, Failure> {
    Lock::parse(text).map_err(|error| {
        Failure::new(format!("`{name}`: {error}")).help(
            "name a policy.lock or a manifest.json; if a merge left both sides in it, write it again \
             with `cargo test`",
        )
    })
}

fn parse_sources(text: &str, file: &Path) -> Result<Sources, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("`{}` cannot be read: {error}", file.display()))
            .help("run `cargo test` to write it again")
    })
}

/// A file of a revision. The error is git's message, or says why the file cannot be read.
fn git(folder: &Path, object: &str) -> Result<String, String> {
    let mut git = Command::new("git")
        .args(["cat-file", "blob", object])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    // Closes the pipe at the bound, which ends git.
    let text = git.stdout.take().map_or_else(|| Ok(String::new()), text_within_bound);
    let output = git.wait_with_output().map_err(|error| format!("git failed: {error}"))?;
    let text = text.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(text);
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(reason.trim().trim_start_matches("fatal: ").to_owned())
}
