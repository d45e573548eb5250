//! Takes the examples of the README, and those of the guide that tests start as programs, so that
//! `kit/readme.rs` runs them as they are.

#![expect(clippy::expect_used, reason = "a build without these pages fails")]

use std::{env, fs, path::Path};

/// The pages, and the names of their examples in order.
const PAGES: [(&str, &[&str]); 4] = [
    ("../README.md", &["hello", "authentication", "testing"]),
    ("../docs/guide/src/how-to/login.md", &["login"]),
    ("../docs/guide/src/how-to/http.md", &["semantics"]),
    ("../docs/guide/src/how-to/operation.md", &["production"]),
];

fn main() {
    let folder = env::var("OUT_DIR").expect("a folder of cargo");
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
