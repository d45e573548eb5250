//! Takes the examples of the README, and those of the guide that tests start as programs, so that
//! `kit/readme.rs` runs them as they are; and the services that `cargo policy new` writes, with their
//! tests, for `kit/templates.rs`.

#![expect(clippy::expect_used, reason = "a build without these pages fails")]

use std::{env, fs, path::Path};

/// The pages, and the names of their examples in order.
const PAGES: [(&str, &[&str]); 4] = [
    ("../README.md", &["hello", "authentication", "testing"]),
    ("../docs/guide/src/how-to/login.md", &["login"]),
    ("../docs/guide/src/how-to/http.md", &["semantics"]),
    ("../docs/guide/src/how-to/operation.md", &["production"]),
];

/// The templates of services, and their modules.
const TEMPLATES: [(&str, &[&str]); 2] =
    [("api", &["keys", "notes"]), ("spa", &["account", "notes"])];

fn main() {
    let folder = env::var("OUT_DIR").expect("a folder of cargo");
    for (template, modules) in TEMPLATES {
        render(template, modules, &Path::new(&folder).join(template));
    }
    for (page, names) in PAGES {
        println!("cargo::rerun-if-changed={page}");
        let text = fs::read_to_string(page).expect("a page");
        let examples: Vec<_> = text.split("\n```rust").skip(1).map(code).collect();
        assert_eq!(examples.len(), names.len(), "each example of {page} needs a name here");
        for (name, code) in names.iter().zip(examples) {
            // Another test may have the port.
            let code = code.replace("\"127.0.0.1:8080\"", "\"127.0.0.1:0\"");
            let file = Path::new(&folder).join(format!("readme-{name}.rs"));
            fs::write(file, code).expect("a file");
        }
    }
}

/// What is between the rest of the line with the opening fence and the closing fence.
fn code(rest: &str) -> &str {
    let (_, code) = rest.split_once('\n').expect("a line behind the fence");
    code.split_once("\n```").expect("the end of an example").0
}

/// Writes a template as a module of `kit/templates.rs`.
fn render(template: &str, modules: &[&str], folder: &Path) {
    let home = Path::new("../templates").join(template);
    println!("cargo::rerun-if-changed={}", home.display());
    fs::create_dir_all(folder).expect("a folder");
    let module = format!("crate::templates::{template}");
    let pages = home.join("web").canonicalize().unwrap_or_default();
    for file in ["lib", "main"].iter().chain(modules).chain(&["policies"]) {
        let below = if *file == "policies" { "tests" } else { "src" };
        let text = fs::read_to_string(home.join(below).join(format!("{file}.rs"))).expect("a file");
        let text = text
            .replace("use crate::", &format!("use {module}::"))
            .replace("{{crate_name}}", &module)
            // The tests have a subscriber of their own.
            .replace("tracing_subscriber::fmt::init();", "")
            .replace("policy_tests!(app", &format!("policy_tests!({template}: app"))
            .replace("Files::new(\"web\")", &format!("Files::new({pages:?})"));
        // Where it is included, a file cannot begin with documentation.
        let lines = text.lines().filter(|line| !line.starts_with("//!"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        fs::write(folder.join(format!("{file}.rs")), text).expect("a file");
    }
}
