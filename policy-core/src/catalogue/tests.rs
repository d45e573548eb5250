//! Properties of every entry, and of the sources that name entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::*;

/// Every code, with the name of its entry.
fn entries() -> Vec<(&'static str, String)> {
    fn name(table: &str, entry: impl Debug) -> String {
        format!("{table}::{entry:?}")
    }

    let rules = Rule::ALL.iter().map(|rule| (rule.code(), name("Rule", rule)));
    let refusals = Refusal::ALL.iter().map(|refusal| (refusal.code(), name("Refusal", refusal)));
    let events = Event::ALL.iter().map(|event| (event.code(), name("Event", event)));
    let lints = Lint::ALL.iter().map(|lint| (lint.code(), name("Lint", lint)));
    rules.chain(refusals).chain(events).chain(lints).collect()
}

#[test]
fn every_entry_is_found_by_its_code_and_explained() {
    assert_eq!(Entry::all().count(), entries().len());
    for entry in Entry::all() {
        assert_eq!(Entry::from_code(entry.code()), Some(entry));
        let about = entry.about();
        assert!(about.ends_with('.') && !about.starts_with(' '), "{about}");
        assert!(entry.code().starts_with(entry.area()) && !entry.message().is_empty());
    }
}

#[test]
fn no_two_entries_have_the_same_code() {
    let mut seen = BTreeMap::new();
    for (code, name) in entries() {
        if let Some(other) = seen.insert(code, name.clone()) {
            panic!("{other} and {name} are both `{code}`");
        }
    }
}

#[test]
fn every_code_is_an_area_and_words_with_hyphens() {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
    };
    for (code, _) in entries() {
        let (area, words) = code.split_once('.').expect(code);
        assert!(is_word(area) && words.split('-').all(is_word), "{code}");
    }
}

#[test]
fn messages_are_lower_case_without_a_full_stop() {
    let of_rules =
        Rule::ALL.iter().flat_map(|rule| [rule.message(), rule.help(), rule.help_in_builder()]);
    let of_lints = Lint::ALL.iter().flat_map(|lint| [lint.message(), lint.help()]);
    let of_events = Event::ALL.iter().map(|event| event.message());
    for text in of_rules.chain(of_events).chain(of_lints) {
        let first = text.chars().next().expect("a text");
        let is_name =
            ["Chromium", "JSONP", "SIGHUP", "TLS", "TRACE"].iter().any(|it| text.starts_with(it));
        assert!(!first.is_uppercase() || is_name, "{text}");
        assert!(!text.ends_with('.') || text.ends_with(".."), "{text}");
    }
}

/// A literal that looks like a code is either in the catalogue or a second copy. The diagnostics of
/// a trait for types that do not implement it must repeat the text: they cannot name a constant.
#[test]
fn codes_occur_only_in_the_catalogue() {
    let areas: BTreeSet<_> =
        entries().iter().filter_map(|(code, _)| code.split('.').next()).collect();
    let of_traits: BTreeSet<_> = Rule::ALL
        .iter()
        .flat_map(|rule| {
            // The handler of a list, the parent of an object and an action are parameters of their traits.
            let of = |name| format!("`{{{name}}}`: {} ({})", rule.message(), rule.code());
            ["Self", "E", "P", "A"].map(of)
        })
        .collect();
    let (mut found, mut repeated) = (Vec::new(), 0);
    for path in product_files() {
        for text in literals(&source(&path)) {
            if of_traits.contains(&text) {
                repeated += 1;
            } else if codes_in(&text).any(|(area, _)| areas.contains(area)) {
                found.push(format!("{}: {text}", path.display()));
            }
        }
    }
    assert_eq!(found, [""; 0]);
    assert_eq!(repeated, 18, "what traits say of types");
}

/// Every log line of the level info or above has a code.
#[test]
fn every_log_line_has_a_code() {
    let mut lines = 0;
    for path in product_files() {
        for (level, fields) in log_lines(source(&path)) {
            lines += 1;
            // Of an event, or of a request.
            let is_code = |name: &str| matches!(name.trim(), "code" | "policy . code");
            let has_code = fields
                .to_string()
                .split(',')
                .any(|field| field.split_once('=').is_some_and(|(name, _)| is_code(name)));
            assert!(has_code, "{}: {level}!({fields})", path.display());
        }
    }
    // A scan that finds no log lines would find no fault either.
    assert!(lines > 5, "only {lines} lines were seen");
}

/// Entries that no test produces, each with the reason.
const UNTESTED: [(&str, &str); 5] = [
    ("app.random-missing", "the random source of the operating system does not fail at will"),
    ("tls.unavailable", "as above: it is what tickets need"),
    ("server.accept-failed", "takes a process without file descriptors"),
    ("tls.hangup-ignored", "the operating system always lets a process listen for SIGHUP"),
    ("tls.certificates-unchecked", "takes a file system that does not respond"),
];

