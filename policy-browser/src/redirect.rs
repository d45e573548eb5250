//! HTTP-redirect fetch (Fetch, 4.4).

use http::{HeaderMap, Method, header};
use url::Url;

use crate::{
    Credentials, Mode, PageOrigin, Profile, Reason, ServerResponse,
    cors_check::cors_check,
    grammar::trim,
    referrer,
    request::{Request, Tainting, includes_credentials},
    site::is_same_site,
};

/// Whether `Location` is present and not empty.
pub(crate) fn leads_on(response: &HeaderMap) -> bool {
    response.get(header::LOCATION).is_some_and(|line| !trim(line.as_bytes()).is_empty())
}

/// Redirect status (Fetch, 2.2.3).
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The location URL of a response, if it has `Location` (Fetch, location URL).
pub(crate) fn location(request: &Request, response: &HeaderMap) -> Result<Option<Url>, Reason> {
    let Some((mut url, text)) = address(request, response)? else { return Ok(None) };
    if url.fragment().is_none() {
        url.set_fragment(request.url.fragment());
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Reason::RedirectTarget(text));
    }
    Ok(Some(url))
}

/// The URL in `Location`, of any scheme, without changes.
pub(crate) fn address(
    request: &Request,
    response: &HeaderMap,
) -> Result<Option<(Url, String)>, Reason> {
    let mut lines = response.get_all(header::LOCATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let text = String::from_utf8_lossy(line.as_bytes()).into_owned();
    // Two lines are not a single value, even if they are equal.
    match request.url.join(&text) {
        Ok(url) if lines.next().is_none() => Ok(Some((url, text))),
        _ => Err(Reason::RedirectTarget(text)),
    }
}

/// The CORS check of engines that decide about credentials once for all redirects.
pub(crate) fn check(
    profile: &Profile,
    request: &Request,
    response: &HeaderMap,
) -> Result<(), Reason> {
    let began_at_home = request
        .redirected_from
        .first()
        .is_some_and(|url| request.origin.is_same(&PageOrigin::from_url(url)));
    let is_checked = profile.redirects_know_own_credentials
        && request.tainting == Tainting::Cors
        && request.fetch.credentials == Credentials::SameOrigin
        && began_at_home;
    match is_checked {
        true => cors_check(Credentials::Include, &request.serialized_origin(), response),
        false => Ok(()),
    }
}

/// Changes the request into one for the next URL.
pub(crate) fn follow(
    profile: &Profile,
    request: &mut Request,
    response: &ServerResponse,
    url: Url,
) -> Result<(), Reason> {
    const MOST: usize = 20;
    let most = match request.fetch.mode {
        Mode::Navigate => profile.navigation_redirects,
        _ => MOST,
    };
    let upgrades = if profile.upgrades_are_redirects { request.upgrades } else { 0 };
    if request.redirected_from.len() + upgrades >= most {
        return Err(Reason::TooManyRedirects);
    }
    let target = PageOrigin::from_url(&url);
    let is_elsewhere = !request.target.is_same(&target);
    let is_cors = request.fetch.mode == Mode::Cors && !request.origin.is_same(&target);
    let is_never = profile.redirects_have_no_password
        && matches!(request.fetch.mode, Mode::NoCors | Mode::Navigate)
        && !request.is_top_level_navigation()
        && !request.fetch.is_beacon;
    if includes_credentials(&url) && (is_cors || request.tainting == Tainting::Cors || is_never) {
        return Err(Reason::RedirectTarget(url.into()));
    }
    if response.status != 303 && request.body.is_some() && request.fetch.streams_body {
        return Err(Reason::RedirectedStream);
    }
    let is_deleted_elsewhere =
        profile.delete_becomes_get_elsewhere && is_elsewhere && request.method == Method::DELETE;
    let becomes_get = changes_to_get(response.status, &request.method);
    if becomes_get || is_deleted_elsewhere {
        request.method = Method::GET;
        request.body = None;
    }
    // A DELETE that became GET in this way keeps the fields that describe its content.
    if becomes_get {
        request.fields.remove_content();
    }
    let starts_again =
        is_cors || request.fetch.mode == Mode::Cors && request.tainting == Tainting::Cors;
    let restores = starts_again && !becomes_get || matches!(response.status, 307 | 308);
    if profile.redirects_restore_content && restores {
        let (_, written) = &request.written;
        request.fields.restore_content(written);
    }
    let is_script = request.fetch.mode != Mode::Navigate
        && !(profile.beacons_lose_fields && request.fetch.is_beacon);
    if profile.redirects_restore_fields && is_script {
        let (method, fields) = &request.written;
        request.fields = fields.clone();
        if changes_to_get(response.status, method) {
            request.fields.remove_content();
        }
        let mut preflight_fields = fields.clone();
        if becomes_get {
            preflight_fields.remove_content();
        }
        if is_elsewhere {
            preflight_fields.remove(&header::AUTHORIZATION);
        }
        request.preflight_fields = Some(preflight_fields);
    }
    if profile.client_hints_are_safelisted && !gets_hints(request, &target) {
        request.fields.remove_client_hints();
    }
    request.comes_from_elsewhere = is_elsewhere;
    if is_elsewhere {
        request.fields.remove(&header::AUTHORIZATION);
        // Redirect-tainted: a URL of another origin redirected to a third origin.
        request.is_redirect_tainted |= !request.origin.is_same(&request.target);
        request.keep_origin(request.serialized_origin().into_owned());
    }
    if let Some(policy) = referrer::policy(&response.headers) {
        request.referrer_policy = policy;
    }
    request.was_cross_site_redirected |= !is_same_site(&request.target, &url);
    request.redirected_from.push(std::mem::replace(&mut request.url, url));
    request.target = target;
    Ok(())
}

/// Whether a page sends client hints to an origin without being asked: to its own, unless a page
/// around it has another origin or a sandbox (`FindClientHintsToRemove`: the default
/// `Permissions-Policy` is `self`).
fn gets_hints(request: &Request, target: &PageOrigin) -> bool {
    request.page.as_ref().is_some_and(|page| {
        let is_own_window = page.origin.is_same(&PageOrigin::from_url(&page.top_level));
        page.origin.is_same(target) && is_own_window && page.has_same_site_ancestors
    })
}

/// Whether a status changes a method to GET.
fn changes_to_get(status: u16, method: &Method) -> bool {
    match status {
        301 | 302 => method == Method::POST,
        303 => !matches!(*method, Method::GET | Method::HEAD),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
