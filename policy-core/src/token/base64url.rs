//! base64url without padding, read strictly: one text for one value (RFC 4648 5, RFC 7515 2).

use data_encoding::BASE64URL_NOPAD;

/// Replaces what `into` holds by the bytes that `text` stands for; `None` for text that is not
/// the canonical one of any bytes.
pub(super) fn decode(text: &[u8], into: &mut Vec<u8>) -> Option<()> {
    into.clear();
    into.resize(BASE64URL_NOPAD.decode_len(text.len()).ok()?, 0);
    BASE64URL_NOPAD.decode_mut(text, into).ok().map(|_| ())
}

/// The bytes that `text` stands for, where they are exactly `N`.
pub(super) fn decode_exact<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if BASE64URL_NOPAD.decode_len(text.len()) != Ok(N) {
        return None;
    }
    BASE64URL_NOPAD.decode_mut(text, &mut bytes).ok()?;
    Some(bytes)
}

/// Appends the text of `bytes`.
pub(super) fn append(bytes: &[u8], text: &mut String) {
    BASE64URL_NOPAD.encode_append(bytes, text);
}
