//! The package of the user, as cargo finds it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// The package.
#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// The Cargo.toml of the package [default: in the current folder or one above it].
    #[arg(long, value_name = "PATH", help_heading = "Package")]
    manifest_path: Option<PathBuf>,
    /// The name of the package, if the workspace has several.
    #[arg(short, long, value_name = "NAME", help_heading = "Package")]
    package: Option<String>,
    /// The name in `policy_tests!(NAME: ..)`, if the package has several apps.
    #[arg(long, value_name = "NAME", help_heading = "Package")]
    app: Option<String>,
}

/// A package, and what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// The folder of its workspace.
    pub(crate) workspace: PathBuf,
    target: PathBuf,
    /// The name of the app, where it has one.
    app: Option<String>,
}

impl Package {
    /// Asks cargo for the package, and chooses its app.
    pub(crate) fn find(arguments: &PackageArguments) -> Result<Self, Failure> {
        Self::with_app(arguments, &metadata(arguments.manifest_path.as_deref())?)
    }

    /// Asks cargo for the package of a revision, which may have other apps than the working tree. `None` if
    /// none is named and cargo finds none.
    pub(crate) fn find_in_revision(arguments: &PackageArguments) -> Result<Option<Self>, Failure> {
        let PackageArguments { manifest_path, package, app } = arguments;
        let is_named = manifest_path.is_some() || package.is_some() || app.is_some();
        let metadata = match metadata(manifest_path.as_deref()) {
            Err(_) if !is_named => return Ok(None),
            found => found?,
        };
        Ok(Some(match app {
            Some(app) => Self { app: Some(app.clone()), ..Self::find_any(arguments, &metadata)? },
            None => Self::with_app(arguments, &metadata)?,
        }))
    }

    /// The package, with its app.
    fn with_app(arguments: &PackageArguments, metadata: &Value) -> Result<Self, Failure> {
        let mut package = Self::find_any(arguments, metadata)?;
        let apps = package.apps();
        let wrong = |what: &str| Failure::new(format!("the package `{}` {what}", package.name));
        let name_one = || format!("name one with `--app`: {}", in_backticks(&apps));
        package.app = match (&arguments.app, &*apps) {
            (Some(name), _) if apps.contains(name) => Some(name.clone()),
            (Some(name), []) => {
                let what = format!("has no app `{name}`: none of its apps has a name");
                let help = "leave out `--app`, or run `cargo test` if the name is new";
                return Err(wrong(&what).help(help));
            }
            (Some(name), _) => {
                return Err(wrong(&format!("has no app `{name}`")).help(name_one()));
            }
            (None, []) => None,
            (None, _) if package.is_described() => None,
            (None, [only]) => Some(only.clone()),
            (None, _) => return Err(wrong("has several apps").help(name_one())),
        };
        Ok(package)
    }

    fn find_any(arguments: &PackageArguments, metadata: &Value) -> Result<Self, Failure> {
        let packages = packages(metadata);
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
        let described: Vec<_> = packages.iter().filter(|package| package.has_policy()).collect();
        match (&*described, &*packages) {
            ([package], _) => Ok((*package).clone()),
            ([], [package]) => Ok(package.clone()),
            ([_, ..], _) => Err(Failure::new("several packages of this workspace have a policy")
                .help(format!("name one with `-p`: {}", names(described.iter().copied())))),
            _ => Err(Failure::new("no package of this workspace has a policy yet").help(format!(
                "name the one of your app with `-p` (of {}), and run its tests with `cargo \
                     test -p NAME`",
                names(&packages)
            ))),
        }
    }

    /// The name of the app: its own, or that of the package.
    pub(crate) fn app_name(&self) -> &str {
        self.app.as_deref().unwrap_or(&self.name)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(self.lock_name())
    }

    pub(crate) fn lock_name(&self) -> String {
        match &self.app {
            Some(app) => format!("policy.{app}.lock"),
            None => "policy.lock".to_owned(),
        }
    }

    /// The name of the OpenAPI document beside the lock file.
    pub(crate) fn openapi_name(&self) -> String {
        match &self.app {
            Some(app) => format!("openapi.{app}.json"),
            None => "openapi.json".to_owned(),
        }
    }

    /// The manifest that the last run of the tests wrote.
    pub(crate) fn manifest(&self) -> PathBuf {
        let folder = self.results_folder();
        self.app.iter().fold(folder, |folder, app| folder.join(app)).join("manifest.json")
    }

    /// The lines that decided, as the last run of the tests wrote them.
    pub(crate) fn sources(&self) -> PathBuf {
        self.manifest().with_file_name("sources.json")
    }

    /// The folder to which the tests of the package write their results.
    fn results_folder(&self) -> PathBuf {
        self.target.join("policy").join(&self.name)
    }

    /// The names of its apps that have names.
    fn apps(&self) -> Vec<String> {
        let names = |folder: &Path, name: &dyn Fn(&Path) -> Option<String>| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| name(&entry.path())).collect::<Vec<_>>()
        };
        let locked = names(&self.folder, &|path| {
            let app = app_of(path.file_name()?.to_str()?)?;
            (!app.is_empty()).then(|| app.to_owned())
        });
        let tested = names(&self.results_folder(), &|path| {
            let name = path.file_name()?.to_str()?;
            path.join("manifest.json").is_file().then(|| name.to_owned())
        });
        let mut apps: Vec<_> = locked.into_iter().chain(tested).collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    /// Whether there is a policy of the app.
    fn is_described(&self) -> bool {
        self.lock().is_file() || self.manifest().is_file()
    }

    /// Whether there is a policy of any of its apps.
    fn has_policy(&self) -> bool {
        self.is_described() || !self.apps().is_empty()
    }
}

/// The name of the app in the name of a lock file, which is empty for `policy.lock`; `None` for other
/// files.
pub(crate) fn app_of(file: &str) -> Option<&str> {
    match file.strip_prefix("policy.")? {
        "lock" => Some(""),
        rest => rest.strip_suffix(".lock").filter(|app| !app.is_empty()),
    }
}

fn names<'a>(packages: impl IntoIterator<Item = &'a Package>) -> String {
    in_backticks(packages.into_iter().map(|package| &package.name))
}

fn in_backticks<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The packages of the workspace in the output of `cargo metadata`.
fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(target) = text(metadata.get("target_directory")) else { return Vec::new() };
    let workspace = text(metadata.get("workspace_root")).map(PathBuf::from).unwrap_or_default();
    let workspace = workspace.canonicalize().unwrap_or(workspace);
    let all = metadata.get("packages").and_then(Value::as_array);
    let package = |value: &Value| {
        let file = PathBuf::from(text(value.get("manifest_path"))?);
        let folder = file.parent()?;
        let folder = folder.canonicalize().unwrap_or_else(|_missing| folder.to_owned());
        let name = text(value.get("name"))?;
        let (workspace, target) = (workspace.clone(), PathBuf::from(&target));
        Some(Package { name, folder, workspace, target, app: None })
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
            .help("add cargo to `PATH`, or name a manifest with `--from`")
    })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.trim().trim_start_matches("error: ");
        return Err(Failure::new(format!("cargo finds no package: {reason}")).help(
            "run this in the folder of your app, name its Cargo.toml with `--manifest-path`, or a \
             manifest with `--from`",
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure::new(format!("`cargo metadata` cannot be read: {error}")))
}
