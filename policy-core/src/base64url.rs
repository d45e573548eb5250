//! base64url without padding, read strictly: one text for one value (RFC 4648 5, RFC 7515 2).
//!
//! Decoding is by hand, because it is what costs most of a token besides its signature: four
//! tables take half the instructions of `data-encoding`, which the tests hold it against.

use data_encoding::BASE64URL_NOPAD;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Marks bytes that are no character of the alphabet.
const INVALID: u32 = 1 << 31;

/// What each character adds to the three bytes of four, in the order of memory, by its place.
static TABLES: [[u32; 256]; 4] = [table(18), table(12), table(6), table(0)];

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn table(shift: u32) -> [u32; 256] {
    let mut table = [INVALID; 256];
    let mut value = 0_u32;
    while value < 64 {
        table[ALPHABET[value as usize] as usize] = (value << shift).swap_bytes() >> 8;
        value += 1;
    }
    table
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "a byte is an index into 256")]
fn bits([a, b, c, d]: [u8; 4]) -> u32 {
    let [first, second, third, fourth] = &TABLES;
    first[usize::from(a)] | second[usize::from(b)] | third[usize::from(c)] | fourth[usize::from(d)]
}

/// How many bytes so many characters stand for.
fn decoded_len(len: usize) -> Option<usize> {
    (len % 4 != 1).then_some(len / 4 * 3 + len % 4 * 3 / 4)
}

/// Replaces what `into` holds by the bytes that `text` stands for; `None` for text that is not
/// the canonical one of any bytes.
#[inline]
pub(crate) fn decode(text: &[u8], into: &mut Vec<u8>) -> Option<()> {
    into.clear();
    into.resize(decoded_len(text.len())?, 0);
    decode_into(text, into)
}

/// The bytes that `text` stands for, where they are exactly `N`.
#[inline]
pub(crate) fn decode_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if decoded_len(text.len()) != Some(N) {
        return None;
    }
    decode_into(text, &mut bytes)?;
    Some(bytes)
}

/// Decodes into as many bytes as the text stands for.
#[inline]
fn decode_into(text: &[u8], into: &mut [u8]) -> Option<()> {
    let mut seen = 0;
    let (pairs, text) = text.as_chunks::<8>();
    let (halves, into) = into.split_at_mut_checked(pairs.len() * 6)?;
    for (pair, half) in pairs.iter().zip(halves.as_chunks_mut::<6>().0) {
        let [a, b, c, d, e, f, g, h] = *pair;
        let (first, second) = (bits([a, b, c, d]), bits([e, f, g, h]));
        seen |= first | second;
        let [one, two, three, four, five, six, ..] =
            (u64::from(first) | u64::from(second) << 24).to_le_bytes();
        *half = [one, two, three, four, five, six];
    }
    let (quads, rest) = text.as_chunks::<4>();
    let (triples, last) = into.as_chunks_mut::<3>();
    for (quad, triple) in quads.iter().zip(triples) {
        let bits = bits(*quad);
        seen |= bits;
        let [one, two, three, _] = bits.to_le_bytes();
        *triple = [one, two, three];
    }
    match (rest, last) {
        ([], []) => {}
        // Characters that stand for nothing are `A`, which adds nothing; what the last one adds
        // behind the last byte has to be nothing too.
        ([a, b], [first]) => {
            let bits = bits([*a, *b, b'A', b'A']);
            seen |= bits | spill(bits & 0xffff_ff00);
            *first = bits.to_le_bytes()[0];
        }
        ([a, b, c], [first, second]) => {
            let bits = bits([*a, *b, *c, b'A']);
            seen |= bits | spill(bits & 0xffff_0000);
            [*first, *second, _, _] = bits.to_le_bytes();
        }
        _ => return None,
    }
    (seen & INVALID == 0).then_some(())
}

/// Invalid where any bit is set.
fn spill(bits: u32) -> u32 {
    if bits == 0 { 0 } else { INVALID }
}

/// Appends the text of `bytes`.
pub(crate) fn append(bytes: &[u8], text: &mut String) {
    BASE64URL_NOPAD.encode_append(bytes, text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![1, 2, 3];
        decode(text, &mut bytes).map(|()| bytes)
    }

    /// Every pair and triple of characters at an end: exactly the canonical ones are read.
    #[test]
    fn ends_are_read_as_data_encoding_reads_them() {
        let mut read = 0;
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                for text in [&[b'a', a, b][..], &[a, b], &[b, b'a', b'a', b'a', a, b]] {
                    let expected = BASE64URL_NOPAD.decode(text).ok();
                    read += usize::from(expected.is_some());
                    assert_eq!(decoded(text), expected, "{text:?}");
                }
            }
        }
        assert_eq!(read, 64 * 16 + 64 * 4 + 64 * 4);
    }

    proptest! {
        /// Texts, some of them with one byte that need not be a character.
        #[test]
        fn texts_are_read_as_data_encoding_reads_them(
            text in "[A-Za-z0-9_-]{0,60}", at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut text = text.into_bytes();
            prop_assert_eq!(decoded(&text), BASE64URL_NOPAD.decode(&text).ok());
            if !text.is_empty() {
                let at = at.index(text.len());
                text[at] = byte;
            }
            prop_assert_eq!(decoded(&text), BASE64URL_NOPAD.decode(&text).ok());
            prop_assert_eq!(decode_exact::<32>(&text).map(Vec::from),
                BASE64URL_NOPAD.decode(&text).ok().filter(|bytes| bytes.len() == 32));
        }
    }
}
