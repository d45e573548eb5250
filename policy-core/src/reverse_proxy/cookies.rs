//! Cookies on their way to an upstream and back.

use http::{HeaderMap, HeaderValue, header::COOKIE};

use super::mapping::{Mapping, below};

/// The cookies of a request without those that have these names, in one line; `None` if none is
/// left.
pub fn without_cookies(headers: &HeaderMap, withheld: &[&str]) -> Option<HeaderValue> {
    let mut lines = headers.get_all(COOKIE).iter();
    let (first, second) = (lines.next()?, lines.next());
    let is_withheld = |piece: &[u8]| {
        let name = piece.split(|byte| *byte == b'=').next().unwrap_or_default();
        withheld.iter().any(|withheld| name.trim_ascii() == withheld.as_bytes())
    };
    let pieces = |line: &HeaderValue| -> bool {
        line.as_bytes().split(|byte| *byte == b';').any(is_withheld)
    };
    if second.is_none() && !pieces(first) {
        return Some(first.clone());
    }
    let mut kept = Vec::new();
    for line in headers.get_all(COOKIE) {
        for piece in line.as_bytes().split(|byte| *byte == b';') {
            let piece = piece.trim_ascii();
            if piece.is_empty() || is_withheld(piece) {
                continue;
            }
            if !kept.is_empty() {
                kept.extend_from_slice(b"; ");
            }
            kept.extend_from_slice(piece);
        }
    }
    if kept.is_empty() {
        return None;
    }
    let mut joined = HeaderValue::from_bytes(&kept).ok()?;
    joined.set_sensitive(true);
    Some(joined)
}

/// Rewrites a cookie that an upstream sets as a cookie of this server: for this host alone, and
/// below the prefix. The path of a cookie without a `Path` follows from the path of the request
/// (RFC 6265 5.1.4), `requested`.
///
/// `None` for a cookie that the upstream must not set: one with one of these names, one without a
/// name (RFC 6265bis: its value is sent in place of a name), or one with a path outside the prefix or
/// with a `;` in it.
/// A `__Host-` name requires `Path=/`, which stays.
pub fn rewrite_cookie(
    mapping: &Mapping,
    cookie: &HeaderValue,
    requested: &str,
    own: &[&str],
) -> Option<HeaderValue> {
    let mut pieces = cookie.as_bytes().split(|byte| *byte == b';');
    let pair = pieces.next()?.trim_ascii();
    let at = pair.iter().position(|byte| *byte == b'=')?;
    let name = pair.get(..at)?.trim_ascii();
    if name.is_empty() || own.iter().any(|own| name == own.as_bytes()) {
        return None;
    }
    let mut rewritten = pair.to_vec();
    let mut path = None;
    for attribute in pieces {
        let attribute = attribute.trim_ascii();
        let mut parts = attribute.splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"path") {
            // RFC 6265 5.3: the last one counts.
            path = Some(parts.next().unwrap_or_default().trim_ascii());
        } else if !attribute.is_empty() && !name.eq_ignore_ascii_case(b"domain") {
            rewritten.extend_from_slice(b"; ");
            rewritten.extend_from_slice(attribute);
        }
    }
    let is_of_host = name.get(..7).is_some_and(|name| name.eq_ignore_ascii_case(b"__host-"));
    let path = match path.filter(|path| path.starts_with(b"/")) {
        _ if is_of_host => Some(b"/".to_vec()),
        Some(path) => Some(own_path(mapping, path)?),
        // The default path of the prefix itself is above the prefix.
        None => (mapping.rest(requested) == Some("")).then(|| mapping.prefix().into()),
    };
    if let Some(path) = path {
        // A cookie has no path below such a prefix: a browser would read the path in front of it.
        if path.contains(&b';') {
            return None;
        }
        rewritten.extend_from_slice(b"; Path=");
        rewritten.extend_from_slice(&path);
    }
    HeaderValue::from_bytes(&rewritten).ok()
}

