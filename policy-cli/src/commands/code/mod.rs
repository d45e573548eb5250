//! `cargo policy code`: the page of a code.

mod areas;

use std::process::ExitCode;

use clap::Args;
use policy_core::{Entry, EventLevel, Severity};

use self::areas::Area;
use crate::{
    failure::Failure,
    output::{BOLD, DIM, Output},
};

/// Explain a code of an error, a refusal or a log line.
///
/// Every compile error, start error, refused request and log line of Policy has a code, such as
/// `cors.any-origin-with-credentials`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy code cors.any-origin-with-credentials
  cargo policy code --list | grep '^csrf'")]
pub(crate) struct Arguments {
    /// The code.
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// List all codes.
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    match &arguments.code {
        None => output.write(&list()),
        Some(code) => {
            let entry = Entry::of(code.trim()).ok_or_else(|| unknown(code))?;
            output.write(&page(entry));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All codes in the order of the alphabet, with what they say.
fn list() -> String {
    let mut entries: Vec<_> = Entry::all().collect();
    entries.sort_by_key(|entry| entry.code());
    let width = entries.iter().map(|entry| entry.code().len()).max().unwrap_or_default();
    let lines = entries.iter().map(|entry| {
        let (code, kind) = (entry.code(), kind(*entry));
        format!("{code:width$}  {DIM}{kind:12}{DIM:#}  {}\n", entry.message())
    });
    lines.collect()
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
        _ => String::new(),
    }
}

/// What there is to say about a code.
fn page(entry: Entry) -> String {
    let mut page = format!("{BOLD}{}{BOLD:#}\n\n  {}\n\n", entry.code(), entry.message());
    let mut fact = |name: &str, text: &str| page += &format!("{DIM}{name:<8}{DIM:#}  {text}\n");
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
        _ => (),
    }
    fact("about", entry.about());
    if let Some(area) = Area::of(entry) {
        fact("area", &area.to_string());
    }
    if let Entry::Rule(rule) = entry {
        fact("fix", rule.help());
    }
    page
}

fn unknown(code: &str) -> Failure {
    let mut near: Vec<_> = Entry::all().map(|entry| (likeness(code, entry), entry)).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near = near.iter().take_while(|(likeness, _)| *likeness > 0.6).take(3);
    let near: Vec<_> = near.map(|(_, entry)| format!("`{}`", entry.code())).collect();
    let help = match &*near {
        [] => "list all codes with `cargo policy code --list`".to_owned(),
        near => format!("did you mean {}?", near.join(", or ")),
    };
    Failure::new(format!("there is no code `{code}`")).help(help)
}

/// How much a text is like a code, or like its words without the area; from 0 to 1.
fn likeness(text: &str, entry: Entry) -> f64 {
    let code = entry.code();
    let words = code.split_once('.').map_or(code, |(_, words)| words);
    let text = text.to_lowercase();
    let of = |code| strsim::normalized_damerau_levenshtein(&text, code);
    // Four letters are part of few codes.
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
            assert_eq!(page.contains("\nfix  "), matches!(entry, Entry::Rule(_)), "{page}");
            assert!(!kind(entry).is_empty());
        }
    }

    #[test]
    fn the_list_has_every_code_once_and_in_order() {
        let list = strip_str(&list()).to_string();
        let codes: Vec<_> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(codes.len(), Entry::all().count());
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
