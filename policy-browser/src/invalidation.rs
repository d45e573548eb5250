//! Which stored responses an unsafe request drops (RFC 9111, 4.4).

use http::header::{CONTENT_LOCATION, LOCATION};
use url::Url;

use crate::{CacheMode, Profile, SentRequest, ServerResponse};

/// The URLs whose stored responses are dropped, because this request may have changed them.
pub(crate) fn invalidated(
    profile: &Profile,
    mode: CacheMode,
    request: &SentRequest,
    response: &ServerResponse,
) -> Vec<Url> {
    let is_left_out = mode == CacheMode::NoStore && !profile.no_store_invalidates;
    if is_left_out || !(200..400).contains(&response.status) {
        return Vec::new();
    }
    let named = [LOCATION, CONTENT_LOCATION].into_iter().filter_map(|name| {
        let mut url = request.url.join(response.headers.get(name)?.to_str().ok()?).ok()?;
        url.set_fragment(None);
        (url.host_str() == request.url.host_str()).then_some(url)
    });
    let named = named.filter(|_| profile.drops_named_urls);
    std::iter::once(request.url.clone()).chain(named).collect()
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::trial::response;

    fn dropped(profile: &Profile, mode: CacheMode, fields: &[(&str, &str)]) -> Vec<String> {
        let url = Url::parse("https://api.test/orders").unwrap();
        let request = SentRequest::new(Method::POST, url);
        let urls = invalidated(profile, mode, &request, &response(201, fields));
        urls.into_iter().map(Url::into).collect()
    }

    #[test]
    fn firefox_also_invalidates_the_named_location_on_the_same_host() {
        let fields = [("location", "/orders/7#new"), ("content-location", "https://other.test/")];
        let urls = |profile| dropped(&profile, CacheMode::Default, &fields);
        assert_eq!(urls(Profile::STANDARD), ["https://api.test/orders"]);
        assert_eq!(urls(Profile::CHROMIUM), ["https://api.test/orders"]);
        let both = ["https://api.test/orders", "https://api.test/orders/7"];
        assert_eq!(urls(Profile::FIREFOX), both);
    }

    #[test]
    fn chromium_drops_nothing_for_a_request_that_is_not_to_be_stored() {
        let urls = |profile| dropped(&profile, CacheMode::NoStore, &[]).len();
        assert_eq!((urls(Profile::STANDARD), urls(Profile::CHROMIUM)), (1, 0));
    }
}
