//! Many policies: those of a fleet of services.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use clap::Args;

use crate::{
    failure::Failure,
    input::{self, Input},
    package::app_of,
};

/// The policies of many services, in place of one package's.
#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Policies of many services: lock files, folders, in which all lock files are found, and lists of
    /// both as @FILE.
    #[arg(value_name = "LOCK", conflicts_with_all = ["from", "manifest_path", "package", "app"])]
    locks: Vec<String>,
}

impl FleetArguments {
    pub(crate) fn is_stated(&self) -> bool {
        !self.locks.is_empty()
    }

    /// The named policies; `None` if none is named.
    pub(crate) fn read(&self) -> Result<Option<Vec<Input>>, Failure> {
        self.is_stated().then(|| read(&self.locks)).transpose()
    }
}

/// Reads all inputs, sorted by name: files, folders, in which each `policy.lock` and
/// `policy.NAME.lock` is read, and lists of files and folders as `@FILE`.
///
/// A service has the name of its folder, or `FOLDER:NAME`, with as many folders above it as tell it
/// from the others. Hidden folders, `target` and `node_modules` are left out, and symbolic links
/// below a folder are not followed. A file that is named twice is read once.
///
/// # Errors
///
/// All problems of all inputs.
pub(crate) fn read(named: &[String]) -> Result<Vec<Input>, Failure> {
    let mut problems = Vec::new();
    let mut files = BTreeSet::new();
    for named in named {
        match named.strip_prefix('@') {
            None => find(Path::new(named), &mut files, &mut problems),
            Some(list) => match paths_of_list(Path::new(list)) {
                Ok(paths) => paths.iter().for_each(|path| find(path, &mut files, &mut problems)),
                Err(problem) => problems.push(problem),
            },
        }
    }
    let files: Vec<String> = files.into_iter().collect();
    let mut services = Vec::with_capacity(files.len());
    for (file, name) in files.iter().zip(names(&files)) {
        match Input::read_file(file) {
            Ok(input) => services.push(Input { name, ..input }),
            Err(problem) => problems.push(problem),
        }
    }
    services.sort_by(|one, other| one.name.cmp(&other.name));
    Failure::combine(problems).map_or(Ok(services), Err)
}

/// Two versions of a fleet.
#[derive(Debug)]
pub(crate) struct Fleets {
    /// The services of both, with their names.
    pub(crate) both: Vec<(String, Input, Input)>,
    /// The services of the new one alone.
    pub(crate) added: Vec<Input>,
    /// The services of the old one alone.
    pub(crate) removed: Vec<Input>,
}

impl Fleets {
    /// Reads the lock files below two folders. Those at the same place are of one service.
    ///
    /// # Errors
    ///
    /// All problems of all files.
    pub(crate) fn read(old: &str, new: &str) -> Result<Self, Failure> {
        let mut problems = Vec::new();
        let [old, new] = [old, new].map(|folder| Side::new(Path::new(folder), &mut problems));
        let places: Vec<String> = old.places.union(&new.places).cloned().collect();
        let names = names(&places);
        let mut fleets = Self { both: Vec::new(), added: Vec::new(), removed: Vec::new() };
        for (place, name) in places.iter().zip(names) {
            let read = |side: &Side| side.places.contains(place).then(|| side.read(place));
            let [old, new] = [read(&old), read(&new)].map(Option::transpose);
            match (old, new) {
                (Ok(Some(old)), Ok(Some(new))) => fleets.both.push((name, old, new)),
                (Ok(None), Ok(Some(new))) => fleets.added.push(Input { name, ..new }),
                (Ok(Some(old)), Ok(None)) => fleets.removed.push(Input { name, ..old }),
                (old, new) => problems.extend([old, new].into_iter().filter_map(Result::err)),
            }
        }
        Failure::combine(problems).map_or(Ok(fleets), Err)
    }
}

/// One of two versions of a fleet.
struct Side {
    folder: PathBuf,
    /// The lock files, relative to the folder.
    places: BTreeSet<String>,
}

impl Side {
    fn new(folder: &Path, problems: &mut Vec<Failure>) -> Self {
        let folder = folder.canonicalize().unwrap_or_else(|_missing| folder.to_owned());
        let mut files = BTreeSet::new();
        find(&folder, &mut files, problems);
        let below =
            |file: &String| Some(Path::new(file).strip_prefix(&folder).ok()?.to_str()?.to_owned());
        let places = files.iter().filter_map(below).collect();
        Self { folder, places }
    }

    fn read(&self, place: &str) -> Result<Input, Failure> {
        Input::read_file(&self.folder.join(place).display().to_string())
    }
}

