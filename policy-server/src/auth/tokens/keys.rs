//! The keys of an app, and how they change at run time.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};
use policy_core::{
    Rule,
    secret::SecretKey,
    time::Timestamp,
    token::{Key, KeyError, KeyRing, RingKey},
};
use tokio::task::spawn_blocking;

use super::key_file::{self, FileDigest, KeyFileError};
use crate::base::{
    clock::{Clock, Random},
    error::{Error, StartProblem},
    event::{
        count::{Count, count},
        log,
    },
    locks::lock,
};

/// How long a new key only verifies, so that all instances of an app have it before it signs.
const PROPAGATION: Duration = Duration::from_secs(300);

/// How often the file of the keys is checked: often enough that all instances have a new key long
/// before it signs.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(10);

/// The keys that sign and verify the tokens of an app. Cloning creates another handle to the same
/// keys.
///
/// A change is atomic and needs no restart: a request uses either the old keys or the new ones.
///
/// ```
/// use policy_server::{Tokens, tokens::{SecretKey, TokenKeys}};
///
/// # let first = SecretKey::from_bytes([1; 32]);
/// # let second = SecretKey::from_bytes([2; 32]);
/// let keys = TokenKeys::new([("2026-11", first)])?;
/// let tokens = Tokens::signed_with(keys.clone());
/// // Later: the new key signs in five minutes, and the old one verifies while its tokens live.
/// keys.replace([("2026-12", second)])?;
/// # Ok::<(), policy_server::tokens::KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenKeys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ring: ArcSwap<KeyRing>,
    /// Locked while the ring is changed: the keys that were retired, which a file may still list.
    retired: Mutex<Vec<Key>>,
    /// The files of the keys that every user of the machine may read.
    readable: Vec<PathBuf>,
    file: Option<FollowedFile>,
    /// Whether the keys are drawn at each start.
    is_of_development: bool,
    /// The clock and the token lifetime of the app, once it is built.
    timing: OnceLock<Timing>,
}

/// The file that the keys are read from.
#[derive(Debug)]
struct FollowedFile {
    path: PathBuf,
    /// The digest at the latest check; `None` if the file cannot be used.
    last_digest: Mutex<Option<FileDigest>>,
}

impl Inner {
    fn new(
        keys: Vec<Key>,
        readable: Vec<PathBuf>,
        file: Option<FollowedFile>,
    ) -> Result<Self, KeyError> {
        let mut signs_from = Timestamp::default();
        let ring = keys.into_iter().map(|key| {
            let can_sign = key.can_sign();
            let mut entry = RingKey::new(key);
            entry.signs_from = signs_from;
            if can_sign {
                signs_from = Timestamp::MAX;
            }
            entry
        });
        Ok(Self {
            ring: ArcSwap::from_pointee(KeyRing::new(ring.collect())?),
            retired: Mutex::default(),
            readable,
            file,
            is_of_development: false,
            timing: OnceLock::new(),
        })
    }
}

#[derive(Debug)]
struct Timing {
    clock: Clock,
    /// How long a token can be accepted after its `iat`.
    longest: Duration,
}

impl TokenKeys {
    /// Keys of which the first signs immediately and the others only verify.
    ///
    /// # Errors
    ///
    /// No keys, two keys with the same id, or an invalid id.
    pub fn new(keys: impl IntoKeys) -> Result<Self, KeyError> {
        Self::from_files(keys, Vec::new(), None)
    }

    fn from_files(
        keys: impl IntoKeys,
        readable: Vec<PathBuf>,
        file: Option<FollowedFile>,
    ) -> Result<Self, KeyError> {
        Inner::new(keys.into_keys()?, readable, file).map(|inner| Self(Arc::new(inner)))
    }

