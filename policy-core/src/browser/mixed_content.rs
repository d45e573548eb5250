//! Mixed content: what a page of `https` may not load, or loads over TLS instead.

use super::{
    Destination, PageOrigin,
    request::Request,
    site::{is_address, is_trustworthy},
};

/// Whether a page of `https` would load something over an insecure connection (4.4). Browsers look
/// at the scheme: a page of `http://localhost` may load anything.
pub(super) fn is_blocked(request: &Request) -> bool {
    let Some(page) = &request.page else { return false };
    let is_protected = page.url.scheme() == "https" || page.top_level.scheme() == "https";
    is_protected && !request.is_top_level_navigation() && !is_trustworthy(&request.url)
}

/// Upgrades an image to TLS (4.1), unless its host is an IP address.
pub(super) fn upgrade_image(request: &mut Request) {
    let has_name = request.url.host_str().is_some_and(|host| !is_address(host));
    if request.fetch.destination == Destination::Image
        && has_name
        && is_blocked(request)
        && request.url.set_scheme("https").is_ok()
    {
        request.target = PageOrigin::of(&request.url);
    }
}

#[cfg(test)]
mod tests {
    use crate::browser::{
        Fetch, Reason,
        trial::{app, load, page, response},
    };

    #[test]
    fn a_protected_page_loads_nothing_that_others_can_change() {
        for fetch in [Fetch::get, Fetch::script, Fetch::frame, Fetch::websocket] {
            let trial = load(&app(), fetch("http://api.test/".to_owned()), &[]);
            assert_eq!(*trial.reason(), Reason::MixedContent);
        }
        for url in ["http://localhost/", "http://127.0.0.1/"] {
            load(&app(), Fetch::image(url), &[response(200, &[])]);
        }
        load(&app(), Fetch::navigate("http://api.test/"), &[response(200, &[])]);
        load(&page("http://localhost/"), Fetch::image("http://a.test/"), &[response(200, &[])]);
        let redirect = response(302, &[("location", "http://api.test/")]);
        assert_eq!(*load(&app(), Fetch::script("/"), &[redirect]).reason(), Reason::MixedContent);
    }

    #[test]
    fn an_image_is_asked_for_over_tls_instead() {
        let trial = load(&app(), Fetch::image("http://api.test/a"), &[response(200, &[])]);
        assert_eq!(trial.sent[0].url.as_str(), "https://api.test/a");
        let trial = load(&app(), Fetch::image("http://192.0.2.1/a"), &[]);
        assert_eq!(*trial.reason(), Reason::MixedContent);
    }
}
