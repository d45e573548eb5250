//! Where things are.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{Failure, Outcome};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder for everything that is built.
pub(crate) fn target() -> PathBuf {
    // A relative folder is relative to the root, where cargo is run.
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The crates that registries get, each after those that it depends on.
pub(crate) const PUBLISHED: [&str; 4] =
    ["policy-core", "policy-macros", "policy-server", "policy-cli"];

/// The oldest Rust that the manifest of the workspace promises.
pub(crate) fn rust_version() -> Outcome<String> {
    let manifest = root().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(Failure::with_path("read", &manifest))?;
    let value = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let missing = || Failure::new(format!("{} has no `rust-version`", manifest.display()));
    Ok(value.ok_or_else(missing)?.trim_matches('"').to_owned())
}

/// The features of a package but `default`, as its manifest lists them.
pub(crate) fn features(package: &str) -> Outcome<Vec<String>> {
    let manifest = root().join(package).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(Failure::with_path("read", &manifest))?;
    Ok(features_of(&text))
}

fn features_of(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[features]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with(['#', ' ', ']']))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| name != "default")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_the_keys_of_their_table_but_default() {
        let manifest = "[package]\nname = \"a\"\n\n[features]\ndefault = [\"b\"]\n# = a comment\n\
                        b = []\nc-d = [\n  \"b\",\n]\n\n[dependencies]\ne = \"1\"\n";
        assert_eq!(features_of(manifest), ["b", "c-d"]);
    }

    #[test]
    fn published_crates_have_what_registries_show() {
        let keys = [
            "description",
            "readme",
            "keywords",
            "categories",
            "license",
            "repository",
            "rust-version",
        ];
        for name in PUBLISHED {
            let folder = root().join(name);
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let manifest: toml::Table = text.parse().unwrap();
            let package = manifest["package"].as_table().unwrap();
            let missing: Vec<_> = keys.iter().filter(|key| !package.contains_key(**key)).collect();
            assert!(missing.is_empty(), "{name} lacks {missing:?}");
            assert_eq!(
                package["metadata"]["docs"]["rs"]["all-features"].as_bool(),
                Some(true),
                "{name}"
            );
            assert!(folder.join(package["readme"].as_str().unwrap()).is_file(), "{name}");
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(folder.join(licence).is_file(), "{name} has no {licence}");
            }
        }
    }

    #[test]
    fn all_other_packages_are_never_published() {
        let root_manifest: toml::Table =
            fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
        let members = root_manifest["workspace"]["members"].as_array().unwrap();
        let members: Vec<&str> = members.iter().map(|member| member.as_str().unwrap()).collect();
        assert!(PUBLISHED.iter().all(|name| members.contains(name)), "{members:?}");
        for member in members.iter().filter(|member| !PUBLISHED.contains(member)) {
            let text = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
            let manifest: toml::Table = text.parse().unwrap();
            assert_eq!(manifest["package"]["publish"].as_bool(), Some(false), "{member}");
        }
    }

    #[test]
    fn the_root_has_the_workspace_manifest() {
        assert!(root().join("policy-core/Cargo.toml").is_file());
    }
}
