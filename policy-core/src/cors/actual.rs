//! What a policy adds to every answer that is no preflight's.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, Entry, VARY,
    },
};

use super::compiled::{Audience, Cors};
use crate::gate::Single;

/// The verdict on the origin of a request, with the bytes for the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the verdict is due on the answer: pass it to `Cors::finish`"]
pub enum Grant {
    /// The request names no origin, or the answer is the same for all.
    Unasked,
    /// The policy grants this origin.
    Origin(HeaderValue),
    /// The policy does not grant the origin, or there is more than one.
    Refused,
}

impl Cors {
    /// Decides about the origin of a request (Fetch, 3.3.4). It looks at nothing else: a
    /// handler runs whether or not a page may read its answer.
    pub fn grant(&self, origin: Single<'_>) -> Grant {
        let echo = match (&self.audience, origin) {
            (Audience::Any, _) | (_, Single::Absent) => return Grant::Unasked,
            (_, Single::Repeated) => None,
            (Audience::Listed(set), Single::One(value)) => set.echo(value),
            (Audience::Shared(list), Single::One(value)) => list.load().echo(value),
        };
        echo.map_or(Grant::Refused, Grant::Origin)
    }

    /// Writes the policy onto an answer, whoever made it. What a handler wrote into the headers
    /// of CORS is gone afterwards; its `Vary` is kept and completed.
    pub fn finish(&self, grant: Grant, headers: &mut HeaderMap) {
        let before = Before::of(headers);
        if before.has_cors {
            remove_cors(headers);
        }
        let shared = match grant {
            Grant::Unasked if self.is_any_origin() => Some(ANY),
            Grant::Origin(origin) => Some(origin),
            Grant::Unasked | Grant::Refused => None,
        };
        if !self.is_any_origin() {
            if before.has_vary {
                add_vary_origin(headers);
            } else {
                headers.insert(VARY, ORIGIN);
            }
        }
        if let Some(origin) = shared {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            if self.credentials {
                headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
            }
            if let Some(expose) = &self.expose {
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, expose.clone());
            }
        }
    }
}

/// Finishes the answer of a route without a CORS policy: what a handler wrote into the headers
/// of CORS does not leave the server.
pub fn finish_without_cors(headers: &mut HeaderMap) {
    if Before::of(headers).has_cors {
        remove_cors(headers);
    }
}

fn remove_cors(headers: &mut HeaderMap) {
    for name in &CORS_HEADERS {
        headers.remove(name);
    }
}

// As constants, since `from_static` looks at every byte.
const ORIGIN: HeaderValue = HeaderValue::from_static("origin");
const ANY: HeaderValue = HeaderValue::from_static("*");
const TRUE: HeaderValue = HeaderValue::from_static("true");

const CORS_HEADERS: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// What an answer already has, found in one pass: most have neither.
struct Before {
    has_cors: bool,
    has_vary: bool,
}

impl Before {
    fn of(headers: &HeaderMap) -> Self {
        let mut before = Self { has_cors: false, has_vary: false };
        for name in headers.keys() {
            let name = name.as_str();
            before.has_vary |= name == "vary";
            before.has_cors |= name.starts_with("access-control-");
        }
        before
    }
}

/// Adds `origin` to the tokens that are there, over all lines, unless it or `*` is among them
/// (RFC 9110 12.5.5).
fn add_vary_origin(headers: &mut HeaderMap) {
    let is = |token: &[u8]| token.eq_ignore_ascii_case(b"origin") || token == b"*";
    let tokens = |value: &HeaderValue| {
        value.as_bytes().split(|byte| *byte == b',').any(|token| is(token.trim_ascii()))
    };
    if !headers.get_all(VARY).iter().any(tokens)
        && let Entry::Occupied(mut entry) = headers.entry(VARY)
    {
        entry.append(ORIGIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cors::{CorsPolicy, OriginLists};

    const POLICY: CorsPolicy = CorsPolicy::origins(&["https://a.test"]).credentials().build();

    fn finish(before: &[(HeaderName, &'static str)], origin: &'static str) -> HeaderMap {
        let cors = Cors::new("test", &POLICY, &OriginLists::new()).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in before {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        let origin = HeaderValue::from_static(origin);
        cors.finish(cors.grant(Single::One(&origin)), &mut headers);
        headers
    }

    #[test]
    fn what_a_handler_writes_into_cors_headers_is_removed() {
        let forged = [
            (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            (ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
            (ACCESS_CONTROL_ALLOW_METHODS, "*"),
            (ACCESS_CONTROL_ALLOW_HEADERS, "*"),
            (ACCESS_CONTROL_EXPOSE_HEADERS, "*"),
            (ACCESS_CONTROL_MAX_AGE, "1"),
        ];
        let headers = finish(&forged, "https://evil.test");
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[VARY], "origin");
    }

    #[test]
    fn vary_keeps_its_lines_and_gains_one_token() {
        let lines = |headers: &HeaderMap| -> Vec<_> {
            headers.get_all(VARY).iter().map(|v| v.to_str().unwrap().to_owned()).collect()
        };
        let two = finish(&[(VARY, "accept"), (VARY, "cookie, accept-encoding")], "https://a.test");
        assert_eq!(lines(&two), ["accept", "cookie, accept-encoding", "origin"]);
        assert_eq!(
            lines(&finish(&[(VARY, "accept, Origin")], "https://a.test")),
            ["accept, Origin"]
        );
        assert_eq!(lines(&finish(&[(VARY, "*")], "https://a.test")), ["*"]);
        assert_eq!(lines(&finish(&[(VARY, "original")], "https://a.test")), ["original", "origin"]);
    }
}
