//! Fetch Metadata: `Sec-Fetch-*`, which describe the context of a request.

use http::{HeaderMap, HeaderValue};
use url::Url;

use crate::{
    Destination, Fetch, Mode, Page, PageOrigin, Profile,
    site::{is_loopback, is_same_site, is_trustworthy, origin_parts},
};

/// Adds the fields of a request to `url`, after redirects by the URLs before it. They are sent to
/// trustworthy URLs only (Fetch Metadata, 2: "append the Fetch metadata headers for a request").
///
/// `Sec-Fetch-User` is sent with navigations that the user started: loads without a page.
pub(crate) fn write(
    profile: &Profile,
    headers: &mut HeaderMap,
    fetch: &Fetch,
    page: Option<&Page>,
    redirected_from: &[Url],
    url: &Url,
) {
    let is_left_out = fetch.mode == Mode::WebSocket && !profile.websockets_have_metadata;
    if is_left_out || !is_trustworthy(url) {
        return;
    }
    let urls = redirected_from.iter().chain([url]);
    let mut set = |name, value| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    let names_itself = fetch.mode == Mode::WebSocket && profile.websockets_name_themselves;
    set("sec-fetch-dest", if names_itself { "websocket" } else { destination(fetch.destination) });
    set("sec-fetch-mode", mode(fetch.mode));
    set("sec-fetch-site", page.map_or("none", |page| relation(profile, &page.origin, urls)));
    if fetch.mode == Mode::Navigate && page.is_none() {
        set("sec-fetch-user", "?1");
    }
}

/// `Sec-Fetch-Site`: the most distant relation between the initiating origin and any URL of the
/// redirect chain (Fetch Metadata, 2.3).
fn relation<'a>(
    profile: &Profile,
    origin: &PageOrigin,
    mut urls: impl Iterator<Item = &'a Url> + Clone,
) -> &'static str {
    let is_same_origin = |url| origin.is_same(&PageOrigin::from_url(url));
    if urls.clone().all(is_same_origin) {
        "same-origin"
    } else if urls.all(|url| {
        let is_local = profile.localhost_is_one_site && is_loopback(url);
        is_same_site(origin, url) || is_local && is_same_host(origin, url)
    }) {
        "same-site"
    } else {
        "cross-site"
    }
}

fn is_same_host(origin: &PageOrigin, url: &Url) -> bool {
    let PageOrigin::Tuple(origin) = origin else { return false };
    origin_parts(origin).is_some_and(|(_, host)| Some(host) == url.host_str())
}

