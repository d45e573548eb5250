//! `Vary` (RFC 9110 12.5.5), to which several policies add.

use http::{
    HeaderMap, HeaderValue,
    header::{Entry, OccupiedEntry, VARY},
};

/// A request header that a response depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VaryToken {
    /// `Accept`
    Accept,
    /// `Origin`
    Origin,
    /// `Cookie`
    Cookie,
    /// `Authorization`
    Authorization,
    /// The fields of W3C Fetch Metadata.
    FetchMetadata,
}

// Constants, since `from_static` checks every byte.
const ACCEPT: HeaderValue = HeaderValue::from_static("accept");
const ORIGIN: HeaderValue = HeaderValue::from_static("origin");
const COOKIE: HeaderValue = HeaderValue::from_static("cookie");
const AUTHORIZATION: HeaderValue = HeaderValue::from_static("authorization");
const FETCH_METADATA: HeaderValue =
    HeaderValue::from_static("sec-fetch-site, sec-fetch-mode, sec-fetch-dest");
/// The common case: a response with a session for a page of another origin.
const BOTH: HeaderValue = HeaderValue::from_static("cookie, origin");

impl VaryToken {
    const fn value(self) -> HeaderValue {
        match self {
            Self::Accept => ACCEPT,
            Self::Origin => ORIGIN,
            Self::Cookie => COOKIE,
            Self::Authorization => AUTHORIZATION,
            Self::FetchMetadata => FETCH_METADATA,
        }
    }

    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Accept => &["accept"],
            Self::Origin => &["origin"],
            Self::Cookie => &["cookie"],
            Self::Authorization => &["authorization"],
            Self::FetchMetadata => &["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"],
        }
    }
}

/// Whether a line contains this name, or `*`.
fn names(line: &HeaderValue, name: &[u8]) -> bool {
    let is = |token: &[u8]| token.eq_ignore_ascii_case(name) || token == b"*";
    line.as_bytes().split(|byte| *byte == b',').any(|token| is(token.trim_ascii()))
}

/// Adds the names of a token that the field has in none of its lines, unless one is `*`.
#[inline]
pub fn add(headers: &mut HeaderMap, token: VaryToken) {
    match headers.entry(VARY) {
        Entry::Vacant(entry) => {
            entry.insert(token.value());
        }
        Entry::Occupied(entry) => add_to(entry, token),
    }
}

fn add_to(mut entry: OccupiedEntry<'_, HeaderValue>, token: VaryToken) {
    if entry.get() == COOKIE && token == VaryToken::Origin && entry.iter().nth(1).is_none() {
        entry.insert(BOTH);
        return;
    }
    for name in token.names() {
        add_missing(&mut entry, HeaderValue::from_static(name));
    }
}

fn add_missing(entry: &mut OccupiedEntry<'_, HeaderValue>, name: HeaderValue) {
    if !entry.iter().any(|line| names(line, name.as_bytes())) {
        extend(entry, name);
    }
}

/// Adds a name to the existing line, since some clients read only the first line.
fn extend(entry: &mut OccupiedEntry<'_, HeaderValue>, name: HeaderValue) {
    let line = [entry.get().as_bytes(), name.as_bytes()].join(&b", "[..]);
    match HeaderValue::from_bytes(&line) {
        Ok(line) if entry.iter().nth(1).is_none() => {
            entry.insert(line);
        }
        _ => entry.append(name),
    }
}

/// The request headers that every response of a route depends on.
#[derive(Clone, Debug)]
pub(crate) struct VaryNames {
    each: Vec<HeaderValue>,
    /// All names as one line.
    line: HeaderValue,
}

impl VaryNames {
    /// `None` if there are no names.
    pub(crate) fn new(names: &[&str]) -> Option<Self> {
        let line = HeaderValue::try_from(names.join(", ").to_ascii_lowercase()).ok()?;
        let each = names.iter().map(|name| HeaderValue::from_str(&name.to_ascii_lowercase()));
        let each: Vec<_> = each.collect::<Result<_, _>>().ok()?;
        (!each.is_empty()).then_some(Self { each, line })
    }
}

/// Adds the missing names.
pub(crate) fn add_all(headers: &mut HeaderMap, missing: &VaryNames) {
    match headers.entry(VARY) {
        Entry::Vacant(entry) => {
            entry.insert(missing.line.clone());
        }
        Entry::Occupied(mut entry) => {
            for name in &missing.each {
                add_missing(&mut entry, name.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &[&'static str], change: impl Fn(&mut HeaderMap)) -> Vec<String> {
        let lines = before.iter().map(|line| (VARY, HeaderValue::from_static(line)));
        let mut headers = HeaderMap::from_iter(lines);
        change(&mut headers);
        headers.get_all(VARY).iter().map(|line| line.to_str().unwrap().to_owned()).collect()
    }

    fn added(before: &[&'static str], token: VaryToken) -> Vec<String> {
        changed(before, |headers| add(headers, token))
    }

    #[test]
    fn vary_keeps_its_lines_and_gains_the_names_of_a_token() {
        let origin = |before| added(before, VaryToken::Origin);
        assert_eq!(origin(&[]), ["origin"]);
        assert_eq!(
            origin(&["accept", "cookie, accept-encoding"]),
            ["accept", "cookie, accept-encoding", "origin"]
        );
        assert_eq!(origin(&["accept, Origin"]), ["accept, Origin"]);
        assert_eq!(origin(&["*"]), ["*"]);
        assert_eq!(origin(&["original"]), ["original, origin"]);
        assert_eq!(origin(&["cookie"]), ["cookie, origin"]);
        assert_eq!(origin(&["cookie", "accept"]), ["cookie", "accept", "origin"]);
        assert_eq!(added(&["origin"], VaryToken::Cookie), ["origin, cookie"]);
        assert_eq!(added(&["Cookie"], VaryToken::Cookie), ["Cookie"]);
        assert_eq!(added(&["accept-encoding"], VaryToken::Accept), ["accept-encoding, accept"]);
    }

    /// A cache that selects by the site alone would serve a navigation to a frame of another site.
    #[test]
    fn vary_gains_each_name_of_fetch_metadata_that_it_lacks() {
        let metadata = |before: &[&'static str]| added(before, VaryToken::FetchMetadata);
        let all = "sec-fetch-site, sec-fetch-mode, sec-fetch-dest";
        assert_eq!(metadata(&[]), [all]);
        assert_eq!(
            metadata(&["Sec-Fetch-Site"]),
            ["Sec-Fetch-Site, sec-fetch-mode, sec-fetch-dest"]
        );
        assert_eq!(
            metadata(&["accept, sec-fetch-mode"]),
            ["accept, sec-fetch-mode, sec-fetch-site, sec-fetch-dest"]
        );
        assert_eq!(metadata(&[all]), [all]);
        assert_eq!(metadata(&["*"]), ["*"]);
    }

    #[test]
    fn the_names_of_a_route_are_added_once_each() {
        let names = VaryNames::new(&["Accept", "x-region"]).unwrap();
        let added = |before: &[&'static str]| changed(before, |headers| add_all(headers, &names));
        assert_eq!(added(&[]), ["accept, x-region"]);
        assert_eq!(added(&["origin, ACCEPT"]), ["origin, ACCEPT, x-region"]);
        assert_eq!(added(&["x-region", "accept"]), ["x-region", "accept"]);
        assert_eq!(added(&["*"]), ["*"]);
        assert!(VaryNames::new(&[]).is_none());
    }
}
