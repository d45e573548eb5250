//! Where a login leads back to.

/// A target for a redirect within this service, out of what a client sent: a path that begins
/// with one `/`, and maybe a query and a fragment. `None` for everything that a browser could
/// take for another host: it reads `\` as `/` and drops tabs and line breaks (WHATWG URL 4.4),
/// so `//host`, `/\host` and `/<tab>/host` all lead there.
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
        // Also behind the first segment: `.` and `..` in front of it would be taken away.
        && !path.contains("//")
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    valid.then_some(text)
}

/// What fits into a `Location` that every server and proxy takes.
const MAX_LEN: usize = 2048;
