//! The commands that the README shows, and those of the chapter about reviews.

use std::{fs, path::Path};

use crate::run::run_in;

/// The words of a shell line, without its comment and its redirection.
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

/// The commands of the README and of the table in the chapter.
fn commands() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |page: &str| fs::read_to_string(root.join(page)).unwrap();
    let (readme, chapter) = (read("README.md"), read("docs/guide/src/how-to/review.md"));
    let lines = readme.lines().filter(|line| line.starts_with("cargo policy "));
    let cells =
        chapter.lines().filter_map(|line| line.split_once("| `cargo policy ")?.1.split_once('`'));
    let cells = cells.map(|(command, _)| format!("cargo policy {command}"));
    lines.map(str::to_owned).chain(cells).collect()
}

/// On the manifest of a shop; commands that contact a server or are one are tested elsewhere.
#[test]
fn the_commands_of_the_readme_and_of_the_guide_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
    let mut run = 0;
    let is_elsewhere = |line: &String| {
        ["audit", "new", "play"]
            .iter()
            .any(|name| line.starts_with(&format!("cargo policy {name} ")))
    };
    for line in commands().iter().filter(|line| !is_elsewhere(line)) {
        let mut words = words(line).split_off(2);
        match &*words[0] {
            "code" => (),
            // The rules are not beside the manifests.
            "check" => {
                let rules = "[require.csrf]\nroutes = [\"**\"]\ncsrf = true\n";
                let rules = crate::run::folder("readme", &[("policy.rules", rules)]);
                let rules = rules.join("policy.rules").display().to_string();
                words.extend(["shop.json".to_owned(), "--rules".to_owned(), rules]);
            }
            // Not every clone has this branch.
            "diff" => {
                assert_eq!(words[1], "origin/main");
                words.splice(1..2, ["shop.json", "shop.json"].map(str::to_owned));
            }
            // Nor is there a lock file in a revision of this folder.
            _ if words.iter().any(|word| word == "--from") => {
                assert_eq!(words, ["show", "--from", "HEAD~100"]);
                words[2] = "shop.json".to_owned();
            }
            _ => words.extend(["--from", "shop.json"].map(str::to_owned)),
        }
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran = run_in(&folder, &words, "");
        assert!(ran.code < 2 && !ran.out.is_empty(), "{line}: {} {}", ran.code, ran.err);
        run += 1;
    }
    assert_eq!(run, 14);
}
