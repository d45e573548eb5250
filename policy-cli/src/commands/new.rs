//! `cargo policy new`: a service from a template.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};

use crate::{failure::Failure, output::Output};

/// Make a new service from a template.
///
/// `cargo generate` makes the same from the folder `templates` of Policy's repository.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy new --template api orders
  cargo policy new --template spa shop/accounts")]
pub(crate) struct Arguments {
    /// The folder to create. Its last part becomes the name of the package.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The template.
    #[arg(long)]
    template: Template,
}

/// The template.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Template {
    /// An API for programs with keys, and for pages of another origin.
    Api,
    /// A page with logins, and its service, on one origin.
    Spa,
}

/// Paths and contents. cargo leaves folders with a `Cargo.toml` out of packages, so that of a
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
    let written = |error| {
        Failure::new(format!("`{}` cannot be written: {error}", folder.display()))
            .help("name a new folder, in a place where you may write")
    };
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(written)?;
    }
    // Fails if it is there, so that nothing is overwritten.
    fs::create_dir(folder).map_err(written)?;
    for (path, text) in arguments.template.files() {
        let file = folder.join(path.trim_end_matches(".liquid"));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(written)?;
        }
        fs::write(file, fill(text, name)).map_err(written)?;
    }
    output.write(&format!(
        "made {}\nnext: read its README.md, then run `cargo test` in it, which takes Rust 1.90 and, the \
         first time, the network\n",
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The placeholders of cargo-generate that the templates use.
fn fill(text: &str, name: &str) -> String {
    text.replace("{{project-name}}", name).replace("{{crate_name}}", &name.replace('-', "_"))
}

/// What cargo and a `use` take as the name of a crate.
fn is_package_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        && !TAKEN.contains(&name.replace('-', "_").as_str())
}

/// Keywords, and crates that are there already.
const TAKEN: [&str; 47] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "policy_server",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde",
    "sha2",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tokio",
    "trait",
];
