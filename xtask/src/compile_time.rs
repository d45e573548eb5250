//! The compile time of the attributes: 300 annotated handlers compared with plain axum.
//!
//! Two crates with the same 300 handlers (path parameter, state, query, JSON body) are generated
//! below the target folder. Their dependencies are built first; then only the crate itself is
//! checked and built, without incremental compilation, and the best of three times is used.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Failure, Outcome,
    command::{self, cargo},
    project,
    run::Seconds,
};

const HANDLERS: usize = 300;
const ROUNDS: usize = 3;
/// The permitted ratio to plain axum, for `cargo check` and `cargo build`.
const BOUNDS: [(&str, f64); 2] = [("check", 3.0), ("build", 1.0)];

/// Generates, measures, prints the two ratios.
///
/// # Errors
///
/// A crate does not compile, or a ratio is above its bound.
pub(crate) fn run() -> Outcome {
    let workspace = generate()?;
    let mut above = Vec::new();
    for (action, bound) in BOUNDS {
        let plain = best(&workspace, action, "plain")?;
        let ours = best(&workspace, action, "annotated")?;
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!(
            "cargo {action}: axum {}, annotated {}, ratio {ratio:.2} (bound {bound:.1})",
            Seconds(plain),
            Seconds(ours),
        );
        if ratio > bound {
            above.push(format!("`cargo {action}` takes {ratio:.2} times as long as plain axum"));
        }
    }
    if above.is_empty() { Ok(()) } else { Err(Failure::new(above.join("\n"))) }
}

fn best(workspace: &Path, action: &str, package: &str) -> Outcome<Duration> {
    let command = || -> Command {
        let mut command = cargo(&[action, "--quiet", "--package", package]);
        command.current_dir(workspace).env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_TARGET_DIR", workspace.join("target"));
        command
    };
    command::run(&mut command())?;
    let source = workspace.join(package).join("src/lib.rs");
    let text = fs::read(&source).map_err(Failure::with_path("read", &source))?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        fs::write(&source, &text).map_err(Failure::with_path("write", &source))?;
        let began = Instant::now();
        command::run(&mut command())?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

fn generate() -> Outcome<PathBuf> {
    let workspace = project::target().join("compile-time");
    let root = project::root();
    write(&workspace, "Cargo.toml", WORKSPACE)?;
    // The same versions as in the workspace.
    let (from, to) = (root.join("Cargo.lock"), workspace.join("Cargo.lock"));
    fs::copy(&from, &to).map_err(Failure::with_path("copy", &from))?;
    let axum = "axum = { version = \"0.8\", features = [\"macros\"] }";
    let ours = format!("policy-server = {{ path = {:?} }}", root.join("policy-server"));
    write(&workspace, "plain/Cargo.toml", &manifest("plain", axum))?;
    write(&workspace, "annotated/Cargo.toml", &manifest("annotated", &ours))?;
    write(&workspace, "plain/src/lib.rs", &plain())?;
    write(&workspace, "annotated/src/lib.rs", &annotated())?;
    Ok(workspace)
}

fn write(workspace: &Path, name: &str, text: &str) -> Outcome {
    let path = workspace.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Failure::with_path("create", folder))?;
    }
    fs::write(&path, text).map_err(Failure::with_path("write", &path))
}

const WORKSPACE: &str = "\
[workspace]
members = [\"annotated\", \"plain\"]
resolver = \"3\"
";

fn manifest(name: &str, framework: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{framework}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n"
    )
}

const TYPES: &str = "
#[derive(Clone)]
pub struct Db(pub u64);

#[derive(serde::Deserialize)]
pub struct Page {
    pub page: u32,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub struct User {
    pub id: u64,
    pub name: String,
}
";

fn plain() -> String {
    let mut text =
        String::from("use axum::{Json, Router, extract::{Path, Query, State}, routing::post};\n");
    text.push_str(TYPES);
    let mut routes = String::new();
    for n in 0..HANDLERS {
        let _infallible = write!(
            text,
            "
pub async fn user_{n}(
    Path(id): Path<u64>, State(db): State<Db>, Query(page): Query<Page>, Json(mut user): Json<User>,
) -> Json<User> {{
    user.id = id + db.0 + u64::from(page.page);
    Json(user)
}}
"
        );
        let _infallible = write!(routes, "\n        .route(\"/users{n}/{{id}}\", post(user_{n}))");
    }
    let _infallible = write!(
        text,
        "\npub fn app() -> Router {{\n    Router::new(){routes}\n        .with_state(Db(1))\n}}\n"
    );
    text
}

fn annotated() -> String {
    let mut text = String::from("use policy_server::prelude::*;\n");
    text.push_str(TYPES);
    let mut routes = String::new();
    for n in 0..HANDLERS {
        let _infallible = write!(
            text,
            "
#[post(\"/users{n}/{{id}}\")]
#[cors(origins = [\"https://app.example\", \"https://*.partner.example\"], max_age = 600)]
#[auth(public)]
pub async fn user_{n}(
    id: u64, State(db): State<Db>, Query(page): Query<Page>, Json(mut user): Json<User>,
) -> Json<User> {{
    user.id = id + db.0 + u64::from(page.page);
    Json(user)
}}
"
        );
        let _infallible = write!(routes, "user_{n}, ");
    }
    let _infallible = write!(
        text,
        "\npub fn app() -> App<Db> {{\n    App::new(Db(1)).routes(routes![{routes}])\n}}\n"
    );
    text
}
