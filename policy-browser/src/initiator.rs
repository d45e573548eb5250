//! What a request reveals about the page that makes it: `Origin` (Fetch, 3.2), `Referer` (Referrer
//! Policy, 8.3) and `Sec-Fetch-*` (Fetch Metadata, 2).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use url::Url;

use crate::{
    Destination, Mode, Profile, ReferrerPolicy, metadata,
    referrer::{is_relaxed, origin_allowed, referrer},
    request::{Request, Tainting, is_unsafe},
    site::{is_same_domain, is_trustworthy},
};

/// Adds `Referer`, `Sec-Fetch-*` and `Origin`.
pub(crate) fn describe(
    profile: &Profile,
    headers: &mut HeaderMap,
    request: &Request,
    is_preflight: bool,
) {
    let (page, policy) = (request.page.as_ref(), request.referrer_policy);
    let source = match is_preflight && profile.preflights_keep_referrer {
        true => &request.first_referrer,
        false => &request.referrer,
    };
    if let Some(referrer) = sent_referrer(profile, request, source.as_ref()) {
        insert(headers, header::REFERER, referrer.as_str());
    }
    let redirected_from = match is_preflight && !profile.preflights_know_redirects {
        true => &[][..],
        false => &request.redirected_from,
    };
    let first = request.redirected_from.first().unwrap_or(&request.url);
    let has_metadata = match is_preflight {
        true => !profile.first_url_allows_metadata || is_trustworthy(first),
        false => !is_silent(profile, request),
    };
    if has_metadata {
        metadata::write(profile, headers, &request.fetch, page, redirected_from, &request.url);
    }
    let is_tainted = is_preflight && request.is_redirect_tainted;
    if is_tainted
        && profile.tainted_preflights_are_cross_site
        && let Some(site) = headers.get_mut("sec-fetch-site")
    {
        *site = HeaderValue::from_static("cross-site");
    }
    if is_preflight && profile.preflights_tell_mode {
        headers.insert("sec-fetch-mode", HeaderValue::from_static("cors"));
    }
    let is_element = matches!(request.fetch.destination, Destination::Script | Destination::Image);
    let is_cors = request.tainting == Tainting::Cors
        || request.fetch.mode == Mode::WebSocket
        || (is_element && request.fetch.mode == Mode::Cors && tells_own_origin(profile, request));
    if is_cors {
        let origin = match is_preflight {
            true => request.preflight_origin(profile),
            false => request.serialized_origin(),
        };
        insert(headers, header::ORIGIN, &origin);
    } else if let Some(origin) = kept_origin(profile, request) {
        insert(headers, header::ORIGIN, &origin);
    } else if is_unsafe(&request.method) {
        let origin = match request.fetch.mode {
            Mode::NoCors | Mode::SameOrigin if profile.fetch_tells_origin => {
                match request.was_led_away() {
                    true => Cow::Borrowed("null"),
                    false => request.serialized_origin(),
                }
            }
            Mode::Navigate if profile.navigations_keep_origin => {
                let first = request.page.as_ref().map_or(policy, |page| page.referrer_policy);
                let is_allowed = origin_allowed(first, &request.origin, &request.url);
                match is_allowed && !request.was_led_away() {
                    true => request.serialized_origin(),
                    false => Cow::Borrowed("null"),
                }
            }
            Mode::Cors => request.serialized_origin(),
            _ => allowed_origin(profile, request),
        };
        insert(headers, header::ORIGIN, &origin);
    }
}

/// Whether a redirect has just led to another origin in an engine that then sends less.
pub(crate) fn is_silent(profile: &Profile, request: &Request) -> bool {
    let is_led_away = request.fetch.mode == Mode::Cors && request.comes_from_elsewhere;
    is_led_away && !profile.redirected_cors_has_metadata
}

/// Whether an element with `crossorigin` sends its origin even to its own host.
fn tells_own_origin(profile: &Profile, request: &Request) -> bool {
    profile.elements_tell_origin || request.upgrades > 0 && profile.upgraded_images_tell_origin
}

/// The origin that was decided earlier.
fn kept_origin<'a>(profile: &Profile, request: &'a Request) -> Option<Cow<'a, str>> {
    let origin = match request.fetch.mode {
        Mode::Cors if is_unsafe(&request.written.0) => Some(request.serialized_origin()),
        Mode::NoCors | Mode::SameOrigin => request.kept_origin.as_deref().map(Cow::Borrowed),
        Mode::Cors | Mode::Navigate | Mode::WebSocket => None,
    };
    origin.filter(|_| profile.origin_outlives_method)
}

