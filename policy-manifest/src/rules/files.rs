//! Reads files of rules, with those that they extend.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{Exception, Place, PolicyRule, RulesError, document::Document, error::plain};

/// Rules of one or several documents.
///
/// ```
/// use policy_manifest::rules::Rules;
///
/// let rules = Rules::parse(
///     "policy.rules",
///     r#"
///         [never.strangers-in-admin]
///         routes = ["/admin/**"]
///         without-roles = ["admin"]
///     "#,
/// )?;
/// assert_eq!(rules.rules()[0].id, "never.strangers-in-admin");
///
/// let error = Rules::parse("policy.rules", "[never.a]\nroute = [\"**\"]").unwrap_err();
/// assert!(error.to_string().starts_with("policy.rules:1: `routes` is missing"));
/// # Ok::<_, policy_manifest::rules::RulesError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<PolicyRule>,
    exceptions: Vec<Exception>,
}

/// The most bytes of a document.
const LONGEST: u64 = 4 << 20;
/// The most documents that one extends, directly or not.
const MOST: usize = 64;

impl Rules {
    /// Reads the text of a document that extends no other. `file` names it in messages.
    ///
    /// # Errors
    ///
    /// The first mistake, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, RulesError> {
        let document = Document::parse(file, text, false)?;
        if let Some((path, place)) = document.extends.into_iter().next() {
            let message = format!("`{}` cannot be extended by a text", plain(&path));
            let help = "read the file by its path".to_owned();
            return Err(RulesError { place, message, help });
        }
        let mut rules = Self::default();
        rules.add(document.rules, document.exceptions)?;
        Ok(rules)
    }

    /// Reads files, and those that they extend. The rules of all are one set: a route is public if
    /// one of the files says so.
    ///
    /// # Errors
    ///
    /// The first mistake, with its file and line: also a file that cannot be read, one that extends
    /// itself, and a rule that two files state.
    pub fn read<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Self, RulesError> {
        let mut reading = Reading::default();
        for file in files {
            let file = file.as_ref();
            let place = Place { file: file.display().to_string(), line: 1 };
            reading.file(file, &place, false)?;
        }
        Ok(reading.rules)
    }

    /// The rules, in the order of their places.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The exceptions from them.
    pub(super) fn exceptions(&self) -> &[Exception] {
        &self.exceptions
    }

    fn add(
        &mut self,
        rules: Vec<PolicyRule>,
        exceptions: Vec<Exception>,
    ) -> Result<(), RulesError> {
        self.rules.extend(rules);
        self.exceptions.extend(exceptions);
        let mut known: BTreeMap<&str, &PolicyRule> = BTreeMap::new();
        for rule in &self.rules {
            let Some(other) = known.insert(&rule.id, rule) else { continue };
            // Each file adds to the list of public routes, and has lifetimes of its own.
            if rule.id != "public" && rule.id != "lifetimes" {
                let message = format!("`{}` is also a rule of {}", rule.id, other.place);
                let help = "give one of them another name".to_owned();
                return Err(RulesError { place: rule.place.clone(), message, help });
            }
        }
        Ok(())
    }
}

/// The files that are being read.
#[derive(Debug, Default)]
struct Reading {
    rules: Rules,
    /// The files that have been read, by their canonical paths.
    done: BTreeSet<PathBuf>,
    /// The files on the way from the first to this one.
    open: Vec<PathBuf>,
}

impl Reading {
    fn file(&mut self, path: &Path, place: &Place, is_shared: bool) -> Result<(), RulesError> {
        let failed = |message: String, help: &str| RulesError {
            place: place.clone(),
            message,
            help: help.to_owned(),
        };
        let name = plain(&path.display().to_string());
        let unreadable = |error: io::Error| {
            let help = "name a file of rules in UTF-8 that may be read";
            failed(format!("`{name}` cannot be read: {error}"), help)
        };
        let canonical = path.canonicalize().map_err(unreadable)?;
        if self.open.contains(&canonical) {
            let help = "leave out one of the files in `extends`";
            return Err(failed(format!("`{name}` extends itself"), help));
        }
        if !self.done.insert(canonical.clone()) {
            return Ok(());
        }
        if self.done.len() > MOST {
            let help = "join some of them";
            return Err(failed(format!("there are more than {MOST} files"), help));
        }
        let text = read(path).map_err(unreadable)?;
        let document = Document::parse(&path.display().to_string(), &text, is_shared)?;
        self.open.push(canonical);
        let folder = path.parent().unwrap_or(Path::new(""));
        for (extended, place) in &document.extends {
            self.file(&folder.join(extended), place, true)?;
        }
        self.open.pop();
        self.rules.add(document.rules, document.exceptions)
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    match u64::try_from(text.len()).is_ok_and(|length| length > LONGEST) {
        true => Err(io::Error::other("it has more than 4 MiB")),
        false => Ok(text),
    }
}
