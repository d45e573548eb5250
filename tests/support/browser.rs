//! A browser, as far as the laws need one: one page fetching one address of another origin,
//! without redirects and without the cache of preflights. Written from the Fetch standard.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::{
    exchange::{Answer, Request},
    fetch::{Asked, SAFELISTED_METHODS, Stage, cors_check, is_token, judge_preflight, tokens},
    oracle::{is_sent, normalized},
};

/// A call of `fetch()`.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The origin of the page, as it is serialised.
    pub(crate) origin: String,
    pub(crate) path: String,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) credentials: Mode,
    /// Whether an upload is watched, which forces a preflight.
    pub(crate) watches_upload: bool,
}

/// The credentials mode (Fetch, 2.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Omit,
    SameOrigin,
    Include,
}

/// What the script gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// `fetch()` refused the arguments; nothing was sent.
    TypeError,
    /// A network error; the stage of the preflight that failed, if one did.
    NetworkError(Option<Stage>),
    /// A response: its status and the names of the headers that it shows.
    Readable { status: u16, visible: Vec<String> },
}

impl Script {
    pub(crate) fn includes_credentials(&self) -> bool {
        self.credentials == Mode::Include
    }

    /// The method as it is sent.
    pub(crate) fn sent_method(&self) -> String {
        normalized(&self.method)
    }

    /// Fetch, 2.2.2: CORS-unsafe request-header names.
    pub(crate) fn unsafe_names(&self) -> Vec<String> {
        let sent = self.sent_headers();
        let (safe, mut names): (Vec<_>, Vec<_>) =
            sent.iter().partition(|(name, value)| is_safelisted(name, value));
        if safe.iter().map(|(_, value)| value.len()).sum::<usize>() > 1024 {
            names.extend(safe);
        }
        let mut names: Vec<String> = names.iter().map(|(name, _)| name.to_lowercase()).collect();
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn is_preflighted(&self) -> bool {
        self.watches_upload
            || !SAFELISTED_METHODS.contains(&&*self.sent_method())
            || !self.unsafe_names().is_empty()
    }

    /// Fetch, 4.1, for a request of mode `cors` to another origin.
    pub(crate) fn fetch(&self, mut server: impl FnMut(&Request) -> Answer) -> Outcome {
        let method = self.sent_method();
        let Some(method) = method.parse::<Method>().ok().filter(|_| is_sent(&method)) else {
            return Outcome::TypeError;
        };
        if self.is_preflighted() {
            let answer = server(&self.preflight());
            let asked = Asked {
                origin: self.origin.as_bytes(),
                includes_credentials: self.includes_credentials(),
                method: method.as_str(),
                names: &self.unsafe_names(),
                forced: self.watches_upload,
            };
            if let Err(stage) = judge_preflight(&asked, &answer) {
                return Outcome::NetworkError(Some(stage));
            }
        }
        let answer = server(&self.actual(method));
        if !cors_check(self.origin.as_bytes(), self.includes_credentials(), &answer) {
            return Outcome::NetworkError(None);
        }
        Outcome::Readable { status: answer.status, visible: self.visible(&answer) }
    }

    fn preflight(&self) -> Request {
        let names = self.unsafe_names().join(",");
        let mut request = self.request(Method::OPTIONS);
        add(&mut request.headers, "accept", "*/*");
        add(&mut request.headers, "access-control-request-method", &self.sent_method());
        if !names.is_empty() {
            add(&mut request.headers, "access-control-request-headers", &names);
        }
        request
    }

    fn actual(&self, method: Method) -> Request {
        let mut request = self.request(method);
        for (name, value) in self.sent_headers() {
            add(&mut request.headers, name, value);
        }
        if self.includes_credentials() {
            add(&mut request.headers, "cookie", "c=1");
        }
        request
    }

    fn request(&self, method: Method) -> Request {
        let mut request = Request::new(method, &self.path);
        add(&mut request.headers, "origin", &self.origin);
        request
    }

    /// Fetch, 2.2.2: forbidden request-headers are dropped silently.
    fn sent_headers(&self) -> Vec<(&str, &str)> {
        let headers = self.headers.iter().map(|(name, value)| (&**name, &**value));
        headers.filter(|(name, _)| !is_forbidden(name)).collect()
    }

    /// Fetch, 2.2.6: CORS filtered response.
    fn visible(&self, answer: &Answer) -> Vec<String> {
        const SAFELISTED: [&str; 7] = [
            "cache-control",
            "content-language",
            "content-length",
            "content-type",
            "expires",
            "last-modified",
            "pragma",
        ];
        let exposed = tokens(&answer.headers, "access-control-expose-headers").unwrap_or_default();
        let all = !self.includes_credentials() && exposed.iter().any(|name| name == "*");
        let shown = |name: &&HeaderName| {
            let listed = exposed.iter().any(|one| one.eq_ignore_ascii_case(name.as_str()));
            let secret = ["set-cookie", "set-cookie2"].contains(&name.as_str());
            SAFELISTED.contains(&name.as_str()) || ((listed || all) && !secret)
        };
        let mut names: Vec<String> =
            answer.headers.keys().filter(shown).map(ToString::to_string).collect();
        names.sort();
        names
    }
}

fn add(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
    headers.append(name, HeaderValue::from_str(value).expect("a header value"));
}

fn is_forbidden(name: &str) -> bool {
    const NAMES: &str = "accept-charset accept-encoding access-control-request-headers \
        access-control-request-method connection content-length cookie cookie2 date dnt expect \
        host keep-alive origin referer set-cookie te trailer transfer-encoding upgrade via";
    let name = name.to_lowercase();
    NAMES.split_whitespace().any(|forbidden| forbidden == name)
        || name.starts_with("proxy-")
        || name.starts_with("sec-")
}

/// Fetch, 2.2.2: CORS-safelisted request-header.
fn is_safelisted(name: &str, value: &str) -> bool {
    let is_unsafe = |byte: u8| {
        (byte < 0x20 && byte != b'\t') || b"\"():<>?@[\\]{}".contains(&byte) || byte == 0x7f
    };
    let in_language = |byte: u8| byte.is_ascii_alphanumeric() || b" *,-.;=".contains(&byte);
    let clean = !value.bytes().any(is_unsafe);
    value.len() <= 128
        && match &*name.to_lowercase() {
            "accept" => clean,
            "accept-language" | "content-language" => value.bytes().all(in_language),
            "content-type" => clean && is_form_type(value),
            "range" => is_simple_range(value),
            _ => false,
        }
}

fn is_form_type(value: &str) -> bool {
    let essence = value.split(';').next().unwrap_or_default().trim().to_lowercase();
    let forms = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    forms.contains(&&*essence)
}

/// Fetch, 2.2.2: parse a single range header value; a start must be there.
fn is_simple_range(value: &str) -> bool {
    let Some((start, end)) = value.strip_prefix("bytes=").and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let (Ok(start), true) = (start.parse::<u64>(), is_token(start)) else { return false };
    end.is_empty() || end.parse::<u64>().is_ok_and(|end| start <= end)
}
