//! A chapter as a reader sees it: blocks, and the sentences between them.

use std::{fs, path::Path};

/// What is to be done, in the order of the chapter.
pub(super) enum Part {
    /// The sentences of a paragraph, as one line.
    Prose(String),
    Block(Block),
}

pub(super) struct Block {
    /// `rust`, `sh`, `text`: what is behind the fence, up to a comma.
    pub(super) language: String,
    pub(super) text: String,
    /// The paragraph above, which says where it goes.
    pub(super) above: String,
}

/// Reads a chapter with its inclusions, and without the lines that the guide hides.
pub(super) fn read(file: &Path) -> Vec<Part> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let (mut parts, mut paragraph) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = line.strip_prefix("```") {
            close(&mut paragraph, &mut parts);
            let language = fence.split(',').next().unwrap_or_default().to_owned();
            let written: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let above = parts.iter().rev().find_map(|part| match part {
                Part::Prose(prose) => Some(prose.clone()),
                Part::Block(_) => None,
            });
            let text = render(&written, &language, file);
            parts.push(Part::Block(Block { language, text, above: above.unwrap_or_default() }));
        } else if line.is_empty() {
            close(&mut paragraph, &mut parts);
        } else {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    close(&mut paragraph, &mut parts);
    parts
}

fn close(paragraph: &mut String, parts: &mut Vec<Part>) {
    if !paragraph.is_empty() {
        parts.push(Part::Prose(paragraph.trim_end().to_owned()));
        paragraph.clear();
    }
}

/// A block as mdBook shows it.
fn render(written: &[&str], language: &str, file: &Path) -> String {
    let mut text = String::new();
    for line in written {
        let included = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        match included {
            Some(what) => text.push_str(&include(what, file)),
            None if language == "rust" && line.starts_with("# ") => (),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// `file`, `file:anchor` or `file:first:last`.
fn include(what: &str, from: &Path) -> String {
    let mut words = what.split(':');
    let path = from.with_file_name(words.next().unwrap_or_default());
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    match (words.next(), words.next().map(str::parse::<usize>)) {
        (None, _) => without_anchors(&text),
        (Some(first), Some(Ok(last))) => {
            let first: usize = first.parse().expect("a number of a line");
            let lines: Vec<&str> = text.lines().skip(first - 1).take(last + 1 - first).collect();
            without_anchors(&lines.join("\n"))
        }
        (Some(anchor), _) => {
            let (_, rest) = text
                .split_once(&format!("// ANCHOR: {anchor}\n"))
                .unwrap_or_else(|| panic!("{what}: there is no such anchor"));
            let end = format!("// ANCHOR_END: {anchor}\n");
            without_anchors(rest.split(&end).next().unwrap_or_default())
        }
    }
}

pub(super) fn without_anchors(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("// ANCHOR"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The words in backticks that follow a text.
pub(super) fn quoted_after<'a>(prose: &'a str, text: &str) -> Option<&'a str> {
    let (_, rest) = prose.split_once(text)?;
    rest.trim_start().strip_prefix('`')?.split('`').next()
}
