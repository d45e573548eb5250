//! The directives of a Content Security Policy (CSP 3).

use http::HeaderMap;

use crate::grammar::trim;

/// The policies of `Content-Security-Policy`, in lower case (CSP 3, 2.2.2).
pub(crate) fn csp(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let lines = headers.get_all("content-security-policy").iter();
    let policies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    policies.map(|policy| String::from_utf8_lossy(trim(policy)).to_ascii_lowercase())
}

/// The values of a directive; the first one of a policy counts.
pub(crate) fn directive<'a>(policy: &'a str, name: &str) -> Option<Vec<&'a str>> {
    policy.split(';').find_map(|directive| {
        let mut words = directive.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.collect())
    })
}
