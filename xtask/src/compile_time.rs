//! The compile time of the attributes: 300 annotated handlers compared with plain axum, and
//! handlers with a document compared with those without.
//!
//! Three crates with the same 300 handlers (path parameter, state, query, JSON body) are generated
//! below the target folder. Their dependencies are built first; then only the crate itself is
//! checked and built, without incremental compilation. The result is the least processor time of
//! three rounds; other programs change it little.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    Failure, Outcome,
    command::{self, cargo},
    folders,
    steps::Seconds,
};

const HANDLERS: usize = 300;
const ROUNDS: usize = 3;
/// How many times as long as plain axum `cargo check` and `cargo build` may take.
const BOUNDS: [(&str, f64); 2] = [("check", 3.0), ("build", 1.0)];
/// How many times as long either may take with a document.
const DOCUMENT: f64 = 1.3;

/// Generates, measures, prints the ratios.
///
/// # Errors
///
/// A crate does not compile, or a ratio is above its bound.
pub(crate) fn run() -> Outcome {
    let workspace = generate()?;
    let mut above = Vec::new();
    for (action, bound) in BOUNDS {
        let of = |package| Ok((package, best(&workspace, action, package)?));
        let (plain, annotated, documented) = (of("plain")?, of("annotated")?, of("documented")?);
        for ((name, time), (other, least), bound) in
            [(annotated, plain, bound), (documented, annotated, DOCUMENT)]
        {
            let ratio = time.as_secs_f64() / least.as_secs_f64();
            println!(
                "cargo {action}: {other} {}, {name} {}, ratio {ratio:.2} (bound {bound:.1})",
                Seconds(least),
                Seconds(time),
            );
            if ratio > bound {
                above.push(format!("`cargo {action}` takes {ratio:.2} times as long as {other}"));
            }
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
        let before = processor_time()?;
        command::run(&mut command())?;
        best = best.min(processor_time()?.saturating_sub(before));
    }
    Ok(best)
}

/// The processor time of the child processes that have ended, with their own children.
fn processor_time() -> Outcome<Duration> {
    let file = Path::new("/proc/self/stat");
    let text = fs::read_to_string(file).map_err(Failure::with_path("read", file))?;
    // The name of the program may have spaces: the fields behind it begin with the third.
    let (_, fields) = text.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Linux counts in hundredths of a second.
    Ok(Duration::from_millis(ticks * 10))
}

fn generate() -> Outcome<PathBuf> {
    let workspace = folders::target().join("compile-time");
    let root = folders::root();
    write(&workspace, "Cargo.toml", WORKSPACE)?;
    // The same versions as in the workspace.
    let (from, to) = (root.join("Cargo.lock"), workspace.join("Cargo.lock"));
    fs::copy(&from, &to).map_err(Failure::with_path("copy", &from))?;
    let axum = "axum = { version = \"0.8\", features = [\"macros\"] }";
    let ours = |features: &str| {
        let path = root.join("policy-server");
        format!("policy-server = {{ path = {path:?}, features = [{features}] }}")
    };
    let documented = ours("\"openapi\"") + "\nschemars = \"1\"";
    for (package, dependencies, source) in [
        ("plain", axum, plain()),
        ("annotated", &*ours(""), annotated(TYPES)),
        ("documented", &*documented, annotated(&with_schemas())),
    ] {
        write(&workspace, &format!("{package}/Cargo.toml"), &manifest(package, dependencies))?;
        write(&workspace, &format!("{package}/src/lib.rs"), &source)?;
    }
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
members = [\"annotated\", \"documented\", \"plain\"]
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

/// The types with what a document needs.
fn with_schemas() -> String {
    TYPES.replace("serde::Deserialize", "schemars::JsonSchema, serde::Deserialize")
}

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

fn annotated(types: &str) -> String {
    let mut text = String::from("use policy_server::prelude::*;\n");
    text.push_str(types);
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
