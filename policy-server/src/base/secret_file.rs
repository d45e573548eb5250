//! The permissions of files that hold secrets.

use std::path::Path;

use policy_core::Rule;

/// The rule that the permissions of a file with a secret break, if they break one.
///
/// Users who may write the file could put their own secret there, so the app does not start. If they
/// may only read it, there is a notice: volumes of Kubernetes and secrets of Docker are by default
/// readable by all users of a container, and there is often only one. The permissions of the file's
/// group are not checked: `fsGroup` of Kubernetes and groups such as `ssl-cert` give access to a
/// server that does not own the file.
///
/// A missing file breaks no rule here; reading it fails.
#[cfg(unix)]
pub(crate) fn broken_rule(path: &Path) -> Option<Rule> {
    use std::os::unix::fs::PermissionsExt;

    const OTHERS_WRITE: u32 = 0o002;
    const OTHERS_READ: u32 = 0o004;
    // Follows links: the files of a Kubernetes volume are links.
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    match (mode & OTHERS_WRITE, mode & OTHERS_READ) {
        (0, 0) => None,
        (0, _) => Some(Rule::SecretReadable),
        _ => Some(Rule::SecretWritable),
    }
}

#[cfg(not(unix))]
pub(crate) fn broken_rule(_path: &Path) -> Option<Rule> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use policy_core_tests::folder::Folder;

    use super::*;

    #[test]
    fn others_may_not_write_and_should_not_read() {
        let folder = Folder::new().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "secret").unwrap();
        symlink(&file, &link).unwrap();
        for (mode, rule) in [
            (0o600, None),
            (0o400, None),
            (0o640, None),
            (0o660, None),
            (0o644, Some(Rule::SecretReadable)),
            (0o444, Some(Rule::SecretReadable)),
            (0o666, Some(Rule::SecretWritable)),
            (0o602, Some(Rule::SecretWritable)),
        ] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(broken_rule(&file), rule, "{mode:o}");
            assert_eq!(broken_rule(&link), rule, "{mode:o}");
        }
        assert_eq!(broken_rule(&folder.path().join("missing")), None);
    }
}
