//! Encrypts the values of sessions before a store gets them.

use std::{fmt, sync::Arc};

use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce, aead::Aead};
use policy_core::{
    secret::SecretKey,
    session::{Handle, SessionKey},
    time::Timestamp,
};
use zeroize::Zeroizing;

use super::{
    Answer, Cas, CreateSession, Created, CutOff, ListSessions, Loaded, NewsReader, RevokeUser,
    RotateSession, SessionStore, StoreError, Summary, TouchSession, UpdateSession,
};
use crate::base::clock::Random;

/// The first byte of encrypted values. Those that are not encrypted are JSON, and begin with `{`.
const VERSION: u8 = 1;
const NONCE: usize = 24;

/// A store whose values are encrypted: XChaCha20-Poly1305 with a random nonce for each. What a row
/// begins with is the version, the name of the key, and the nonce.
///
/// It protects what a copy of the store shows. Who may write to the store can still exchange rows.
pub(crate) struct Sealed {
    store: Arc<dyn SessionStore>,
    /// The first encrypts; all decrypt.
    keys: Vec<Key>,
    random: Random,
}

struct Key {
    /// The beginning of a key that is derived from the same secret.
    name: [u8; 4],
    cipher: XChaCha20Poly1305,
}

impl Key {
    fn new(secret: &SecretKey) -> Result<Self, StoreError> {
        let name = secret.derive("name of a session encryption key");
        let key = secret.derive("session encryption");
        let cipher = XChaCha20Poly1305::new_from_slice(key.bytes());
        Ok(Self {
            name: name.bytes().first_chunk().copied().unwrap_or_default(),
            cipher: cipher.map_err(|error| StoreError::new(error.to_string()))?,
        })
    }
}

impl Sealed {
    /// Encrypts with the first of the keys.
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        secrets: &[SecretKey],
        random: Random,
    ) -> Result<Self, StoreError> {
        let keys = secrets.iter().map(Key::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { store, keys, random })
    }

    fn seal(&self, data: Box<[u8]>) -> Result<Box<[u8]>, StoreError> {
        if data.is_empty() {
            return Ok(data);
        }
        let data = Zeroizing::new(data.into_vec());
        let key = self.keys.first().ok_or_else(|| StoreError::new("there is no key"))?;
        let nonce: [u8; NONCE] = self.random.draw().map_err(StoreError::new)?;
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), &data[..]);
        let sealed = sealed.map_err(|_opaque| StoreError::new("values cannot be encrypted"))?;
        Ok([&[VERSION][..], &key.name, &nonce, &sealed].concat().into())
    }

    fn open(&self, data: &[u8]) -> Result<Box<[u8]>, StoreError> {
        if data.first() != Some(&VERSION) {
            // Written before encryption was on.
            return Ok(data.into());
        }
        let parts = data.get(1..).and_then(|rest| {
            let (name, rest) = rest.split_first_chunk::<4>()?;
            let (nonce, sealed) = rest.split_first_chunk::<NONCE>()?;
            Some((name, nonce, sealed))
        });
        let (name, nonce, sealed) =
            parts.ok_or_else(|| StoreError::new("the values of a session are cut off"))?;
        let key = self.keys.iter().find(|key| key.name == *name).ok_or_else(|| {
            StoreError::new(
                "the values of a session are encrypted with a key that the app does not have",
            )
        })?;
        let opened = key.cipher.decrypt(&XNonce::from(*nonce), sealed);
        opened.map(Into::into).map_err(|_opaque| {
            StoreError::new("the values of a session were changed after they were encrypted")
        })
    }
}

