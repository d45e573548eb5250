//! Encrypts the values of sessions before a store gets them.

use std::{fmt, sync::Arc};

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use policy_core::{
    secret::SecretKey,
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use zeroize::Zeroizing;

use super::{
    Cas, CreateSession, CutOff, ListSessions, Loaded, NewsReader, RevokeUser, RotateSession,
    SessionCreated, SessionStore, StoreError, StoreFuture, Summary, TouchSession, UpdateSession,
    passing::pass_on,
};
use crate::base::{clock::Random, event::log};

/// The first byte of encrypted values. Those that an earlier release encrypted, without binding them
/// to their session, begin with 1. Those that are not encrypted are JSON, and begin with `{`.
const VERSION: u8 = 2;
const UNBOUND: u8 = 1;
const NONCE: usize = 24;

/// A store whose values are encrypted: XChaCha20-Poly1305 with a random nonce for each value, and with the
/// handle and the user of the session as associated data. A row begins with the version, the name of the key,
/// and the nonce.
///
/// A copy of the store does not show the values. Write access to the store only allows restoring earlier
/// values of the same session, or deleting them.
pub(crate) struct SealedStore {
    store: Arc<dyn SessionStore>,
    /// The first encrypts; all decrypt.
    keys: Vec<Key>,
    /// Until then, values that are not encrypted, or not bound to their session, are read.
    unprotected_until: Timestamp,
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

impl SealedStore {
    /// Encrypts with the first of the keys.
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        secrets: &[SecretKey],
        unprotected_until: Timestamp,
        random: Random,
    ) -> Result<Self, StoreError> {
        let keys = secrets.iter().map(Key::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { store, keys, unprotected_until, random })
    }

    fn seal(&self, data: Box<[u8]>, owner: &Owner) -> Result<Box<[u8]>, StoreError> {
        if data.is_empty() {
            return Ok(data);
        }
        let data = Zeroizing::new(data.into_vec());
        let key = self.keys.first().ok_or_else(|| StoreError::new("there is no key"))?;
        let nonce: [u8; NONCE] = self.random.draw().map_err(StoreError::new)?;
        let payload = Payload { msg: &data[..], aad: &owner.0 };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_opaque| StoreError::new("values cannot be encrypted"))?;
        Ok([&[VERSION][..], &key.name, &nonce, &sealed].concat().into())
    }

    /// The values of a session; `None` for those that are not protected, once they have to be.
    fn open(
        &self,
        data: &[u8],
        owner: &Owner,
        now: Timestamp,
    ) -> Result<Option<Box<[u8]>>, StoreError> {
        let aad = match data.first() {
            None => return Ok(Some(Box::default())),
            Some(&VERSION) => &owner.0[..],
            Some(_) if now >= self.unprotected_until => {
                log!(SessionUnprotected);
                return Ok(None);
            }
            Some(&UNBOUND) => &[],
            Some(_) => return Ok(Some(data.into())),
        };
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
        let opened = key.cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad });
        opened.map(|opened| Some(opened.into())).map_err(|_opaque| {
            StoreError::new(
                "the values of a session were changed after they were encrypted, or are those of another",
            )
        })
    }

    /// An update has only the key of the session, so the session is read first. Its handle and its
    /// user are the same for as long as it has this key.
    async fn update_sealed(&self, mut request: UpdateSession) -> Result<Cas, StoreError> {
        let Some(loaded) = self.store.load(&request.key, request.now).await? else {
            return Ok(Cas::Gone);
        };
        request.data = self.seal(request.data, &Owner::from_record(&loaded.record))?;
        self.store.update(request).await
    }
}

/// What the values of a session are bound to.
struct Owner(Vec<u8>);

impl Owner {
    fn new(handle: Handle, user: Option<&str>) -> Self {
        let is_user = [u8::from(user.is_some())];
        let user = user.unwrap_or_default().as_bytes();
        Self([&b"values of a session"[..], &handle.0, &is_user, user].concat())
    }

    fn from_record(record: &Record) -> Self {
        Self::new(record.handle, record.user())
    }
}

