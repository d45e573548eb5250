//! The `Cookie` fields of a request.

use http::{HeaderMap, HeaderValue, header::COOKIE};

use super::CookieError;

/// The cookies that a request presents, in order and as they are: nothing is decoded or unquoted,
/// and names are case-sensitive (RFC 6265 5.4).
///
/// HTTP/2 may split the field into several lines (RFC 9113 8.2.3); they are read as one.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::COOKIE};
/// use policy_core::cookie::{CookieError, Cookies};
///
/// let mut headers = HeaderMap::new();
/// headers.append(COOKIE, HeaderValue::from_static("theme=dark; lang=en"));
/// headers.append(COOKIE, HeaderValue::from_static("lang=de"));
/// let cookies = Cookies::read(&headers)?;
/// assert_eq!(cookies.get("theme"), Ok(Some(&b"dark"[..])));
/// assert_eq!(cookies.get("lang"), Err(CookieError::Ambiguous));
/// assert_eq!(cookies.get("Theme"), Ok(None));
/// # Ok::<(), CookieError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Cookies<'a> {
    headers: &'a HeaderMap,
}

impl<'a> Cookies<'a> {
    /// The maximum size in bytes of all `Cookie` fields of a request together. A sibling subdomain
    /// can set as many cookies as a browser keeps, so a request is not refused because of their
    /// number.
    pub const MAX_LEN: usize = 16 * 1024;

    /// Reads the cookies of a request.
    ///
    /// # Errors
    ///
    /// [`CookieError::RequestTooLarge`], over the limit.
    pub fn read(headers: &'a HeaderMap) -> Result<Self, CookieError> {
        scan(headers.get_all(COOKIE), |_piece| ())?;
        Ok(Self { headers })
    }

    /// Name and value of each pair. Text without `=` or a name is not a pair, and is left out.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.headers.get_all(COOKIE).into_iter().flat_map(pieces).filter_map(pair)
    }

    /// The value of the cookie `name`.
    ///
    /// # Errors
    ///
    /// [`CookieError::Ambiguous`] if the name occurs with different values. An attacker who planted
    /// the second cookie decides which one a browser sends first, so none is used.
    pub fn get(&self, name: &str) -> Result<Option<&'a [u8]>, CookieError> {
        let mut values = self.iter().filter(|(found, _)| *found == name.as_bytes());
        let first = values.next().map(|(_, value)| value);
        if values.any(|(_, value)| Some(value) != first) {
            return Err(CookieError::Ambiguous);
        }
        Ok(first)
    }
}

impl std::fmt::Debug for Cookies<'_> {
    /// Names only: a value may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.iter().map(|(name, _)| name.escape_ascii().to_string());
        f.debug_list().entries(names).finish()
    }
}

/// Visits the pairs of these lines, within the limit of [`Cookies`].
pub(super) fn scan<'a>(
    lines: impl IntoIterator<Item = &'a HeaderValue>,
    mut look: impl FnMut(&'a [u8]),
) -> Result<(), CookieError> {
    let mut len = 0;
    for line in lines {
        // The length of the lines joined by "; ".
        len += line.len() + if len > 0 { 2 } else { 0 };
        if len > Cookies::MAX_LEN {
            return Err(CookieError::RequestTooLarge);
        }
        for piece in pieces(line) {
            look(piece);
        }
    }
    Ok(())
}

/// The pairs of a line, without the blanks around them.
fn pieces(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line.as_bytes());
    std::iter::from_fn(move || {
        let text = rest?;
        let (piece, behind) = text.split_at_checked(until_semicolon(text))?;
        rest = behind.strip_prefix(b";");
        Some(piece.trim_ascii())
    })
}

/// The number of bytes before the first semicolon, or of the whole text. Reads eight at a time,
/// since it reads every byte of every request with several cookies.
fn until_semicolon(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let (words, tail) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        // The lowest byte that is zero here, if there is one, has its highest bit set below.
        let zero_if_semicolon = u64::from_le_bytes(*word) ^ (ONES * b';' as u64);
        let found = zero_if_semicolon.wrapping_sub(ONES) & !zero_if_semicolon & (ONES << 7);
        if found != 0 {
            return at * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let in_tail = tail.iter().position(|byte| *byte == b';');
    words.len() * 8 + in_tail.unwrap_or(tail.len())
}

/// Name and value, split at the first `=`.
fn pair(piece: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = piece.iter().position(|byte| *byte == b'=')?;
    let (name, value) = piece.split_at_checked(at)?;
    let name = name.trim_ascii_end();
    (!name.is_empty()).then(|| (name, value_behind(value).unwrap_or_default()))
}

/// The value of the pair, if its name is this one.
pub(super) fn value_of<'a>(piece: &'a [u8], name: &str) -> Option<&'a [u8]> {
    value_behind(piece.strip_prefix(name.as_bytes())?)
}

/// The value after a name and `=`.
fn value_behind(text: &[u8]) -> Option<&[u8]> {
    Some(text.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of every length up to a little over two words, made of every byte, with no semicolon,
    /// with one at each place, or with two.
    #[test]
    fn the_first_semicolon_is_found_wherever_it_is() {
        for other in (0..=u8::MAX).filter(|byte| *byte != b';') {
            for len in 0..=17 {
                let text = vec![other; len];
                assert_eq!(until_semicolon(&text), len);
                for at in 0..len {
                    let mut text = text.clone();
                    text[at] = b';';
                    assert_eq!(until_semicolon(&text), at, "{text:?}");
                    text[len - 1] = b';';
                    assert_eq!(until_semicolon(&text), at, "{text:?}");
                }
            }
        }
    }
}
