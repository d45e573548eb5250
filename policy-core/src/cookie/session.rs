//! The one cookie that names a session.

use http::{HeaderMap, header::COOKIE};

use super::{CookieError, Cookies};
use crate::session::SessionId;

/// What a request says about its session.
#[derive(Clone, Debug)]
pub enum Presented {
    /// There is no such cookie.
    Absent,
    /// There are several with different values: one of them was planted by another host of the
    /// same site. None is taken.
    Ambiguous,
    /// The value is no id, so no store is asked.
    Malformed,
    /// An id, which a store may know.
    Candidate(SessionId),
}

/// Finds the session that a request presents in the cookie `name`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::COOKIE};
/// use policy_core::cookie::{Presented, presented};
///
/// let mut headers = HeaderMap::new();
/// assert!(matches!(presented(&headers, "__Host-sid"), Ok(Presented::Absent)));
/// headers.insert(COOKIE, HeaderValue::from_static("__Host-sid=short"));
/// assert!(matches!(presented(&headers, "__Host-sid"), Ok(Presented::Malformed)));
/// ```
///
/// # Errors
///
/// [`CookieError::RequestTooLarge`], by the limits of [`Cookies`].
pub fn presented(headers: &HeaderMap, name: &str) -> Result<Presented, CookieError> {
    // Nearly every request has one line, and a service of its own host no other cookie.
    if let Some(line) = headers.get(COOKIE)
        && headers.len() == headers.keys_len()
        && let Some(value) = line.as_bytes().strip_prefix(name.as_bytes())
        && let Some(value) = value.strip_prefix(b"=")
        && let Some(id) = SessionId::parse(value)
    {
        return Ok(Presented::Candidate(id));
    }
    Ok(match Cookies::read(headers)?.get(name) {
        Err(_) => Presented::Ambiguous,
        Ok(None) => Presented::Absent,
        Ok(Some(value)) => {
            SessionId::parse(value).map_or(Presented::Malformed, Presented::Candidate)
        }
    })
}
