//! `cargo xtask docs`: the guide, with the documentation of the API in it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
};

use serde_json::Value;

use crate::{
    Failure, Outcome,
    command::{self, answers, program},
    long::installed,
    project,
    test::documentation,
};

const MDBOOK: &str = "0.5.4";

/// Builds both, the API below `api` of the guide.
pub(crate) fn run() -> Outcome {
    let own = answers(&mut program("mdbook", &["--version"]));
    let mut mdbook = if own { program("mdbook", &[]) } else { installed("mdbook", MDBOOK)? };
    command::run(mdbook.args(["build", "docs/guide"]))?;
    command::run(&mut documentation())?;
    let guide = project::target().join("guide");
    copy(&project::target().join("doc"), &guide.join("api"))?;
    println!("open {}", guide.join("index.html").display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to).map_err(Failure::with_path("create", to))?;
    let entries = fs::read_dir(from).map_err(Failure::with_path("read", from))?;
    for entry in entries {
        let path = entry.map_err(Failure::with_path("read", from))?.path();
        let Some(name) = path.file_name() else { continue };
        let to = to.join(name);
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, &to).map_err(Failure::with_path("copy", &path))?;
        }
    }
    Ok(())
}

/// A preprocessor of mdBook: links of rustdoc become searches in the documentation of the API, which
/// resolves every name without its path.
pub(crate) fn links(arguments: &[&str]) -> Outcome {
    if arguments.first() == Some(&"supports") {
        return Ok(());
    }
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::new(format!("mdBook sent nothing: {error}")))?;
    let strange = |error| Failure::new(format!("mdBook sent something else: {error}"));
    let mut sent: Value = serde_json::from_str(&text).map_err(strange)?;
    let book = sent.get_mut(1).map(Value::take).unwrap_or_default();
    let book = with_links(book).to_string();
    let written = io::stdout().write_all(book.as_bytes());
    written.map_err(|error| Failure::new(format!("mdBook does not listen: {error}")))
}

/// A part of a book, with the links of its chapters.
fn with_links(part: Value) -> Value {
    match part {
        Value::Array(parts) => parts.into_iter().map(with_links).collect(),
        Value::Object(mut fields) => {
            let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
            let api =
                format!("{}api/policy_server/index.html", "../".repeat(path.matches('/').count()));
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content = linked(content, &api);
            }
            fields.into_iter().map(|(name, part)| (name, with_links(part))).collect()
        }
        part => part,
    }
}

/// A chapter in which `[`Tls::files`]`, `[files](crate::Tls::files)` and `[limit](macro@crate::limit)` are
/// links.
fn linked(chapter: &str, api: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in chapter.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            out.push_str(line);
        } else {
            out.push_str(&linked_line(line, api));
        }
    }
    out
}

fn linked_line(line: &str, api: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(']') {
        let (text, behind) = rest.split_at(at + 1);
        out.push_str(text);
        rest = behind;
        if let Some((target, behind)) =
            rest.strip_prefix('(').and_then(|target| target.split_once(')'))
        {
            match item(target) {
                Some(item) => out.push_str(&format!("({api}?search={item})")),
                None => out.push_str(&format!("({target})")),
            }
            rest = behind;
        } else if let Some(name) =
            text.rsplit_once("[`").and_then(|(_, name)| name.strip_suffix("`]"))
        {
            out.push_str(&format!("({api}?search={name})"));
        }
    }
    out + rest
}

/// The item that a target of rustdoc names; its section does not count.
fn item(target: &str) -> Option<&str> {
    let path = target.split('#').next()?;
    let path = path.split_once('@').map_or(path, |(_kind, path)| path);
    let is_item = path.starts_with("crate::") || (path.contains("::") && !path.contains('/'));
    is_item.then(|| path.trim_start_matches("crate::"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_of_rustdoc_become_searches() {
        let search = |name: &str| format!("../api/policy_server/index.html?search={name}");
        for (written, link) in [
            ("[`Tls::files`] does", format!("[`Tls::files`]({}) does", search("Tls::files"))),
            (
                "a [list](crate::App::origins), [x](#x)",
                format!("a [list]({}), [x](#x)", search("App::origins")),
            ),
            (
                "[`limit`](macro@crate::limit) and [p](crate::operation#probes)",
                format!("[`limit`]({}) and [p]({})", search("limit"), search("operation")),
            ),
            ("[a](b.md#c), `#[get(\"/\")]`, [0]", "[a](b.md#c), `#[get(\"/\")]`, [0]".to_owned()),
            ("```rust\n[`Tls`]\n```\n", "```rust\n[`Tls`]\n```\n".to_owned()),
        ] {
            let book = json!({"items": [{"Chapter": {"path": "how-to/x.md", "content": written}}]});
            let book = with_links(book);
            assert_eq!(book["items"][0]["Chapter"]["content"].as_str(), Some(&*link));
        }
    }
}
