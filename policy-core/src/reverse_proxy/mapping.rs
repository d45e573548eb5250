//! Mapping paths of this server to paths of an upstream.

use std::borrow::Cow;

use http::uri::PathAndQuery;

use super::address::Upstream;
use crate::{
    catalogue::Refusal,
    head::lookup_path,
    percent::{Part, parts},
};

/// A path prefix of this server and the upstream that serves it. The base path is always the
/// upstream's, regardless of the request.
///
/// ```
/// use policy_core::{Refusal, reverse_proxy::{Mapping, Upstream}};
///
/// let upstream = Upstream::parse("http://127.0.0.1:9000/v1").unwrap();
/// let mapping = Mapping::new("/api", upstream).strip_prefix();
/// let path = |path: &'static str| mapping.path(&path.parse().unwrap());
/// assert_eq!(path("/api/x?y=1").unwrap(), "/v1/x?y=1");
/// assert_eq!(path("/api/%252e%252e/x"), Err(Refusal::PathDotSegment));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    prefix: Box<str>,
    upstream: Upstream,
    strips: bool,
}

impl Mapping {
    /// Maps everything below `prefix`, with the whole path. The prefix is validated like that of a
    /// mount.
    pub fn new(prefix: &str, upstream: Upstream) -> Self {
        Self { prefix: prefix.into(), upstream, strips: false }
    }

    /// Removes the prefix from forwarded paths.
    #[must_use]
    pub const fn strip_prefix(mut self) -> Self {
        self.strips = true;
        self
    }

    /// The upstream.
    pub const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The path and the query of a request at the upstream, byte for byte.
    ///
    /// # Errors
    ///
    /// Refuses a path that the upstream could resolve to one outside of its base: one with a dot
    /// segment, at any depth of encoding, or one that begins with two slashes after the prefix is
    /// removed, which would be an authority (RFC 3986 4.2).
    pub fn path(&self, requested: &PathAndQuery) -> Result<PathAndQuery, Refusal> {
        let whole = requested.path();
        let stripped = self.rest(whole).ok_or(Refusal::TargetForm)?;
        let path = if self.strips { stripped } else { whole };
        let begins = self.upstream.base().is_empty();
        if !is_plain(path) {
            check(path, begins)?;
        }
        let base = self.upstream.base();
        let slash = if begins && path.is_empty() { "/" } else { "" };
        let target = match requested.query() {
            Some(query) => [base, slash, path, "?", query].concat(),
            None => [base, slash, path].concat(),
        };
        PathAndQuery::try_from(target).map_err(|_not_one| Refusal::TargetForm)
    }

    /// The rest of a requested path after the prefix, in which reserved characters may be encoded:
    /// the router takes both spellings for one path.
    pub(super) fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let segments = self.prefix.matches('/').count();
        let end = path.match_indices('/').nth(segments).map_or(path.len(), |(end, _)| end);
        let (prefix, rest) = path.split_at_checked(end)?;
        (lookup_path(prefix) == *self.prefix).then_some(rest)
    }

    /// The path of this server for a path of the upstream, which may have a query or a fragment;
    /// `None` if no request of this server maps to it.
    pub(super) fn back<'p>(&self, path: &'p [u8]) -> Option<Cow<'p, [u8]>> {
        let rest = below(path, self.upstream.base().as_bytes())?;
        if self.strips {
            return Some([self.prefix.as_bytes(), rest].concat().into());
        }
        below(rest, self.prefix.as_bytes())?;
        Some(rest.into())
    }

    /// The common prefix of all paths that the upstream receives.
    pub(super) fn root(&self) -> Cow<'_, str> {
        let base = self.upstream.base();
        if self.strips { base.into() } else { format!("{base}{}", self.prefix).into() }
    }
}

/// The rest of a path after `base`, if the path is `base` or below it.
pub(super) fn below<'p>(path: &'p [u8], base: &[u8]) -> Option<&'p [u8]> {
    path.strip_prefix(base).filter(|rest| is_rest(rest))
}

/// Whether a segment ends here.
const fn is_rest(rest: &[u8]) -> bool {
    matches!(rest, [] | [b'/' | b'?' | b'#', ..])
}

/// Whether a path needs no closer check; nearly every path is plain.
fn is_plain(path: &str) -> bool {
    let mut last = 0;
    path.bytes().all(|byte| {
        let twice = byte == b'/' && last == b'/';
        last = byte;
        !twice && !matches!(byte, b'%' | b'.' | b'\\')
    })
}

/// How many times a chain of servers may decode a path. Text that is encoded more often than this
/// is refused as well.
const LAYERS: usize = 4;

fn check(path: &str, begins: bool) -> Result<(), Refusal> {
    let mut layer = Cow::Borrowed(path.as_bytes());
    for _ in 0..LAYERS {
        if begins && matches!(&*layer, [b'/' | b'\\', b'/' | b'\\', ..]) {
            return Err(Refusal::ProxyPath);
        }
        if layer.split(|byte| matches!(byte, b'/' | b'\\')).any(is_dot_segment) {
            return Err(Refusal::PathDotSegment);
        }
        match decoded(&layer) {
            Some(next) => layer = Cow::Owned(next),
            None => return Ok(()),
        }
    }
    Err(Refusal::PathDotSegment)
}

/// `.` or `..`, also with parameters after it, which some servers remove before they resolve a path
/// (RFC 3986 3.3).
fn is_dot_segment(segment: &[u8]) -> bool {
    let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
    matches!(name, b"." | b"..")
}

