//! Every public setter is called in a test. That does not prove its effect, but without a call no test
//! could notice one.

use std::{collections::BTreeSet, fs, path::PathBuf};

use policy_tests::public_api::{root, setters};

/// Setters that only product code calls, each with a test of its effect there.
const SHOWN_OTHERWISE: [(&str, &str); 5] = [
    ("ConstText::hex", "ipv6_is_canonical_as_the_standard_library_prints_it"),
    ("PolicyError::or_location", "lists_of_origins_of_a_bad_file_are_refused"),
    ("Preflight::not_kept", "preflights_are_not_cached_if_routes_of_a_path_differ"),
    ("Profile::mapped_claims", "an_issuer_grants_only_permitted_rights"),
    // No result shows the memory of the pages.
    ("EmbeddedStore::page_cache", "it_keeps_the_rules_of_every_store"),
];

/// The packages with a public API.
const PACKAGES: [&str; 4] = ["policy-browser", "policy-core", "policy-manifest", "policy-server"];

#[test]
fn every_setter_is_called_in_a_test() {
    let tests = test_code();
    let (mut missing, mut count) = (BTreeSet::new(), 0);
    for setter in PACKAGES.into_iter().flat_map(setters) {
        count += 1;
        let (_, name) = setter.split_once("::").unwrap();
        // As a method, by its path, or as a function that is given.
        let calls =
            [format!(".{name}("), format!("::{name}("), format!("::{name})"), format!("::{name},")];
        let is_called = tests.iter().any(|test| calls.iter().any(|call| test.contains(call)));
        if !is_called {
            missing.insert(setter);
        }
    }
    for (setter, test) in SHOWN_OTHERWISE {
        assert!(missing.remove(setter), "`{setter}` is called, or not there");
        let name = format!("fn {test}(");
        assert!(tests.iter().any(|text| text.contains(&name)), "`{test}` is not there");
    }
    assert!(missing.is_empty(), "in no test: {missing:#?}");
    assert!(count > 250, "only {count} setters were seen");
}

/// The files of tests, and the part of other files after the first `cfg(test)`.
fn test_code() -> Vec<String> {
    let mut found = Vec::new();
    let others = ["tests", "examples", "ui/tests"];
    let mut folders: Vec<PathBuf> =
        PACKAGES.iter().chain(&others).map(|name| root().join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(root()).unwrap();
                let is_test = name.ends_with("tests.rs")
                    || name.components().any(|part| part.as_os_str() == "tests");
                let start = ["#[cfg(test)]", "#[cfg(all(test"].map(|mark| text.find(mark));
                let start = start.into_iter().flatten().min().filter(|_| !is_test);
                match start {
                    Some(start) => found.push(text.split_at(start).1.to_owned()),
                    None if is_test => found.push(text),
                    None => (),
                }
            }
        }
    }
    assert!(found.len() > 300, "only {} files were seen", found.len());
    found
}
