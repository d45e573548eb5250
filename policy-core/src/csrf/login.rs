//! Logins by a link.

use http::{HeaderMap, HeaderName, Method};

use crate::{
    catalogue::Refusal,
    head::Single,
    isolation::{SEC_FETCH_DEST, SEC_FETCH_MODE, SEC_FETCH_SITE},
    method,
};

const SEC_PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// Decides whether a request may log a user in or elevate a session, by how the browser sends it.
///
/// The origin of a request with a safe method is not judged, because a link in a mail has to work.
/// But any page can cause such a request unseen: as an image, in a frame, as a prefetch. If the
/// browser states how it loads the request (Fetch Metadata), it has to be a navigation of a whole
/// window or tab, which the user sees.
///
/// # Errors
///
/// [`Refusal::LoginNavigation`].
///
/// ```
/// use http::{HeaderMap, HeaderValue, Method};
/// use policy_core::{Refusal, csrf::admit_login};
///
/// let mut headers = HeaderMap::new();
/// assert_eq!(admit_login(&Method::GET, &headers), Ok(()), "a program states nothing");
/// headers.insert("sec-fetch-mode", HeaderValue::from_static("navigate"));
/// headers.insert("sec-fetch-dest", HeaderValue::from_static("document"));
/// assert_eq!(admit_login(&Method::GET, &headers), Ok(()));
/// headers.insert("sec-fetch-dest", HeaderValue::from_static("iframe"));
/// assert_eq!(admit_login(&Method::GET, &headers), Err(Refusal::LoginNavigation));
/// ```
pub fn admit_login(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if !method::is_safe(method.as_str()) {
        return Ok(());
    }
    // Every handler that takes a session calls this, so only fields that can matter are looked up.
    let mode = Single::read(headers, &SEC_FETCH_MODE);
    let is_admitted =
        if mode.is("navigate") && Single::read(headers, &SEC_FETCH_DEST).is("document") {
            // A browser that prefetches a page states it here (Fetch 3.3.4), and sends a new request
            // for the user.
            !headers.contains_key(&SEC_PURPOSE)
        } else {
            // A client that states no mode is not a browser.
            mode == Single::Absent
                && !headers.contains_key(&SEC_FETCH_DEST)
                && !headers.contains_key(&SEC_FETCH_SITE)
        };
    if is_admitted { Ok(()) } else { Err(Refusal::LoginNavigation) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_login_by_a_link_is_a_navigation_of_a_window() {
        let fields = |fields: &[(&'static str, &'static str)]| -> HeaderMap {
            let all = fields.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            all.collect()
        };
        let (mode, dest) = (("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"));
        for (stated, is_admitted) in [
            (&[][..], true),
            (&[mode, dest], true),
            (&[mode, dest, ("sec-fetch-site", "cross-site")], true),
            (&[mode, dest, ("sec-fetch-user", "?1")], true),
            (&[mode, dest, ("sec-purpose", "prefetch")], false),
            (&[mode, dest, ("sec-purpose", "prefetch;prerender")], false),
            (&[mode], false),
            (&[dest], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[mode, ("sec-fetch-dest", "iframe")], false),
            (&[mode, ("sec-fetch-dest", "object")], false),
            (&[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")], false),
            (&[("sec-fetch-mode", "no-cors"), dest], false),
            (&[("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")], false),
            (&[("sec-fetch-mode", "websocket"), ("sec-fetch-dest", "websocket")], false),
        ] {
            let headers = fields(stated);
            for method in [Method::GET, Method::HEAD] {
                assert_eq!(admit_login(&method, &headers).is_ok(), is_admitted, "{stated:?}");
            }
            // The origin is judged there.
            assert_eq!(admit_login(&Method::POST, &headers), Ok(()), "{stated:?}");
        }
        let mut twice = fields(&[mode, dest]);
        twice.append(SEC_FETCH_DEST, HeaderValue::from_static("document"));
        assert_eq!(admit_login(&Method::GET, &twice), Err(Refusal::LoginNavigation));
    }
}
