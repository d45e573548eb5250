//! HMAC with SHA-256 (RFC 2104, FIPS 180-4) whose two keyed states are computed once.
//!
//! The `hmac` crate keeps them too, but copies and wipes a hasher with its buffer for every
//! message: half as many instructions again as everything here besides the compressions.

use sha2::{Digest, Sha256, block_api::compress256};
use zeroize::{Zeroize, Zeroizing};

/// The initial state of SHA-256 (FIPS 180-4 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

const BLOCK: usize = 64;

/// What is left of a key: the states after its inner and its outer block.
#[derive(Clone)]
pub(super) struct HmacKey {
    inner: [u32; 8],
    outer: [u32; 8],
}

impl Drop for HmacKey {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

impl HmacKey {
    pub(super) fn new(key: &[u8]) -> Self {
        let mut block = Zeroizing::new([0; BLOCK]);
        if key.len() > BLOCK {
            block.iter_mut().zip(Sha256::digest(key)).for_each(|(to, from)| *to = from);
        } else {
            block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        }
        let mut keyed = |pad: u8| {
            let mut state = INITIAL;
            block.iter_mut().for_each(|byte| *byte ^= pad);
            compress256(&mut state, &[*block]);
            block.iter_mut().for_each(|byte| *byte ^= pad);
            state
        };
        Self { inner: keyed(0x36), outer: keyed(0x5c) }
    }

    /// The tag of a message.
    #[inline]
    pub(super) fn tag(&self, message: &[u8]) -> [u8; 32] {
        let (blocks, rest) = message.as_chunks::<BLOCK>();
        let mut state = self.inner;
        compress256(&mut state, blocks);

        // What is left, a one, zeros, and the length in bits with the block of the key.
        let mut end = [[0; BLOCK]; 2];
        let bytes = end.as_flattened_mut();
        if let Some((text, padding)) = bytes.split_at_mut_checked(rest.len()) {
            text.copy_from_slice(rest);
            padding.iter_mut().take(1).for_each(|byte| *byte = 0x80);
        }
        let bits = ((BLOCK + message.len()) as u64 * 8).to_be_bytes();
        let [first, second] = &mut end;
        if rest.len() < BLOCK - 8 {
            set_length(first, bits);
            compress256(&mut state, std::slice::from_ref(first));
        } else {
            set_length(second, bits);
            compress256(&mut state, &end);
        }

        let mut last = [0; BLOCK];
        let (words, padding) = last.as_chunks_mut::<4>().0.split_at_mut(8);
        words.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_be_bytes());
        padding.iter_mut().take(1).for_each(|word| *word = [0x80, 0, 0, 0]);
        set_length(&mut last, ((BLOCK + 32) as u64 * 8).to_be_bytes());
        state = self.outer;
        compress256(&mut state, &[last]);

        let mut tag = [0; 32];
        tag.as_chunks_mut().0.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_be_bytes());
        tag
    }
}

fn set_length(block: &mut [u8; BLOCK], bits: [u8; 8]) {
    if let Some(end) = block.last_chunk_mut() {
        *end = bits;
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, KeyInit, Mac};

    use super::*;

    /// Every length around the ends of blocks, of message and of key.
    #[test]
    fn tags_are_those_of_the_hmac_crate() {
        let bytes: Vec<u8> = (0..=255).collect();
        for key in (0..=130).map(|len| &bytes[..len]) {
            for message in (0..=200).map(|len| &bytes[..len]) {
                let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
                mac.update(message);
                let (key_len, len) = (key.len(), message.len());
                let tag: [u8; 32] = mac.finalize().into_bytes().into();
                assert_eq!(HmacKey::new(key).tag(message), tag, "{key_len} {len}");
            }
        }
    }

    /// The vectors of Wycheproof, which are not in this repository: see `tests/tokens`.
    #[test]
    fn every_vector_of_wycheproof_is_valid_or_not() {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/cases/wycheproof");
        let folder = std::env::var("POLICY_WYCHEPROOF").unwrap_or_else(|_unset| beside.into());
        let path = format!("{folder}/hmac_sha256_test.json");
        let Ok(text) = std::fs::read(path) else {
            eprintln!(
                "NOT RUN: hmac_sha256_test.json of Wycheproof; POLICY_WYCHEPROOF names the folder that has it"
            );
            return;
        };
        let file: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let mut count = 0;
        for group in file["testGroups"].as_array().unwrap() {
            let len = usize::try_from(group["tagSize"].as_u64().unwrap()).unwrap() / 8;
            for test in group["tests"].as_array().unwrap() {
                let bytes = |name: &str| {
                    data_encoding::HEXLOWER.decode(test[name].as_str().unwrap().as_bytes()).unwrap()
                };
                let tag = HmacKey::new(&bytes("key")).tag(&bytes("msg"));
                let is_valid = tag[..len] == bytes("tag")[..];
                assert_eq!(is_valid, test["result"] == "valid", "{}", test["tcId"]);
                count += 1;
            }
        }
        assert_eq!(count, 174);
    }
}