    /// Reads keys from a file of lines like these; the first one signs:
    ///
    /// ```text
    /// # made by: openssl rand -base64 32
    /// 2026-12 mXw1mGMIYqPpXNHVyoGNqmCw1Vv6T0Q4uG9LXiBqrxk=
    /// 2026-11 /9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=
    /// 2026-10 revoked
    /// ```
    ///
    /// Each line has the id of a key, a space, and its bytes in hexadecimal or base64, or the word
    /// `revoked`: tokens of such a key are refused at once. Streams that they opened end when the tokens
    /// expire, or by [`Tokens::revoke_all`](crate::Tokens::revoke_all).
    ///
    /// With the feature `asym` a line may also have `es256` or `ed25519` and the path of a private
    /// key relative to the file: PEM or DER of PKCS#8, as `openssl genpkey -algorithm ed25519`
    /// writes it.
    ///
    /// ```text
    /// 2027-01 ed25519 2027-01.pem
    /// ```
    ///
    /// While an app runs that uses the keys, it checks the file every 10 seconds and
    /// [reloads](Self::reload) it when its lines have changed. So a rotation reaches all instances that
    /// read the same file, and needs no restart: write the new key, under a new id, into the first line,
    /// and remove the old one. An unusable file changes nothing, and is logged as an error. An instance
    /// that starts signs with the first key at once; while instances start, write a new key into the
    /// second line first.
    ///
    /// # Errors
    ///
    /// The file cannot be read, every user of the machine may write it, or a line is invalid. The
    /// error contains no key. If every user may read it, the app reports a notice when it starts.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeyFileError> {
        let path = path.as_ref();
        let file = key_file::read(path)?;
        let followed =
            FollowedFile { path: path.to_owned(), last_digest: Mutex::new(Some(file.digest)) };
        Self::from_files(file.keys, file.readable, Some(followed))
            .map_err(|error| KeyFileError::new(path, error))
    }

    /// A key that is drawn now and ends with the process, for development: no file is needed, and no
    /// token outlives a restart. An app with a public origin does not start with it, except on loopback
    /// (`token.keys-of-development`); in tests it does.
    ///
    /// ```
    /// use policy_server::{App, Tokens, tokens::TokenKeys};
    ///
    /// # fn main() -> Result<(), policy_server::Error> {
    /// let app = App::new(()).tokens(Tokens::signed_with(TokenKeys::development()?));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The operating system provides no random numbers.
    pub fn development() -> Result<Self, Error> {
        let drawn = Random::system().draw().map_err(|error| {
            let problem = StartProblem::without_value(Rule::RandomMissing, "tokens");
            Error::Start(vec![problem.caused_by(error)])
        })?;
        let unusable = |error: KeyError| {
            Error::Start(vec![StartProblem::without_value(error.rule(), "tokens")])
        };
        let key = Key::hs256("development", &SecretKey::from_bytes(drawn)).map_err(unusable)?;
        let mut inner = Inner::new(vec![key], Vec::new(), None).map_err(unusable)?;
        inner.is_of_development = true;
        Ok(Self(Arc::new(inner)))
    }

    /// Whether the keys end with the process.
    pub(crate) fn is_of_development(&self) -> bool {
        self.0.is_of_development
    }

    /// Keeps the keys in step with their file while it is polled; `None` without a file.
    pub(super) fn follow(&self, clock: &Clock) -> Option<impl Future<Output = ()> + use<>> {
        let (keys, clock) = (self.0.file.is_some().then(|| self.clone())?, clock.clone());
        Some(async move {
            loop {
                clock.sleep(FOLLOW_INTERVAL).await;
                keys.look().await;
            }
        })
    }

    /// Checks the file, and uses its keys if its lines have changed.
    async fn look(&self) {
        let Some(FollowedFile { path, last_digest }) = &self.0.file else { return };
        let of_path = path.clone();
        // A file system that does not respond blocks nothing else.
        let Ok(file) = spawn_blocking(move || key_file::read(&of_path)).await else { return };
        let digest = file.as_ref().ok().map(|file| file.digest);
        let mut last_digest = lock(last_digest);
        if *last_digest == digest {
            return;
        }
        *last_digest = digest;
        let changed = file.and_then(|file| self.take(path, file.keys, &file.revoked));
        let path = path.display();
        count(Count::Reload { of: "token_keys", is_applied: changed.is_ok() });
        match changed {
            Ok(()) => log!(TokenKeysReplaced, %path),
            Err(error) => log!(TokenKeysKept, %path, %error),
        }
    }

    /// Notices about the files of the keys.
    pub(crate) fn notices(&self) -> impl Iterator<Item = StartProblem> {
        self.0.readable.iter().map(|path| {
            StartProblem::new(Rule::SecretReadable, "tokens", path.display().to_string())
        })
    }

    /// Replaces all keys by these, of which the first signs:
    ///
    /// - A first key that has not signed before begins to sign five minutes after it became the
    ///   first, when every instance of the app has it; the current one signs until then.
    /// - A key that is no longer listed verifies until the last token that it may have signed has
    ///   expired.
    ///
    /// To rotate, call `replace` with the new key alone.
    ///
    /// # Errors
    ///
    /// No keys, two keys with the same id, an invalid id, or the id of a key in use for another key. The
    /// keys are then unchanged.
    pub fn replace(&self, keys: impl IntoKeys) -> Result<(), KeyError> {
        let keys = keys.into_keys()?;
        let _changing = lock(&self.0.retired);
        self.change(keys, &[])
    }

    /// [Replaces](Self::replace) the keys by those in a file, and [retires](Self::retire) those
    /// that it marks as revoked.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read) and [`replace`](Self::replace); the keys are then unchanged.
    pub fn reload(&self, path: impl AsRef<Path>) -> Result<(), KeyFileError> {
        let path = path.as_ref();
        let file = key_file::read(path)?;
        self.take(path, file.keys, &file.revoked)
    }

    /// Replaces the keys by those of a file, except for keys that were retired here. A file that could
    /// not be read for a moment is read again, even if it has not changed.
    fn take(
        &self,
        path: &Path,
        mut keys: Vec<Key>,
        revoked: &[Box<str>],
    ) -> Result<(), KeyFileError> {
        let retired = lock(&self.0.retired);
        keys.retain(|key| !retired.iter().any(|gone| gone.has_material_of(key)));
        let changed = self.change(keys, revoked);
        changed.map_err(|error| KeyFileError::new(path, error))
    }

    /// Removes a key immediately: its tokens are refused from now on, and if it was signing, the
    /// next key signs without delay. Returns whether there was such a key. While the process runs, no
    /// file brings the key back, whatever its id is there.
    ///
    /// For a compromised key use [`Tokens::revoke_key`](crate::Tokens::revoke_key), which also ends the
    /// streams that its tokens opened.
    ///
    /// # Errors
    ///
    /// The only key cannot be removed: [`replace`](Self::replace) it first. A key that is no longer
    /// listed does not count, since it ends soon.
    pub fn retire(&self, id: &str) -> Result<bool, KeyError> {
        let mut retired = lock(&self.0.retired);
        let entries: Vec<RingKey> = self.load().keys().cloned().collect();
        let known = entries.iter().find(|entry| entry.key.id() == id);
        let Some(key) = known.map(|entry| entry.key.clone()) else { return Ok(false) };
        self.store(without(entries, &[id.into()]))?;
        retired.push(key);
        Ok(true)
    }

    /// The current keys.
    #[inline]
    pub(super) fn load(&self) -> Guard<Arc<KeyRing>> {
        self.0.ring.load()
    }

    /// Sets the clock and the token lifetime of the app. If two apps share the keys, the values of
    /// the first app apply.
    pub(super) fn set_timing(&self, clock: Clock, longest: Duration) {
        // An error means that it was set before.
        let _ = self.0.timing.set(Timing { clock, longest });
    }

    /// Changes the ring, whose lock the caller has.
    fn change(&self, keys: Vec<Key>, revoked: &[Box<str>]) -> Result<(), KeyError> {
        if keys.is_empty() {
            // Removing it would leave no key that signs.
            return Err(KeyError::Empty);
        }
        let now = self.now();
        let longest =
            self.0.timing.get().map_or(Duration::from_secs(3900), |timing| timing.longest);
        let ring = self.load();
        self.store(without(changed(&ring, keys, now, longest)?, revoked))
    }

    /// Stores a ring. If the key that signs is not in it, the next one begins now. No key that
    /// retires is the next: its tokens would end with it, and then nothing would sign.
    fn store(&self, mut entries: Vec<RingKey>) -> Result<(), KeyError> {
        if entries.iter().all(|entry| entry.retires.is_some()) {
            return Err(KeyError::Empty);
        }
        let (now, ring) = (self.now(), self.load());
        let signing = ring.signer(now).map(Key::id);
        if entries.iter().all(|entry| Some(entry.key.id()) != signing) {
            let lasting = entries.iter_mut().filter(|entry| entry.retires.is_none());
            let signers = lasting.filter(|entry| entry.key.can_sign());
            if let Some(next) = signers.min_by_key(|entry| entry.signs_from) {
                next.signs_from = next.signs_from.min(now);
            }
        }
        self.0.ring.store(Arc::new(KeyRing::new(entries)?));
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.0.timing.get().map_or_else(|| Clock::system().now(), |timing| timing.clock.now())
    }
}

