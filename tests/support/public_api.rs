//! The list of the public API.

use std::{collections::BTreeSet, fs, path::Path};

/// The methods of a package that take a value and return it changed, as `Type::name`.
pub fn setters(package: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(format!("ui/api/{package}.txt")))
        .expect("a list of the API");
    let setters = text.lines().map(without_generics).filter_map(|line| {
        let (head, rest) = line.split_once("(self")?;
        let (_, result) = rest.rsplit_once("-> ")?;
        let mut names = head.split_once("fn ")?.1.rsplit("::");
        let (name, kind) = (names.next()?, names.next()?);
        (result.trim() == "Self").then(|| format!("{kind}::{name}"))
    });
    setters.collect()
}

/// A line without the text in angle brackets, except the `Self` of a result.
fn without_generics(line: &str) -> String {
    let (mut depth, mut before, mut text) = (0_usize, ' ', String::new());
    for character in line.replace("core::result::Result<Self,", "Self<").chars() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            other if depth == 0 => text.push(other),
            _ => (),
        }
        before = character;
    }
    text
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
