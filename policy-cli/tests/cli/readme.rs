//! The commands that the README shows.

use std::{fs, path::Path};

use crate::run::run_in;

/// The words of a line of a shell, without a comment and without where its output goes.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
    let quoted = line.split('\'').enumerate();
    quoted
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// On the manifest of a shop; what asks a server is tested with servers, and what makes services with
/// services.
#[test]
fn the_commands_of_the_readme_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
    let readme = fs::read_to_string(folder.join("../../../README.md")).unwrap();
    let lines = readme.lines().filter(|line| line.starts_with("cargo policy "));
    let mut run = 0;
    let is_elsewhere = |line: &&str| {
        ["audit", "new"].iter().any(|name| line.starts_with(&format!("cargo policy {name} ")))
    };
    for line in lines.filter(|line| !is_elsewhere(line)) {
        let mut words = words(line).split_off(2);
        match &*words[0] {
            "code" => (),
            // There is no such branch in every clone.
            "diff" => {
                assert_eq!(words[1], "origin/main");
                words.splice(1..2, ["shop.json", "shop.json"].map(str::to_owned));
            }
            _ => words.extend(["--from", "shop.json"].map(str::to_owned)),
        }
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran = run_in(&folder, &words, "");
        assert!(ran.code < 2 && !ran.out.is_empty(), "{line}: {} {}", ran.code, ran.err);
        run += 1;
    }
    assert_eq!(run, 7);
}
