//! The pages of all codes as Markdown: a file for each area, and an index.

use std::{collections::BTreeMap, fs, path::Path};

use policy_core::Entry;

use super::{areas::Area, examples::Example, facts, kind, response};
#[cfg(feature = "audit")]
use crate::commands::audit;
use crate::failure::Failure;

/// Writes the files.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let failed =
        |path: &Path, error| Failure::new(format!("{} cannot be written: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, text) in pages() {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Names and contents of the files.
pub(crate) fn pages() -> BTreeMap<String, String> {
    let mut areas = BTreeMap::<_, Vec<_>>::new();
    for entry in Entry::all() {
        areas.entry(entry.area()).or_default().push(entry);
    }
    let mut files: BTreeMap<_, _> =
        areas.iter().map(|(area, entries)| (format!("{area}.md"), page(area, entries))).collect();
    files.insert("README.md".to_owned(), index(&areas));
    #[cfg(feature = "audit")]
    files.insert("audit.md".to_owned(), page_of_audits());
    files
}

const GENERATED: &str = "<!-- Written by `cargo policy code --pages`. -->\n";

fn index(areas: &BTreeMap<&str, Vec<Entry>>) -> String {
    let mut text = format!(
        "# Codes\n\n{GENERATED}\n\
         Every compile error, start error, refused request and log line has a code. `cargo policy code \
         CODE` prints its page, and a search for it in the documentation of the crates finds it. A code \
         never changes its meaning.\n\n\
         A refused request has the code in the member `code` of its body (RFC 9457), in HTML and in \
         plain text too, and in the log. An app can serve these pages, or point to them: \
         `App::problem_types(\"https://docs.example/errors/\")` puts the address with the code at its \
         end into the member `type`.\n"
    );
    for (area, entries) in areas {
        let about = Area::find(area).map(|area| area.to_string());
        text += &format!("\n## [{area}]({area}.md)\n\n{}\n\n", about.unwrap_or_default());
        for entry in entries {
            let code = entry.code();
            text += &format!("- [`{code}`]({area}.md#{code}): {}\n", entry.message());
        }
    }
    if cfg!(feature = "audit") {
        text += "\n[Codes of audits](audit.md) are those of `cargo policy audit`.\n";
    }
    text
}

fn page(name: &str, entries: &[Entry]) -> String {
    let area = Area::find(name);
    let about = area.map(|area| area.to_string()).unwrap_or_default();
    let mut text = format!("# Codes of {name}\n\n{GENERATED}\n{about}\n");
    if let Some(area) = area {
        text += &format!("\n{}\n", area.why);
        let links = area.links.iter().map(|(title, to)| format!("[{title}]({to})"));
        let links: Vec<_> = area.attribute().into_iter().chain(links).collect();
        if !links.is_empty() {
            text += &format!("\nRead more: {}.\n", links.join(", "));
        }
    }
    for entry in entries {
        text += &section(*entry);
    }
    text
}

/// The codes of `cargo policy audit`, which are not in the catalogue of the engine.
#[cfg(feature = "audit")]
fn page_of_audits() -> String {
    let mut text = format!(
        "# Codes of audits\n\n{GENERATED}\n`cargo policy audit`: a running app\n\n\
         A CDN, a gateway or a proxy between an app and its users can undo its policy. \
         An audit sends requests to the running app and compares the responses with the manifest.\n"
    );
    for code in audit::Code::ALL {
        let (name, meaning, cause, fix) = (code.code(), code.meaning(), code.cause(), code.mend());
        text += &format!(
            "\n<a id=\"{name}\"></a>\n\n## `{name}`\n\n*finding*: {meaning}.\n\n**cause**: {cause}\n\n\
             **fix**: {fix}\n"
        );
    }
    text
}

fn section(entry: Entry) -> String {
    let code = entry.code();
    let mut text = format!(
        "\n<a id=\"{code}\"></a>\n\n## `{code}`\n\n*{}*: {}.\n\n{}\n",
        kind(entry),
        entry.message(),
        entry.about(),
    );
    let facts =
        facts(entry).into_iter().filter(|(name, _)| !matches!(*name, "kind" | "about" | "area"));
    for (name, fact) in facts {
        text += &format!("\n**{name}**: {fact}\n");
    }
    if let Some(Example { bad, good }) = Example::find(entry) {
        text += &format!("\nRefused:\n\n```rust\n{bad}```\n\nAccepted:\n\n```rust\n{good}```\n");
    }
    if let Entry::Refusal(refusal) = entry {
        text += &format!("\nWhat a client sees:\n\n```http\n{}```\n", response::render(refusal));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_links_pages_that_are_written() {
        let pages = pages();
        let links = pages["README.md"].split("](").skip(1);
        for name in links.filter_map(|link| link.split(['#', ')']).next()) {
            assert!(pages.contains_key(name), "{name}");
        }
    }

    /// Outside of code, nothing is accidental markup.
    #[test]
    fn texts_are_no_markup() {
        for entry in Entry::all() {
            let texts = facts(entry).into_iter().map(|(_, text)| text);
            for text in texts.chain([entry.message().to_owned()]) {
                let outside: String = text.split('`').step_by(2).collect();
                assert_eq!(text.matches('`').count() % 2, 0, "{text}");
                assert!(!outside.contains(['<', '*', '[', '|']), "{text}");
            }
        }
    }
}
