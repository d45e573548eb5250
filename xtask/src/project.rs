//! The packages and features of the workspace.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, de::IgnoredAny};

use crate::{Failure, Outcome, command::cargo};

/// The crates that are published, each after those that it depends on.
pub(crate) const PUBLISHED: [&str; 8] = [
    "policy-browser",
    "policy-core",
    "policy-manifest",
    "policy-attributes",
    "policy-macros",
    "policy-server",
    "policy-cedar",
    "policy-cli",
];

/// A package of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The oldest Rust that its manifest promises.
    pub(crate) rust_version: Option<String>,
    features: BTreeMap<String, IgnoredAny>,
    pub(crate) targets: Vec<Target>,
}

impl Package {
    /// Its features but `default`.
    pub(crate) fn features(&self) -> impl Iterator<Item = &str> {
        self.features.keys().map(String::as_str).filter(|name| *name != "default")
    }
}

/// What cargo builds of a package.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether `cargo test` runs its tests.
    pub(crate) test: bool,
}

impl Target {
    /// Whether it is a `test`, a `bin` and so on.
    pub(crate) fn is_a(&self, kind: &str) -> bool {
        self.kind.iter().any(|known| known == kind)
    }

    pub(crate) fn is_library(&self) -> bool {
        self.is_a("lib") || self.is_a("proc-macro")
    }
}

/// The packages of the workspace.
pub(crate) fn packages() -> Outcome<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).map_err(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        Failure::new(format!("cannot read the metadata of the workspace: {error}\n{errors}"))
    })?;
    Ok(metadata.packages)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::folders::root;

    #[test]
    fn published_crates_have_the_metadata_of_registries() {
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
}
