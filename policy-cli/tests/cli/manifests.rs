//! The files in `tests/manifests` are what [`fixtures`](crate::fixtures) makes.
//! `POLICY_MANIFESTS=update cargo test -p policy-cli` rewrites them.

use std::{env, fs, path::PathBuf};

use policy_manifest::Manifest;

use crate::fixtures;

/// The path of a file in `tests/manifests`.
pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/manifests").join(name)
}

#[test]
fn the_files_match_the_fixtures() {
    for (name, manifest) in [
        ("hello.json", fixtures::hello()),
        ("hostile.json", fixtures::hostile()),
        ("shop.json", fixtures::shop()),
    ] {
        let text = manifest.to_json();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        if env::var_os("POLICY_MANIFESTS").is_some_and(|value| value == "update") {
            fs::write(file(name), &text).unwrap();
        }
        assert_eq!(fs::read_to_string(file(name)).unwrap_or_default(), text, "{name}");
    }
}
