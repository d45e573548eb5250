//! The folders of `src` stand in layers: each imports only from the layers below it. In other crates no
//! order is written down, but there is one.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The folders and root files of `src`, from top to bottom.
const ROOMS: [&str; 16] = [
    "lib",
    "attributes",
    "laws",
    "run",
    "testing",
    "server",
    "build",
    "pipeline",
    "gateway",
    "app",
    "observe",
    "route",
    "handler",
    "auth",
    "client",
    "store",
];

/// The room that all others may import, and that imports none of them.
const BASE: &str = "base";

/// The position of a room, counted from the top.
fn layer(room: &str) -> Option<usize> {
    let rooms = ROOMS.iter().chain(&[BASE]);
    rooms.into_iter().position(|name| *name == room)
}

#[test]
fn no_room_imports_from_a_room_above_it() {
    let (mut upward, mut arrows) = (Vec::new(), BTreeSet::new());
    for file in product_files(&src()) {
        let room = room_of(&file);
        let own = layer(&room).unwrap_or_else(|| panic!("{file:?} is in no room of this list"));
        for imported in imports(&fs::read_to_string(src().join(&file)).unwrap()) {
            let below = layer(&imported).unwrap_or(0);
            if below < own {
                upward.push(format!("{}: `crate::{imported}` is above `{room}`", file.display()));
            }
            arrows.insert((room.clone(), imported));
        }
    }
    assert!(upward.is_empty(), "{} imports go upward:\n{}", upward.len(), upward.join("\n"));
    // If no import were read, the test would find no fault either.
    assert!(arrows.len() > 40, "only {} arrows between rooms were seen", arrows.len());
}

#[test]
fn every_room_of_the_list_exists() {
    let rooms: BTreeSet<_> = product_files(&src()).iter().map(|file| room_of(file)).collect();
    let listed: BTreeSet<_> = ROOMS.iter().chain(&[BASE]).map(ToString::to_string).collect();
    assert_eq!(rooms, listed);
}

#[test]
fn the_rooms_of_other_crates_form_no_cycle() {
    let packages = [
        "policy-attributes",
        "policy-browser",
        "policy-cedar",
        "policy-cli",
        "policy-core",
        "policy-manifest",
        "xtask",
    ];
    for package in packages {
        let src = src_of(package);
        let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in product_files(&src) {
            let room = room_of(&file);
            let mut imported = imports(&fs::read_to_string(src.join(&file)).unwrap());
            imported.remove(&room);
            rooms.entry(room).or_default().extend(imported);
        }
        // A room leaves when all that it imports from has left.
        loop {
            let left: BTreeSet<_> = rooms.keys().cloned().collect();
            rooms.retain(|_, imported| !imported.is_disjoint(&left));
            if rooms.len() == left.len() {
                break;
            }
        }
        assert!(rooms.is_empty(), "rooms of {package} import from each other: {rooms:#?}");
    }
}

#[test]
fn no_folder_is_crowded() {
    for folder in folders(&src()) {
        let entries = fs::read_dir(&folder).unwrap().count();
        assert!(entries <= 20, "{} has {entries} entries", folder.display());
    }
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "
        use crate::{a::X, b::{self, Y}, c};
        pub(crate) use crate::d::Z;
        fn f() { crate::e::g(); macro_call!(crate::f::h); }
        /// [`crate::doc::Link`] is text
        #[cfg(test)]
        mod tests { use crate::hidden::X; }
        #[cfg(all(test, unix))]
        mod more { use crate::hidden::X; }
        mod inline { use crate::g::X; }
    ";
    let found: Vec<_> = imports(text).into_iter().collect();
    assert_eq!(found, ["a", "b", "c", "d", "e", "f", "g"]);
}

fn src() -> PathBuf {
    src_of("policy-server")
}

fn src_of(package: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src")
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.filter(|path| path.is_dir()).flat_map(|path| folders(&path));
    std::iter::once(root.to_owned()).chain(below).collect()
}

/// All files but those of tests, relative to `src`.
fn product_files(src: &Path) -> Vec<PathBuf> {
    let files = folders(src).into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    let is_product = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let below = path.strip_prefix(src).unwrap();
        let in_tests = below.components().any(|part| part.as_os_str() == "tests");
        path.extension().is_some_and(|kind| kind == "rs") && !in_tests && !name.ends_with("tests")
    };
    let relative = |path: PathBuf| path.strip_prefix(src).unwrap().to_owned();
    files.filter(is_product).map(relative).collect()
}

fn room_of(file: &Path) -> String {
    let first = file.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The first segments behind each `crate::`, without modules of tests.
fn imports(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(text.parse().unwrap(), &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_test = false;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        // `$crate` is a path in the code that uses the macro.
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let is_dollar = matches!(before, Some(TokenTree::Punct(punct)) if punct.as_char() == '$');
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                let text = group.stream().to_string().replace(' ', "");
                is_test |= text.starts_with("cfg(test)") || text.starts_with("cfg(all(test,");
                collect(group.stream(), found);
            }
            TokenTree::Group(group) => {
                if !(is_test && group.delimiter() == Delimiter::Brace) {
                    collect(group.stream(), found);
                }
                is_test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = false,
            TokenTree::Ident(word) if *word == "crate" && !is_dollar => match tokens.get(index + 3)
            {
                Some(TokenTree::Ident(room)) => drop(found.insert(room.to_string())),
                Some(TokenTree::Group(group)) => first_segments(group.stream(), found),
                _ => (),
            },
            _ => (),
        }
        index += 1;
    }
}

/// The beginnings of the parts of `{a::X, b::{..}, c}`.
fn first_segments(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut is_first = true;
    for token in tokens {
        match token {
            TokenTree::Ident(room) if is_first => {
                found.insert(room.to_string());
                is_first = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => is_first = true,
            _ => (),
        }
    }
}
