//! Turns of phrase that readers had to read twice stay out of comments and pages, and unclear names
//! out of code.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Each turn, and what to write in its place.
const TURNS: &[(&str, &str)] = &[
    ("as far as", "`if`, `the part that`, or a sentence about the exception"),
    ("decided otherwise", "`decided differently`"),
    ("everybody needs", "a sentence that says which caller needs it"),
    ("gives back what", "`returns ..`"),
    ("goes on for itself", "`continues separately`"),
    ("is looked at", "`is checked` or `is read`"),
    ("are looked at", "`are checked` or `are read`"),
    ("may not wait any more", "`may have been dropped` or `may have ended`"),
    ("nobody knows", "`is unknown`"),
    ("nobody needs", "a sentence that says what is not used"),
    ("of late", "`in the last ..`"),
    ("so many", "`this many` or `at most N`"),
    ("stands there", "`is there`"),
    ("under way", "`in flight` or `in progress`"),
    ("went on for itself", "`continued separately`"),
    ("what becomes of", "`the outcome of`"),
    ("what meets", "`covers`"),
    ("whoever", "the client, the caller, or the person who does it"),
];

/// First words of a documentation comment that leave its subject to be guessed.
const BEGINNINGS: &[&str] =
    &["Of whatever ", "That of ", "Those of ", "Those that ", "Who ", "Whom ", "Whose "];

/// Names of functions that leave open what they return or do, beside `of` and `of_..`. A constructor
/// is `new`, `from_..` or `read`; a getter is a noun; what acts is a verb.
const PARTICIPLES: &[&str] = &[
    "answered", "asked", "called", "checked", "counted", "drawn", "ended", "entered", "found",
    "given", "granted", "held", "joined", "judged", "kept", "known", "later", "left", "listed",
    "lost", "made", "met", "named", "opened", "passed", "refused", "said", "seen", "sent",
    "served", "shown", "started", "stated", "stored", "taken", "told", "tried", "used", "wanted",
    "written",
];

/// Attributes that do not give a function a meaning of their own, as `#[test]` and `#[get]` do.
const PLAIN: &[&str] = &["cfg", "cold", "doc", "expect", "inline", "must_use", "track_caller"];

#[test]
fn comments_and_pages_avoid_turns_that_are_hard_to_read() {
    let (mut found, mut count) = (Vec::new(), 0);
    for file in files() {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let lines = prose(&text, file.extension() == Some(OsStr::new("rs")));
        count += lines.len();
        let here = faults(&lines).into_iter();
        found.extend(here.map(|(line, fault)| format!("{}:{line}: {fault}", file.display())));
    }
    assert!(found.is_empty(), "{} to say in plain words:\n{}", found.len(), found.join("\n"));
    assert!(count > 30_000, "only {count} lines were seen");
}

#[test]
fn a_turn_is_found_across_lines_and_not_inside_of_words() {
    let text = [
        "//! Whose tokens are taken, and of later ones.",
        "// Whoever reads",
        "let text = \"whoever\";",
        "/// A limit, as",
        "/// far as one is stated.",
    ]
    .join("\n");
    let found: Vec<_> = faults(&prose(&text, true)).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [1, 2, 4]);
    assert_eq!(faults(&prose("Under way", false)).len(), 1);
}

#[test]
fn functions_are_named_by_what_they_return_or_do() {
    let (mut found, mut count) = (Vec::new(), 0);
    for file in files().into_iter().filter(|file| file.extension() == Some(OsStr::new("rs"))) {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        for (line, name) in functions(&text) {
            count += 1;
            if is_unclear(name) {
                found.push(format!("{}:{line}: `{name}`", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{} unclear names:\n{}", found.len(), found.join("\n"));
    assert!(count > 10_000, "only {count} functions were seen");
}

#[test]
fn an_unclear_name_is_found_unless_an_attribute_says_what_it_is() {
    let text = [
        "#[must_use]",
        "pub(crate) const fn of(text: &str) -> Self {",
        "    async fn seen<T>() {}",
        "#[get(\"/seen\")]",
        "async fn seen() {}",
        "#[test]",
        "fn of_two_lists_the_first_counts() {}",
        "fn offer() {}",
        "// fn of()",
        "let told = make_fn told()",
    ]
    .join("\n");
    let found: Vec<_> = functions(&text).into_iter().filter(|(_, name)| is_unclear(name)).collect();
    assert_eq!(found, [(2, "of"), (3, "seen")]);
}

/// The functions of a file, each with its line, without those that an attribute explains.
fn functions(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut is_explained) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(attribute) = line.strip_prefix("#[") {
            is_explained |= !PLAIN.iter().any(|plain| attribute.starts_with(plain));
        } else if let Some(name) = function(line) {
            if !is_explained {
                found.push((number, name));
            }
            is_explained = false;
        } else if line.is_empty() {
            is_explained = false;
        }
    }
    found
}

/// The name of the function whose definition begins in this line.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let words = ["", "async", "const", "crate", "pub", "super"];
    let is_definition = before.split([' ', '(', ')']).all(|word| words.contains(&word));
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    rest.get(..end?).filter(|_| is_definition)
}

fn is_unclear(name: &str) -> bool {
    name == "of" || name.starts_with("of_") || PARTICIPLES.contains(&name)
}

/// A line of prose: its number, its text, and whether a documentation comment begins with it.
type Line<'a> = (usize, &'a str, bool);

/// The comments of a Rust file, or all lines of a page.
fn prose(text: &str, is_rust: bool) -> Vec<Line<'_>> {
    let (mut lines, mut was_doc) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let is_doc = is_rust && (line.starts_with("///") || line.starts_with("//!"));
        if !is_rust || line.starts_with("//") {
            let begins = is_doc && !was_doc;
            lines.push((number, line.trim_start_matches(['/', '!', ' ']), begins));
        }
        was_doc = is_doc;
    }
    lines
}

/// The turns in these lines, each with the number of the line in which it begins.
fn faults(lines: &[Line<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, &(number, line, begins)) in lines.iter().enumerate() {
        let next = lines.get(index + 1).filter(|(next, ..)| *next == number + 1);
        let next = next.map_or(String::new(), |(_, next, _)| next.to_lowercase());
        let line_in_lower_case = line.to_lowercase();
        let both = format!("{line_in_lower_case} {next}");
        for (turn, instead) in TURNS {
            if has(&line_in_lower_case, turn) || has(&both, turn) && !has(&next, turn) {
                found.push((number, format!("`{turn}`, write {instead}")));
            }
        }
        let beginning = BEGINNINGS.iter().find(|words| begins && line.starts_with(**words));
        found.extend(beginning.map(|words| (number, format!("begins with `{words}`"))));
    }
    found
}

/// Whether a text contains a turn in whole words.
fn has(text: &str, turn: &str) -> bool {
    text.match_indices(turn).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(turn).unwrap_or_default();
        let is_edge = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

/// The Rust files and the pages of the repository, relative to its root. The list of changes keeps the
/// words of its time.
fn files() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
            let path = folder.join(&name);
            let is_read = path.extension().is_some_and(|kind| kind == "rs" || kind == "md");
            if kind.is_dir() && (folder != Path::new("") || is_ours(&name)) && name != "target" {
                folders.push(path);
            } else if kind.is_file() && is_read && name != "CHANGELOG.md" {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    files
}

/// Whether a folder at the root is one of the repository, and not one that tools made.
fn is_ours(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let others = ["benches", "docs", "examples", "templates", "tests", "ui", "xtask"];
    name.starts_with("policy-") || others.contains(&&*name)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
