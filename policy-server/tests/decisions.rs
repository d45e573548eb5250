//! The decisions in `docs/decisions`: each is listed, and names tests that exist, as each attack in
//! `docs/attacks.md` does.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_decision_is_listed_under_its_title() {
    let list = read("docs/decisions/README.md");
    let mut count = 0;
    for file in files() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let titles: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let is_head =
            |line: &&str| line.starts_with("## [") && line.ends_with(&format!("]({name})"));
        let listed = list.lines().skip_while(|line| !is_head(line)).skip(1);
        let listed = listed.take_while(|line| !line.starts_with("## "));
        let listed: Vec<_> = listed.filter_map(|line| line.strip_prefix("- ")).collect();
        assert_eq!(listed, titles, "{name}");
        count += titles.len();
    }
    assert!(count > 80, "only {count} decisions were seen");
}

#[test]
fn every_attack_names_tests() {
    let text = read("docs/attacks.md");
    let attacks: Vec<_> = text.split("\n- ").skip(1).collect();
    for attack in &attacks {
        assert!(named_tests(attack).next().is_some(), "no tests: {attack}");
    }
    assert!(attacks.len() > 35, "only {} attacks were seen", attacks.len());
}

#[test]
fn every_test_that_a_document_names_is_in_its_file() {
    let (mut missing, mut count) = (Vec::new(), 0);
    for file in files().into_iter().chain([root().join("docs/attacks.md")]) {
        let text = fs::read_to_string(&file).unwrap();
        for (path, name) in named_tests(&text) {
            count += 1;
            let source = fs::read_to_string(root().join(path)).unwrap_or_default();
            if !source.contains(&format!("fn {name}(")) {
                missing.push(format!("{}: `{path}`, `{name}`", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{} tests are not there:\n{}", missing.len(), missing.join("\n"));
    assert!(count > 300, "only {count} tests were seen");
}

#[test]
fn a_file_is_followed_by_the_names_of_its_tests() {
    let text = "`a::b` in `x/y.rs` and `z`. `a.rs`, `one`,\n`two`; `b.rs`,\n`three` and `c.rs`; \
                `four`. `d.rs`, `e/`, `f`.";
    let found: Vec<_> = named_tests(text).collect();
    assert_eq!(found, [("a.rs", "one"), ("a.rs", "two"), ("b.rs", "three")]);
}

/// The pairs of a file and the name of a test: a path in backquotes, followed by names in backquotes
/// after commas.
fn named_tests(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = text.split('`');
    let mut file = None;
    std::iter::from_fn(move || {
        loop {
            let (between, quoted) = (parts.next()?, parts.next()?);
            if quoted.ends_with(".rs") {
                file = Some(quoted);
            } else if between.trim() != "," || quoted.contains('/') {
                file = None;
            } else if let Some(file) = file {
                return Some((file, quoted));
            }
        }
    })
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/decisions")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|file| !file.ends_with("README.md")).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
