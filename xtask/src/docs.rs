//! `cargo xtask docs`: the guide, with the pages of codes and the documentation of the API in it.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
};

use serde_json::{Map, Value, json};

use crate::{
    Failure, Outcome,
    command::{self, answers, cargo, program},
    folders,
    setup::cargo_tool,
    test::documentation,
};

const MDBOOK: &str = "0.5.4";

/// The chapter with this line becomes the index of all codes, with a chapter for each area below it.
const CODES: &str = "{{#codes}}\n";

/// Builds both, the API below `api` of the guide.
pub(crate) fn run() -> Outcome {
    guide()?;
    command::run(&mut documentation())?;
    let guide = folders::target().join("guide");
    copy(&folders::target().join("doc"), &guide.join("api"))?;
    println!("open {}", guide.join("index.html").display());
    Ok(())
}

/// Builds the guide alone, below `guide` of the target folder.
pub(crate) fn guide() -> Outcome {
    let own = answers(&mut program("mdbook", &["--version"]));
    let mut mdbook = if own { program("mdbook", &[]) } else { cargo_tool("mdbook", MDBOOK)? };
    command::run(mdbook.args(["build", "docs/guide"]))
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

/// A preprocessor of mdBook: adds the pages of codes, and turns links of rustdoc into searches in
/// the documentation of the API, which resolves every name without its path.
pub(crate) fn chapters(arguments: &[&str]) -> Outcome {
    if arguments.first() == Some(&"supports") {
        return Ok(());
    }
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::new(format!("mdBook sent nothing: {error}")))?;
    let strange = |error| Failure::new(format!("mdBook sent something else: {error}"));
    let mut sent: Value = serde_json::from_str(&text).map_err(strange)?;
    let book = sent.get_mut(1).map(Value::take).unwrap_or_default();
    let book = transform(book, &code_pages()?).to_string();
    let written = io::stdout().write_all(book.as_bytes());
    written.map_err(|error| Failure::new(format!("mdBook does not listen: {error}")))
}

/// Names and contents of the files that `cargo policy code --pages` writes.
fn code_pages() -> Outcome<BTreeMap<String, String>> {
    let folder = folders::target().join("codes");
    // So that no page of a removed area remains.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Failure::with_path("remove", &folder))?;
    }
    let path = folder.to_string_lossy();
    let mut write = cargo(&["run", "--quiet", "--package", "policy-cli", "--"]);
    let status = write.args(["policy", "code", "--pages", &path]).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::new("the pages of codes cannot be written"));
    }
    let mut pages = BTreeMap::new();
    let failed = Failure::with_path("read", &folder);
    for entry in fs::read_dir(&folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let text = fs::read_to_string(entry.path()).map_err(&failed)?;
        pages.insert(entry.file_name().to_string_lossy().into_owned(), text);
    }
    Ok(pages)
}

/// A part of a book, with the pages of codes and the links of its chapters.
fn transform(part: Value, codes: &BTreeMap<String, String>) -> Value {
    match part {
        Value::Array(parts) => parts.into_iter().map(|part| transform(part, codes)).collect(),
        Value::Object(mut fields) => {
            add_codes(&mut fields, codes);
            let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
            let api =
                format!("{}api/policy_server/index.html", "../".repeat(path.matches('/').count()));
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content = link_items(content, &api);
            }
            fields.into_iter().map(|(name, part)| (name, transform(part, codes))).collect()
        }
        part => part,
    }
}

/// Adds the codes to a chapter, if it is the one for them.
fn add_codes(chapter: &mut Map<String, Value>, codes: &BTreeMap<String, String>) {
    if chapter.get("content").and_then(Value::as_str) != Some(CODES) {
        return;
    }
    let field = |name| chapter.get(name).cloned().unwrap_or_default();
    let path = field("path");
    let folder = Path::new(path.as_str().unwrap_or_default()).with_file_name("");
    let number = |index: usize| match field("number") {
        Value::Array(number) => number.into_iter().chain([json!(index)]).collect(),
        none => none,
    };
    let mut parents: Vec<Value> = field("parent_names").as_array().cloned().unwrap_or_default();
    parents.push(field("name"));
    let areas = codes.iter().filter(|(name, _)| *name != "README.md");
    let areas = areas.zip(1..).map(|((name, text), index)| {
        json!({"Chapter": {
            "name": name.trim_end_matches(".md"),
            "content": text,
            "number": number(index),
            "sub_items": [],
            "path": folder.join(name),
            // It is no file of the guide that could be edited.
            "source_path": null,
            "parent_names": parents,
        }})
    });
    let areas = areas.collect();
    chapter.insert("sub_items".to_owned(), areas);
    chapter.insert("content".to_owned(), codes.get("README.md").cloned().into());
}

/// A chapter in which `[`Tls::files`]`, `[files](crate::Tls::files)` and `[limit](macro@crate::limit)` are
/// links.
fn link_items(chapter: &str, api: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in chapter.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            out.push_str(line);
        } else {
            out.push_str(&link_items_of_line(line, api));
        }
    }
    out
}

fn link_items_of_line(line: &str, api: &str) -> String {
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

/// The item that a target of rustdoc names, without a section in it.
fn item(target: &str) -> Option<&str> {
    let path = target.split('#').next()?;
    let path = path.split_once('@').map_or(path, |(_kind, path)| path);
    let is_item = path.starts_with("crate::") || (path.contains("::") && !path.contains('/'));
    is_item.then(|| path.trim_start_matches("crate::").trim_start_matches("policy_server::"))
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
                "a [list](crate::App::origins), [x](policy_server::Tls), [y](#y)",
                format!("a [list]({}), [x]({}), [y](#y)", search("App::origins"), search("Tls")),
            ),
            (
                "[`limit`](macro@crate::limit) and [p](crate::guide::operation#probes)",
                format!("[`limit`]({}) and [p]({})", search("limit"), search("guide::operation")),
            ),
            ("[a](b.md#c), `#[get(\"/\")]`, [0]", "[a](b.md#c), `#[get(\"/\")]`, [0]".to_owned()),
            ("```rust\n[`Tls`]\n```\n", "```rust\n[`Tls`]\n```\n".to_owned()),
        ] {
            let book = json!({"items": [{"Chapter": {"path": "how-to/x.md", "content": written}}]});
            let book = transform(book, &BTreeMap::new());
            assert_eq!(book["items"][0]["Chapter"]["content"].as_str(), Some(&*link));
        }
    }

    #[test]
    fn each_page_of_codes_is_a_chapter_below_their_index() {
        let codes = [("README.md", "# Codes\n"), ("cors.md", "# [`Cors`]\n"), ("tls.md", "")];
        let codes = codes.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let index = json!({"Chapter": {
            "name": "Codes", "content": CODES, "number": [7, 4], "sub_items": [],
            "path": "reference/codes/index.md", "parent_names": [],
        }});
        let book = transform(json!({"items": [index]}), &codes);
        let index = &book["items"][0]["Chapter"];
        assert_eq!(index["content"], "# Codes\n");
        let [cors, tls] = &**index["sub_items"].as_array().unwrap() else { panic!("{index}") };
        let api = "../../api/policy_server/index.html?search=Cors";
        assert_eq!(
            cors["Chapter"],
            json!({
                "name": "cors", "content": format!("# [`Cors`]({api})\n"), "number": [7, 4, 1],
                "sub_items": [], "path": "reference/codes/cors.md", "source_path": null,
                "parent_names": ["Codes"],
            })
        );
        assert_eq!(tls["Chapter"]["number"], json!([7, 4, 2]));
    }
}
