//! The `Cookie` fields of a request.

use http::{HeaderMap, HeaderValue, header::COOKIE};

use super::CookieError;

/// The cookies that a request presents, in order and as they are: nothing is decoded or unquoted,
/// and names are case-sensitive (RFC 6265 5.4).
///
/// HTTP/2 may cut the field into several lines (RFC 9113 8.2.3); they are read as one.
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
    /// The most bytes of all `Cookie` fields of a request together.
    pub const MAX_LEN: usize = 16 * 1024;

    /// The most pairs.
    pub const MAX_PAIRS: usize = 64;

    /// Looks at the cookies of a request.
    ///
    /// # Errors
    ///
    /// [`CookieError::RequestTooLarge`], over one of the limits.
    pub fn read(headers: &'a HeaderMap) -> Result<Self, CookieError> {
        let cookies = Self { headers };
        cookies.within_limits().then_some(cookies).ok_or(CookieError::RequestTooLarge)
    }

    /// Name and value of each pair. Text without `=` or name is no pair, and left out.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.headers.get_all(COOKIE).into_iter().flat_map(pieces).filter_map(pair)
    }

    /// The value of the cookie `name`.
    ///
    /// # Errors
    ///
    /// [`CookieError::Ambiguous`] where the name is there with different values. Which of them a
    /// browser sends first is up to whoever set the other one, so none is taken.
    pub fn get(&self, name: &str) -> Result<Option<&'a [u8]>, CookieError> {
        let mut values = self.iter().filter(|(found, _)| *found == name.as_bytes());
        let first = values.next().map(|(_, value)| value);
        if values.any(|(_, value)| Some(value) != first) {
            return Err(CookieError::Ambiguous);
        }
        Ok(first)
    }

    fn within_limits(&self) -> bool {
        let (mut len, mut pairs) = (0_usize, 0);
        for line in self.headers.get_all(COOKIE) {
            // As joined by "; ".
            len += line.len() + if len > 0 { 2 } else { 0 };
            if len > Self::MAX_LEN {
                return false;
            }
            pairs += pieces(line).filter(|piece| !piece.trim_ascii().is_empty()).count();
        }
        pairs <= Self::MAX_PAIRS
    }
}

impl std::fmt::Debug for Cookies<'_> {
    /// Names only: a value may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.iter().map(|(name, _)| name.escape_ascii().to_string());
        f.debug_list().entries(names).finish()
    }
}

fn pieces(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    line.as_bytes().split(|byte| *byte == b';')
}

/// Name and value, split at the first `=`.
fn pair(piece: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = piece.iter().position(|byte| *byte == b'=')?;
    let (name, value) = piece.split_at_checked(at)?;
    let name = name.trim_ascii();
    (!name.is_empty()).then(|| (name, value.strip_prefix(b"=").unwrap_or_default().trim_ascii()))
}