/// The referrer that is sent with this request.
pub(crate) fn sent_referrer(
    profile: &Profile,
    request: &Request,
    source: Option<&Url>,
) -> Option<Url> {
    let source = source?;
    if profile.trims_third_party_referrers && is_third_party(request) {
        referrer(profile, ReferrerPolicy::Origin, source, &request.url)
    } else if is_trimmed(profile, request) {
        referrer(profile, ReferrerPolicy::StrictOrigin, source, &request.url)
    } else {
        Some(source.clone())
    }
}

/// Whether a request goes to a domain other than that of the window; for a navigation of a window
/// after a redirect, other than that of the page.
fn is_third_party(request: &Request) -> bool {
    let Some(page) = &request.page else { return false };
    match request.is_top_level_navigation() {
        true => !request.redirected_from.is_empty() && !is_same_domain(&page.url, &request.url),
        false => !is_same_domain(&page.top_level, &request.url),
    }
}

/// Whether the referrer is shorter than its policy allows.
pub(crate) fn is_trimmed(profile: &Profile, request: &Request) -> bool {
    profile.trims_referrers
        && !request.is_top_level_navigation()
        && is_relaxed(request.referrer_policy, &request.origin, &request.url)
}

/// The origin, if the referrer policy allows it.
pub(crate) fn allowed_origin<'a>(profile: &Profile, request: &'a Request) -> Cow<'a, str> {
    let policy = match is_trimmed(profile, request) {
        true => ReferrerPolicy::StrictOriginWhenCrossOrigin,
        false => request.referrer_policy,
    };
    match origin_allowed(policy, &request.origin, &request.url) {
        true => request.serialized_origin(),
        false => Cow::Borrowed("null"),
    }
}

pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Credentials, Fetch, LocalNetwork, Page, PageOrigin, run,
        trial::{app, engine, load, load_by, page, response},
    };

    #[test]
    fn origin_is_sent_cross_origin_and_with_unsafe_methods() {
        let origin =
            |fetch| load(&app(), fetch, &[response(200, &[])]).last("origin").map(str::to_owned);
        let app = Some("https://app.test");
        assert_eq!(origin(Fetch::get("/")), None);
        assert_eq!(origin(Fetch::post("/")).as_deref(), app);
        assert_eq!(origin(Fetch::get("https://api.test/")).as_deref(), app);
        assert_eq!(origin(Fetch::image("https://api.test/")), None);
        assert_eq!(origin(Fetch::post("https://api.test/").mode(Mode::NoCors)).as_deref(), app);
    }

    #[test]
    fn the_referrer_policy_hides_the_origin_where_cors_is_not_used() {
        let page = Page { referrer_policy: ReferrerPolicy::NoReferrer, ..app() };
        let form = Fetch::form("https://api.test/", [("a", "b")]);
        assert_eq!(load(&page, form, &[response(200, &[])]).last("origin"), Some("null"));
        let fetch = Fetch::post("https://api.test/");
        let trial = load(&page, fetch, &[response(200, &[])]);
        assert_eq!(trial.last("origin"), Some("https://app.test"));
        assert_eq!(trial.last("referer"), None);
    }

    #[test]
    fn a_sandboxed_page_is_null_even_at_home() {
        let page = Page { origin: PageOrigin::Opaque, ..app() };
        assert_eq!(
            load(&page, Fetch::get("/"), &[response(200, &[])]).last("origin"),
            Some("null")
        );
    }

    #[test]
    fn webkit_tells_third_parties_the_origin_only() {
        let referrer = |frame: &str, url: &str| {
            let mut page = app().framed(Url::parse(frame).unwrap());
            page.referrer_policy = ReferrerPolicy::UnsafeUrl;
            let trial = load_by(Profile::WEBKIT, &page, Fetch::image(url), &[response(200, &[])]);
            trial.last("referer").map(str::to_owned)
        };
        let evil = "https://evil.test/page";
        // The window is one of app.test.
        assert_eq!(referrer(evil, "https://app.test/a").as_deref(), Some(evil));
        assert_eq!(referrer(evil, "https://evil.test/a").as_deref(), Some("https://evil.test/"));
    }

    #[test]
    fn webkit_describes_no_preflight_of_a_load_that_began_without_tls() {
        let is_described = |profile, url: &str| {
            let state = engine(profile);
            let mut is_described = None;
            let _ = run(state, Some(&page("http://app.test/")), Fetch::put(url), |request| {
                if request.is_preflight {
                    is_described = Some(request.headers.contains_key("sec-fetch-site"));
                    return response(403, &[]);
                }
                response(307, &[("location", "https://api.test/")])
            });
            is_described
        };
        assert_eq!(is_described(Profile::STANDARD, "/"), Some(true));
        assert_eq!(is_described(Profile::WEBKIT, "/"), Some(false));
        assert_eq!(is_described(Profile::WEBKIT, "https://api.test/"), Some(true));
    }

    #[test]
    fn webkit_sends_the_origin_of_a_beacon_after_its_method_changed() {
        let origin = |profile| {
            let responses = [response(302, &[("location", "/b")]), response(200, &[])];
            let beacon = Fetch::post("/a").mode(Mode::NoCors);
            load_by(profile, &app(), beacon, &responses).last("origin").map(str::to_owned)
        };
        assert_eq!(origin(Profile::WEBKIT).as_deref(), Some("https://app.test"));
        assert_eq!(origin(Profile::STANDARD), None);
    }

    #[test]
    fn webkit_hides_the_origin_of_a_post_only_until_another_origin_gets_it() {
        let page = Page { referrer_policy: ReferrerPolicy::NoReferrer, ..app() };
        let origins = |profile| {
            let to = |location| response(307, &[("location", location)]);
            let responses = [to("/b"), to("https://api.test/c"), response(200, &[])];
            let post = Fetch::post("/a").mode(Mode::NoCors);
            let sent = load_by(profile, &page, post, &responses).sent;
            let origins = sent.iter().map(|sent| sent.headers["origin"].to_str().unwrap());
            origins.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(origins(Profile::STANDARD), ["null", "null", "null"]);
        assert_eq!(origins(Profile::WEBKIT), ["null", "null", "https://app.test"]);
    }

    #[test]
    fn some_engines_send_origin_to_the_own_host_for_elements_with_crossorigin() {
        let origin = |profile, url: &str| {
            let image = Fetch::image(url).mode(Mode::Cors);
            load_by(profile, &app(), image, &[response(200, &[])]).last("origin").map(str::to_owned)
        };
        let own_origin = Some("https://app.test");
        for (profile, plain, upgraded) in [
            (Profile::STANDARD, None, None),
            (Profile::CHROMIUM, own_origin, own_origin),
            (Profile::FIREFOX, None, own_origin),
            (Profile::WEBKIT, own_origin, own_origin),
        ] {
            assert_eq!(origin(profile, "https://app.test/a").as_deref(), plain, "{}", profile.name);
            let by_upgrade = origin(profile, "http://app.test/a");
            assert_eq!(by_upgrade.as_deref(), upgraded, "{}", profile.name);
        }
    }

    #[test]
    fn an_image_that_firefox_has_upgraded_tells_its_origin_after_a_redirect_too() {
        for (profile, has_origin) in [(Profile::STANDARD, false), (Profile::FIREFOX, true)] {
            let image = Fetch::image("http://app.test/a").mode(Mode::Cors);
            let responses = [response(302, &[("location", "/b")]), response(200, &[])];
            let trial = load_by(profile, &app(), image, &responses);
            assert_eq!(trial.last("origin").is_some(), has_origin, "{}", profile.name);
        }
    }

    #[test]
    fn firefox_tells_other_sites_no_more_of_the_origin_than_of_the_referrer() {
        let page = Page { referrer_policy: ReferrerPolicy::UnsafeUrl, ..app() };
        let own = "https://app.test";
        for (profile, expected) in [(Profile::STANDARD, own), (Profile::FIREFOX, "null")] {
            let profile = profile.local_network(LocalNetwork::Granted);
            let beacon = Fetch::post("http://localhost/").mode(Mode::NoCors);
            let trial = load_by(profile, &page, beacon, &[response(200, &[])]);
            assert_eq!(trial.last("origin"), Some(expected), "{}", profile.name);
        }
    }

    #[test]
    fn firefox_tells_its_own_domain_all_with_another_scheme_too() {
        let mut page = page("http://localhost/page");
        page.referrer_policy = ReferrerPolicy::UnsafeUrl;
        let fetch = Fetch::get("https://localhost/");
        let trial = load_by(Profile::FIREFOX, &page, fetch, &[response(200, &[])]);
        assert_eq!(trial.last("referer"), Some("http://localhost/page"));
    }

    #[test]
    fn after_another_domain_firefox_tells_the_page_its_whole_referrer_again() {
        let mut page = page("https://app.test/page");
        page.referrer_policy = ReferrerPolicy::OriginWhenCrossOrigin;
        for (profile, expected) in
            [(Profile::STANDARD, "https://app.test/"), (Profile::FIREFOX, "https://app.test/page")]
        {
            let star = ("access-control-allow-origin", "*");
            let to = |url| response(302, &[star, ("location", url)]);
            let way = [to("https://evil.test/"), to("https://app.test/b"), response(200, &[star])];
            let trial = load_by(profile, &page, Fetch::get("https://api.app.test/"), &way);
            assert_eq!(trial.last("referer"), Some(expected), "{}", profile.name);
        }
    }

    #[test]
    fn a_sandboxed_page_has_a_referrer_in_some_engines() {
        let page = Page { origin: PageOrigin::Opaque, ..page("https://app.test/a?b") };
        let referer = |profile, fetch| {
            let trial = load_by(profile, &page, fetch, &[response(200, &[])]);
            trial.last("referer").map(str::to_owned)
        };
        let (address, origin) = (Some("https://app.test/a?b"), Some("https://app.test/"));
        for (profile, of_fetch, of_image) in [
            (Profile::STANDARD, None, None),
            (Profile::CHROMIUM, None, None),
            (Profile::FIREFOX, None, origin),
            (Profile::WEBKIT, address, address),
        ] {
            let name = profile.name;
            assert_eq!(referer(profile, Fetch::get("/")).as_deref(), of_fetch, "{name}");
            assert_eq!(referer(profile, Fetch::image("/")).as_deref(), of_image, "{name}");
        }
    }

    #[test]
    fn in_firefox_a_window_of_a_sandboxed_page_gets_the_cross_origin_referrer() {
        for (policy, expected) in [
            (ReferrerPolicy::NoReferrerWhenDowngrade, Some("https://app.test/a")),
            (ReferrerPolicy::StrictOriginWhenCrossOrigin, Some("https://app.test/")),
            (ReferrerPolicy::OriginWhenCrossOrigin, Some("https://app.test/")),
            (ReferrerPolicy::SameOrigin, None),
        ] {
            let mut page = page("https://app.test/a");
            (page.origin, page.referrer_policy) = (PageOrigin::Opaque, policy);
            let open = Fetch::navigate("https://app.test/b");
            let trial = load_by(Profile::FIREFOX, &page, open, &[response(200, &[])]);
            assert_eq!(trial.last("referer"), expected, "{policy:?}");
        }
    }

    /// `Origin` of the request after a redirect, in Chromium and with the default referrer policy.
    fn origin_after(page: &Page, fetch: Fetch, status: u16, location: &str) -> Option<String> {
        let responses = [response(status, &[("location", location)]), response(200, &[])];
        load_by(Profile::CHROMIUM, page, fetch, &responses).last("origin").map(str::to_owned)
    }

    #[test]
    fn a_form_that_is_led_to_another_origin_does_not_tell_its_own_in_chromium() {
        let form = || Fetch::form("https://app.test/", [("a", "1")]);
        let origin = |location| origin_after(&app(), form(), 307, location);
        assert_eq!(origin("/next").as_deref(), Some("https://app.test"));
        assert_eq!(origin("https://evil.test/").as_deref(), Some("null"));
    }

    #[test]
    fn in_chromium_an_upgraded_image_is_not_a_cross_origin_redirect() {
        let page = Page { has_same_site_ancestors: false, ..app() };
        let image = || Fetch::image("https://www.app.test/");
        let origin = |location| origin_after(&page, image(), 302, location);
        assert_eq!(origin("http://www.app.test/a").as_deref(), Some("https://app.test"));
        assert_eq!(origin("http://other.app.test/a").as_deref(), Some("null"));
    }

    #[test]
    fn chromium_drops_the_origin_with_the_method_where_no_script_reads() {
        let page = app().framed(Url::parse("https://evil.test/").unwrap());
        let post = || Fetch::post("https://app.test/").mode(Mode::NoCors);
        let origin =
            |status| origin_after(&page, post().credentials(Credentials::Include), status, "/next");
        assert_eq!(origin(303), None);
        assert_eq!(origin(307).as_deref(), Some("https://evil.test"));
        let page = Page { has_same_site_ancestors: false, ..app() };
        let post = Fetch::post("https://app.test/").credentials(Credentials::Include);
        assert_eq!(origin_after(&page, post, 303, "/next").as_deref(), Some("https://app.test"));
    }
}
