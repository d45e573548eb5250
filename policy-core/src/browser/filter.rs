//! Filtered responses (Fetch, 2.2.6): how much of an answer a page sees.

use http::{HeaderMap, HeaderName, Method};

use super::{
    Answer, Credentials, Response, ResponseType,
    headers::{is_forbidden_response, is_shown, tokens},
    request::{Request, Tainting},
};

/// The response that the page gets of an answer.
pub(super) fn filter(request: &Request, answer: Answer, is_cached: bool) -> Response {
    let keep: &dyn Fn(&HeaderName) -> bool = match request.tainting {
        Tainting::Opaque => return nothing(request, ResponseType::Opaque, is_cached),
        Tainting::Basic => &|name| !is_forbidden_response(name),
        Tainting::Cors => {
            let exposed = tokens(&answer.headers, "access-control-expose-headers");
            let exposed = exposed.ok().flatten().unwrap_or_default();
            let all = request.fetch.credentials != Credentials::Include
                && exposed.iter().any(|name| name == "*");
            &move |name| is_shown(name, &exposed, all)
        }
    };
    let mut url = request.url.clone();
    url.set_fragment(None);
    Response {
        kind: match request.tainting {
            Tainting::Cors => ResponseType::Cors,
            _ => ResponseType::Basic,
        },
        url: Some(url),
        is_redirected: !request.redirected_from.is_empty(),
        status: answer.status,
        headers: retain(answer.headers, keep),
        body: if has_content(request, answer.status) { answer.body } else { Vec::new() },
        is_cached,
    }
}

/// A response that shows nothing: an opaque one, or a redirect that was to be left alone.
pub(super) fn nothing(request: &Request, kind: ResponseType, is_cached: bool) -> Response {
    Response {
        kind,
        url: (kind == ResponseType::OpaqueRedirect).then(|| request.url.clone()),
        is_redirected: false,
        status: 0,
        headers: HeaderMap::new(),
        body: Vec::new(),
        is_cached,
    }
}

/// Whether what follows the fields is content: not after HEAD, nor with a null body status.
fn has_content(request: &Request, status: u16) -> bool {
    request.method != Method::HEAD && !matches!(status, 101 | 103 | 204 | 205 | 304)
}

fn retain(mut headers: HeaderMap, keep: &dyn Fn(&HeaderName) -> bool) -> HeaderMap {
    let hidden: Vec<HeaderName> = headers.keys().filter(|name| !keep(name)).cloned().collect();
    for name in hidden {
        headers.remove(name);
    }
    headers
}
