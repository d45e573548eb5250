//! Whether browsers keep the cookies of a response as the policy requires (RFC 6265bis).

use http::header;
use policy_manifest::{Manifest, SessionFacts};

use super::{Findings, JudgedExchange};
use crate::commands::audit::codes::Code;

/// The name and the attributes of a line of `Set-Cookie`, without its value.
struct Cookie<'a> {
    name: &'a str,
    attributes: Vec<String>,
}

/// What a cookie must have, and whether it does.
type Check = (bool, String);

pub(super) fn judge(manifest: &Manifest, judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    let is_https = manifest.app.public_origin.as_ref().is_some_and(|own| own.starts_with("https:"));
    for line in judged.response.lines(&header::SET_COOKIE) {
        let cookie = Cookie::parse(&line);
        let facts = manifest.app.sessions.as_ref();
        let facts = facts.filter(|facts| cookie.name.eq_ignore_ascii_case(&facts.cookie));
        let checks = match facts {
            Some(facts) => cookie.session_checks(facts, is_https),
            None => cookie.prefix_checks(),
        };
        let wrong: Vec<_> =
            checks.iter().filter(|(is, _)| !is).map(|(_, words)| words.as_str()).collect();
        if !wrong.is_empty() {
            let Cookie { name, attributes } = &cookie;
            let found = format!("`set-cookie: {name}=...; {}`", attributes.join("; "));
            findings.add(Code::SetCookieChanged, judged, wrong.join(", "), found);
        }
    }
}

impl<'a> Cookie<'a> {
    fn parse(line: &'a str) -> Self {
        let mut parts = line.split(';').map(str::trim);
        let name = parts.next().and_then(|pair| pair.split('=').next()).unwrap_or_default();
        Self { name, attributes: parts.map(str::to_ascii_lowercase).collect() }
    }

    fn has(&self, word: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute == word)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.attributes.iter().filter_map(|attribute| attribute.split_once('='));
        values.find_map(|(known, value)| (known == name).then_some(value))
    }

    fn session_checks(&self, facts: &SessionFacts, is_https: bool) -> Vec<Check> {
        let domain = facts.domain.as_deref();
        let domain_words =
            domain.map_or("no `Domain`".to_owned(), |domain| format!("`Domain={domain}`"));
        let same_site = facts.same_site.as_str();
        vec![
            (self.name == facts.cookie, format!("the name `{}`", facts.cookie)),
            (self.has("secure") || !is_https, "`Secure`".to_owned()),
            (self.has("httponly"), "`HttpOnly`".to_owned()),
            (self.value("samesite") == Some(same_site), format!("`SameSite={same_site}`")),
            (self.value("path") == Some("/"), "`Path=/`".to_owned()),
            (self.has("partitioned") || !facts.partitioned, "`Partitioned`".to_owned()),
            (self.value("domain") == domain, domain_words),
        ]
    }

    /// What the name prefix of a cookie requires; browsers drop a cookie that breaks it.
    fn prefix_checks(&self) -> Vec<Check> {
        let name = self.name.to_ascii_lowercase();
        let is_host = name.starts_with("__host-");
        let is_secure = is_host || name.starts_with("__secure-");
        vec![
            (self.has("secure") || !is_secure, "`Secure`".to_owned()),
            (self.value("path") == Some("/") || !is_host, "`Path=/`".to_owned()),
            (self.value("domain").is_none() || !is_host, "no `Domain`".to_owned()),
        ]
    }
}
