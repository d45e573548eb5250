//! The one cookie that names a session.

use http::{HeaderMap, header::COOKIE};

use super::{
    CookieError,
    read::{scan, value_of},
};
use crate::{head::Single, session::SessionId};

/// The session cookie of a request.
#[derive(Clone, Debug)]
pub enum PresentedCookie {
    /// There is no such cookie.
    Absent,
    /// There are several with different values: another host of the same site planted one of them.
    /// None is used.
    Ambiguous,
    /// The value is not a valid id, so no store is queried.
    Malformed,
    /// A well-formed id, which a store may know.
    Candidate(SessionId),
}

/// Finds the session that a request presents in the cookie `name`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::COOKIE};
/// use policy_core::cookie::{PresentedCookie, presented};
///
/// let mut headers = HeaderMap::new();
/// assert!(matches!(presented(&headers, "__Host-sid"), Ok(PresentedCookie::Absent)));
/// headers.insert(COOKIE, HeaderValue::from_static("__Host-sid=short"));
/// assert!(matches!(presented(&headers, "__Host-sid"), Ok(PresentedCookie::Malformed)));
/// ```
///
/// # Errors
///
/// [`CookieError::RequestTooLarge`], by the limit of [`Cookies`](super::Cookies).
pub fn presented(headers: &HeaderMap, name: &str) -> Result<PresentedCookie, CookieError> {
    let (mut found, mut is_ambiguous) = (None, false);
    let look = |piece| {
        if let Some(value) = value_of(piece, name) {
            is_ambiguous |= found.is_some_and(|found| found != value);
            found = Some(value);
        }
    };
    match Single::read(headers, &COOKIE) {
        Single::Absent => return Ok(PresentedCookie::Absent),
        Single::One(line) => {
            // Fast path: a service on its own host usually has no other cookie.
            if let Some(id) = value_of(line.as_bytes(), name).and_then(SessionId::parse) {
                return Ok(PresentedCookie::Candidate(id));
            }
            scan([line], look)?;
        }
        Single::Repeated => scan(headers.get_all(COOKIE), look)?,
    }
    Ok(match found {
        _ if is_ambiguous => PresentedCookie::Ambiguous,
        None => PresentedCookie::Absent,
        Some(value) => {
            SessionId::parse(value).map_or(PresentedCookie::Malformed, PresentedCookie::Candidate)
        }
    })
}