impl SessionStore for Sealed {
    fn open(&self) -> Answer<'_, ()> {
        self.store.open()
    }

    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        self.store.secret(fresh)
    }

    fn create(&self, mut request: CreateSession) -> Answer<'_, Created> {
        match self.seal(request.record.data) {
            Ok(data) => request.record.data = data,
            Err(error) => return Answer::ready(Err(error)),
        }
        self.store.create(request)
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>> {
        Answer::later(async move {
            let Some(mut loaded) = self.store.load(key, now).await? else { return Ok(None) };
            let record = Arc::make_mut(&mut loaded.record);
            record.data = self.open(&record.data)?;
            Ok(Some(loaded))
        })
    }

    fn update(&self, mut request: UpdateSession) -> Answer<'_, Cas> {
        match self.seal(request.data) {
            Ok(data) => request.data = data,
            Err(error) => return Answer::ready(Err(error)),
        }
        self.store.update(request)
    }

    fn touch(&self, request: TouchSession) -> Answer<'_, bool> {
        self.store.touch(request)
    }

    fn rotate(&self, mut request: RotateSession) -> Answer<'_, Cas> {
        match self.seal(request.record.data) {
            Ok(data) => request.record.data = data,
            Err(error) => return Answer::ready(Err(error)),
        }
        self.store.rotate(request)
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool> {
        self.store.delete(key)
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> Answer<'a, Vec<Summary>> {
        Answer::later(async move {
            let mut all = self.store.list(request).await?;
            for one in &mut all {
                one.data = self.open(&one.data)?;
            }
            Ok(all)
        })
    }

    fn lives<'a>(&'a self, user: &'a str, handle: Handle, now: Timestamp) -> Answer<'a, bool> {
        self.store.lives(user, handle, now)
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool> {
        self.store.delete_by_handle(user, handle)
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> Answer<'a, CutOff> {
        self.store.revoke_user(request)
    }

    fn revoke_everyone(&self, now: Timestamp) -> Answer<'_, CutOff> {
        self.store.revoke_everyone(now)
    }

    fn cut_offs(&self) -> Answer<'_, u64> {
        self.store.cut_offs()
    }

    fn time(&self) -> Answer<'_, Option<Timestamp>> {
        self.store.time()
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        self.store.purge(now, limit)
    }

    fn count(&self, now: Timestamp) -> Answer<'_, Option<u64>> {
        self.store.count(now)
    }

    fn news(&self) -> Option<NewsReader> {
        self.store.news()
    }

    fn is_writable(&self) -> bool {
        self.store.is_writable()
    }
}

/// Without the keys.
impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("store", &self.store).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn secret(first: u8) -> SecretKey {
        SecretKey::drawn([first; 32])
    }

    fn sealed(keys: &[u8]) -> Sealed {
        let keys: Vec<_> = keys.iter().map(|first| secret(*first)).collect();
        Sealed::new(Arc::new(MemoryStore::new()), &keys, Random::system()).unwrap()
    }

    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn an_encrypted_store_keeps_all_rules() {
        crate::store::conformance::sessions(|| sealed(&[1])).await;
    }

    #[test]
    fn values_come_back_and_no_two_rows_are_the_same() {
        let (store, values) = (sealed(&[1]), br#"{"card":"4111"}"#);
        let (one, two) =
            (store.seal((*values).into()).unwrap(), store.seal((*values).into()).unwrap());
        assert_ne!(one, two);
        for row in [&one, &two] {
            assert_eq!(*store.open(row).unwrap(), *values);
            assert!(!row.windows(4).any(|part| part == b"card" || part == b"4111"));
        }
        // A changed row is found out, whichever byte it is.
        for at in 0..one.len() {
            let mut changed = one.clone();
            changed[at] ^= 1;
            // Of another first byte, it is a row that is not encrypted, and no JSON.
            assert!(at == 0 || store.open(&changed).is_err(), "byte {at}");
            assert!(at == 0 || store.open(&one[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(store.seal([].into()).unwrap(), [].into());
    }

    #[test]
    fn keys_are_replaced_without_losing_a_session() {
        let (old, both, new) = (sealed(&[1]), sealed(&[2, 1]), sealed(&[2]));
        let before = old.seal((*b"{}").into()).unwrap();
        assert_eq!(*both.open(&before).unwrap(), *b"{}");
        let after = both.seal((*b"{}").into()).unwrap();
        assert_eq!(*new.open(&after).unwrap(), *b"{}");
        let error = new.open(&before).unwrap_err().to_string();
        assert!(error.contains("a key that the app does not have"), "{error}");
        // What was written before there were keys is read.
        assert_eq!(*new.open(b"{\"a\":1}").unwrap(), *b"{\"a\":1}");
    }
}
