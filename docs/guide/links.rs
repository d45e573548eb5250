//! Chapters are in the summary, their examples are tested, and their links lead somewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use policy_core::Entry;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn chapters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The chapters that `cargo xtask docs` adds, one for each area of codes: no files of the tree.
static AREAS: LazyLock<BTreeMap<PathBuf, String>> = LazyLock::new(|| {
    let pages = policy_cli::code_pages().into_iter().filter(|(name, _)| name != "README.md");
    pages.map(|(name, text)| (chapters().join("reference/codes").join(name), text)).collect()
});

/// The Markdown files of a folder, and of those in it if they are wanted.
fn files(folder: &Path, is_deep: bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && is_deep {
            found.extend(files(&path, true));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.insert(path);
        }
    }
    found
}

/// A text with its inclusions: `{{#include file}}`, `{{#include file:anchor}}` and, as `cargo xtask docs`
/// includes it, `{{#codes}}`.
fn read(file: &Path) -> String {
    if let Some(text) = AREAS.get(file) {
        return text.clone();
    }
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut out = String::new();
    for line in text.lines() {
        match line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            None if line == "{{#codes}}" => out.push_str(&policy_cli::code_pages()["README.md"]),
            None => out.push_str(line),
            Some(what) => {
                let (path, part) = what.split_once(':').unwrap_or((what, ""));
                let included = file.parent().unwrap().join(path);
                let text = fs::read_to_string(&included)
                    .unwrap_or_else(|error| panic!("{} in {}: {error}", what, file.display()));
                // Without an anchor all of it: lines by their numbers are code, which is not read.
                let is_anchor = part.starts_with(|first: char| first.is_ascii_alphabetic());
                let text = if is_anchor { between_anchors(&text, part) } else { Some(text) };
                let text = text.unwrap_or_else(|| {
                    panic!("{what} in {}: there is no such anchor", file.display())
                });
                if path.ends_with(".md") {
                    out.push_str(&text);
                }
            }
        }
        out.push('\n');
    }
    out
}

/// The lines between the comments with an anchor and with its end.
fn between_anchors(text: &str, anchor: &str) -> Option<String> {
    let is = |line: &str, mark: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.windows(2).any(|pair| pair == [mark, anchor])
    };
    let mut lines = text.lines().skip_while(|line| !is(line, "ANCHOR:"));
    lines.next()?;
    let lines = lines.take_while(|line| !is(line, "ANCHOR_END:"));
    Some(lines.flat_map(|line| [line, "\n"]).collect())
}

/// The lines that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of `[..](..)` in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| {
        let rest = line.get(at + 2..)?;
        rest.get(..rest.find(')')?)
    })
}

/// The anchor that mdBook and code hosts derive from a heading.
fn anchor(heading: &str) -> String {
    let mut anchor = String::new();
    for c in heading.trim().chars() {
        match c {
            ' ' | '-' => anchor.push('-'),
            c if c.is_alphanumeric() || c == '_' => anchor.extend(c.to_lowercase()),
            _ => (),
        }
    }
    anchor
}

