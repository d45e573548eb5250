//! Key files, with one key per line.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use policy_core::{
    Rule,
    secret::{SecretError, SecretKey},
    token::{Key, KeyError},
};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::base::{
    error::{Error, StartProblem},
    secret_file,
};

/// The contents of a key file.
pub(super) struct KeyFile {
    pub(super) keys: Vec<Key>,
    /// The ids of revoked keys.
    pub(super) revoked: Vec<Box<str>>,
    /// The key file and the files of its keys, if every user of the machine may read them.
    pub(super) readable: Vec<PathBuf>,
    pub(super) digest: FileDigest,
}

/// A digest of the lines of a key file, to detect changes.
pub(super) type FileDigest = [u8; 32];

/// A key file that could not be read: its path, and the reason.
///
/// Its `Debug` form is its text, so that a `main` that returns it prints the reason.
///
/// ```
/// use policy_server::tokens::{KeyFileReason, TokenKeys};
///
/// let error = TokenKeys::read("no/such.keys").unwrap_err();
/// assert!(matches!(error.reason(), KeyFileReason::Unreadable(_)));
/// assert!(format!("{error:?}").starts_with("no/such.keys: "));
/// ```
pub struct KeyFileError {
    path: PathBuf,
    reason: KeyFileReason,
}

/// Why a key file could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyFileReason {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// Every user of the machine may write the file.
    Writable,
    /// A line is invalid.
    Line {
        /// Its number, starting at 1.
        line: usize,
        /// Why.
        error: KeyLineError,
    },
    /// The keys cannot be used together.
    Keys(KeyError),
}

/// Why a line of a key file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyLineError {
    /// The line is not an id and one word.
    Shape,
    /// The id, or the key in its own file, is invalid.
    Id(KeyError),
    /// The file of a key cannot be read.
    Unreadable(io::ErrorKind),
    /// Every user of the machine may write the file of a key.
    Writable,
    /// The key is invalid.
    Secret(SecretError),
}

pub(super) fn read(path: &Path) -> Result<KeyFile, KeyFileError> {
    read_lines(path).map_err(|reason| KeyFileError::new(path, reason))
}

fn read_lines(path: &Path) -> Result<KeyFile, KeyFileReason> {
    let bytes = Zeroizing::new(fs::read(path).map_err(KeyFileReason::Unreadable)?);
    let folder = path.parent().unwrap_or(Path::new(""));
    let digest = Sha256::digest(&bytes).into();
    let mut file = KeyFile { keys: Vec::new(), revoked: Vec::new(), readable: Vec::new(), digest };
    file.check_permissions(path).ok_or(KeyFileReason::Writable)?;
    // Editors of Windows begin a file with a byte order mark.
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        file.line(line, folder).map_err(|error| KeyFileReason::Line { line: index + 1, error })?;
    }
    file.keys.retain(|key| file.revoked.iter().all(|id| **id != *key.id()));
    Ok(file)
}

impl KeyFile {
    /// Checks the permissions of a file with a secret; `None` if others may write it.
    fn check_permissions(&mut self, path: &Path) -> Option<()> {
        match secret_file::broken_rule(path) {
            Some(Rule::SecretWritable) => return None,
            Some(_) => self.readable.push(path.to_owned()),
            None => (),
        }
        Some(())
    }

    fn line(&mut self, line: &[u8], folder: &Path) -> Result<(), KeyLineError> {
        let line = str::from_utf8(line).map_err(|_not_text| KeyLineError::Shape)?.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (id, value) = line.split_once([' ', '\t']).ok_or(KeyLineError::Shape)?;
        match value.trim_start() {
            "revoked" => self.revoked.push(id.into()),
            value => {
                let key = match self.in_own_file(id, value, folder)? {
                    Some(key) => key,
                    None => {
                        let secret = SecretKey::decode(value).map_err(KeyLineError::Secret)?;
                        Key::hs256(id, &secret).map_err(KeyLineError::Id)?
                    }
                };
                self.keys.push(key);
            }
        }
        Ok(())
    }

    /// The key of a line with an algorithm and a path.
    #[cfg(feature = "asym")]
    fn in_own_file(
        &mut self,
        id: &str,
        value: &str,
        folder: &Path,
    ) -> Result<Option<Key>, KeyLineError> {
        let Some((algorithm, path)) = value.split_once([' ', '\t']) else { return Ok(None) };
        let make = match algorithm {
            "es256" => Key::es256,
            "ed25519" => Key::ed25519,
            _ => return Ok(None),
        };
        let path = folder.join(path.trim_start());
        self.check_permissions(&path).ok_or(KeyLineError::Writable)?;
        let private = fs::read(path).map_err(|error| KeyLineError::Unreadable(error.kind()))?;
        make(id, &Zeroizing::new(private)).map(Some).map_err(KeyLineError::Id)
    }

    #[cfg(not(feature = "asym"))]
    fn in_own_file(&mut self, _: &str, _: &str, _: &Path) -> Result<Option<Key>, KeyLineError> {
        Ok(None)
    }
}

impl KeyFileError {
    pub(super) fn new(path: &Path, reason: KeyFileReason) -> Self {
        Self { path: path.to_owned(), reason }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it could not be read.
    pub fn reason(&self) -> &KeyFileReason {
        &self.reason
    }

    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        match &self.reason {
            KeyFileReason::Unreadable(_) => Rule::KeyFile,
            KeyFileReason::Writable => Rule::SecretWritable,
            KeyFileReason::Line { error, .. } => error.rule(),
            KeyFileReason::Keys(error) => error.rule(),
        }
    }
}

impl KeyLineError {
    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        match self {
            Self::Shape => Rule::KeyLine,
            Self::Id(error) => error.rule(),
            Self::Unreadable(_) => Rule::KeyFile,
            Self::Writable => Rule::SecretWritable,
            Self::Secret(error) => error.rule(),
        }
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.reason {
            KeyFileReason::Unreadable(error) => write!(f, "{}: {error}", Rule::KeyFile.message())?,
            KeyFileReason::Writable => f.write_str(self.rule().message())?,
            KeyFileReason::Line { line, error } => write!(f, "line {line}: {error}")?,
            KeyFileReason::Keys(error) => error.fmt(f)?,
        }
        let rule = self.rule();
        write!(f, " ({})\n  help: {}\n  see: {}", rule.code(), rule.help(), rule.page())
    }
}

impl fmt::Debug for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeyLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().message())?;
        match self {
            Self::Unreadable(kind) => write!(f, ": {kind}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for KeyFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            KeyFileReason::Unreadable(error) => Some(error),
            KeyFileReason::Writable => None,
            KeyFileReason::Line { error, .. } => Some(error),
            KeyFileReason::Keys(error) => Some(error),
        }
    }
}

impl std::error::Error for KeyLineError {}

impl From<KeyFileError> for Error {
    fn from(error: KeyFileError) -> Self {
        let rule = error.rule();
        let KeyFileError { path, reason } = error;
        let location = match reason {
            KeyFileReason::Line { line, .. } => format!("tokens: {}, line {line}", path.display()),
            _ => format!("tokens: {}", path.display()),
        };
        let problem = StartProblem::without_value(rule, location);
        Self::Start(vec![match reason {
            KeyFileReason::Unreadable(error) => problem.caused_by(error),
            KeyFileReason::Line { error: KeyLineError::Unreadable(kind), .. } => {
                problem.caused_by(io::Error::from(kind))
            }
            _ => problem,
        }])
    }
}
