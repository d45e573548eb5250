//! Mixed content: what a page of `https` may not load, or loads over TLS instead.

use crate::{
    Destination, PageOrigin, Profile, address_space,
    request::Request,
    site::{is_address, is_loopback, is_trustworthy},
};

/// Whether a page of `https` would load something over an insecure connection (4.4). Browsers look
/// at the scheme: a page of `http://localhost` may load anything.
pub(crate) fn is_blocked(profile: &Profile, request: &Request) -> bool {
    let Some(page) = &request.page else { return false };
    let is_protected = page.url.scheme() == "https" || page.top_level.scheme() == "https";
    let is_lifted =
        profile.local_network_lifts_mixed_content && address_space::is_local_by_url(request);
    let is_image_of_loopback = !profile.loopback_upgrades_images
        && request.fetch.destination == Destination::Image
        && is_loopback(&page.url);
    is_protected
        && !request.is_top_level_navigation()
        && !is_safe(profile, request)
        && !is_lifted
        && !is_image_of_loopback
}

/// Whether the response cannot be changed on its way from the server to the browser.
fn is_safe(profile: &Profile, request: &Request) -> bool {
    let is_mixed = profile.loopback_is_mixed
        && request.url.scheme() != "https"
        && request.fetch.destination != Destination::Image
        && is_loopback(&request.url);
    is_trustworthy(&request.url) && !is_mixed
}

/// Upgrades an image to TLS (4.1), unless its host is an IP address.
pub(crate) fn upgrade_image(profile: &Profile, request: &mut Request) {
    let has_name = request.url.host_str().is_some_and(|host| !is_address(host));
    if request.fetch.destination == Destination::Image
        && has_name
        && is_blocked(profile, request)
        && request.url.set_scheme("https").is_ok()
    {
        request.target = PageOrigin::from_url(&request.url);
        request.upgrades += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Blocked, Fetch, Profile, Reason, ServerResponse, run,
        trial::{app, engine, load, load_by, page, response},
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
    fn firefox_upgrades_no_image_of_a_page_on_loopback() {
        let local = page("https://localhost/");
        for (profile, url) in
            [(Profile::STANDARD, "https://api.test/"), (Profile::FIREFOX, "http://api.test/")]
        {
            let image = Fetch::image("http://api.test/");
            let trial = load_by(profile, &local, image, &[response(200, &[])]);
            assert_eq!(trial.sent[0].url.as_str(), url, "{}", profile.name);
        }
    }

    #[test]
    fn webkit_blocks_http_on_loopback() {
        let outcome = |profile, from: &str, fetch| {
            let at = page(from);
            run(engine(profile), Some(&at), fetch, |_| grant()).1
        };
        let (secure, local) = ("https://app.test/", "http://localhost:3000/");
        for url in ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]/"] {
            for fetch in [Fetch::get, Fetch::script, Fetch::frame, Fetch::websocket] {
                let blocked = outcome(Profile::WEBKIT, secure, fetch(url.to_owned()));
                assert_eq!(blocked.blocked().unwrap().reason, Reason::MixedContent, "{url}");
                let other = outcome(Profile::STANDARD, secure, fetch(url.to_owned()));
                let is_blocked = |blocked: &Blocked| blocked.reason == Reason::MixedContent;
                assert!(!other.blocked().is_some_and(is_blocked), "{url}");
            }
            assert!(outcome(Profile::WEBKIT, secure, Fetch::image(url)).blocked().is_none());
            assert!(outcome(Profile::WEBKIT, local, Fetch::get(url)).is_readable());
        }
        assert!(outcome(Profile::WEBKIT, secure, Fetch::get("https://localhost/")).is_readable());
    }

    fn grant() -> ServerResponse {
        response(200, &[("access-control-allow-origin", "*")])
    }

    #[test]
    fn mixed_images_are_upgraded_to_tls() {
        let trial = load(&app(), Fetch::image("http://api.test/a"), &[response(200, &[])]);
        assert_eq!(trial.sent[0].url.as_str(), "https://api.test/a");
        let trial = load(&app(), Fetch::image("http://192.0.2.1/a"), &[]);
        assert_eq!(*trial.reason(), Reason::MixedContent);
    }
}
