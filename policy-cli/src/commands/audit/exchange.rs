//! A request that was sent, and what came back.

use http::{HeaderMap, HeaderName, HeaderValue, Request, header};

#[derive(Debug)]
pub(super) struct Exchange {
    /// As it was sent, with its credential.
    pub(super) request: Request<()>,
    pub(super) response: Response,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// Its beginning, up to a maximum length.
    pub(super) body: Vec<u8>,
}

impl Response {
    /// All lines of a header, joined.
    pub(super) fn text(&self, name: &HeaderName) -> Option<String> {
        let lines: Vec<_> = self.lines(name).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }

    /// The lines of a header.
    pub(super) fn lines(&self, name: &HeaderName) -> impl Iterator<Item = String> {
        self.headers.get_all(name).iter().map(text_of)
    }

    /// The words of a header that is a list, in lower case.
    pub(super) fn words(&self, name: &HeaderName) -> Vec<String> {
        let lines: Vec<_> = self.lines(name).collect();
        let mut words: Vec<_> = lines
            .iter()
            .flat_map(|line| line.split(','))
            .map(|word| word.trim().to_ascii_lowercase())
            .filter(|word| !word.is_empty())
            .collect();
        words.sort();
        words.dedup();
        words
    }

    /// Whether it sets a cookie of this name.
    pub(super) fn sets(&self, cookie: &str) -> bool {
        self.lines(&header::SET_COOKIE).any(|line| line.split('=').next() == Some(cookie))
    }

    /// The code of the problem document of our server, if it is one (RFC 9457).
    pub(super) fn code(&self) -> Option<String> {
        let media_type = self.text(&header::CONTENT_TYPE)?;
        if !media_type.starts_with("application/problem+json") {
            return None;
        }
        let problem: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        problem.get("code")?.as_str().map(str::to_owned)
    }

    /// Whether a cache states that the response was stored.
    pub(super) fn is_from_cache(&self) -> bool {
        let age = self.text(&header::AGE).and_then(|age| age.parse::<u64>().ok());
        let is_hit = |name: &'static str| {
            let text = self.text(&HeaderName::from_static(name));
            text.is_some_and(|text| text.to_ascii_lowercase().contains("hit"))
        };
        age.is_some_and(|age| age > 0) || CACHES.into_iter().any(is_hit)
    }

    /// The headers that show which server handled it.
    pub(super) fn traces(&self) -> Option<String> {
        let names = ["server", "via", "age", "cf-ray", "x-served-by"].into_iter().chain(CACHES);
        let traces: Vec<_> = names
            .filter_map(|name| {
                let text = self.text(&HeaderName::from_static(name))?;
                Some(format!("{name}: {text}"))
            })
            .collect();
        (!traces.is_empty()).then(|| traces.join("; "))
    }
}

/// Headers in which caches state whether they had a response.
const CACHES: [&str; 4] = ["x-cache", "x-cache-status", "cf-cache-status", "x-proxy-cache"];

pub(super) fn text_of(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
