//! The `Set-Cookie` headers of a response.

use http::{HeaderMap, HeaderValue, header::SET_COOKIE};

/// Adds a `Set-Cookie` to a response and removes those with the same name: each name is set once,
/// and the last one wins (RFC 6265bis 4.1.1).
///
/// ```
/// use http::{HeaderMap, header::SET_COOKIE};
/// use policy_core::cookie::{CookieSpec, write};
///
/// let theme = CookieSpec::new("theme").path("/");
/// let mut headers = HeaderMap::new();
/// write(&mut headers, CookieSpec::new("lang").set("en")?);
/// write(&mut headers, theme.set("dark")?);
/// write(&mut headers, theme.set("light")?);
/// let all: Vec<_> = headers.get_all(SET_COOKIE).iter().collect();
/// assert_eq!(all, ["lang=en; SameSite=Lax", "theme=light; Path=/; SameSite=Lax"]);
/// # Ok::<(), policy_core::cookie::CookieError>(())
/// ```
pub fn write(headers: &mut HeaderMap, cookie: HeaderValue) {
    let is_same = |other: &HeaderValue| name(other) == name(&cookie);
    if headers.get_all(SET_COOKIE).iter().any(is_same) {
        let others = headers.get_all(SET_COOKIE).iter().filter(|other| !is_same(other));
        let others: Vec<HeaderValue> = others.cloned().collect();
        headers.remove(SET_COOKIE);
        for other in others {
            headers.append(SET_COOKIE, other);
        }
    }
    headers.append(SET_COOKIE, cookie);
}

fn name(cookie: &HeaderValue) -> &[u8] {
    let pair = cookie.as_bytes().split(|byte| matches!(byte, b'=' | b';')).next();
    pair.unwrap_or_default().trim_ascii()
}
