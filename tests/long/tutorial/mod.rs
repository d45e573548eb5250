//! The tutorial of the guide, followed to the letter by a program. A sentence that it does not
//! understand, or that leaves something out, fails the test, as a reader would fail.

mod axum;
mod chapter;
mod deployment;
mod reader;
mod service;
mod source;

use std::{
    fs,
    path::{Path, PathBuf},
};

use chapter::Part;
use reader::Reader;
use source::{MAIN, Sources};

const CHAPTERS: &[&str] = &["hello", "tasks", "team", "page", "tests", "client", "deployed"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

fn chapter(name: &str) -> PathBuf {
    root().join("docs/guide/src/tutorial").join(name).with_extension("md")
}

/// Lines of a program, up to its tests.
fn lines_without_tests(program: &str) -> usize {
    let program = program.split("\n#[cfg(test)]").next().unwrap_or_default();
    program.trim_end().lines().count()
}

/// Checks everything that readers write, without running it.
#[test]
fn chapters_assemble_to_the_compiled_sources() {
    let mut sources = Sources::default();
    for &name in CHAPTERS {
        for part in chapter::read(&chapter(name)) {
            match part {
                Part::Block(block) => drop(sources.put(&block)),
                Part::Prose(prose) => {
                    for sentence in prose.split(". ") {
                        sources.edit(sentence);
                    }
                }
            }
        }
        let compiled = match name {
            "hello" | "tasks" => name,
            "deployed" => "team",
            _ => continue,
        };
        let file = root().join(format!("docs/guide/tutorial/{compiled}.rs"));
        let text = fs::read_to_string(file).expect("a program of the tutorial");
        // The part that only the guide has.
        let text = text.split("\n/// What the chapter").next().unwrap_or_default();
        let text = chapter::without_anchors(text);
        let lines = sources.get(MAIN).lines().zip(text.lines()).enumerate();
        for (at, (assembled, compiled)) in lines {
            assert_eq!(assembled, compiled, "line {} after {name}.md", at + 1);
        }
        assert_eq!(sources.get(MAIN).len(), text.len(), "the last lines after {name}.md");
    }
    let stated = fs::read_to_string(chapter("index")).expect("a chapter");
    let stated = |of_what: &str| {
        let (before, _) = stated.split_once(of_what)?;
        before.split_whitespace().last()?.parse::<usize>().ok()
    };
    let lines = (lines_without_tests(sources.get(MAIN)), axum::lines());
    let stated = (stated(" lines without its tests"), stated(" lines by axum"));
    assert_eq!(stated, (Some(lines.0), Some(lines.1)), "what index.md says");
    deployment::check(&sources);
}

/// Checks without compiling that the commands lead to a project whose crates are found, with
/// nothing patched.
#[test]
fn the_first_commands_find_the_crates() {
    let reader = Reader::new();
    reader.begins("hello");
    let lock = fs::read_to_string(reader.project().join("Cargo.lock")).expect("a lock file");
    let mut packages = lock.split("\n[[package]]\n");
    let found = packages.find(|package| package.starts_with("name = \"policy-server\""));
    assert!(!found.expect("the crate").contains("source = "), "it is not that of the clone");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium, chromedriver, curl, git, nginx, npm, Python and root, and many minutes"]
async fn a_stranger_gets_from_nothing_to_a_deployed_service() {
    let _machine = crate::alone().await;
    let mut reader = Reader::new();
    for &name in CHAPTERS {
        reader.chapter(name);
        match name {
            "page" => reader.uses_the_page(),
            "deployed" => deployment::run(&mut reader).await,
            _ => (),
        }
    }
    println!("the finished service: {} lines", lines_without_tests(reader.sources.get(MAIN)));
    axum::answers_alike(&reader);
    println!("by axum: {} lines", axum::lines());
}
