//! The OpenAPI document of an app, kept in the repository beside its lock file.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use policy_manifest::Manifest;
use serde_json::Value;

use super::lock::{Subject, UNNAMED, write};
use crate::{base::problem::escaped, build::openapi::DocumentSource};

/// With the value `update`, this variable makes the test write the file.
const UPDATE: &str = "POLICY_OPENAPI";

/// At most this many differences are listed.
const MOST: usize = 20;

/// Compares the document of an app with its file. Without a file, the document is not read.
pub(crate) fn check(
    documented: &DocumentSource,
    manifest: &Manifest,
    subject: Subject,
) -> Result<(), String> {
    let updates = env::var(UPDATE).is_ok_and(|value| value == "update");
    let read = || {
        let document = documented.read(manifest, &|_| true).map_err(|error| error.to_string())?;
        Ok(document.to_json())
    };
    compare(read, &file(subject), updates)
}

fn file(subject: Subject) -> PathBuf {
    let name = if subject.name == UNNAMED { String::new() } else { format!(".{}", subject.name) };
    Path::new(subject.folder).join(format!("openapi{name}.json"))
}

#[expect(clippy::print_stdout, reason = "a test says so what it saw")]
fn compare(
    read: impl FnOnce() -> Result<String, String>,
    file: &Path,
    updates: bool,
) -> Result<(), String> {
    let kept = match fs::read_to_string(file) {
        Ok(kept) => Some(kept),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
    };
    if kept.is_none() && !updates {
        println!("not applicable: there is no {}; `{UPDATE}=update` writes it", file.display());
        return Ok(());
    }
    let document = read()?;
    // A checkout may have changed its line ends.
    if kept.as_ref().is_some_and(|kept| kept.replace("\r\n", "\n") == document) {
        return Ok(());
    }
    if updates {
        return write(file, &document);
    }
    let differences = differences(&kept.unwrap_or_default(), &document);
    Err(format!(
        "the OpenAPI document of the app is not the one in {}:\n\n{differences}\n  help      if that is \
         meant, run `{UPDATE}=update cargo test`; `cargo policy openapi --check` says what breaks clients",
        file.display()
    ))
}

/// The members that differ, one per line.
fn differences(kept: &str, document: &str) -> String {
    let [kept, document] = [kept, document].map(serde_json::from_str::<Value>);
    let (Ok(kept), Ok(document)) = (kept, document) else {
        return "  the file is not JSON\n".to_owned();
    };
    let mut found = Vec::new();
    differ("", &kept, &document, &mut found);
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    let mut text: String = found.iter().map(|line| format!("  {line}\n")).collect();
    if more > 0 {
        text += &format!("  and {more} more\n");
    }
    text
}

fn differ(pointer: &str, kept: &Value, document: &Value, found: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (kept, document) else {
        if kept != document {
            found.push(format!("{pointer} was {kept}, is {document}"));
        }
        return;
    };
    let below = |name: &str| format!("{pointer}/{}", escaped(name));
    for (name, value) in old {
        let pointer = below(name);
        match new.get(name) {
            Some(other) => differ(&pointer, value, other, found),
            None => found.push(format!("{pointer} is gone")),
        }
    }
    for name in new.keys().filter(|name| !old.contains_key(*name)) {
        found.push(format!("{} is new", below(name)));
    }
}

#[cfg(test)]
mod tests {
    use policy_core_tests::folder::Folder;

    use super::*;

    #[test]
    fn a_document_is_kept_until_it_is_taken_over() {
        let folder = Folder::new().unwrap();
        let file = folder.path().join("document");
        let [old, new] = [r#"{"paths": {"/a": 1}}"#, r#"{"paths": {"/b": 2}}"#];
        let document = || Ok(new.to_owned());
        let unread = || panic!("nobody keeps it");
        assert_eq!(compare(unread, &file, false), Ok(()));
        fs::write(&file, old).unwrap();
        let error = compare(document, &file, false).unwrap_err();
        for words in ["/paths/~1a is gone", "/paths/~1b is new", "POLICY_OPENAPI=update"] {
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(compare(document, &file, true), Ok(()));
        assert_eq!(fs::read_to_string(&file).unwrap(), new);
        assert_eq!(compare(document, &file, false), Ok(()));
        let faulty = Err("two types".to_owned());
        assert_eq!(compare(|| faulty.clone(), &file, false), faulty.clone().map(drop));
    }
}
