//! The package of the user, as cargo finds it.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// Which package is meant.
#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// The Cargo.toml of the package; by default that of the current folder or one above it.
    #[arg(long, value_name = "PATH", help_heading = "Package")]
    manifest_path: Option<PathBuf>,
    /// The name of the package, where a workspace has several.
    #[arg(short, long, value_name = "NAME", help_heading = "Package")]
    package: Option<String>,
}

/// A package, and what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    target: PathBuf,
}

impl Package {
    /// Asks cargo for the package.
    pub(crate) fn find(arguments: &PackageArguments) -> Result<Self, Failure> {
        let metadata = metadata(arguments.manifest_path.as_deref())?;
        let packages = packages(&metadata);
        if let Some(name) = &arguments.package {
            let found = packages.iter().find(|package| package.name == *name).cloned();
            return found.ok_or_else(|| {
                Failure::new(format!("this workspace has no package `{name}`"))
                    .help(format!("name one of these with `-p`: {}", names(&packages)))
            });
        }
        let folder = arguments.manifest_path.as_deref().and_then(Path::parent).map_or_else(
            || env::current_dir().ok(),
            |folder| match folder.as_os_str().is_empty() {
                true => env::current_dir().ok(),
                false => folder.canonicalize().ok(),
            },
        );
        let nearest = folder.iter().flat_map(|folder| folder.ancestors());
        let nearest = nearest.into_iter().find(|folder| folder.join("Cargo.toml").is_file());
        if let Some(package) = packages.iter().find(|package| Some(&*package.folder) == nearest) {
            return Ok(package.clone());
        }
        // The root of a workspace without a package of its own.
        let described = || packages.iter().filter(|package| package.is_described());
        let mut candidates = described();
        match (candidates.next(), candidates.next(), &*packages) {
            (Some(package), None, _) | (None, None, [package]) => Ok(package.clone()),
            (Some(_), Some(_), _) => {
                let candidates: Vec<_> = described().cloned().collect();
                Err(Failure::new("several packages of this workspace have a policy")
                    .help(format!("name one with `-p`: {}", names(&candidates))))
            }
            _ => Err(Failure::new("no package of this workspace has a policy yet").help(format!(
                "name the one of your app with `-p` (of {}), and run its tests with `cargo \
                     test -p NAME`",
                names(&packages)
            ))),
        }
    }

    /// The lock file.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("policy.lock")
    }

    /// What the last run of the tests wrote: the manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.target.join("policy").join(&self.name).join("manifest.json")
    }

    /// What the last run of the tests wrote: the lines that decided.
    pub(crate) fn sources(&self) -> PathBuf {
        self.manifest().with_file_name("sources.json")
    }

    fn is_described(&self) -> bool {
        self.lock().is_file() || self.manifest().is_file()
    }
}

fn names(packages: &[Package]) -> String {
    let names: Vec<_> = packages.iter().map(|package| format!("`{}`", package.name)).collect();
    names.join(", ")
}

/// What `cargo metadata` says of the packages of the workspace.
fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(target) = text(metadata.get("target_directory")) else { return Vec::new() };
    let all = metadata.get("packages").and_then(Value::as_array);
    let package = |value: &Value| {
        let file = PathBuf::from(text(value.get("manifest_path"))?);
        let folder = file.parent()?;
        let folder = folder.canonicalize().unwrap_or_else(|_missing| folder.to_owned());
        Some(Package { name: text(value.get("name"))?, folder, target: PathBuf::from(&target) })
    };
    all.into_iter().flatten().filter_map(package).collect()
}

fn metadata(manifest: Option<&Path>) -> Result<Value, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    command.args(manifest.iter().flat_map(|path| [Path::new("--manifest-path"), path]));
    let output = command.output().map_err(|error| {
        Failure::new(format!("cargo cannot be started: {error}"))
            .help("put cargo into `PATH`, or name a manifest with `--from`")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ");
        return Err(Failure::new(format!("cargo finds no package: {said}")).help(
            "run this in the folder of your app, name its Cargo.toml with `--manifest-path`, or a \
             manifest with `--from`",
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure::new(format!("`cargo metadata` cannot be read: {error}")))
}