fn anchors(file: &Path) -> BTreeSet<String> {
    let text = read(file);
    let headings =
        prose(&text).filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#')));
    // Anchors that are written out, as in the pages of codes.
    let stated = prose(&text).filter_map(|line| line.strip_prefix("<a id=\"")?.split('"').next());
    headings.map(anchor).chain(stated.map(str::to_owned)).collect()
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::CurDir => (),
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

/// Whether rustdoc resolves it, which denies those that lead nowhere.
fn is_of_rustdoc(target: &str) -> bool {
    target.contains("::") || target.contains('@') || target.starts_with("crate")
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = root();
    let mut pages = files(&root, false);
    pages.extend(files(&root.join("docs"), true));
    pages.extend(files(&root.join("policy-server/docs"), false));
    pages.extend(
        [
            "policy-attributes",
            "policy-browser",
            "policy-cedar",
            "policy-core",
            "policy-macros",
            "policy-manifest",
            "policy-cli",
            "benches",
            "examples",
            "examples/cluster",
        ]
        .map(|folder| root.join(folder).join("README.md")),
    );
    pages.extend(AREAS.keys().cloned());
    let (mut seen, mut dead) = (0, Vec::new());
    let mut known = BTreeMap::new();
    for page in &pages {
        let text = read(page);
        for target in prose(&text).flat_map(targets) {
            if target.contains("://") || target.starts_with("mailto:") || is_of_rustdoc(target) {
                continue;
            }
            seen += 1;
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = match path {
                "" => page.clone(),
                path => plain(&page.parent().unwrap().join(path)),
            };
            let is_page = file.extension().is_some_and(|end| end == "md");
            let is_there = (file.exists() || AREAS.contains_key(&file))
                && (fragment.is_empty()
                    || !is_page
                    || known
                        .entry(file.clone())
                        .or_insert_with(|| anchors(&file))
                        .contains(fragment));
            if !is_there {
                dead.push(format!("{}: {target}", page.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(dead.is_empty(), "{} links lead nowhere:\n{}", dead.len(), dead.join("\n"));
    // A reader that sees nothing would find no fault either.
    assert!(seen > 100, "only {seen} links were seen");
}

/// The entries of the summary: title and file.
fn summary_entries() -> Vec<(String, String)> {
    let summary = fs::read_to_string(chapters().join("SUMMARY.md")).unwrap();
    let entry = |line: &str| {
        let (title, file) = line.trim_start_matches([' ', '-', '[']).split_once("](")?;
        Some((title.to_owned(), file.strip_suffix(')')?.to_owned()))
    };
    summary.lines().filter_map(entry).collect()
}

/// In the form of llmstxt.org: a link to the page of each chapter, and what is in it.
#[test]
fn the_list_for_programs_has_every_chapter() {
    let list = fs::read_to_string(chapters().join("llms.txt")).unwrap();
    let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("- ")).collect();
    let chapters = summary_entries();
    assert_eq!(lines.len(), chapters.len());
    for (line, (title, file)) in lines.iter().zip(chapters) {
        let link = format!("- [{title}]({}): ", file.replace(".md", ".html"));
        assert!(line.strip_prefix(&*link).is_some_and(|rest| !rest.is_empty()), "{line}, {link}");
    }
}

/// The search of mdBook ranks titles first.
#[test]
fn the_words_of_a_newcomer_are_in_titles() {
    let titles = summary_entries().into_iter().map(|(title, _)| title.to_lowercase());
    let titles = titles.collect::<Vec<_>>().join("\n");
    let words = "admin, background, cache, cookie, cors, database, docker, error, extractor, form, \
                 health, log, middleware, password, rate limit, redirect, state, template, test, \
                 upload, websocket";
    for word in words.split(", ") {
        assert!(titles.contains(word), "no title has `{word}`");
    }
}

/// CONTRIBUTING.md has the command that changes the address everywhere.
#[test]
fn pages_name_the_addresses_of_the_manifest() {
    let repository = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    let guide = env!("CARGO_PKG_HOMEPAGE");
    for (page, address) in [
        ("README.md", repository),
        ("README.md", guide),
        ("docs/ci/github.yml", repository),
        ("docs/guide/book.toml", repository),
        ("policy-server/docs/tls.md", guide),
    ] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(address), "{page} does not name {address}");
    }
}

#[test]
fn every_chapter_is_in_the_summary_and_has_a_heading() {
    let folder = chapters();
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        summary.lines().flat_map(targets).map(|target| folder.join(target)).collect();
    let mut written = files(&folder, true);
    written.remove(&folder.join("SUMMARY.md"));
    assert_eq!(listed, written);
    for chapter in written.iter().chain(AREAS.keys()) {
        let text = read(chapter);
        assert!(text.starts_with("# "), "{} begins with no heading", chapter.display());
    }
}

/// As the manifest of the workspace says where the guide is.
#[test]
fn the_address_in_a_message_leads_to_the_section_of_its_code_in_the_guide() {
    let anchors: BTreeMap<_, _> = AREAS.keys().map(|page| (page, anchors(page))).collect();
    for entry in Entry::all() {
        let address = entry.page().to_string();
        let path = address.strip_prefix(env!("CARGO_PKG_HOMEPAGE")).unwrap();
        let (page, section) = path.strip_prefix('/').unwrap().split_once('#').unwrap();
        let chapter = chapters().join(page).with_extension("md");
        assert!(anchors[&chapter].contains(section), "{address}");
    }
}

#[test]
fn every_rust_example_of_a_chapter_is_compiled() {
    let folder = chapters();
    for chapter in files(&folder, true) {
        let name = chapter.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&chapter).unwrap();
        let blocks: Vec<&str> = text.split("\n```rust").skip(1).collect();
        assert!(!text.contains("```rust,ignore"), "{name} has an example that is not compiled");
        // Blocks of the tutorial are parts of the examples of this package.
        let is_included = |block: &&str| block.split("```").next().unwrap().contains("{{#include");
        assert!(
            super::FILES.contains(&&*name) || blocks.iter().all(is_included) || blocks.is_empty(),
            "{name} is not in the list of `chapters.rs`"
        );
    }
}
