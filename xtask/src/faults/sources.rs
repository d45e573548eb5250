//! The sources of a crate, and the places of edits in them.

use std::{
    cell::OnceCell,
    cmp::Ordering,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    slice,
};

use super::{
    entry::Edit,
    items::{Item, Kind, items},
    squeezed::Squeezed,
};
use crate::{Failure, Outcome, folders};

/// Every source file of a crate.
pub(super) struct Sources(Vec<Source>);

pub(super) struct Source {
    /// Relative to the root of the workspace.
    pub(super) file: PathBuf,
    pub(super) text: String,
    squeezed: OnceCell<Squeezed>,
    items: OnceCell<Vec<Item>>,
}

/// The place of an edit.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) source: &'a Source,
    pub(super) range: Range<usize>,
    /// The path of the innermost item around it.
    item: String,
    /// The body of the outermost function around it, if that runs and contains all of the text.
    pub(super) body: Option<Range<usize>>,
}

impl Sources {
    /// Reads the files below a folder.
    ///
    /// # Errors
    ///
    /// One cannot be read.
    pub(super) fn read(folder: &Path) -> Outcome<Self> {
        let mut sources = Vec::new();
        read_folder(folder, &mut sources)?;
        Ok(Self(sources))
    }

    /// The only place of an edit's text, or what to correct in the entry.
    pub(super) fn place(&self, edit: &Edit) -> Result<Place<'_>, String> {
        let (find, replace) = (Squeezed::new(&edit.find), Squeezed::new(&edit.replace));
        if find.text().is_empty() || find.text() == replace.text() {
            return Err("`find` is empty, or equal to `replace`".to_owned());
        }
        if find.text().ends_with(',') {
            return Err("leave out the comma at the end of `find`: wrapping moves it".to_owned());
        }
        let mut places: Vec<Place<'_>> =
            self.0.iter().flat_map(|source| source.places(&find)).collect();
        let (there, elsewhere): (Vec<_>, Vec<_>) =
            places.drain(..).partition(|place| is_named(&place.item, &edit.item));
        match (there.as_slice(), elsewhere.as_slice()) {
            ([place], _) => Ok(place.clone()),
            ([], []) => Err(self.nearest(edit, &find)),
            ([], elsewhere) => Err(format!(
                "`find` is no longer in `{}`; correct `in`, since it is in{}",
                edit.item,
                join_places(elsewhere)
            )),
            (several, _) => Err(format!(
                "`find` is {} times in `{}`; add the text beside it:{}",
                several.len(),
                edit.item,
                join_places(several)
            )),
        }
    }

    /// The most similar text, preferably in items with the given name.
    fn nearest(&self, edit: &Edit, find: &Squeezed) -> String {
        let items = || {
            self.0.iter().flat_map(|source| source.items().iter().map(move |item| (source, item)))
        };
        let named: Vec<(&Source, Range<usize>)> = items()
            .filter(|(_, item)| is_named(&item.path, &edit.item))
            .map(|(source, item)| (source, item.range.clone()))
            .collect();
        let mut text = "`find` is nowhere in the crate".to_owned();
        let searched = if named.is_empty() {
            let _infallible = write!(text, ", and no item is called `{}`", edit.item);
            self.0.iter().map(|source| (source, 0..source.text.len())).collect()
        } else {
            named
        };
        let lines = edit.find.trim().lines().count();
        let windows = searched.into_iter().flat_map(|(source, range)| source.windows(range, lines));
        let similarity = |(_, window): &(String, &str)| {
            strsim::sorensen_dice(Squeezed::new(window).text(), find.text())
        };
        let best = windows
            .map(|window| (similarity(&window), window))
            .max_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        if let Some((_, (place, window))) = best {
            let _infallible = write!(text, "; nearest is {place}:\n{window}");
        }
        text
    }

    /// The test names of a crate whose root is in this folder.
    pub(super) fn tests(&self, folder: &Path) -> Vec<String> {
        let folder = folder.strip_prefix(folders::root()).unwrap_or(folder);
        self.0.iter().flat_map(|source| source.tests(folder)).collect()
    }
}

fn read_folder(folder: &Path, sources: &mut Vec<Source>) -> Outcome {
    let entries = fs::read_dir(folder).map_err(Failure::with_path("read", folder))?;
    for entry in entries {
        let path = entry.map_err(Failure::with_path("read", folder))?.path();
        if path.is_dir() {
            read_folder(&path, sources)?;
        } else if path.extension() == Some(OsStr::new("rs")) {
            let text = fs::read_to_string(&path).map_err(Failure::with_path("read", &path))?;
            let file = path.strip_prefix(folders::root()).unwrap_or(&path).to_owned();
            sources.push(Source { file, text, squeezed: OnceCell::new(), items: OnceCell::new() });
        }
    }
    Ok(())
}

