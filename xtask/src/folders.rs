//! The folders of the workspace.

use std::{
    env,
    path::{Path, PathBuf},
};

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

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn the_root_has_the_workspace_manifest() {
        assert!(root().join("policy-core/Cargo.toml").is_file());
    }
}