impl SessionStore for SealedStore {
    pass_on! { (to store)
        fn open(&self) -> StoreFuture<'_, ()>;
        fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
        fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool>;
        fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool>;
        fn identity<'a>(
            &'a self,
            user: &'a str,
            handle: Handle,
            now: Timestamp
        ) -> StoreFuture<'a, Option<Identity>>;
        fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool>;
        fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff>;
        fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff>;
        fn cut_offs(&self) -> StoreFuture<'_, u64>;
        fn time(&self) -> StoreFuture<'_, Option<Timestamp>>;
        fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
        fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>>;
        fn news(&self) -> Option<NewsReader>;
        fn is_writable(&self) -> bool;
    }

    fn create(&self, mut request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        let owner = Owner::from_record(&request.record);
        match self.seal(request.record.data, &owner) {
            Ok(data) => request.record.data = data,
            Err(error) => return StoreFuture::ready(Err(error)),
        }
        self.store.create(request)
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::new(async move {
            let Some(mut loaded) = self.store.load(key, now).await? else { return Ok(None) };
            let record = Arc::make_mut(&mut loaded.record);
            match self.open(&record.data, &Owner::from_record(record), now)? {
                Some(data) => record.data = data,
                None => return Ok(None),
            }
            Ok(Some(loaded))
        })
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(self.update_sealed(request))
    }

    fn rotate(&self, mut request: RotateSession) -> StoreFuture<'_, Cas> {
        let owner = Owner::from_record(&request.record);
        match self.seal(request.record.data, &owner) {
            Ok(data) => request.record.data = data,
            Err(error) => return StoreFuture::ready(Err(error)),
        }
        self.store.rotate(request)
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        StoreFuture::new(async move {
            let mut all = vec![];
            for mut one in self.store.list(request).await? {
                let owner = Owner::new(one.handle, Some(request.user));
                one.data = match self.open(&one.data, &owner, request.now) {
                    Ok(Some(data)) => data,
                    Ok(None) => continue,
                    // Without its values, so that its user can end it and sees the others.
                    Err(error) => {
                        log!(SessionNotLoaded, %error);
                        Box::default()
                    }
                };
                all.push(one);
            }
            Ok(all)
        })
    }
}

