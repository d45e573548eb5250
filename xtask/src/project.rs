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
    fn the_root_has_the_workspace_manifest() {
        assert!(root().join("policy-core/Cargo.toml").is_file());
    }
}
