//! Takes the examples of the README, in Rust, so that `kit/readme.rs` runs them as they are.

#![expect(clippy::expect_used, reason = "a build without the README fails")]

use std::{env, fs, path::Path};

/// What the examples are called, in their order.
const NAMES: [&str; 5] = ["hello", "authentication", "semantics", "testing", "production"];

fn main() {
    println!("cargo::rerun-if-changed=../README.md");
    let readme = fs::read_to_string("../README.md").expect("the README");
    let examples: Vec<_> = readme
        .split("\n```rust")
        .skip(1)
        .map(|rest| {
            let (_, code) = rest.split_once('\n').expect("a line behind the fence");
            code.split_once("\n```").expect("the end of an example").0
        })
        .collect();
    assert_eq!(examples.len(), NAMES.len(), "each example of the README needs a name here");
    let folder = env::var("OUT_DIR").expect("a folder of cargo");
    for (name, code) in NAMES.iter().zip(examples) {
        // Another test may have the port.
        let code = code.replace("\"127.0.0.1:8080\"", "\"127.0.0.1:0\"");
        let file = Path::new(&folder).join(format!("readme-{name}.rs"));
        fs::write(file, code).expect("a file");
    }
}
