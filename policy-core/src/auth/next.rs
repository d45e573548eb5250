//! Where a login leads back to.

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

/// The longest `Location` that every server and proxy accepts.
const MAX_LEN: usize = 2048;