const fn destination(destination: Destination) -> &'static str {
    match destination {
        Destination::Empty => "empty",
        Destination::Script => "script",
        Destination::Image => "image",
        Destination::Document => "document",
        Destination::Frame => "iframe",
    }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Cors => "cors",
        Mode::NoCors => "no-cors",
        Mode::SameOrigin => "same-origin",
        Mode::Navigate => "navigate",
        Mode::WebSocket => "websocket",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{page, url};

    /// The fields of a request to the last of these addresses, to which the others redirected.
    fn sent_by(profile: &Profile, fetch: &Fetch, page: Option<&Page>, urls: &[&str]) -> HeaderMap {
        let urls: Vec<Url> = urls.iter().map(|text| url(text)).collect();
        let (url, redirected_from) = urls.split_last().unwrap();
        let mut headers = HeaderMap::new();
        write(profile, &mut headers, fetch, page, redirected_from, url);
        headers
    }

    /// Site, mode, destination and user, if they are sent.
    fn fetch_metadata(fetch: &Fetch, page: Option<&str>, urls: &[&str]) -> [Option<String>; 4] {
        let page = page.map(self::page);
        let headers = sent_by(&Profile::STANDARD, fetch, page.as_ref(), urls);
        ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"]
            .map(|name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
    }

    fn site(page: &str, urls: &[&str]) -> String {
        fetch_metadata(&Fetch::get(urls[0]), Some(page), urls)[0].clone().unwrap()
    }

    const APP: &str = "https://app.shop.example";

    #[test]
    fn a_fetch_sends_its_metadata() {
        let url = "https://api.shop.example/me";
        assert_eq!(
            fetch_metadata(&Fetch::get(url), Some(APP), &[url]),
            [Some("same-site".into()), Some("cors".into()), Some("empty".into()), None],
        );
    }

    #[test]
    fn elements_send_their_metadata() {
        let url = "https://cdn.example/x";
        for (fetch, mode, destination) in [
            (Fetch::script(url), "no-cors", "script"),
            (Fetch::image(url), "no-cors", "image"),
            (Fetch::frame(url), "navigate", "iframe"),
            (Fetch::navigate(url), "navigate", "document"),
            (Fetch::websocket(url), "websocket", "empty"),
            (Fetch::get(url).mode(Mode::SameOrigin), "same-origin", "empty"),
        ] {
            let [_, is_mode, is_destination, _] = fetch_metadata(&fetch, Some(APP), &[url]);
            assert_eq!(
                (is_mode.as_deref(), is_destination.as_deref()),
                (Some(mode), Some(destination))
            );
        }
    }

    #[test]
    fn navigations_of_the_address_bar_have_no_site_and_a_user() {
        let url = "https://api.shop.example/";
        let [site, .., user] = fetch_metadata(&Fetch::navigate(url), None, &[url]);
        assert_eq!((site.as_deref(), user.as_deref()), (Some("none"), Some("?1")));
        let [.., user] = fetch_metadata(&Fetch::image(url), None, &[url]);
        assert_eq!(user, None, "no navigation");
    }

    #[test]
    fn the_farthest_of_a_redirect_chain_counts() {
        let (own, sister, other) =
            ("https://app.shop.example/a", "https://api.shop.example/a", "https://other.example/a");
        assert_eq!(site(APP, &[own]), "same-origin");
        assert_eq!(site(APP, &[own, sister]), "same-site");
        assert_eq!(site(APP, &[sister, own]), "same-site");
        assert_eq!(site(APP, &[sister, other]), "cross-site");
        assert_eq!(site(APP, &[other, own]), "cross-site");
    }

    #[test]
    fn the_other_scheme_is_another_site() {
        assert_eq!(site("http://app.shop.example", &["https://api.shop.example"]), "cross-site");
    }

    #[test]
    fn a_sandboxed_page_is_cross_site_everywhere() {
        let page = Page { origin: PageOrigin::Opaque, ..page(APP) };
        let headers = sent_by(&Profile::STANDARD, &Fetch::get(APP), Some(&page), &[APP]);
        assert_eq!(headers["sec-fetch-site"], "cross-site");
    }

    #[test]
    fn chromium_says_nothing_of_web_sockets() {
        let fetch = Fetch::websocket("wss://app.shop.example");
        assert!(sent_by(&Profile::CHROMIUM, &fetch, Some(&page(APP)), &[APP]).is_empty());
    }

    #[test]
    fn webkit_names_a_web_socket_by_its_destination() {
        let fetch = Fetch::websocket("wss://app.shop.example");
        for (profile, expected) in [(Profile::FIREFOX, "empty"), (Profile::WEBKIT, "websocket")] {
            let headers = sent_by(&profile, &fetch, Some(&page(APP)), &[APP]);
            assert_eq!(headers["sec-fetch-dest"], expected);
        }
    }

    #[test]
    fn addresses_that_are_not_trustworthy_learn_nothing() {
        assert_eq!(
            fetch_metadata(
                &Fetch::get("http://a.example"),
                Some("http://a.example"),
                &["http://a.example"]
            ),
            [const { None }; 4],
        );
        let [site, ..] =
            fetch_metadata(&Fetch::get(""), Some("http://localhost:1"), &["http://localhost:2"]);
        assert_eq!(site.as_deref(), Some("same-site"));
    }
}
