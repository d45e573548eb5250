//! The files of an example, and what is wrong with them in words.

use std::{fs::DirBuilder, io, path::Path};

/// Makes the folder of the files. Only its owner may enter it: databases have hashes of passwords.
///
/// # Errors
///
/// It cannot be made. The variable names another one.
pub fn folder(path: &Path, variable: &str) -> io::Result<()> {
    let mut new = DirBuilder::new();
    new.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut new, 0o700);
    new.create(path).map_err(|error| {
        let words = format!("{error}; {variable} names a folder in which files may be written");
        at(path, io::Error::new(error.kind(), words))
    })
}

/// The error with the path of the file.
pub fn at(path: &Path, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_is_named_with_the_variable_for_another_one() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = folder(&file, "POLICY_EXAMPLE_FOLDER").unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{}`: ", file.display())), "{error}");
        assert!(error.contains("POLICY_EXAMPLE_FOLDER names a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_enters_a_new_folder() {
        use std::{env, fs, os::unix::fs::PermissionsExt, process};
        let path = env::temp_dir().join(format!("policy-logins-{}", process::id()));
        folder(&path, "POLICY_EXAMPLE_FOLDER").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::remove_dir(&path).unwrap();
        assert_eq!(mode & 0o777, 0o700);
    }
}