/// Every code, or the name of its entry, occurs in a test or in the output of the compiler.
#[test]
fn every_entry_is_produced_by_a_test() {
    let tests = test_texts();
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    let mut words = BTreeSet::new();
    for text in &tests {
        words.extend(text.split(|char| !is_part(char)).map(|word| word.trim_matches('.')));
        // `Rule::Name`, and names that are imported or matched as a path.
        for path in text.split(|char: char| !(char.is_ascii_alphanumeric() || char == ':')) {
            words.insert(path.trim_matches(':'));
        }
    }
    let untested: BTreeSet<_> = entries()
        .into_iter()
        .filter(|(code, name)| !words.contains(code) && !words.contains(name.as_str()))
        .map(|(code, _)| code)
        .collect();
    assert_eq!(untested, UNTESTED.map(|(code, _)| code).into());
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a folder, in a fixed order.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if extensions.contains(&extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether a part of the path below the workspace has a name for which this holds.
fn has_part(path: &Path, is_meant: impl Fn(&str) -> bool) -> bool {
    let path = path.strip_prefix(workspace()).expect("a path of the workspace");
    let mut parts = path.iter().filter_map(|part| part.to_str());
    parts.any(|part| is_meant(part.trim_end_matches(".rs")))
}

fn is_test(path: &Path) -> bool {
    has_part(path, |name| name == "tests" || name.ends_with("_tests"))
}

fn is_catalogue(path: &Path) -> bool {
    path.starts_with(workspace().join("policy-core/src/catalogue"))
}

/// The sources of the crates that use the catalogue, without their tests and without the catalogue.
fn product_files() -> impl Iterator<Item = PathBuf> {
    let crates = ["policy-core", "policy-attributes", "policy-manifest", "policy-server"];
    let files = crates.map(|name| files(&workspace().join(name).join("src"), &["rs"]));
    let files = files.into_iter().flatten();
    files.filter(|path| !is_catalogue(path) && !is_test(path))
}

/// The tokens of a file, without modules for tests.
fn source(path: &Path) -> TokenStream {
    let text = fs::read_to_string(path).expect("a source");
    let end = text.find("\n#[cfg(test)]\nmod tests {").or(text.find("\n#[cfg(all(test,"));
    text.get(..end.unwrap_or(text.len())).expect("a text").parse().expect("a source")
}

/// The string literals, without documentation.
fn literals(tokens: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text.trim_start_matches(['b', 'r', '#']).trim_matches(['"', '#']);
                found.push(text.replace("\\\"", "\"").replace("\\\\", "\\"));
            }
            TokenTree::Group(group) => {
                let is_attribute = group.delimiter() == Delimiter::Bracket;
                let first = group.stream().into_iter().next().map(|token| token.to_string());
                if !is_attribute || first.as_deref() != Some("doc") {
                    found.extend(literals(&group.stream()));
                }
            }
            _ => (),
        }
    }
    found
}

/// The parts of a text that look like a code: all of it, or text in parentheses.
fn codes_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let in_parentheses = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    let candidates = in_parentheses.map(|(inside, _)| inside).chain([text]);
    candidates.filter_map(|candidate| candidate.split_once('.')).filter(|(area, words)| {
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        // File names and hosts have one word after the dot.
        is_word(area) && words.split('-').all(is_word) && !matches!(*words, "pem" | "example")
    })
}

/// `tracing::error!(..)`, `warn!` and `info!`, with the contents of the parentheses.
fn log_lines(tokens: TokenStream) -> Vec<(String, TokenStream)> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        found.extend(log_lines(group.stream()));
        let before: String = tokens
            .iter()
            .take(index)
            .skip(index.saturating_sub(5))
            .map(ToString::to_string)
            .collect();
        for level in ["error", "warn", "info"] {
            if before.ends_with(&format!("tracing::{level}!")) {
                found.push((level.to_owned(), group.stream()));
            }
        }
    }
    found
}

/// The texts of all tests, and of the compiler's output about attributes.
fn test_texts() -> Vec<String> {
    let workspace = workspace();
    let all = files(&workspace.join("tests"), &["rs", "json"])
        .into_iter()
        .chain(files(&workspace.join("ui/tests"), &["rs", "stderr"]));
    let of_crates = ["policy-core", "policy-attributes", "policy-manifest", "policy-server"]
        .into_iter()
        .flat_map(|name| {
            let folder = workspace.join(name);
            let sources = files(&folder.join("src"), &["rs"]).into_iter();
            sources.chain(files(&folder.join("tests"), &["rs"]))
        });
    all.chain(of_crates)
        .filter(|path| !is_catalogue(path))
        .filter_map(|path| {
            let text = fs::read_to_string(&path).expect("a text");
            if has_part(&path, |part| part == "src") && !is_test(&path) {
                let begin =
                    text.find("\n#[cfg(test)]\nmod tests {").or(text.find("\n#[cfg(all(test,"))?;
                return text.get(begin..).map(str::to_owned);
            }
            Some(text)
        })
        .collect()
}