impl Source {
    fn places<'a>(&'a self, find: &Squeezed) -> Vec<Place<'a>> {
        let ranges = self.squeezed.get_or_init(|| Squeezed::new(&self.text)).find(find);
        // Most files do not contain the text, and parsing items takes time.
        let items = if ranges.is_empty() { &[] } else { self.items() };
        let place = |range: Range<usize>| {
            let around: Vec<&Item> =
                items.iter().filter(|item| covers(&item.range, &range)).collect();
            let body = around.iter().find_map(|item| match &item.kind {
                Kind::Function(body) => Some(covers(body, &range).then(|| body.clone())),
                Kind::Constant => Some(None),
                Kind::Other => None,
            });
            let item = around.last().map_or_else(String::new, |item| item.path.clone());
            Place { source: self, range, item, body: body.flatten() }
        };
        ranges.into_iter().map(place).collect()
    }

    /// A part of the text.
    pub(super) fn part(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// The path of each function that has an attribute such as `#[test]` or `#[tokio::test]`.
    fn tests(&self, root: &Path) -> Vec<String> {
        let file = self.file.strip_prefix(root).unwrap_or(&self.file).with_extension("");
        let modules = file.iter().map(|part| part.to_string_lossy().into_owned());
        let modules: Vec<String> =
            modules.filter(|part| !matches!(part.as_str(), "lib" | "main" | "mod")).collect();
        let is_test = |item: &&Item| {
            let before = self.part(0..item.range.start).rsplit(['{', '}', ';']).next();
            let marks = ["#[test]", "::test]", "::test("];
            marks.iter().any(|mark| before.is_some_and(|before| before.contains(mark)))
        };
        let tests = self.items().iter().filter(is_test);
        tests.map(|item| [&modules[..], slice::from_ref(&item.path)].concat().join("::")).collect()
    }

    /// Empty for a file that is not Rust, which the compiler reports better.
    fn items(&self) -> &[Item] {
        self.items.get_or_init(|| items(&self.text).unwrap_or_default())
    }

    /// Each run of this many lines in a part of the file, with its location.
    fn windows(&self, part: Range<usize>, lines: usize) -> Vec<(String, &str)> {
        let text = self.part(part.clone());
        let starts: Vec<usize> =
            [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let ends = starts.iter().skip(lines).map(|start| start - 1).chain([text.len()]);
        starts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| {
                Some((self.line(part.start + start), text.get(*start..end)?))
            })
            .collect()
    }

    /// `file:line`, as editors open it.
    fn line(&self, offset: usize) -> String {
        let line = self.part(0..offset).matches('\n').count() + 1;
        format!("{}:{line}", self.file.display())
    }
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether a path is the one that an entry names, or ends with it.
fn is_named(path: &str, name: &str) -> bool {
    path == name
        || (!name.is_empty() && path.strip_suffix(name).is_some_and(|rest| rest.ends_with("::")))
}

fn join_places(places: &[Place<'_>]) -> String {
    places.iter().fold(String::new(), |mut text, place| {
        let _infallible =
            write!(text, "\n  `{}` at {}", place.item, place.source.line(place.range.start));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "
impl OriginSet {
    pub fn covers(&self, host: &str) -> bool {
        self.names.contains(host)
            && !host.is_empty()
    }
    const fn is_small(&self) -> bool {
        self.len < 8
    }
}
";
    const LIST: &str = "
fn covers(list: &[u8]) -> bool {
    !list.is_empty() && list.len() < 8 && list.len() < 8
}
";

    fn place(item: &str, find: &str) -> Result<(String, Option<String>), String> {
        let source = |(file, text): (&str, &str)| Source {
            file: file.into(),
            text: text.to_owned(),
            squeezed: OnceCell::new(),
            items: OnceCell::new(),
        };
        let sources = Sources([("a/set.rs", SET), ("a/list.rs", LIST)].map(source).into());
        let edit =
            Edit { item: item.to_owned(), find: find.to_owned(), replace: "changed".to_owned() };
        let place = sources.place(&edit)?;
        let part = |range| place.source.part(range).to_owned();
        Ok((part(place.range.clone()), place.body.clone().map(part)))
    }

    #[test]
    fn a_text_has_its_place_in_whatever_file_its_item_is() {
        let (text, body) = place("OriginSet::covers", "contains(host) && !host").unwrap();
        assert_eq!(text, "contains(host)\n            && !host");
        assert!(body.unwrap().ends_with("!host.is_empty()\n    "));
        assert_eq!(place("covers", "!list.is_empty()").unwrap().0, "!list.is_empty()");
    }

    #[test]
    fn constants_and_signatures_have_no_body() {
        assert_eq!(place("OriginSet::is_small", "self.len < 8").unwrap().1, None);
        assert_eq!(place("OriginSet::covers", "host: &str").unwrap().1, None);
    }

    #[test]
    fn a_text_that_moved_to_another_item_is_found_there() {
        let mend = place("Other::covers", "self.len < 8").unwrap_err();
        assert!(mend.ends_with("is in\n  `OriginSet::is_small` at a/set.rs:8"), "{mend}");
    }

    #[test]
    fn a_text_that_occurs_twice_needs_context() {
        let mend = place("covers", "list.len() < 8").unwrap_err();
        assert!(mend.starts_with("`find` is 2 times in `covers`"), "{mend}");
    }

    #[test]
    fn a_missing_text_names_the_most_similar_lines() {
        let mend = place("OriginSet::covers", "self.known.contains(host)").unwrap_err();
        assert!(
            mend.ends_with("nearest is a/set.rs:4:\n        self.names.contains(host)"),
            "{mend}"
        );
        let mend = place("Gone::is_tiny", "self.len < 9").unwrap_err();
        assert!(
            mend.contains("no item is called `Gone::is_tiny`; nearest is a/set.rs:8"),
            "{mend}"
        );
    }

    #[test]
    fn an_edit_changes_something_and_ends_with_no_comma() {
        assert!(place("covers", "changed").unwrap_err().contains("equal to `replace`"));
        assert!(place("covers", "list,").unwrap_err().starts_with("leave out the comma"));
    }
}
