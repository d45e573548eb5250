//! HTTP-redirect fetch (Fetch, 4.4).

use http::{HeaderMap, Method, header};
use url::Url;

use super::{
    Answer, Mode, PageOrigin, Reason, referrer,
    request::{Request, Tainting, includes_credentials},
    site::is_same_site,
};

/// Whether a status is one of a redirect.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Where an answer redirects to: nowhere without `Location` (Fetch, location URL).
pub(super) fn location(request: &Request, answer: &HeaderMap) -> Result<Option<Url>, Reason> {
    let mut lines = answer.get_all(header::LOCATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let text = String::from_utf8_lossy(line.as_bytes());
    let refused = || Reason::RedirectTarget(text.clone().into_owned());
    // Two lines are no single value, even if they agree.
    if lines.next().is_some() {
        return Err(refused());
    }
    let mut url = request.url.join(&text).map_err(|_no_url| refused())?;
    if url.fragment().is_none() {
        url.set_fragment(request.url.fragment());
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused());
    }
    Ok(Some(url))
}

/// Makes the request one for the next address.
pub(super) fn follow(request: &mut Request, answer: &Answer, url: Url) -> Result<(), Reason> {
    const MOST: usize = 20;
    if request.redirected_from.len() == MOST {
        return Err(Reason::TooManyRedirects);
    }
    let target = PageOrigin::of(&url);
    let is_cors = request.fetch.mode == Mode::Cors && !request.origin.is_same(&target);
    if includes_credentials(&url) && (is_cors || request.tainting == Tainting::Cors) {
        return Err(Reason::RedirectTarget(url.into()));
    }
    if answer.status != 303 && request.body.is_some() && request.fetch.streams_body {
        return Err(Reason::RedirectedStream);
    }
    let becomes_get = match answer.status {
        301 | 302 => request.method == Method::POST,
        303 => !matches!(request.method, Method::GET | Method::HEAD),
        _ => false,
    };
    if becomes_get {
        request.method = Method::GET;
        request.body = None;
        request.fields.remove_content();
    }
    if !request.target.is_same(&target) {
        request.fields.remove(&header::AUTHORIZATION);
        // Redirect-tainted: it left an origin that is not its own for yet another.
        request.is_redirect_tainted |= !request.origin.is_same(&request.target);
    }
    if let Some(policy) = referrer::policy(&answer.headers) {
        request.referrer_policy = policy;
    }
    request.was_cross_site_redirected |= !is_same_site(&request.target, &url);
    request.redirected_from.push(std::mem::replace(&mut request.url, url));
    request.target = target;
    Ok(())
}
