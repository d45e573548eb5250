//! The last credential of a connection, so that a client which sends the same one with each request
//! does not cost the same cryptography each time.
//!
//! Only results of functions that depend on nothing but the credential and the keys are kept: the
//! key of a session id, and a token with a valid signature. What depends on the time, on the route
//! or on what was revoked is decided for each request.

use std::{
    fmt,
    sync::{Arc, Mutex, Weak},
};

use ctutils::CtEq;
use policy_core::{
    session::{SessionId, SessionKey},
    token::{KeyRing, SignedToken, TokenError, Verifier},
};
use zeroize::Zeroizing;

/// The longest token that is kept. With its claims it takes less than 3 KiB.
const MAX_TOKEN: usize = 1024;

/// The last credential of a connection. Nothing is allocated before the first.
#[derive(Default)]
pub(crate) struct LastCredential(Mutex<Option<Box<Credential>>>);

enum Credential {
    Session { id: SessionId, key: SessionKey },
    Token(LastToken),
}

struct LastToken {
    text: Zeroizing<Box<[u8]>>,
    /// The keys that verified it. Another key ring, even an equal one, verifies it again. The keys
    /// are not kept alive, so that the secret of a replaced key is wiped.
    keys: Weak<KeyRing>,
    signed: SignedToken,
}

impl LastCredential {
    /// The key under which a session with this id is stored.
    pub(crate) fn session_key(last: Option<&Self>, id: &SessionId) -> SessionKey {
        last.and_then(|last| last.known_session(id)).unwrap_or_else(|| {
            let key = id.key();
            if let Some(last) = last {
                last.keep(Credential::Session { id: id.clone(), key });
            }
            key
        })
    }

    /// Opens a token. One without a valid signature is not kept.
    pub(crate) fn open(
        last: Option<&Self>,
        verifier: &Verifier,
        keys: &Arc<KeyRing>,
        token: &[u8],
    ) -> Result<SignedToken, TokenError> {
        let Some(last) = last.filter(|_| token.len() <= MAX_TOKEN) else {
            return verifier.open(keys, token);
        };
        if let Some(signed) = last.known_token(verifier, keys, token) {
            return Ok(signed);
        }
        let signed = verifier.open(keys, token)?;
        last.keep(Credential::Token(LastToken {
            text: Zeroizing::new(token.into()),
            keys: Arc::downgrade(keys),
            signed: signed.clone(),
        }));
        Ok(signed)
    }

    fn known_session(&self, presented: &SessionId) -> Option<SessionKey> {
        match self.0.try_lock().ok()?.as_deref()? {
            Credential::Session { id, key } => {
                is_same(id.bytes(), presented.bytes()).then_some(*key)
            }
            Credential::Token(_) => None,
        }
    }

    fn known_token(
        &self,
        verifier: &Verifier,
        keys: &Arc<KeyRing>,
        token: &[u8],
    ) -> Option<SignedToken> {
        match self.0.try_lock().ok()?.as_deref()? {
            Credential::Token(last) if last.is(verifier, keys, token) => Some(last.signed.clone()),
            _ => None,
        }
    }

    /// Stores the credential, unless another request of the connection is using it at this moment.
    fn keep(&self, credential: Credential) {
        let Ok(mut last) = self.0.try_lock() else { return };
        match &mut *last {
            Some(last) => **last = credential,
            None => *last = Some(Box::new(credential)),
        }
    }
}

impl LastToken {
    /// Whether this is the given token, opened by the same verifier and the same keys.
    fn is(&self, verifier: &Verifier, keys: &Arc<KeyRing>, token: &[u8]) -> bool {
        // The address is not reused for another key ring while the `Weak` exists.
        let has_keys = self.keys.as_ptr() == Arc::as_ptr(keys);
        has_keys && self.signed.is_of(verifier) && is_same(&self.text, token)
    }
}

/// Compares in constant time: otherwise a client behind a proxy could guess the credential of
/// another client from the duration of the comparison.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).to_bool()
}

