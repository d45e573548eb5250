//! The keys of the service, in files.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use policy_server::{
    Error, Random,
    tokens::{SecretKey, TokenKeys},
};

use crate::files::at;

/// The keys that sign tokens. The first start creates one, which suits a single machine; in
/// production they come from a secret store, and `TokenKeys::reload` rotates them.
///
/// # Errors
///
/// The file can neither be written nor read, or has no keys.
pub fn load_token_keys(path: &Path) -> Result<TokenKeys, Error> {
    create(path, "first ")?;
    Ok(TokenKeys::read(path)?)
}

/// The key that signs device cookies.
///
/// # Errors
///
/// The file can neither be written nor read, or has no key.
pub fn load_device_key(path: &Path) -> Result<SecretKey, Error> {
    create(path, "")?;
    let text = fs::read_to_string(path).map_err(|error| at(path, error))?;
    Ok(SecretKey::decode(text.trim()).map_err(|error| at(path, io::Error::other(error)))?)
}

/// Writes a new key behind `label`, unless the file exists. Only its owner may read it.
fn create(path: &Path, label: &str) -> io::Result<()> {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    match new.open(path) {
        Ok(mut file) => {
            let key: [u8; 32] = Random::system().draw().map_err(io::Error::other)?;
            let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(file, "{label}{key}")
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(at(path, error)),
    }
}
