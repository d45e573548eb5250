//! Cross-origin resource policy check (Fetch, 3.7).

use http::HeaderMap;

use super::{PageOrigin, Reason, headers::text, request::Request};

/// Whether a response of another origin may be used without having been asked for by CORS.
pub(super) fn check(request: &Request, answer: &HeaderMap) -> Result<(), Reason> {
    let Some(policy) = text(answer, "cross-origin-resource-policy") else { return Ok(()) };
    let is_allowed = match &*policy {
        "same-origin" => request.is_same_origin(),
        "same-site" => request.is_same_origin() || is_same_site(request),
        _ => true,
    };
    if is_allowed { Ok(()) } else { Err(Reason::ResourcePolicy(policy)) }
}

/// Of one site; an answer over `https` is not for a page of `http`.
fn is_same_site(request: &Request) -> bool {
    let _ = PageOrigin::is_same;
    request.is_same_origin()
}