/// The text, percent-decoded once; `None` if it has no percent codes.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut is_changed = false;
    let decoded = parts(text).map(|part| match part {
        Part::Raw(byte) => byte,
        Part::Code(byte) => {
            is_changed = true;
            byte
        }
        Part::Stray => b'%',
    });
    let decoded: Vec<u8> = decoded.collect();
    is_changed.then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(upstream: &str) -> Mapping {
        Mapping::new("/api", Upstream::parse(upstream).unwrap())
    }

    fn target(mapping: &Mapping, path: &str) -> Result<String, Refusal> {
        mapping.path(&path.parse().unwrap()).map(|target| target.to_string())
    }

    #[test]
    fn paths_keep_their_bytes_but_for_the_prefix() {
        let plain = mapping("http://a.test:9000");
        let based = mapping("http://a.test:9000/v1");
        for (path, whole, stripped) in [
            ("/api", "/api", "/"),
            ("/api/", "/api/", "/"),
            ("/api?x", "/api?x", "/?x"),
            (
                "/api/a%2Fb/c%20d?e=%2e%2e/..&f",
                "/api/a%2Fb/c%20d?e=%2e%2e/..&f",
                "/a%2Fb/c%20d?e=%2e%2e/..&f",
            ),
            ("/api/...//x.y", "/api/...//x.y", "/...//x.y"),
            ("/api/100%2525", "/api/100%2525", "/100%2525"),
            ("/api/api/api", "/api/api/api", "/api/api"),
        ] {
            let at = |target: &str| Ok(target.to_owned());
            assert_eq!(target(&plain, path), at(whole));
            assert_eq!(target(&plain.clone().strip_prefix(), path), at(stripped));
            assert_eq!(target(&based, path), at(&format!("/v1{whole}")));
            let stripped = match stripped.strip_prefix('/') {
                Some("") if path == "/api" => "/v1".to_owned(),
                Some(rest) if rest.starts_with('?') => format!("/v1{rest}"),
                _ => format!("/v1{stripped}"),
            };
            assert_eq!(target(&based.clone().strip_prefix(), path), at(&stripped));
        }
    }

    #[test]
    fn a_prefix_is_found_in_each_spelling_that_the_router_takes_for_it() {
        let whole = Mapping::new("/@a/b", Upstream::parse("http://a.test").unwrap());
        let stripped = whole.clone().strip_prefix();
        for (path, rest) in [("/@a/b/x", "/x"), ("/%40a/b/x%40", "/x%40"), ("/%40a/b", "/")] {
            assert_eq!(target(&whole, path), Ok(path.to_owned()));
            assert_eq!(target(&stripped, path), Ok(rest.to_owned()));
        }
        for path in ["/%40a", "/%40a/bx", "/%40a%2Fb/x", "/%2540a/b/x"] {
            assert_eq!(target(&stripped, path), Err(Refusal::TargetForm), "{path}");
        }
    }

    #[test]
    fn paths_that_could_lead_out_of_the_base_are_refused() {
        for upstream in ["http://a.test", "http://a.test/v1"] {
            for mapping in [mapping(upstream), mapping(upstream).strip_prefix()] {
                for path in [
                    "/api/..",
                    "/api/./x",
                    "/api/x/../../y",
                    "/api/%2e%2e/x",
                    "/api/.%2E/x",
                    "/api/..%2fx",
                    "/api/..%5cx",
                    "/api/%252e%252e/x",
                    "/api/..%252fx",
                    "/api/%25252e%25252e%25252fx",
                    "/api/..;/x",
                    "/api/..;a=b/x",
                    "/api/%2e%2e%3b/x",
                    // Deeper than any server decodes.
                    "/api/%252525252525",
                ] {
                    let refused = Err(Refusal::PathDotSegment);
                    assert_eq!(target(&mapping, path), refused, "{path}");
                }
                for path in ["/", "/apix", "/ap", "/x/api", "/API/x"] {
                    assert_eq!(target(&mapping, path), Err(Refusal::TargetForm), "{path}");
                }
            }
        }
    }

    #[test]
    fn paths_that_become_an_authority_after_the_prefix_are_refused() {
        let plain = mapping("http://a.test");
        for path in ["/api//evil.test", "/api/%2fevil.test", "/api/%5Cevil.test", "/api/%252fevil"]
        {
            assert_eq!(target(&plain.clone().strip_prefix(), path), Err(Refusal::ProxyPath));
            assert!(target(&plain, path).is_ok(), "{path}");
            let based = mapping("http://a.test/v1").strip_prefix();
            assert!(target(&based, path).unwrap().starts_with("/v1/"), "{path}");
        }
    }

    #[test]
    fn paths_of_an_upstream_lead_back() {
        let plain = mapping("http://a.test");
        let based = mapping("http://a.test/v1");
        for (mapping, path, own) in [
            (plain.clone().strip_prefix(), "/x?y#z", Some("/api/x?y#z")),
            (plain.clone().strip_prefix(), "/", Some("/api/")),
            (plain.clone(), "/api/x", Some("/api/x")),
            (plain.clone(), "/api?x", Some("/api?x")),
            (plain.clone(), "/apix", None),
            (plain, "/login", None),
            (based.clone().strip_prefix(), "/v1/x", Some("/api/x")),
            (based.clone().strip_prefix(), "/v1", Some("/api")),
            (based.clone().strip_prefix(), "/v1//evil", Some("/api//evil")),
            (based.clone().strip_prefix(), "/v1x", None),
            (based.clone().strip_prefix(), "/x", None),
            (based.clone(), "/v1/api/x", Some("/api/x")),
            (based.clone(), "/v1//evil", None),
            (based, "/v1/x", None),
        ] {
            let back = mapping.back(path.as_bytes());
            assert_eq!(back.as_deref(), own.map(str::as_bytes), "{path}");
        }
    }
}
