//! Reads the fields of TOML tables, with the lines of mistakes.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use super::{Place, RulesError, error::plain};

/// A document with the beginnings of its lines.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    file: &'t str,
    pub(super) text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        // Editors on Windows begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = ends.map(|(index, _)| index + 1).collect();
        Self { file, text, starts }
    }

    /// The line of a byte.
    pub(super) fn place(&self, at: usize) -> Place {
        let before = self.starts.partition_point(|start| *start <= at);
        Place {
            file: self.file.to_owned(),
            line: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
        }
    }

    pub(super) fn error(
        &self,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> RulesError {
        RulesError { place: self.place(at), message: message.into(), help: help.into() }
    }

    pub(super) fn fields<'r>(&'r self, table: &'r DeTable<'t>, at: usize) -> Fields<'r, 't> {
        Fields { reader: self, table, at }
    }
}

/// The fields of a table.
#[derive(Debug)]
pub(super) struct Fields<'r, 't> {
    reader: &'r Reader<'t>,
    table: &'r DeTable<'t>,
    /// The byte where the table begins.
    pub(super) at: usize,
}

/// Texts with their bytes, and the byte of their list.
pub(super) type Texts = (Vec<(String, usize)>, usize);

impl<'r, 't> Fields<'r, 't> {
    pub(super) fn place(&self) -> Place {
        self.reader.place(self.at)
    }

    pub(super) fn error(
        &self,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> RulesError {
        self.reader.error(at, message, help)
    }

    pub(super) fn missing(&self, key: &str, help: &str) -> RulesError {
        self.error(self.at, format!("`{key}` is missing"), help)
    }

    /// The value of a key, and where it is.
    pub(super) fn value(&self, key: &str) -> Option<(&'r DeValue<'t>, usize)> {
        let value = self.table.get(key)?;
        Some((value.get_ref(), value.span().start))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<(String, usize)>, RulesError> {
        let Some((value, at)) = self.value(key) else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some((text.to_owned(), at))),
            None => Err(self.error(at, format!("`{key}` is not a text"), "write it in quotes")),
        }
    }

    /// A list of at least one text.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Texts>, RulesError> {
        let Some((value, at)) = self.value(key) else { return Ok(None) };
        let help = format!("write a list of texts, such as `{key} = [\"..\"]`");
        let Some(list) = value.as_array() else {
            return Err(self.error(at, format!("`{key}` is not a list"), help));
        };
        let mut texts = Vec::new();
        for value in list {
            let at = value.span().start;
            match value.get_ref().as_str() {
                Some(text) if !text.is_empty() => texts.push((text.to_owned(), at)),
                Some(_) => return Err(self.error(at, format!("`{key}` has an empty text"), help)),
                None => {
                    let message = format!("`{key}` has an entry that is no text");
                    return Err(self.error(at, message, help));
                }
            }
        }
        match texts.is_empty() {
            true => {
                Err(self.error(at, format!("`{key}` is empty"), "write an entry, or leave it out"))
            }
            false => Ok(Some((texts, at))),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy, const N: usize>(
        &self,
        key: &str,
        words: [(&str, T); N],
    ) -> Result<Option<T>, RulesError> {
        let Some((text, at)) = self.text(key)? else { return Ok(None) };
        self.chosen(key, (&text, at), &words).map(Some)
    }

    /// Some of several words.
    pub(super) fn choices<T: Copy + Ord, const N: usize>(
        &self,
        key: &str,
        words: [(&str, T); N],
    ) -> Result<Option<BTreeSet<T>>, RulesError> {
        let Some((texts, _)) = self.texts(key)? else { return Ok(None) };
        let chosen = texts.iter().map(|(text, at)| self.chosen(key, (text, *at), &words));
        chosen.collect::<Result<_, _>>().map(Some)
    }

    fn chosen<T: Copy>(
        &self,
        key: &str,
        (text, at): (&str, usize),
        words: &[(&str, T)],
    ) -> Result<T, RulesError> {
        let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(*value),
            None => {
                let message = format!("`{key}` cannot be `{}`", plain(text));
                Err(self.error(at, message, nearest(text, &known)))
            }
        }
    }

    pub(super) fn table(&self, key: &str) -> Result<Option<Fields<'r, 't>>, RulesError> {
        let Some((value, at)) = self.value(key) else { return Ok(None) };
        let at = self.key_at(key).unwrap_or(at);
        match value.as_table() {
            Some(table) => Ok(Some(self.reader.fields(table, at))),
            None => {
                let help = format!("write `[{key}]`, and its fields below");
                Err(self.error(at, format!("`{key}` is not a table"), help))
            }
        }
    }

    /// All fields, which are tables, by their names.
    pub(super) fn tables(&self) -> Result<Vec<(&'r str, Fields<'r, 't>)>, RulesError> {
        let tables = self.table.iter().map(|(key, value)| {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            match value.get_ref().as_table() {
                Some(table) => Ok((name, self.reader.fields(table, at))),
                None => {
                    let message = format!("`{}` is not a rule", plain(name));
                    let help = "give the rule a name, as in `[never.partner-in-admin]`";
                    Err(self.error(at, message, help))
                }
            }
        });
        tables.collect()
    }

    pub(super) fn list_of_tables(&self, key: &str) -> Result<Vec<Fields<'r, 't>>, RulesError> {
        let Some((value, at)) = self.value(key) else { return Ok(Vec::new()) };
        let help = format!("write `[[{key}]]` for each entry, and its fields below");
        let entries = value.as_array().map(|list| {
            let entries = list.iter().map(|entry| {
                let table = entry.get_ref().as_table()?;
                // A table of a list begins at its brackets.
                Some(self.reader.fields(table, entry.span().start))
            });
            entries.collect::<Option<Vec<_>>>()
        });
        match entries.flatten() {
            Some(entries) => Ok(entries),
            None => Err(self.error(at, format!("`{key}` is not a list of tables"), help)),
        }
    }

    /// All fields, which are texts, each with its byte.
    pub(super) fn all_texts(&self) -> Result<Vec<(&'r str, &'r str, usize)>, RulesError> {
        let texts = self.table.iter().map(|(key, value)| {
            let (name, at) = (key.get_ref().as_ref(), value.span().start);
            match value.get_ref().as_str() {
                Some(text) => Ok((name, text, at)),
                None => {
                    let message = format!("`{}` is not a text", plain(name));
                    Err(self.error(at, message, "write it in quotes"))
                }
            }
        });
        texts.collect()
    }

    /// Refuses keys that are not known.
    pub(super) fn finish(&self, known: &[&str]) -> Result<(), RulesError> {
        let is_unknown =
            |key: &&toml::Spanned<toml::de::DeString<'t>>| !known.contains(&key.get_ref().as_ref());
        match self.table.keys().filter(is_unknown).min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let message = format!("`{}` is not a known key", plain(key.get_ref()));
                Err(self.error(key.span().start, message, nearest(key.get_ref(), known)))
            }
        }
    }

    /// Where a key is written.
    fn key_at(&self, name: &str) -> Option<usize> {
        let key = self.table.keys().find(|key| key.get_ref().as_ref() == name)?;
        Some(key.span().start)
    }
}

/// Help for a word that is none of those that are known.
fn nearest(word: &str, known: &[&str]) -> String {
    let listed = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let short: String = word.chars().take(64).collect();
    let near = known
        .iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(&short, known), known))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match near {
        Some((_, near)) => format!("did you mean `{near}`? It can be {listed}"),
        None => format!("it can be {listed}"),
    }
}
