//! Cross-origin resource policy check (Fetch, 3.7).

use http::HeaderMap;
use url::Url;

use super::{PageOrigin, Reason, headers::text, request::Request, site::registrable};

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

/// Of one site, whatever the scheme; but what came over TLS is not for a page that did not.
fn is_same_site(request: &Request) -> bool {
    let PageOrigin::Tuple(origin) = &request.origin else { return false };
    let Ok(origin) = Url::parse(origin) else { return false };
    let owner = |url: &Url| url.host_str().map(|host| registrable(host).to_owned());
    owner(&origin) == owner(&request.url)
        && (origin.scheme() == "https" || request.url.scheme() != "https")
}
