//! The files of the reader, and what a chapter says is to be done with them.

use std::collections::BTreeMap;

use super::chapter::{Block, quoted_after};

pub(super) const MAIN: &str = "src/main.rs";

/// The files that a reader has written, by their paths.
#[derive(Clone, Default)]
pub(super) struct Sources(BTreeMap<String, String>);

impl Sources {
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (&**path, &**text))
    }

    pub(super) fn get(&self, path: &str) -> &str {
        self.0.get(path).unwrap_or_else(|| panic!("no chapter has written `{path}` yet"))
    }

    fn main(&mut self) -> &mut String {
        self.0.get_mut(MAIN).expect("no chapter has written the program yet")
    }

    /// Puts a block where the paragraph above it says. Returns whether it was for a file.
    pub(super) fn put(&mut self, block: &Block) -> bool {
        if block.language == "sh" {
            return false;
        }
        let above = &*block.above;
        let place = above.strip_suffix(':').map(|above| above.rsplit(". ").next().unwrap_or(above));
        let Some(place) = place else {
            assert_ne!(block.language, "rust", "nothing says where this goes: {}", block.text);
            return false;
        };
        let text = &*block.text;
        let file = place.strip_suffix('`').and_then(|place| place.rsplit('`').next());
        if place.contains(" at the end of `src/main.rs`") {
            let main = self.main();
            main.push('\n');
            main.push_str(text);
        } else if place
            .contains("The first lines of `src/main.rs`, down to the last import, become")
        {
            let main = self.main();
            let import = main.rfind("\nuse ").expect("an import");
            let rest = main.get(import..).and_then(|rest| rest.split_once(";\n"));
            *main = format!("{text}{}", rest.expect("the end of an import").1);
        } else if let Some((_, names)) = place.split_once("in place of ") {
            let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            let main = self.main();
            let at = item(main, names.first().expect("a name")).0;
            for name in names {
                let (from, to) = item(main, name);
                main.replace_range(from..to, "");
                // The empty line behind it, or in front of it at the end of the file.
                if main.get(from..).is_some_and(|rest| rest.starts_with('\n')) {
                    main.remove(from);
                }
            }
            let end = if main.len() == at { "" } else { "\n" };
            main.insert_str(at, &format!("{text}{end}"));
        } else if let Some(name) = quoted_after(place, " above ") {
            let main = self.main();
            let at = item(main, name).0;
            main.insert_str(at, &format!("{text}\n"));
        } else if let Some(file) = file {
            self.0.insert(file.to_owned(), text.to_owned());
        } else {
            assert_ne!(block.language, "rust", "what does this say: {place}");
            return false;
        }
        true
    }

    /// Applies what a sentence says of single lines. Returns whether it says anything.
    pub(super) fn edit(&mut self, sentence: &str) -> bool {
        let path = if sentence.contains("`web/index.html`") { "web/index.html" } else { MAIN };
        if let Some(line) = quoted_after(sentence, "leave out the line ") {
            self.change_line(path, line, |_| None);
        } else if let (Some(line), Some(new)) =
            (quoted_after(sentence, "the line with "), quoted_after(sentence, " becomes "))
        {
            self.change_line(path, line, |old| Some(format!("{}{new}\n", indent(old))));
        } else if let (Some(new), Some(line)) =
            (quoted_after(sentence, "the line "), quoted_after(sentence, " goes below "))
        {
            // A call in a chain is indented under what it is called on.
            self.change_line(path, line, |old| Some(format!("{old}{}    {new}\n", indent(old))));
        } else if let (Some(old), Some(name), Some(new)) = (
            quoted_after(sentence, "change "),
            quoted_after(sentence, " of "),
            quoted_after(sentence, " to "),
        ) {
            self.change_item(name, old, new);
        } else {
            return false;
        }
        true
    }

    /// Replaces a text in an item of the program.
    pub(super) fn change_item(&mut self, name: &str, old: &str, new: &str) {
        let main = self.main();
        let (from, to) = item(main, name);
        let text = main.get(from..to).unwrap_or_default();
        assert!(text.contains(old), "`{name}` has no `{old}`: {text}");
        let changed = text.replacen(old, new, 1);
        main.replace_range(from..to, &changed);
    }

    fn change_line(&mut self, path: &str, with: &str, new: impl Fn(&str) -> Option<String>) {
        let text = self.0.get_mut(path).unwrap_or_else(|| panic!("there is no `{path}` yet"));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let found = lines.iter().filter(|line| line.contains(with)).count();
        assert_eq!(found, 1, "lines of `{path}` with `{with}`");
        let changed = lines.into_iter().map(|line| match line.contains(with) {
            true => new(line).unwrap_or_default(),
            false => line.to_owned(),
        });
        *text = changed.collect();
    }
}

fn indent(line: &str) -> &str {
    line.split(|c: char| c != ' ').next().unwrap_or_default()
}

/// Where a function, type or constant is, with its attributes and its documentation.
fn item(source: &str, name: &str) -> (usize, usize) {
    let heads = [" fn NAME(", " struct NAME ", " struct NAME(", " const NAME:"];
    let heads = heads.map(|head| head.replace("NAME", name));
    let is_head = |line: &str| {
        let line = format!(" {line}");
        !line.starts_with("  ") && heads.iter().any(|head| line.contains(head))
    };
    let (mut at, mut begin, mut from) = (0, None, None);
    for line in source.split_inclusive('\n') {
        if from.is_none() {
            if is_head(line) {
                from = Some(begin.unwrap_or(at));
            } else if line.starts_with("#[") || line.starts_with("/// ") {
                begin = begin.or(Some(at));
            } else {
                begin = None;
            }
        }
        at += line.len();
        let is_last = line == "}\n" || !line.starts_with('#') && line.ends_with(";\n");
        if let Some(from) = from
            && is_last
            && !(line.starts_with("    ")
                && source.get(from..at).is_some_and(|item| item.contains("{\n")))
        {
            return (from, at);
        }
    }
    panic!("there is no `{name}` in the program:\n{source}")
}
