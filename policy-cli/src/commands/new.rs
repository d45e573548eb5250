//! `cargo policy new`: a service from a template.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};

use crate::{failure::Failure, output::Output, shell::quote};

/// Make a new service from a template.
///
/// `cargo generate` makes the same from the folder `templates` of Policy's repository.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy new --template api orders
  cargo policy new --template spa shop/accounts
  cargo policy new --template api orders --policy-path ../policy

A service depends on the clone of Policy from which this command was built, as long as it exists, and
otherwise on the release of the same version.")]
pub(crate) struct Arguments {
    /// The folder to create. Its last part becomes the name of the package.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The template.
    #[arg(long)]
    template: Template,
    /// Depend on this clone of Policy.
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    policy_path: Option<PathBuf>,
    /// Depend on this git repository of Policy.
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

/// The template.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Template {
    /// An API for programs with keys, and for pages of another origin.
    Api,
    /// A page with logins, and its service, on one origin.
    Spa,
}

/// Paths and contents. cargo leaves folders with a `Cargo.toml` out of packages, so this file of a
/// template has another name.
macro_rules! files {
    ($template:literal: $($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../templates/", $template, "/", $path)))),*]
    };
}

const API: &[(&str, &str)] = files!("api":
    ".dockerignore" ".gitignore" "Cargo.toml.liquid" "Dockerfile" "README.md"
    "src/keys.rs" "src/lib.rs" "src/main.rs" "src/notes.rs" "tests/policies.rs"
);
const SPA: &[(&str, &str)] = files!("spa":
    ".dockerignore" ".gitignore" "Cargo.toml.liquid" "Dockerfile" "README.md"
    "src/account.rs" "src/lib.rs" "src/main.rs" "src/notes.rs" "tests/policies.rs"
    "web/app.css" "web/app.js" "web/icon.svg" "web/index.html"
);

/// Where a service gets Policy from.
enum Source {
    Release,
    Git(String),
    /// A clone, as an absolute path.
    Clone(String),
}

/// How templates depend on the crate.
const RELEASE: &str = concat!(
    "version = \"",
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR"),
    "\""
);
/// The line of a Dockerfile after which a clone is copied, and the command that builds an image.
const CONTEXT: &str = "WORKDIR /service\n";
const BUILD: &str = "docker build ";

impl Template {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Api => API,
            Self::Spa => SPA,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_package_name(name) {
        return Err(Failure::new(format!("`{name}` cannot be the name of a package")).help(
            "begin with a lower-case letter, followed by lower-case letters, digits, `-` and `_`",
        ));
    }
    let source = Source::from_arguments(arguments)?;
    let written = |error| {
        Failure::new(format!("`{}` cannot be written: {error}", folder.display()))
            .help("name a new folder, in a place where you may write")
    };
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(written)?;
    }
    // Fails if the folder exists, so that nothing is overwritten.
    fs::create_dir(folder).map_err(written)?;
    for (path, text) in arguments.template.files() {
        let file = folder.join(path.trim_end_matches(".liquid"));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(written)?;
        }
        fs::write(file, source.put_into(path, fill(text, name))).map_err(written)?;
    }
    let exclude = exclude_from_workspace(folder).unwrap_or_default();
    let folder = folder.display().to_string();
    output.write(&format!(
        "made {folder}, with Policy from {}\n\
         {exclude}next, with Rust 1.90 or newer:\n  cd {}\n  cargo test\n\
         then start it as its README.md says\n",
        source.words(),
        quote(&folder)
    ));
    Ok(ExitCode::SUCCESS)
}

/// What a workspace above the folder has to state. cargo refuses a package below it that is neither a
/// member nor excluded, and a member has neither a profile nor a Cargo.lock for its Dockerfile.
fn exclude_from_workspace(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let is_workspace = |above: &&Path| {
        let manifest = fs::read_to_string(above.join("Cargo.toml"));
        let is_table = |line: &str| line.trim_start().starts_with("[workspace");
        manifest.is_ok_and(|manifest| manifest.lines().any(is_table))
    };
    let above = folder.ancestors().skip(1).find(is_workspace)?;
    let (below, manifest) = (folder.strip_prefix(above).ok()?, above.join("Cargo.toml"));
    Some(format!(
        "cargo needs `{}`, or a folder around it, in `workspace.exclude` of {}\n",
        below.display(),
        manifest.display()
    ))
}

impl Source {
    fn from_arguments(arguments: &Arguments) -> Result<Self, Failure> {
        if let Some(url) = &arguments.git {
            return Ok(Self::Git(url.clone()));
        }
        let Some(named) = &arguments.policy_path else {
            // An installed release was built from its package alone.
            let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
            return Ok(built_from.and_then(clone_at).map_or(Self::Release, Self::Clone));
        };
        let clone = clone_at(named).map(Self::Clone);
        clone.ok_or_else(|| {
            Failure::new(format!("`{}` is no clone of Policy", named.display()))
                .help("name the folder that has `policy-server` in it")
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Release => format!("its release {}", env!("CARGO_PKG_VERSION")),
            Self::Git(url) => url.clone(),
            Self::Clone(path) => path.clone(),
        }
    }

    /// A file of a template, with Policy from this source. A clone is outside of the build context
    /// of images, and therefore named to the builder.
    fn put_into(&self, path: &str, text: String) -> String {
        match (self, path) {
            (Self::Git(url), "Cargo.toml.liquid") => {
                text.replace(RELEASE, &format!("git = {}", quoted(url)))
            }
            (Self::Clone(clone), "Cargo.toml.liquid") => {
                let package = quoted(&format!("{clone}/policy-server"));
                text.replace(RELEASE, &format!("path = {package}"))
            }
            (Self::Clone(clone), "Dockerfile") => {
                let copy = format!("{CONTEXT}COPY --from=policy [\".\", {}]\n", quoted(clone));
                text.replacen(CONTEXT, &copy, 1)
            }
            (Self::Clone(clone), "README.md") => {
                text.replace(BUILD, &format!("{BUILD}--build-context policy={} ", quote(clone)))
            }
            _ => text,
        }
    }
}

/// The absolute path of a clone, if a folder is one.
fn clone_at(folder: &Path) -> Option<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let is_clone = manifest.contains("[workspace]") && folder.join("policy-server").is_dir();
    let path = is_clone.then(|| fs::canonicalize(folder).ok()).flatten()?;
    path.into_os_string().into_string().ok()
}

/// A string of TOML, which takes the escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The placeholders of cargo-generate that the templates use.
fn fill(text: &str, name: &str) -> String {
    text.replace("{{project-name}}", name).replace("{{crate_name}}", &name.replace('-', "_"))
}

/// What cargo and a `use` take as the name of a crate.
fn is_package_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        && !TAKEN.split(' ').any(|taken| taken == name.replace('-', "_"))
}

/// Keywords, crates that a service already has, and folders of cargo, whose names no binary may have.
const TAKEN: &str = "\
    abstract alloc as async await become box break build const continue core crate deps do dyn \
    else enum examples extern false final fn for gen if impl in incremental let loop macro match \
    mod move mut override policy_server priv proc_macro pub ref return self serde sha2 static std \
    struct super test tokio tracing_subscriber trait true try type typeof unsafe unsized use \
    virtual where while yield";
