use std::{
    array,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{PoisonError, RwLock},
};

use base64_simd::{Out, URL_SAFE_NO_PAD};

type Id = [u8; 32];
type Shard = RwLock<HashMap<Id, u64, BuildHasherDefault<FirstBytes>>>;

/// The query of `POST /login`.
#[derive(Debug, serde::Deserialize)]
pub struct Login {
    pub user: u64,
}

/// Sessions found by the id in a cookie, hand-written with the least possible work.
#[derive(Debug)]
pub struct Sessions([Shard; 64]);

impl Default for Sessions {
    fn default() -> Self {
        Self(array::from_fn(|_| Shard::default()))
    }
}

impl Sessions {
    /// Begins a session; returns the value of its `Set-Cookie`.
    ///
    /// # Errors
    ///
    /// The system returns no random bytes.
    pub fn create(&self, user: u64) -> Result<String, getrandom::Error> {
        let mut id = [0; 32];
        getrandom::fill(&mut id)?;
        let mut sessions = self.shard(&id).write().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(id, user);
        let id = URL_SAFE_NO_PAD.encode_to_string(id);
        Ok(format!("{}={id}; HttpOnly; SameSite=Lax; Path=/", crate::COOKIE))
    }

    /// The user of the session that a `Cookie` names.
    #[inline]
    pub fn find(&self, cookies: &[u8]) -> Option<u64> {
        let name = crate::COOKIE.as_bytes();
        let value = cookies
            .split(|byte| *byte == b';')
            .find_map(|pair| pair.trim_ascii_start().strip_prefix(name)?.strip_prefix(b"="))?;
        if value.len() != 43 {
            return None;
        }
        let mut id = [0; 32];
        URL_SAFE_NO_PAD.decode(value, Out::from_slice(&mut id)).ok()?;
        let sessions = self.shard(&id).read().unwrap_or_else(PoisonError::into_inner);
        sessions.get(&id).copied()
    }

    #[expect(clippy::indexing_slicing, reason = "a remainder of 64 is below 64")]
    fn shard(&self, id: &Id) -> &Shard {
        &self.0[usize::from(id[31]) % 64]
    }
}

/// An id is random, so its first eight bytes serve as its hash.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length, which is the same for all ids.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
