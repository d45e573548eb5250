//! A keyed hash, so that nobody can choose keys that meet.

/// SipHash-1-3 (Aumasson and Bernstein). The standard library has it with keys of its own only, and
/// takes input in pieces, which costs twice as much.
#[derive(Clone, Copy)]
pub(super) struct SipHash {
    state: [u64; 4],
}

impl SipHash {
    pub(super) const fn new([a, b]: [u64; 2]) -> Self {
        let state = [
            a ^ 0x736f_6d65_7073_6575,
            b ^ 0x646f_7261_6e64_6f6d,
            a ^ 0x6c79_6765_6e65_7261,
            b ^ 0x7465_6462_7974_6573,
        ];
        Self { state }
    }

    #[inline]
    pub(super) fn finish(self, bytes: &[u8]) -> u64 {
        let mut state = self.state;
        let (words, rest) = bytes.as_chunks();
        for word in words {
            state = absorbed(state, u64::from_le_bytes(*word));
        }
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        // The length stands above the last bytes.
        let [a, b, c, d] = absorbed(state, last | (bytes.len() as u64) << 56);
        let [a, b, c, d] = round(round(round([a, b, c ^ 0xff, d])));
        a ^ b ^ c ^ d
    }
}

#[inline]
const fn absorbed([a, b, c, d]: [u64; 4], word: u64) -> [u64; 4] {
    let [a, b, c, d] = round([a, b, c, d ^ word]);
    [a ^ word, b, c, d]
}

#[inline]
const fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    (b, d) = (b.rotate_left(13) ^ a, d.rotate_left(16) ^ c);
    a = a.rotate_left(32).wrapping_add(d);
    c = c.wrapping_add(b);
    (b, d) = (b.rotate_left(17) ^ c, d.rotate_left(21) ^ a);
    [a, b, c.rotate_left(32), d]
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hasher};

    use super::*;

    /// The standard library's has the key 0.
    #[test]
    fn it_is_the_hash_of_the_standard_library_with_a_key() {
        let bytes: Vec<u8> = (0..40_u8).map(|n| n.wrapping_mul(151)).collect();
        for length in 0..bytes.len() {
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes[..length]);
            let hash = |seed| SipHash::new(seed).finish(&bytes[..length]);
            assert_eq!(hash([0, 0]), hasher.finish(), "{length}");
            assert_ne!(hash([0, 1]), hash([0, 0]));
            assert_ne!(hash([1, 0]), hash([0, 0]));
        }
    }
}
