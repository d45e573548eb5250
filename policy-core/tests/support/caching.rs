//! What a cache reads from the fields of a response, and whether it may store it (RFC 9111 3 and
//! 4.2). Written from the standard, and strict where it leaves caches a choice.

use http::{HeaderMap, Method, header::AsHeaderName};

/// RFC 9110 15.1: the status codes that are heuristically cacheable.
pub const CACHEABLE_BY_DEFAULT: [u16; 12] =
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501];

/// Directives by lower-case name, in their order.
#[derive(Clone, Debug, Default)]
pub struct Field(Vec<(String, Option<String>)>);

/// The users of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    OfOne,
    OfMany,
}

impl Field {
    /// The directives of a field; `None` without the field.
    pub fn read(headers: &HeaderMap, name: impl AsHeaderName) -> Option<Self> {
        let lines: Vec<_> = headers.get_all(name).iter().collect();
        let texts = lines.iter().map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned());
        let field = Self::parse(texts.collect());
        (!lines.is_empty()).then_some(field)
    }

    pub fn parse(lines: Vec<String>) -> Self {
        let mut found = Vec::new();
        for line in lines {
            let (mut text, mut is_quoted) = (String::new(), false);
            let mut chars = line.chars().chain([',']).peekable();
            while let Some(char) = chars.next() {
                match char {
                    '\\' if is_quoted => drop(chars.next()),
                    '"' => is_quoted = !is_quoted,
                    ',' if !is_quoted => found.push(std::mem::take(&mut text)),
                    _ if is_quoted => text.push('_'),
                    char => text.push(char),
                }
            }
        }
        let named = found.into_iter().map(|directive| match directive.split_once('=') {
            Some((name, value)) => (name.trim().to_lowercase(), Some(value.trim().to_owned())),
            None => (directive.trim().to_lowercase(), None),
        });
        Self(named.filter(|(name, _)| !name.is_empty()).collect())
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(found, _)| found == name)
    }

    /// Whether the directive occurs without an argument, so that it applies to the whole response.
    pub fn has_plain(&self, name: &str) -> bool {
        self.0.iter().any(|(found, argument)| found == name && argument.is_none())
    }

    /// The seconds of a directive: the least of several, and none if not a number.
    pub fn seconds(&self, name: &str) -> Option<u64> {
        let all = self.0.iter().filter(|(found, _)| found == name);
        all.map(|(_, argument)| {
            let text = argument.as_deref().unwrap_or_default();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { text.parse().unwrap_or(u64::MAX) } else { 0 }
        })
        .min()
    }

    /// RFC 9111 4.2.1, without `Expires`; `None` where a cache applies a heuristic.
    pub fn lifetime(&self, cache: Cache) -> Option<u64> {
        let shared = self.seconds("s-maxage").filter(|_| cache == Cache::OfMany);
        shared.or_else(|| self.seconds("max-age"))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// RFC 9111 3, for a response with this `Cache-Control`.
pub fn may_store(
    cache: Cache,
    (method, is_authorized, has_location): (&Method, bool, bool),
    status: u16,
    field: &Field,
) -> bool {
    let states_age = field.lifetime(cache).is_some();
    let is_understood = match method.as_str() {
        "GET" | "HEAD" => true,
        "POST" | "PATCH" => states_age && has_location,
        _ => false,
    };
    let is_heuristic = CACHEABLE_BY_DEFAULT.contains(&status);
    let is_kept = match cache {
        Cache::OfOne => true,
        Cache::OfMany => {
            let is_opened =
                ["public", "s-maxage", "must-revalidate"].iter().any(|name| field.has(name));
            !field.has("private") && (is_opened || !is_authorized)
        }
    };
    let says_so = field.has("public")
        || states_age
        || cache == Cache::OfOne && field.has("private")
        || is_heuristic;
    is_understood && status >= 200 && !field.has("no-store") && is_kept && says_so
}