/// Without the keys.
impl fmt::Debug for SealedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("store", &self.store).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use policy_core::session::Identity;

    use super::*;
    use crate::store::{MemoryStore, conformance};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn sealed_in(store: &MemoryStore, keys: &[u8], until: Timestamp) -> SealedStore {
        let keys: Vec<_> = keys.iter().map(|first| SecretKey::from_bytes([*first; 32])).collect();
        SealedStore::new(Arc::new(store.clone()), &keys, until, Random::system()).unwrap()
    }

    fn sealed(keys: &[u8]) -> SealedStore {
        sealed_in(&MemoryStore::new(), keys, Timestamp::default())
    }

    fn owner(user: &str) -> Owner {
        Owner::new(Handle([1; 16]), Some(user))
    }

    fn open(store: &SealedStore, row: &[u8]) -> Result<Option<Box<[u8]>>, StoreError> {
        store.open(row, &owner("ada"), NOW)
    }

    #[tokio::test]
    async fn an_encrypted_store_keeps_all_rules() {
        conformance::sessions(|| sealed(&[1])).await;
    }

    #[test]
    fn values_come_back_and_no_two_rows_are_the_same() {
        let (store, values) = (sealed(&[1]), br#"{"card":"4111"}"#);
        let seal = || store.seal((*values).into(), &owner("ada")).unwrap();
        let (one, two) = (seal(), seal());
        assert_ne!(one, two);
        for row in [&one, &two] {
            assert_eq!(open(&store, row).unwrap().as_deref(), Some(&values[..]));
            assert!(!row.windows(4).any(|part| part == b"card" || part == b"4111"));
        }
        // A change of any byte of a row is detected.
        for at in 0..one.len() {
            let mut changed = one.clone();
            changed[at] ^= 1;
            assert!(!matches!(open(&store, &changed), Ok(Some(_))), "byte {at}");
            assert!(at == 0 || open(&store, &one[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(store.seal([].into(), &owner("ada")).unwrap(), [].into());
    }

    #[test]
    fn sealed_values_are_bound_to_session_and_user() {
        let store = sealed(&[1]);
        let row = store.seal((*b"{}").into(), &owner("ada")).unwrap();
        let others = [
            owner("bob"),
            owner("adaa"),
            Owner::new(Handle([1; 16]), None),
            Owner::new(Handle([2; 16]), Some("ada")),
        ];
        for other in others {
            let error = store.open(&row, &other, NOW).unwrap_err().to_string();
            assert!(error.contains("of another"), "{error}");
        }
    }

    #[test]
    fn keys_are_replaced_without_losing_a_session() {
        let (old, both, new) = (sealed(&[1]), sealed(&[2, 1]), sealed(&[2]));
        let before = old.seal((*b"{}").into(), &owner("ada")).unwrap();
        assert_eq!(open(&both, &before).unwrap().as_deref(), Some(&b"{}"[..]));
        let after = both.seal((*b"{}").into(), &owner("ada")).unwrap();
        assert_eq!(open(&new, &after).unwrap().as_deref(), Some(&b"{}"[..]));
        let error = open(&new, &before).unwrap_err().to_string();
        assert!(error.contains("a key that the app does not have"), "{error}");
    }

    /// What an earlier release wrote: plain, or encrypted without associated data.
    #[test]
    fn values_without_protection_are_read_until_a_date_and_not_after_it() {
        let until = NOW.after(std::time::Duration::from_secs(60));
        let store = sealed_in(&MemoryStore::new(), &[1], until);
        let mut unbound = store.seal((*b"{}").into(), &Owner(vec![])).unwrap();
        unbound[0] = UNBOUND;
        for row in [&b"{}"[..], &unbound] {
            let before = Timestamp::from_millis(until.millis() - 1);
            let read = |now| store.open(row, &owner("ada"), now).unwrap();
            assert_eq!(read(before).as_deref(), Some(&b"{}"[..]));
            assert_eq!(read(until), None);
            assert_eq!(open(&sealed(&[1]), row).unwrap(), None, "without a date");
        }
        let bound = store.seal((*b"{}").into(), &owner("ada")).unwrap();
        let relabelled = [&[UNBOUND], &bound[1..]].concat();
        assert!(store.open(&relabelled, &owner("ada"), NOW).is_err());
    }

    /// Looks into the store itself after each call that writes.
    #[tokio::test]
    async fn the_store_never_contains_plain_values() {
        let inner = MemoryStore::new();
        let store = sealed_in(&inner, &[1], Timestamp::default());
        let [a, b, c] = [1, 2, 3].map(|first| SessionKey([first; 32]));
        let record = |values: &str| Record {
            idle_deadline: Timestamp::MAX,
            absolute_deadline: Timestamp::MAX,
            data: values.as_bytes().into(),
            ..conformance::record(1, Some("ada"))
        };
        // The key under which the session is, and its values.
        let look = async |call: &str, key: &SessionKey, values: &str| {
            let raw = inner.load(key, NOW).await.unwrap().expect("a row").record.data.clone();
            let listed = inner.list(ListSessions::new("ada", 9, NOW)).await.unwrap();
            for row in listed.iter().map(|one| &one.data).chain([&raw]) {
                assert_eq!(row[0], VERSION, "{call}");
                assert!(!row.windows(6).any(|part| part == b"secret"), "{call}");
            }
            let read = store.load(key, NOW).await.unwrap().expect("a session");
            assert_eq!(*read.record.data, *values.as_bytes(), "{call}");
            let listed = store.list(ListSessions::new("ada", 9, NOW)).await.unwrap();
            assert!(listed.iter().all(|one| *one.data == *values.as_bytes()), "{call}");
        };
        store.create(CreateSession::new(a, record("{secret:1}"), NOW)).await.unwrap();
        look("create", &a, "{secret:1}").await;
        let data = Box::from(*b"{secret:2}");
        let updated = store.update(UpdateSession::new(a, 1, data, NOW)).await.unwrap();
        assert!(matches!(updated, Cas::Done { .. }));
        look("update", &a, "{secret:2}").await;
        assert!(store.touch(TouchSession::new(a, Timestamp::MAX, NOW)).await.unwrap());
        look("touch", &a, "{secret:2}").await;
        for (old, new, grace) in [(a, b, None), (b, c, Some(Timestamp::MAX))] {
            let version = store.load(&old, NOW).await.unwrap().expect("a session").record.version;
            let request = RotateSession::new(old, new, version, record("{secret:3}"), NOW);
            let rotated = store.rotate(request.grace(grace)).await.unwrap();
            assert!(matches!(rotated, Cas::Done { .. }));
            look("rotate", &new, "{secret:3}").await;
        }
        look("rotate with grace", &b, "{secret:3}").await;
        let rights = Identity::new("ada").roles(["reader"]);
        let keep = RevokeUser::new("ada", NOW).keep(Some(c)).rights(&rights);
        store.revoke_user(keep).await.unwrap();
        look("revoke_user", &c, "{secret:3}").await;
        store.purge(NOW, 100).await.unwrap();
        look("purge", &c, "{secret:3}").await;
        // With another key, the session is refused, and listed without its values.
        let other = sealed_in(&inner, &[2], Timestamp::default());
        assert!(other.load(&c, NOW).await.is_err());
        let listed = other.list(ListSessions::new("ada", 9, NOW)).await.unwrap();
        assert!(!listed.is_empty() && listed.iter().all(|one| one.data.is_empty()));
        assert!(store.delete(&c).await.unwrap());
        assert!(inner.load(&c, NOW).await.unwrap().is_none());
    }
}
