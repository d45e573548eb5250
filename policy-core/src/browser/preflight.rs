//! CORS-preflight fetch (Fetch, 4.8).

use http::{HeaderMap, HeaderValue, Method, header};

use super::{
    Answer, Credentials, Profile, Reason,
    cors_check::cors_check,
    headers::{text, tokens},
    preflight_cache::PreflightCache,
    request::{Request, is_safelisted},
};

/// What a preflight allowed, as it goes into the cache.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    pub(super) methods: Vec<String>,
    pub(super) names: Vec<String>,
    /// In seconds, as the server says it.
    pub(super) max_age: u64,
}

/// Whether a request to another origin needs a preflight at all (Fetch, 4.1).
pub(super) fn is_due(request: &Request, unsafe_names: &[String]) -> bool {
    is_forced(request) || !is_safelisted(&request.method) || !unsafe_names.is_empty()
}

/// Whether the cache has what the preflight would ask for (Fetch, 4.3).
pub(super) fn is_cached(
    cache: &PreflightCache,
    profile: &Profile,
    request: &Request,
    unsafe_names: &[String],
) -> bool {
    let matching = cache.matching(request);
    let method_needs_none = is_safelisted(&request.method) && !is_forced(request);
    (method_needs_none || matching.has_method(&request.method))
        && unsafe_names.iter().all(|name| matching.has_name(name, covers(profile, name)))
}

/// The fields that a preflight has of its own.
pub(super) fn ask(request: &Request, unsafe_names: &[String]) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    if let Ok(method) = HeaderValue::from_str(request.method.as_str()) {
        headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, method);
    }
    if let (false, Ok(names)) =
        (unsafe_names.is_empty(), HeaderValue::from_str(&unsafe_names.join(",")))
    {
        headers.insert(header::ACCESS_CONTROL_REQUEST_HEADERS, names);
    }
    headers
}

/// From step 7: whether the answer allows the request.
pub(super) fn judge(
    profile: &Profile,
    request: &Request,
    unsafe_names: &[String],
    answer: &Answer,
) -> Result<Allowed, Reason> {
    let headers = &answer.headers;
    cors_check(request, headers)?;
    if !(200..=299).contains(&answer.status) {
        return Err(Reason::PreflightStatus(answer.status));
    }
    let list = |name| tokens(headers, name).map_err(Reason::PreflightSyntax);
    let methods = list("access-control-allow-methods")?;
    let names = list("access-control-allow-headers")?.unwrap_or_default();
    let asked = request.method.as_str();
    let methods = match methods {
        None if is_forced(request) => vec![asked.to_owned()],
        methods => methods.unwrap_or_default(),
    };
    let with_star = |list: &[String]| {
        request.fetch.credentials != Credentials::Include && list.iter().any(|one| one == "*")
    };
    if !methods.iter().any(|method| method == asked)
        && !is_safelisted(&request.method)
        && !with_star(&methods)
    {
        return Err(Reason::AllowMethods(asked.to_owned()));
    }
    let with_star = with_star(&names);
    for name in unsafe_names {
        let is_allowed = names.iter().any(|one| one.eq_ignore_ascii_case(name))
            || (with_star && covers(profile, name));
        if !is_allowed {
            return Err(Reason::AllowHeaders(name.clone()));
        }
    }
    let max_age = text(headers, "access-control-max-age").filter(|digits| is_number(digits));
    // A number that is too large for us is too large for any browser.
    let max_age = max_age.map_or(5, |digits| digits.parse().unwrap_or(u64::MAX));
    Ok(Allowed { methods, names, max_age })
}

/// The method of all preflights.
pub(super) const METHOD: Method = Method::OPTIONS;

/// The use-CORS-preflight flag: somebody listens to the upload, or the content is a stream.
fn is_forced(request: &Request) -> bool {
    request.fetch.watches_upload || (request.fetch.streams_body && request.body.is_some())
}

/// Whether `*` stands for this name: it does not for a CORS non-wildcard request-header name.
fn covers(profile: &Profile, name: &str) -> bool {
    profile.star_allows_authorization || name != "authorization"
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}
