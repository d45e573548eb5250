//! Which requests are sent to the login page, and where a login redirects to.

use http::{HeaderMap, Method};

use crate::isolation::SEC_FETCH_MODE;

/// Validates a redirect target within this service that came from a client: a path that begins with
/// exactly one `/`, and optionally a query and a fragment. `None` for everything that a browser
/// could interpret as another host: it reads `\` as `/` and drops tabs and line breaks (WHATWG URL
/// 4.4), so `//host`, `/\host` and `/<tab>/host` all lead to another host.
///
/// ```
/// use policy_core::auth::local_path;
///
/// assert_eq!(local_path("/orders?page=2#last"), Some("/orders?page=2#last"));
/// for text in ["https://evil.test/", "//evil.test", "/\\evil.test", "/\t/evil.test", "/.//evil.test"] {
///     assert_eq!(local_path(text), None);
/// }
/// ```
pub fn local_path(text: &str) -> Option<&str> {
    let path = text.split(['?', '#']).next()?;
    let valid = text.len() <= MAX_LEN
        && path.starts_with('/')
        // Also after the first segment: browsers would remove a `.` or `..` before it.
        && !path.contains("//")
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    valid.then_some(text)
}

/// Whether a browser asks for a page, in a window or a frame: without a session, it is sent to the
/// login page (Fetch Metadata 2.2).
///
/// ```
/// use http::{HeaderMap, HeaderValue, Method};
/// use policy_core::auth::is_page_load;
///
/// let headers = |mode| HeaderMap::from_iter([("sec-fetch-mode".parse().unwrap(), HeaderValue::from_static(mode))]);
/// assert!(is_page_load(&Method::GET, &headers("navigate")));
/// assert!(!is_page_load(&Method::POST, &headers("navigate")));
/// assert!(!is_page_load(&Method::GET, &headers("cors")));
/// ```
pub fn is_page_load(method: &Method, headers: &HeaderMap) -> bool {
    let mode = headers.get(SEC_FETCH_MODE);
    *method == Method::GET && mode.is_some_and(|mode| mode == "navigate")
}

/// The longest `Location` that every server and proxy accepts.
const MAX_LEN: usize = 2048;