/// The ring in which `keys` replace the present ones. The id of a live key stays with its bytes: tokens
/// name their key by it, and other instances may have the old one.
fn changed(
    ring: &KeyRing,
    keys: Vec<Key>,
    now: Timestamp,
    longest: Duration,
) -> Result<Vec<RingKey>, KeyError> {
    let live = || ring.keys().filter(|entry| entry.retires.is_none_or(|end| now < end));
    let present = |id: &str| live().find(|entry| entry.key.id() == id);
    let is_other =
        |key: &Key| present(key.id()).is_some_and(|entry| !entry.key.has_material_of(key));
    if keys.iter().any(is_other) {
        return Err(KeyError::ReusedId);
    }
    let signing = ring.signer(now).map(Key::id);
    // A key that is not the first signs, if at all, until the first begins.
    let begun = |entry: Option<&RingKey>| {
        entry.map(|entry| entry.signs_from).filter(|from| *from <= now).unwrap_or(Timestamp::MAX)
    };

    let first = keys.iter().find(|key| key.can_sign()).map(|key| Box::<str>::from(key.id()));
    // A key that is already waiting begins at the time that was set.
    let waiting = first.as_deref().and_then(present).map(|entry| entry.signs_from);
    let waiting = waiting.filter(|from| now < *from && *from < Timestamp::MAX);
    let begins =
        if first.as_deref() == signing { now } else { waiting.unwrap_or(now.after(PROPAGATION)) };
    let last_signed = Some(begins.after(longest));
    let left_out = live().filter(|entry| keys.iter().all(|key| key.id() != entry.key.id()));
    let mut entries: Vec<RingKey> = left_out
        .map(|entry| {
            let mut leaving = RingKey::new(entry.key.clone());
            leaving.signs_from = begun(Some(entry));
            // The key that signs does so until then, even if it left the list earlier.
            let is_signing = signing == Some(entry.key.id());
            let retires = entry.retires;
            leaving.retires =
                if is_signing { retires.max(last_signed) } else { retires.or(last_signed) };
            leaving
        })
        .collect();
    entries.extend(keys.into_iter().map(|key| {
        let is_first = first.as_deref() == Some(key.id());
        let signs_from = if is_first { begins } else { begun(present(key.id())) };
        let mut entry = RingKey::new(key);
        entry.signs_from = signs_from;
        entry
    }));
    Ok(entries)
}

