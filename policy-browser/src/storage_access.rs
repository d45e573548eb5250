//! The storage access status of an embedded page (Storage Access Headers), and the `Origin` that
//! goes with it.

use http::{HeaderMap, HeaderValue, header};
use url::Url;

use crate::{
    Credentials, Mode, PageOrigin, Profile, ThirdParty,
    initiator::{allowed_origin, insert},
    profile::StorageAccess,
    request::Request,
    site::{is_same_domain, is_trustworthy, site},
};

/// Adds whether an embedded page may use its cookies (Storage Access Headers), and `Origin` if a
/// page of the window's site could request access.
pub(crate) fn tell(
    profile: &Profile,
    headers: &mut HeaderMap,
    request: &Request,
    is_preflight: bool,
) {
    let Some(page) = &request.page else { return };
    let is_silent = match profile.storage_access {
        StorageAccess::Untold => true,
        StorageAccess::Told => is_preflight || request.fetch.mode == Mode::WebSocket,
        StorageAccess::ToldOfDomains => profile.third_party == ThirdParty::Sent,
    };
    if is_silent
        || request.fetch.credentials != Credentials::Include
        || request.is_top_level_navigation()
    {
        return;
    }
    // A window whose document is sandboxed belongs to no site.
    let window_origin = page.ancestor_origins.last().unwrap_or(&page.origin);
    let is_of_window = |url: &Url| match profile.storage_access {
        _ if *window_origin == PageOrigin::Opaque => false,
        StorageAccess::ToldOfDomains => is_same_domain(&page.top_level, url),
        _ => site(&page.top_level) == site(url),
    };
    let is_apart = !page.has_same_site_ancestors || page.origin == PageOrigin::Opaque;
    let is_led_away = profile.storage_access == StorageAccess::ToldOfDomains
        && request.is_redirect_tainted
        && !is_preflight;
    let has_all = profile.third_party == ThirdParty::Sent;
    let access = match is_of_window(&request.url) {
        _ if is_led_away => None,
        true if has_all => is_apart.then_some("active"),
        false if has_all => Some("active"),
        false => Some("none"),
        true => is_apart.then_some("inactive"),
    };
    if let Some(access) = access.filter(|_| is_trustworthy(&request.url)) {
        headers.insert("sec-fetch-storage-access", HeaderValue::from_static(access));
    }
    if !is_apart || has_all {
        return;
    }
    match profile.storage_access {
        StorageAccess::Untold => {}
        StorageAccess::Told => {
            // The first URL decides about the origin; for a response that no script may read, a
            // changed method drops it.
            let first = request.redirected_from.first().unwrap_or(&request.url);
            let keeps_method = request.method.as_str().eq_ignore_ascii_case(&request.fetch.method);
            let is_for_script = matches!(request.fetch.mode, Mode::Cors | Mode::SameOrigin);
            let is_said = is_of_window(first) && (is_for_script || keeps_method);
            if is_said && !headers.contains_key(header::ORIGIN) {
                // An image that is upgraded to TLS does not count as redirected to another origin.
                let origin = match request.was_led_away() {
                    true => "null".into(),
                    false => request.origin.to_string(),
                };
                insert(headers, header::ORIGIN, &origin);
            }
        }
        StorageAccess::ToldOfDomains => {
            let is_said = access == Some("inactive") && is_trustworthy(&request.url);
            if is_said && !headers.contains_key(header::ORIGIN) {
                let origin = match request.fetch.mode {
                    Mode::Cors => request.serialized_origin(),
                    _ => allowed_origin(profile, request),
                };
                insert(headers, header::ORIGIN, &origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch, Page,
        trial::{engine, load_by, load_in, response},
    };

    /// `Sec-Fetch-Storage-Access` and `Origin` of an image on the page's own host.
    fn image(profile: Profile, page: &Page) -> [Option<String>; 2] {
        let trial = load_by(profile, page, Fetch::image("/a"), &[response(200, &[])]);
        ["sec-fetch-storage-access", "origin"].map(|name| trial.last(name).map(str::to_owned))
    }

    #[test]
    fn a_sandboxed_window_has_no_site_whose_storage_it_could_ask_for() {
        for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
            let sandbox = [("content-security-policy", "sandbox allow-scripts")];
            let open = Fetch::navigate("https://app.test/");
            let trial = load_in(engine(profile), None, open, &[response(200, &sandbox)]);
            let window = trial.outcome.page().unwrap();
            assert!(window.is_sandboxed);
            assert_eq!(image(profile, window), [Some("none".to_owned()), None], "{}", profile.name);

            let url = Url::parse("https://app.test/").unwrap();
            let frame = Page { origin: PageOrigin::Opaque, ..Page::at(url.clone()).framed(url) };
            let asks = [Some("inactive".to_owned()), Some("null".to_owned())];
            assert_eq!(image(profile, &frame), asks, "{}", profile.name);
        }
    }
}
