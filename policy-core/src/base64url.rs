//! base64url without padding, read strictly: one text for one value (RFC 4648 5, RFC 7515 2).

use data_encoding::BASE64URL_NOPAD;

/// Decodes `text` into `into`, replacing its content; `None` if the text is not canonical.
#[inline]
pub(crate) fn decode(text: &[u8], into: &mut Vec<u8>) -> Option<()> {
    into.clear();
    into.resize(BASE64URL_NOPAD.decode_len(text.len()).ok()?, 0);
    BASE64URL_NOPAD.decode_mut(text, into).ok().map(drop)
}

/// Decodes exactly `N` bytes.
#[inline]
pub(crate) fn decode_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if BASE64URL_NOPAD.decode_len(text.len()) != Ok(N) {
        return None;
    }
    BASE64URL_NOPAD.decode_mut(text, &mut bytes).ok()?;
    Some(bytes)
}

/// Appends the text of `bytes`.
pub(crate) fn append(bytes: &[u8], text: &mut String) {
    BASE64URL_NOPAD.encode_append(bytes, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![1, 2, 3];
        decode(text, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn a_text_is_what_writing_its_bytes_gives() {
        for len in 0..100_u8 {
            let bytes: Vec<u8> = (0..len).map(|n| n.wrapping_mul(151)).collect();
            let mut text = String::new();
            append(&bytes, &mut text);
            assert_eq!(decoded(text.as_bytes()), Some(bytes));
        }
    }

    /// Every pair of final characters: only those are valid whose last character has no unused
    /// bits.
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
    fn other_alphabets_padding_and_white_space_are_refused() {
        assert_eq!(decoded(b"-_-_"), Some(vec![0xfb, 0xff, 0xbf]));
        for text in
            ["+/+/", "AA==", "AAA=", "AA=", "A", "AAAAA", "AA AA", "AAAA\n", " AAAA", "AA\0A"]
        {
            assert_eq!(decoded(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn an_exact_length_is_the_only_one_that_is_read() {
        assert_eq!(decode_exact::<3>(b"AAAA"), Some([0; 3]));
        for text in ["", "AA", "AAA", "AAAAA", "AAAAAA", "AAAAAAAA", "AAA="] {
            assert_eq!(decode_exact::<3>(text.as_bytes()), None, "{text}");
        }
    }
}