/// The paths of a list, relative to its folder: one a line, without empty lines and lines that begin
/// with `#`.
fn paths_of_list(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = input::read(list)?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let paths: Vec<_> =
        lines.filter(|line| !line.starts_with('#')).map(|line| folder.join(line)).collect();
    match paths.is_empty() {
        true => Err(Failure::new(format!("the list `{}` names no file", list.display()))
            .help("write one file or folder in each line of a list")),
        false => Ok(paths),
    }
}

/// Adds a file, or the lock files below a folder.
fn find(path: &Path, files: &mut BTreeSet<String>, problems: &mut Vec<Failure>) {
    let found = match path.canonicalize() {
        Ok(folder) if folder.is_dir() => lock_files(&folder, problems),
        Ok(file) => vec![file],
        Err(error) => {
            problems
                .push(unreadable(path, &error).help("name files, folders, or lists as `@FILE`"));
            return;
        }
    };
    if found.is_empty() {
        problems.push(
            Failure::new(format!("there is no policy.lock below `{}`", path.display()))
                .help("name a folder in which a policy.lock is: the tests of a service write it"),
        );
    }
    for file in found {
        match file.into_os_string().into_string() {
            Ok(file) => _ = files.insert(file),
            Err(file) => problems.push(
                Failure::new(format!("the path `{}` is not UTF-8", file.display()))
                    .help("rename the folder or the file"),
            ),
        }
    }
}

/// The lock files below a folder.
fn lock_files(folder: &Path, problems: &mut Vec<Failure>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.unwrap_or_else(|error| {
            problems.push(unreadable(&folder, &error).help("name folders that you may read"));
            Vec::new()
        });
        for entry in entries {
            let (name, kind) = (entry.file_name(), entry.file_type());
            let (name, kind) = (name.to_string_lossy(), kind.ok());
            if kind.is_some_and(|kind| kind.is_dir()) {
                let is_left_out =
                    name.starts_with('.') || name == "target" || name == "node_modules";
                folders.extend((!is_left_out).then(|| entry.path()));
            } else if kind.is_some_and(|kind| kind.is_file()) && app_of(&name).is_some() {
                found.push(entry.path());
            }
        }
    }
    found
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("`{}` cannot be read: {error}", path.display()))
}

/// A name for each file: the shortest end of its path that no other file has.
fn names(files: &[String]) -> Vec<String> {
    let mut order: Vec<_> = files.iter().map(|file| parts(file)).enumerate().collect();
    // Puts those with the longest common end beside each other.
    order.sort_by(|(_, one), (_, other)| one.cmp(other));
    let parts_at = |place: Option<usize>| place.and_then(|place| order.get(place));
    let mut names = files.to_vec();
    for (place, (index, parts)) in order.iter().enumerate() {
        let neighbours = [parts_at(place.checked_sub(1)), parts_at(place.checked_add(1))];
        let neighbours = neighbours.into_iter().flatten().map(|(_, parts)| parts);
        // A folder may be called like the app of a lock file beside it: both keep their paths.
        let is_twin = neighbours.clone().any(|neighbour| neighbour == parts);
        let shared = neighbours.map(|neighbour| {
            neighbour.iter().zip(parts).take_while(|(one, other)| one == other).count()
        });
        let own = parts.iter().take(shared.max().unwrap_or_default().saturating_add(1));
        let own: Vec<&str> = own.rev().map(String::as_str).collect();
        if let Some(name) = names.get_mut(*index).filter(|_| !is_twin) {
            *name = own.join("/");
        }
    }
    names
}