fn without(mut entries: Vec<RingKey>, ids: &[Box<str>]) -> Vec<RingKey> {
    entries.retain(|entry| ids.iter().all(|id| **id != *entry.key.id()));
    entries
}

/// The keys of an app: a [`SecretKey`], whose id is derived from its bytes, a list of ids and
/// secret keys for HS256, or a list of [`Key`]s.
pub trait IntoKeys {
    /// Converts into keys.
    ///
    /// # Errors
    ///
    /// An invalid id.
    fn into_keys(self) -> Result<Vec<Key>, KeyError>;
}

impl IntoKeys for SecretKey {
    fn into_keys(self) -> Result<Vec<Key>, KeyError> {
        // The derived id reveals nothing about the key, and is the same in every instance.
        let name = self.derive("id of a token key");
        let id: String = name.bytes().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(vec![Key::hs256(&id, &self)?])
    }
}

impl IntoKeys for Vec<Key> {
    fn into_keys(self) -> Result<Vec<Key>, KeyError> {
        Ok(self)
    }
}

impl<T: AsRef<str>> IntoKeys for Vec<(T, SecretKey)> {
    fn into_keys(self) -> Result<Vec<Key>, KeyError> {
        self.iter().map(|(id, secret)| Key::hs256(id.as_ref(), secret)).collect()
    }
}

impl<T: AsRef<str>, const N: usize> IntoKeys for [(T, SecretKey); N] {
    fn into_keys(self) -> Result<Vec<Key>, KeyError> {
        self.iter().map(|(id, secret)| Key::hs256(id.as_ref(), secret)).collect()
    }
}