/// Prints no credential.
impl fmt::Debug for LastCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastCredential")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use policy_core::{
        secret::SecretKey,
        time::Timestamp,
        token::{Key, NewClaims, Profile, RingKey},
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn keys() -> Arc<KeyRing> {
        let key = Key::hs256("a", &SecretKey::from_bytes([1; 32])).unwrap();
        Arc::new(KeyRing::new(vec![RingKey::new(key)]).unwrap())
    }

    fn verifier() -> Verifier {
        Verifier::new(Profile::new("https://api.example", "api").unwrap())
    }

    fn signed(subject: &str) -> Vec<u8> {
        let claims = NewClaims::new("https://api.example", "api", subject, "id", NOW);
        keys().sign(&claims, NOW).unwrap().into_bytes()
    }

    fn is_empty(last: &LastCredential) -> bool {
        last.0.lock().unwrap().is_none()
    }

    #[test]
    fn a_remembered_token_needs_the_same_verifier_and_keys() {
        let (keys, verifier, last) = (self::keys(), self::verifier(), LastCredential::default());
        let token = signed("ada");
        assert!(is_empty(&last));
        LastCredential::open(Some(&last), &verifier, &keys, &token).unwrap();
        let known = last.known_token(&verifier, &keys, &token).unwrap();
        assert_eq!(known.verify_at(NOW).unwrap().claims().subject(), "ada");
        assert!(last.known_token(&self::verifier(), &keys, &token).is_none());
        assert!(last.known_token(&verifier, &self::keys(), &token).is_none());
        for place in 0..token.len() {
            let mut other = token.clone();
            other[place] ^= 1;
            assert!(last.known_token(&verifier, &keys, &other).is_none(), "byte {place}");
        }
        assert!(last.known_token(&verifier, &keys, &token[..token.len() - 1]).is_none());
        let other = signed("bob");
        LastCredential::open(Some(&last), &verifier, &keys, &other).unwrap();
        assert!(last.known_token(&verifier, &keys, &token).is_none());
    }

    #[test]
    fn keys_that_were_replaced_are_not_kept() {
        let (keys, verifier, last) = (self::keys(), self::verifier(), LastCredential::default());
        let token = signed("ada");
        LastCredential::open(Some(&last), &verifier, &keys, &token).unwrap();
        let ring = Arc::into_inner(keys).expect("keys that nobody else has");
        // The allocator could reuse the address of the dropped keys.
        assert!(last.known_token(&verifier, &Arc::new(ring), &token).is_none());
    }

    #[test]
    fn a_token_without_a_valid_signature_or_of_more_than_a_kibibyte_is_not_kept() {
        let (keys, last) = (self::keys(), LastCredential::default());
        let mut forged = signed("ada");
        *forged.last_mut().unwrap() ^= 4;
        assert!(LastCredential::open(Some(&last), &verifier(), &keys, &forged).is_err());
        assert!(is_empty(&last));
        let mut lengths = BTreeSet::new();
        for subject in 540..640 {
            let token = signed(&"a".repeat(subject));
            LastCredential::open(Some(&last), &verifier(), &keys, &token).unwrap();
            let is_kept = last.0.lock().unwrap().take().is_some();
            assert_eq!(is_kept, token.len() <= 1024, "{}", token.len());
            lengths.insert(token.len());
        }
        assert!(lengths.contains(&1024) || lengths.contains(&1023), "{lengths:?}");
        assert!(lengths.contains(&1025) || lengths.contains(&1026), "{lengths:?}");
    }

    #[test]
    fn a_session_id_is_remembered_until_another_credential() {
        let last = LastCredential::default();
        let [one, two] = [1, 2].map(|byte| SessionId::from_bytes([byte; 32]));
        for id in [&one, &one, &two, &one] {
            assert_eq!(LastCredential::session_key(Some(&last), id), id.key());
            assert_eq!(last.known_session(id), Some(id.key()));
        }
        assert_eq!(last.known_session(&two), None);
        for place in 0..32 {
            let mut bytes = *one.bytes();
            bytes[place] ^= 1;
            assert_eq!(last.known_session(&SessionId::from_bytes(bytes)), None, "byte {place}");
        }
        LastCredential::open(Some(&last), &verifier(), &keys(), &signed("ada")).unwrap();
        assert_eq!(last.known_session(&one), None);
    }

    #[test]
    fn a_request_waits_for_no_other_and_nothing_is_printed() {
        let last = LastCredential::default();
        let id = SessionId::from_bytes([1; 32]);
        let other_request = last.0.lock().unwrap();
        assert_eq!(LastCredential::session_key(Some(&last), &id), id.key());
        let token = signed("ada");
        assert!(LastCredential::open(Some(&last), &verifier(), &keys(), &token).is_ok());
        drop(other_request);
        assert!(is_empty(&last));
        LastCredential::session_key(Some(&last), &id);
        assert_eq!(format!("{last:?}"), "LastCredential");
    }
}