/// The parts of which the name of a service is made, the last one first.
fn parts(file: &str) -> Vec<String> {
    let normal = |part| match part {
        Component::Normal(part) => Some(part.to_string_lossy()),
        _ => None,
    };
    let mut folders: Vec<_> = Path::new(file).components().filter_map(normal).collect();
    let file = folders.pop().unwrap_or_default();
    let mut parts: Vec<String> = folders.into_iter().map(Cow::into_owned).collect();
    match (app_of(&file), parts.last_mut()) {
        (Some(""), Some(_)) => {}
        (Some(app), Some(folder)) => *folder += &format!(":{app}"),
        _ => parts.push(file.rsplit_once('.').map_or(&*file, |(stem, _)| stem).to_owned()),
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use policy_tests::folder::Folder;

    use super::*;

    fn names_of(files: &[&str]) -> Vec<String> {
        names(&files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_service_is_named_by_the_shortest_end_of_its_path_that_no_other_has() {
        assert_eq!(
            names_of(&["/a/orders/policy.lock", "/a/users/policy.lock"]),
            ["orders", "users"]
        );
        assert_eq!(
            names_of(&[
                "/a/orders/policy.lock",
                "/a/tests/policy.api.lock",
                "/a/tests/policy.lock",
                "/b/orders/policy.lock",
                "/b/stock.json",
            ]),
            ["a/orders", "tests:api", "tests", "b/orders", "stock"]
        );
        // A path that is the end of another one.
        assert_eq!(names_of(&["/x/policy.lock", "/a/x/policy.lock"]), ["x", "a/x"]);
    }

    #[test]
    fn names_are_unique_where_a_folder_is_called_like_a_file() {
        let twins =
            ["/a/orders.json", "/a/orders/policy.lock", "/a:b/policy.lock", "/a/policy.b.lock"];
        assert_eq!(names_of(&twins), twins);
    }

    #[test]
    fn names_of_many_services_with_one_name_are_found_in_time() {
        let file = |number| format!("/{number}/{}policy.lock", "a/".repeat(50));
        let files: Vec<_> = (0..20_000).map(file).collect();
        let names: BTreeSet<String> = names(&files).into_iter().collect();
        assert_eq!(names.len(), files.len());
    }

    fn path(folder: &Folder, below: &str) -> String {
        folder.path().join(below).display().to_string()
    }

    fn lock() -> String {
        policy_manifest::Manifest::new().to_json()
    }

    fn read_names(named: &[String]) -> Vec<String> {
        read(named).unwrap().into_iter().map(|service| service.name).collect()
    }

    #[test]
    fn folders_are_searched_without_hidden_and_built_ones() {
        let lock = lock();
        let names = [
            "orders/policy.lock",
            "orders/target/policy/policy.lock",
            "orders/node_modules/a/policy.lock",
            "orders/.git/policy.lock",
            "users/policy.lock",
            "users/policy.admin.lock",
            "users/policy.lock.orig",
            "users/deny.lock",
            "deep/down/stock/policy.lock",
        ];
        let folder = Folder::with(&names.map(|name| (name, &*lock))).unwrap();
        assert_eq!(read_names(&[path(&folder, "")]), ["orders", "stock", "users", "users:admin"]);
        // A file that two inputs name is one service.
        let named = ["users", "users/policy.lock"].map(|below| path(&folder, below));
        assert_eq!(read_names(&named).len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_make_no_loop() {
        let folder = Folder::with(&[("a/policy.lock", &lock())]).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/again")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("a/policy.gone.lock")).unwrap();
        assert_eq!(read_names(&[path(&folder, "")]), ["a"]);
    }

    #[test]
    fn a_list_names_files_and_folders_relative_to_itself() {
        let lock = lock();
        let list = "# ours\n\n  one/policy.lock\nother\n";
        let files = [("list", list), ("one/policy.lock", &*lock), ("other/policy.lock", &*lock)];
        let folder = Folder::with(&files).unwrap();
        let at = |list: &str| format!("@{}", path(&folder, list));
        assert_eq!(read_names(&[at("list")]), ["one", "other"]);
        fs::write(folder.path().join("empty"), "# nothing\n").unwrap();
        let message = read(&[at("empty")]).unwrap_err().message;
        assert!(message.contains("names no file"), "{message}");
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let files = [("a/policy.lock", "{"), ("b/policy.lock", "[]"), ("c/empty", "")];
        let folder = Folder::with(&files).unwrap();
        let named = ["", "c", "nowhere"].map(|below| path(&folder, below));
        let failure = read(&named).unwrap_err();
        assert!(failure.message.starts_with("4 inputs cannot be used\n"), "{}", failure.message);
        for part in ["a/policy.lock", "b/policy.lock", "below", "nowhere"] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
        assert_eq!(failure.exit_code, 2);
    }

    #[test]
    fn problems_without_end_are_counted() {
        let named: Vec<_> = (0..1_000).map(|number| format!("/nowhere/{number}")).collect();
        let message = read(&named).unwrap_err().message;
        assert_eq!(message.lines().count(), 22);
        assert!(message.ends_with("and 980 more"), "{message}");
    }

    #[test]
    fn a_file_beyond_the_bound_is_an_error() {
        let folder = Folder::with(&[("policy.lock", "")]).unwrap();
        let file = fs::File::options().write(true).open(folder.path().join("policy.lock")).unwrap();
        file.set_len(input::MAX_BYTES + 1).unwrap();
        let message = read(&[path(&folder, "")]).unwrap_err().message;
        assert!(message.contains("longer than 64 MiB"), "{message}");
    }
}
