//! The checks of the Fetch standard that a browser makes on single answers. Written from the
//! standard; the product's code is not used.

use http::HeaderMap;

use crate::exchange::{Answer, combined};

/// Fetch, 2.2.1: methods that need no preflight.
pub(crate) const SAFELISTED_METHODS: [&str; 3] = ["GET", "HEAD", "POST"];

/// Where a preflight failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Origin,
    Status,
    Syntax,
    Method,
    Headers,
}

/// What a preflight asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) origin: &'a [u8],
    pub(crate) includes_credentials: bool,
    pub(crate) method: &'a str,
    /// CORS-unsafe request-header names: lower case, sorted.
    pub(crate) names: &'a [String],
    /// The use-CORS-preflight flag.
    pub(crate) forced: bool,
}

/// Fetch, 4.9: CORS check.
pub(crate) fn cors_check(origin: &[u8], includes_credentials: bool, answer: &Answer) -> bool {
    let Some(allowed) = combined(&answer.headers, "access-control-allow-origin") else {
        return false;
    };
    if !includes_credentials && allowed == b"*" {
        return true;
    }
    let credentials = combined(&answer.headers, "access-control-allow-credentials");
    allowed == origin && (!includes_credentials || credentials.as_deref() == Some(b"true"))
}

/// Fetch, 4.8: CORS-preflight fetch, from its step 7.
pub(crate) fn judge_preflight(asked: &Asked<'_>, answer: &Answer) -> Result<(), Stage> {
    if !cors_check(asked.origin, asked.includes_credentials, answer) {
        return Err(Stage::Origin);
    }
    if !(200..=299).contains(&answer.status) {
        return Err(Stage::Status);
    }
    let list = |name| tokens(&answer.headers, name).ok_or(Stage::Syntax);
    let mut methods = list("access-control-allow-methods")?;
    let names = list("access-control-allow-headers")?;
    if asked.forced && !answer.headers.contains_key("access-control-allow-methods") {
        methods.push(asked.method.to_owned());
    }
    let star = |list: &[String]| !asked.includes_credentials && list.iter().any(|text| text == "*");
    let allows_method = methods.iter().any(|method| method == asked.method)
        || SAFELISTED_METHODS.contains(&asked.method)
        || star(&methods);
    if !allows_method {
        return Err(Stage::Method);
    }
    // `*` never covers Authorization (Fetch, CORS non-wildcard request-header name).
    let allows = |name: &String| {
        names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
            || (star(&names) && name != "authorization")
    };
    if asked.names.iter().all(allows) { Ok(()) } else { Err(Stage::Headers) }
}

/// Fetch, 2.2.2: extract header list values; `None` for a value that breaks the grammar.
pub(crate) fn tokens(headers: &HeaderMap, name: &str) -> Option<Vec<String>> {
    let list = crate::exchange::elements(headers, name);
    list.iter().all(|element| is_token(element)).then_some(list)
}

/// RFC 9110 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    const SIGNS: &str = "!#$%&'*+-.^_`|~";
    let valid = |sign: char| sign.is_ascii_alphanumeric() || SIGNS.contains(sign);
    !text.is_empty() && text.chars().all(valid)
}
