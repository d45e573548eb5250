//! base64url without padding, read strictly: one text for one value (RFC 4648 5, RFC 7515 2).

use base64ct::{Base64UrlUnpadded, Encoding};

/// Decodes `text` into `into`, replacing its content; `None` if the text is not canonical.
#[inline]
pub(crate) fn decode(text: &[u8], into: &mut Vec<u8>) -> Option<()> {
    into.clear();
    into.resize(decoded_len(text)?, 0);
    decode_into(text, into)
}

/// Decodes exactly `N` bytes.
#[inline]
pub(crate) fn decode_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    (decoded_len(text)? == N).then_some(())?;
    decode_into(text, &mut bytes)?;
    Some(bytes)
}

/// The bits of each character at each of four positions, in their place among the lower 24 bits,
/// first byte lowest; or `INVALID`.
static VALUES: [[u32; 256]; 4] = [values(26), values(20), values(14), values(8)];

/// A bit that no value has.
const INVALID: u32 = 1 << 31;

/// The bits of all characters at the position that `shift` states.
const fn values(shift: u32) -> [u32; 256] {
    let mut values = [INVALID; 256];
    let mut rest: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut value = 0_u32;
    while let [character, behind @ ..] = rest {
        #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
        {
            values[*character as usize] = (value << shift).swap_bytes();
        }
        value += 1;
        rest = behind;
    }
    values
}

/// The decoded length of a text; `None` if one character is left over.
fn decoded_len(text: &[u8]) -> Option<usize> {
    let (groups, rest) = text.as_chunks::<4>();
    (rest.len() != 1).then(|| groups.len() * 3 + rest.len().saturating_sub(1))
}

/// Decodes `text` into a buffer of exactly its decoded length.
#[inline]
fn decode_into(text: &[u8], into: &mut [u8]) -> Option<()> {
    let [first, second, third, fourth] = &VALUES;
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
    let value = |values: &[u32; 256], character: u8| values[usize::from(character)];
    let (groups, last) = text.as_chunks::<4>();
    let (triples, rest) = into.as_chunks_mut::<3>();
    let mut seen = 0;
    for ([a, b, c, d], triple) in groups.iter().zip(triples) {
        let group = value(first, *a) | value(second, *b) | value(third, *c) | value(fourth, *d);
        let [x, y, z, _] = group.to_le_bytes();
        *triple = [x, y, z];
        seen |= group;
    }
    let group = last.iter().zip(&VALUES).fold(0, |group, (byte, of)| group | value(of, *byte));
    let bytes = group.to_le_bytes();
    let (used, unused) = bytes.split_at_checked(rest.len())?;
    rest.copy_from_slice(used);
    // An unused bit that is not zero would make a second text for the same bytes.
    (seen & INVALID == 0 && unused.iter().all(|byte| *byte == 0)).then_some(())
}

/// Encodes `bytes`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// Appends the encoded `bytes`.
pub(crate) fn append(bytes: &[u8], text: &mut String) {
    let mut characters = [0; 64];
    for whole_groups in bytes.chunks(48) {
        // The buffer has room for all characters of 48 bytes.
        if let Ok(written) = Base64UrlUnpadded::encode(whole_groups, &mut characters) {
            text.push_str(written);
        }
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64URL_NOPAD;

    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![1, 2, 3];
        decode(text, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn encoding_decoded_bytes_gives_the_text() {
        for len in 0..200_u8 {
            let bytes: Vec<u8> = (0..len).map(|n| n.wrapping_mul(151)).collect();
            let mut text = String::new();
            append(&bytes, &mut text);
            assert_eq!(text, BASE64URL_NOPAD.encode(&bytes));
            assert_eq!(text, encode(&bytes));
            assert_eq!(decoded(text.as_bytes()), Some(bytes));
        }
    }

    /// Every byte at every position, in texts of every length up to three groups.
    #[test]
    fn decodes_as_data_encoding_does() {
        for len in 0..12 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'A'; len];
                    text[at] = byte;
                    assert_eq!(decoded(&text), BASE64URL_NOPAD.decode(&text).ok(), "{text:?}");
                }
            }
        }
    }

    /// Of all pairs of final characters, those are valid in which no unused bit is set.
    #[test]
    fn of_the_texts_for_one_value_only_the_canonical_one_is_read() {
        let count = |text: &dyn Fn(u8, u8) -> Vec<u8>| {
            let pairs = (0..=255_u8).flat_map(|a| (0..=255_u8).map(move |b| (a, b)));
            pairs.filter(|(a, b)| decoded(&text(*a, *b)).is_some()).count()
        };
        assert_eq!(count(&|a, b| vec![a, b]), 64 * 4);
        assert_eq!(count(&|a, b| vec![b'a', a, b]), 64 * 16);
        assert_eq!(count(&|a, b| vec![b'a', b'a', a, b]), 64 * 64);
        assert_eq!(count(&|a, b| vec![a, b'a', b'a', b'a', b'a', b]), 64 * 4);
    }

    #[test]
    fn an_exact_length_is_the_only_one_that_is_read() {
        assert_eq!(decode_exact::<3>(b"AAAA"), Some([0; 3]));
        for text in ["", "AA", "AAA", "AAAAA", "AAAAAA", "AAAAAAAA", "AAA="] {
            assert_eq!(decode_exact::<3>(text.as_bytes()), None, "{text}");
        }
    }
}
