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

/// A key file that could not be read: its path, the line if one is invalid, and the reason.
///
/// Its `Debug` form is its text, so that a `main` that returns it prints the reason.
///
/// ```
/// use policy_server::{Rule, tokens::TokenKeys};
///
/// let error = TokenKeys::read("no/such.keys").unwrap_err();
/// assert_eq!(error.rule(), Rule::KeyFile);
/// assert!(format!("{error:?}").starts_with("no/such.keys: "));
/// ```
pub struct KeyFileError {
    path: PathBuf,
    /// Its number, starting at 1.
    line: Option<usize>,
    fault: Fault,
}

/// What is wrong with a key file or a line of it.
struct Fault {
    rule: Rule,
    /// Why the file, or that of a key, cannot be read.
    cause: Option<io::Error>,
}

impl Fault {
    fn unreadable(error: io::Error) -> Self {
        Self { rule: Rule::KeyFile, cause: Some(error) }
    }
}

impl From<Rule> for Fault {
    fn from(rule: Rule) -> Self {
        Self { rule, cause: None }
    }
}

pub(super) fn read(path: &Path) -> Result<KeyFile, KeyFileError> {
    let error = |line, fault| KeyFileError { path: path.to_owned(), line, fault };
    let bytes = fs::read(path).map_err(|unread| error(None, Fault::unreadable(unread)))?;
    let bytes = Zeroizing::new(bytes);
    let folder = path.parent().unwrap_or(Path::new(""));
    let digest = Sha256::digest(&bytes).into();
    let mut file = KeyFile { keys: Vec::new(), revoked: Vec::new(), readable: Vec::new(), digest };
    file.check_permissions(path).map_err(|fault| error(None, fault))?;
    // Editors of Windows begin a file with a byte order mark.
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        file.line(line, folder).map_err(|fault| error(Some(index + 1), fault))?;
    }
    file.keys.retain(|key| file.revoked.iter().all(|id| **id != *key.id()));
    Ok(file)
}

impl KeyFile {
    /// Refuses a file with a secret that others may write, and notes one that they may read.
    fn check_permissions(&mut self, path: &Path) -> Result<(), Fault> {
        match secret_file::broken_rule(path) {
            Some(rule @ Rule::SecretWritable) => return Err(rule.into()),
            Some(_) => self.readable.push(path.to_owned()),
            None => (),
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], folder: &Path) -> Result<(), Fault> {
        let line = str::from_utf8(line).map_err(|_not_text| Rule::KeyLine)?.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (id, value) = line.split_once([' ', '\t']).ok_or(Rule::KeyLine)?;
        match value.trim_start() {
            "revoked" => self.revoked.push(id.into()),
            value => {
                let key = match self.in_own_file(id, value, folder)? {
                    Some(key) => key,
                    None => {
                        let secret = SecretKey::decode(value).map_err(SecretError::rule)?;
                        Key::hs256(id, &secret).map_err(KeyError::rule)?
                    }
                };
                self.keys.push(key);
            }
        }
        Ok(())
    }

    /// The key of a line with an algorithm and a path.
    #[cfg(feature = "asym")]
    fn in_own_file(&mut self, id: &str, value: &str, folder: &Path) -> Result<Option<Key>, Fault> {
        let Some((algorithm, path)) = value.split_once([' ', '\t']) else { return Ok(None) };
        let make = match algorithm {
            "es256" => Key::es256,
            "ed25519" => Key::ed25519,
            _ => return Ok(None),
        };
        let path = folder.join(path.trim_start());
        self.check_permissions(&path)?;
        let private = fs::read(path).map_err(Fault::unreadable)?;
        let key = make(id, &Zeroizing::new(private)).map_err(KeyError::rule)?;
        Ok(Some(key))
    }

    #[cfg(not(feature = "asym"))]
    fn in_own_file(&mut self, _: &str, _: &str, _: &Path) -> Result<Option<Key>, Fault> {
        Ok(None)
    }
}

impl KeyFileError {
    /// The keys of a file cannot be used together.
    pub(super) fn new(path: &Path, error: KeyError) -> Self {
        Self { path: path.to_owned(), line: None, fault: error.rule().into() }
    }

    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        self.fault.rule
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, fault: Fault { rule, cause } } = self;
        write!(f, "{}: ", path.display())?;
        if let Some(line) = line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(rule.message())?;
        if let Some(cause) = cause {
            write!(f, ": {cause}")?;
        }
        write!(f, " ({})\n  help: {}\n  see: {}", rule.code(), rule.help(), rule.page())
    }
}

impl fmt::Debug for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for KeyFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.fault.cause.as_ref().map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}

impl From<KeyFileError> for Error {
    fn from(error: KeyFileError) -> Self {
        let KeyFileError { path, line, fault: Fault { rule, cause } } = error;
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        let location = format!("tokens: {}{line}", path.display());
        let problem = StartProblem::without_value(rule, location);
        Self::Start(vec![match cause {
            Some(cause) => problem.caused_by(cause),
            None => problem,
        }])
    }
}
