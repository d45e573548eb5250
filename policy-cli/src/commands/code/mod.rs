//! `cargo policy code`: the page of a code.

mod areas;
mod examples;
mod markdown;
mod response;

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use policy_core::{Confidence, Entry, EventLevel, Severity};

pub(crate) use self::markdown::pages;
use self::{areas::Area, examples::Example};
#[cfg(feature = "audit")]
use crate::commands::audit;
use crate::{
    failure::Failure,
    output::{BOLD, DIM, Output},
};

/// Explain a code of an error, a refusal, a log line or a finding.
///
/// Every compile error, start error, refused request and log line of Policy has a code, such as
/// `cors.any-origin-with-credentials`; so has every finding of a lint or an audit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy code cors.any-origin-with-credentials
  cargo policy code --list | grep '^csrf'")]
pub(crate) struct Arguments {
    /// The code.
    #[arg(required_unless_present_any = ["list", "pages"])]
    code: Option<String>,
    /// List all codes.
    #[arg(long, conflicts_with = "code")]
    list: bool,
    /// Write the pages of all codes as Markdown into this folder, a file for each area.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["code", "list"])]
    pages: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    match (&arguments.pages, &arguments.code) {
        (Some(folder), _) => markdown::write(folder)?,
        (None, None) => output.write(&list()),
        (None, Some(code)) => {
            let page =
                Entry::from_code(code.trim()).map(page).or_else(|| page_of_finding(code.trim()));
            output.write(&page.ok_or_else(|| unknown(code))?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All codes in alphabetical order, with their texts.
fn list() -> String {
    let entries = Entry::all().map(|entry| (entry.code(), kind(entry), entry.message()));
    let findings = findings().map(|(code, meaning)| (code, "finding".to_owned(), meaning));
    let mut all: Vec<_> = entries.chain(findings).collect();
    all.sort_by_key(|(code, ..)| *code);
    let width = all.iter().map(|(code, ..)| code.len()).max().unwrap_or_default();
    let lines = all
        .iter()
        .map(|(code, kind, message)| format!("{code:width$}  {DIM}{kind:12}{DIM:#}  {message}\n"));
    lines.collect()
}

/// The codes of audits, with their meanings.
#[cfg(feature = "audit")]
fn findings() -> impl Iterator<Item = (&'static str, &'static str)> {
    audit::Code::ALL.iter().map(|code| (code.code(), code.meaning()))
}

#[cfg(not(feature = "audit"))]
fn findings() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::empty()
}

/// The page about a code of an audit.
#[cfg(feature = "audit")]
fn page_of_finding(code: &str) -> Option<String> {
    let code = audit::Code::from_text(code)?;
    let mut page = format!("{BOLD}{}{BOLD:#}\n\n  {}\n\n", code.code(), code.meaning());
    for (name, text) in [
        ("kind", "finding of `cargo policy audit`, about a running app"),
        ("cause", code.cause()),
        ("fix", code.mend()),
    ] {
        page += &format!("{DIM}{name:<8}{DIM:#}  {text}\n");
    }
    Some(page)
}

#[cfg(not(feature = "audit"))]
fn page_of_finding(_code: &str) -> Option<String> {
    None
}

/// One or two words for the kind of an entry.
fn kind(entry: Entry) -> String {
    match entry {
        Entry::Rule(rule) => match rule.severity() {
            Severity::Error => "rule".to_owned(),
            Severity::Warning => "warning".to_owned(),
        },
        Entry::Refusal(refusal) => format!("refusal {}", refusal.status()),
        Entry::Event(_) => "log line".to_owned(),
        Entry::Lint(_) => "lint".to_owned(),
        _ => String::new(),
    }
}

/// The page about a code.
fn page(entry: Entry) -> String {
    let mut page = format!("{BOLD}{}{BOLD:#}\n\n  {}\n\n", entry.code(), entry.message());
    for (name, text) in facts(entry) {
        page += &format!("{DIM}{name:<8}{DIM:#}  {text}\n");
    }
    let mut block = |title: &str, text: &str| {
        let lines: String =
            text.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
        page += &format!("\n{DIM}{title}{DIM:#}\n\n{lines}");
    };
    if let Some(example) = Example::find(entry) {
        block("refused", &example.bad);
        block("accepted", &example.good);
    }
    if let Entry::Refusal(refusal) = entry {
        block("what a client sees", &response::render(refusal));
    }
    page
}

/// The facts about a code, with a name for each.
fn facts(entry: Entry) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, text: &str| facts.push((name, text.to_owned()));
    match entry {
        Entry::Rule(rule) => {
            let kind = match rule.severity() {
                Severity::Error => {
                    "rule, an error: a compile error in an attribute, and the app does not start"
                }
                Severity::Warning => {
                    "rule, a warning: of the compiler in an attribute, and a notice at start"
                }
            };
            fact("kind", kind);
        }
        Entry::Refusal(refusal) => {
            let status = refusal.status();
            fact("kind", &format!("refusal: a request gets a response with status {status}"));
            if let Some(seconds) = refusal.retry_after() {
                fact("retry", &format!("after {seconds} s, says `Retry-After`"));
            }
            if refusal.is_uncacheable() {
                fact("cache", "never kept: `no-store`");
            }
        }
        Entry::Event(event) => {
            let level = match event.level() {
                EventLevel::Error => "error: somebody has to act",
                EventLevel::Warn => "warn: somebody should look at it",
                EventLevel::Info => "info: for operators",
            };
            fact("kind", &format!("log line of level {level}"));
        }
        Entry::Lint(lint) => {
            let sure = match lint.confidence() {
                Confidence::Sure => "sure: fails if it is of medium severity or worse",
                Confidence::Heuristic => "a guess: is reported, but may be intended",
            };
            fact("kind", &format!("finding of `cargo policy lint` and of tests, {sure}"));
        }
        _ => (),
    }
    fact("about", entry.about());
    if let Some(area) = Area::find(entry.area()) {
        fact("area", &area.to_string());
    }
    match entry {
        Entry::Rule(rule) => fact("fix", rule.help()),
        Entry::Lint(lint) => {
            fact("fix", lint.help());
            let line = format!(
                "`{{\"lint\":\"{}\",\"route\":\"GET /..\",\"who\":\"..\",\"why\":\"..\"}}` in `suppressed` of \
                 policy.lock",
                lint.code()
            );
            if !lint.is_about_suppressions() {
                fact("leave", &line);
            }
        }
        _ => (),
    }
    facts
}

fn unknown(code: &str) -> Failure {
    let all = Entry::all().map(Entry::code).chain(findings().map(|(code, _)| code));
    let mut near: Vec<_> = all.map(|known| (likeness(code, known), known)).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near = near.iter().take_while(|(likeness, _)| *likeness > 0.6).take(3);
    let near: Vec<_> = near.map(|(_, known)| format!("`{known}`")).collect();
    let help = match &*near {
        [] => "list all codes with `cargo policy code --list`".to_owned(),
        near => format!("did you mean {}?", near.join(", or ")),
    };
    Failure::new(format!("there is no code `{code}`")).help(help)
}

/// How much a text is like a code, or like its words without the area; from 0 to 1.
fn likeness(text: &str, code: &str) -> f64 {
    let words = code.split_once('.').map_or(code, |(_, words)| words);
    let text = text.to_lowercase();
    let of = |code| strsim::normalized_damerau_levenshtein(&text, code);
    // A text of four letters or more is part of few codes.
    let is_part = text.len() > 3 && code.contains(&text);
    of(code).max(of(words)).max(if is_part { 0.8 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for entry in Entry::all() {
            let page = strip_str(&page(entry)).to_string();
            assert!(page.starts_with(&format!("{}\n\n  {}\n\n", entry.code(), entry.message())));
            for line in ["kind  ", "about  ", "area  "] {
                assert!(page.contains(&format!("\n{line}")), "{page}");
            }
            let has_fix = matches!(entry, Entry::Rule(_) | Entry::Lint(_));
            assert_eq!(page.contains("\nfix  "), has_fix, "{page}");
            assert!(!kind(entry).is_empty());
        }
    }

    #[test]
    fn every_finding_has_a_page() {
        for (code, meaning) in findings() {
            let page = strip_str(&page_of_finding(code).unwrap()).to_string();
            assert!(page.starts_with(&format!("{code}\n\n  {meaning}\n\nkind  ")), "{page}");
            assert!(page.contains("\ncause  ") && page.contains("\nfix  "), "{page}");
        }
    }

    #[test]
    fn the_list_has_every_code_once_and_in_order() {
        let list = strip_str(&list()).to_string();
        let codes: Vec<_> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(codes.len(), Entry::all().count() + findings().count());
        assert!(codes.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_code_that_is_nearly_right_is_found() {
        for (written, meant) in [
            ("cors.any-origin-with-credential", "cors.any-origin-with-credentials"),
            ("any-origin-with-credentials", "cors.any-origin-with-credentials"),
            ("CSRF.Token", "csrf.token"),
            ("limit.rates", "limit.rate"),
            ("any-origin-with", "cors.any-origin-with-credentials"),
        ] {
            let help = unknown(written).help.unwrap();
            assert!(help.starts_with(&format!("did you mean `{meant}`")), "{written}: {help}");
        }
        assert!(unknown("42").help.unwrap().contains("--list"));
    }
}
