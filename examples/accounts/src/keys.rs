//! The keys that sign tokens, in a file.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
};

use policy_server::{Error, Random, tokens::TokenKeys};

/// The keys in a file. The first start creates one, which suits a single machine; in production
/// they come from a secret store, and `TokenKeys::reload` rotates them.
pub(crate) fn kept_in(path: &Path) -> Result<TokenKeys, Error> {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    match new.open(path) {
        Ok(mut file) => {
            let key: [u8; 32] = Random::system().draw().map_err(io::Error::other)?;
            let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(file, "first {key}")?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
        Err(error) => return Err(error.into()),
    }
    Ok(TokenKeys::read(path)?)
}