/// The path of a cookie on this server for requests that map to the upstream's path.
fn own_path(mapping: &Mapping, path: &[u8]) -> Option<Vec<u8>> {
    let above = path.strip_suffix(b"/").unwrap_or(path);
    if below(mapping.root().as_bytes(), above).is_some() {
        return Some(mapping.prefix().into());
    }
    mapping.back(path).map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_proxy::Upstream;

    fn remaining_cookies(lines: &[&'static str], withheld: &[&str]) -> Option<String> {
        let lines = lines.iter().map(|line| (COOKIE, HeaderValue::from_static(line)));
        let left = without_cookies(&HeaderMap::from_iter(lines), withheld)?;
        Some(left.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_that_are_withheld_are_not_sent() {
        for (lines, left) in [
            (&["a=1"][..], Some("a=1")),
            (&["a=1;b=2"], Some("a=1;b=2")),
            (&["sid=1"], None),
            (&["a=1; sid=2; b=3"], Some("a=1; b=3")),
            (&["a=1;sid=2;b=3;sid=4"], Some("a=1; b=3")),
            (&["a=1", "sid=2", "b=3"], Some("a=1; b=3")),
            (&["a=1", "b=3"], Some("a=1; b=3")),
            (&[" sid = 2; a=1"], Some("a=1")),
            (&["sid"], None),
            (&["SID=1; sidx=2; xsid=3"], Some("SID=1; sidx=2; xsid=3")),
            (&["a=sid=1"], Some("a=sid=1")),
            (&[";;", ""], None),
        ] {
            assert_eq!(remaining_cookies(lines, &["sid"]).as_deref(), left, "{lines:?}");
        }
        assert_eq!(remaining_cookies(&["sid=1"], &[]).as_deref(), Some("sid=1"));
    }

    fn set(upstream: &str, strips: bool, requested: &str, cookie: &str) -> Option<String> {
        let mapping = Mapping::new("/api", Upstream::parse(upstream).unwrap());
        let mapping = if strips { mapping.strip_prefix() } else { mapping };
        let cookie = HeaderValue::from_str(cookie).unwrap();
        let rewritten = rewrite_cookie(&mapping, &cookie, requested, &["__Host-sid"])?;
        Some(rewritten.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_of_an_upstream_are_for_this_host_and_the_prefix() {
        for (upstream, strips, cookie, own) in [
            ("http://up.test", true, "a=1", Some("a=1")),
            ("http://up.test", true, "a=1; Path=/", Some("a=1; Path=/api")),
            ("http://up.test", true, "a=1; Path=/x", Some("a=1; Path=/api/x")),
            ("http://up.test", true, "a=1; Path=/x/; Secure", Some("a=1; Secure; Path=/api/x/")),
            ("http://up.test", true, "a=1; Path=/x; path=/y", Some("a=1; Path=/api/y")),
            ("http://up.test", true, "a=1; Path=x", Some("a=1")),
            ("http://up.test", true, "a=1;Domain=up.test;HttpOnly", Some("a=1; HttpOnly")),
            ("http://up.test", true, "a=1; DOMAIN = evil.test", Some("a=1")),
            ("http://up.test/v1", true, "a=1; Path=/", Some("a=1; Path=/api")),
            ("http://up.test/v1", true, "a=1; Path=/v1", Some("a=1; Path=/api")),
            ("http://up.test/v1", true, "a=1; Path=/v1/", Some("a=1; Path=/api")),
            ("http://up.test/v1", true, "a=1; Path=/v1/x", Some("a=1; Path=/api/x")),
            ("http://up.test/v1", true, "a=1; Path=/v2", None),
            ("http://up.test/v1", true, "a=1; Path=/v1x", None),
            ("http://up.test", false, "a=1; Path=/", Some("a=1; Path=/api")),
            ("http://up.test", false, "a=1; Path=/api/x", Some("a=1; Path=/api/x")),
            ("http://up.test", false, "a=1; Path=/admin", None),
            ("http://up.test/v1", false, "a=1; Path=/v1/api/x", Some("a=1; Path=/api/x")),
            (
                "http://up.test",
                true,
                "__Host-a=1; Secure; Path=/",
                Some("__Host-a=1; Secure; Path=/"),
            ),
            ("http://up.test", true, "__Host-sid=1; Secure; Path=/", None),
            ("http://up.test", true, " __Host-sid =1; Secure; Path=/", None),
            ("http://up.test", true, "=__Host-sid=1; Secure; Path=/", None),
            ("http://up.test", true, "__Host-sid", None),
            ("http://up.test", true, "", None),
        ] {
            assert_eq!(set(upstream, strips, "/api/x", cookie).as_deref(), own, "{cookie}");
        }
    }

    #[test]
    fn a_cookie_of_the_prefix_itself_does_not_reach_above_it() {
        assert_eq!(set("http://up.test", true, "/api", "a=1").as_deref(), Some("a=1; Path=/api"));
        assert_eq!(set("http://up.test", true, "/api/", "a=1").as_deref(), Some("a=1"));
        let mapping = Mapping::new("/@api", Upstream::parse("http://up.test").unwrap());
        let cookie = HeaderValue::from_static("a=1");
        for requested in ["/@api", "/%40api"] {
            let rewritten = rewrite_cookie(&mapping, &cookie, requested, &[]);
            assert_eq!(rewritten.unwrap(), "a=1; Path=/@api", "{requested}");
        }
    }

    #[test]
    fn a_prefix_that_ends_the_path_of_a_cookie_has_none() {
        let mapping = Mapping::new("/a;b", Upstream::parse("http://up.test").unwrap());
        let mapping = mapping.strip_prefix();
        for (requested, cookie, own) in [
            ("/a;b/x", "a=1; Path=/", None),
            ("/a;b/x", "a=1; Path=/x", None),
            ("/a;b", "a=1", None),
            // Its path follows from the request.
            ("/a;b/x", "a=1", Some("a=1")),
            ("/a;b/x", "__Host-a=1; Secure; Path=/", Some("__Host-a=1; Secure; Path=/")),
        ] {
            let cookie = HeaderValue::from_static(cookie);
            let rewritten = rewrite_cookie(&mapping, &cookie, requested, &[]);
            let rewritten = rewritten.as_ref().map(|cookie| cookie.to_str().unwrap());
            assert_eq!(rewritten, own, "{cookie:?}");
        }
    }
}
