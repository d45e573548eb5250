//! Whether a document may be embedded in a frame: `frame-ancestors` (CSP 3, 6.4.2) and
//! `X-Frame-Options` (HTML, 7.7), which counts only if the first is missing.

use http::HeaderMap;
use url::Url;

use crate::{
    Page, PageOrigin, Profile, Reason,
    csp::{csp, directive},
    headers::text,
    request::Request,
};

/// Checks all pages around the document.
pub(crate) fn check(
    profile: &Profile,
    parent: &Page,
    request: &Request,
    headers: &HeaderMap,
) -> Result<(), Reason> {
    let top_level = PageOrigin::from_url(&parent.top_level);
    let around = parent.ancestor_origins.iter();
    let ancestors = || [&parent.origin, &top_level].into_iter().chain(around.clone());
    let mut is_named = false;
    for policy in csp(headers) {
        let Some(sources) = directive(&policy, "frame-ancestors") else { continue };
        is_named = true;
        let allows = |ancestor: &PageOrigin| {
            sources.iter().any(|source| matches(profile, source, ancestor, request))
        };
        if !ancestors().all(allows) {
            return Err(Reason::Framing(format!("frame-ancestors {}", sources.join(" "))));
        }
    }
    if is_named {
        return Ok(());
    }
    let Some(written) = text(headers, "x-frame-options") else { return Ok(()) };
    let mut values: Vec<String> =
        written.split(',').map(|value| value.trim().to_ascii_lowercase()).collect();
    values.sort_unstable();
    values.dedup();
    let is_known = |value: &String| matches!(&**value, "deny" | "allowall" | "sameorigin");
    let is_refused = match &*values {
        [value] if value == "deny" => true,
        [value] if value == "sameorigin" => {
            !ancestors().all(|ancestor| ancestor.is_same(&request.target))
        }
        [_] => false,
        several => several.iter().any(is_known),
    };
    if is_refused { Err(Reason::Framing(written)) } else { Ok(()) }
}

/// Whether a source expression matches an ancestor (CSP 3, 6.7.2).
fn matches(profile: &Profile, source: &str, ancestor: &PageOrigin, request: &Request) -> bool {
    let PageOrigin::Tuple(origin) = ancestor else { return false };
    let Ok(ancestor_url) = Url::parse(origin) else { return false };
    match source {
        "'self'" => ancestor.is_same(&request.target),
        "*" => true,
        _ => match source.strip_suffix(':') {
            Some(scheme) => scheme_matches(profile, scheme, ancestor_url.scheme()),
            None => host_matches(profile, source, &ancestor_url, request.url.scheme()),
        },
    }
}

/// Scheme-part match (CSP 3, 6.7.2.8): a scheme also matches its secure form, and a WebSocket
/// scheme the HTTP one.
fn scheme_matches(profile: &Profile, written: &str, scheme: &str) -> bool {
    let is_secure_form = match written {
        "http" => scheme == "https",
        "ws" => profile.ancestors_have_socket_schemes && matches!(scheme, "http" | "https"),
        "wss" => profile.ancestors_have_socket_schemes && scheme == "https",
        _ => false,
    };
    written == scheme || is_secure_form
}

fn host_matches(profile: &Profile, source: &str, ancestor: &Url, own_scheme: &str) -> bool {
    let (scheme, rest) = match source.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => (own_scheme, source),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The path of an ancestor is `/`.
    let is_path = path.is_empty() || !profile.ancestors_have_paths;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let name = ancestor.host_str().unwrap_or_default();
    let is_host = match host.strip_prefix('*') {
        Some("") => port.is_none() || profile.ancestors_have_any_host_with_port,
        Some(suffix) => name.ends_with(suffix) && suffix.starts_with('.'),
        None => name == host,
    };
    let actual = ancestor.port_or_known_default();
    let default = if ancestor.scheme() == "https" { 443 } else { 80 };
    let is_port = match port {
        Some("*") => true,
        Some(port) => {
            let port = port.parse().ok();
            let is_upgrade = scheme != ancestor.scheme() && !profile.ancestors_upgrade_with_port;
            (port == actual && !is_upgrade) || (port == Some(80) && actual == Some(443))
        }
        None => actual == Some(default),
    };
    scheme_matches(profile, scheme, ancestor.scheme()) && is_host && is_port && is_path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch,
        trial::{load, load_by, page, response},
    };

    /// Whether a page of `https://shop.test` may be embedded in one of `https://app.shop.test`.
    fn is_framed(fields: &[(&str, &str)]) -> bool {
        let page = page("https://app.shop.test/");
        let trial = load(&page, Fetch::frame("https://shop.test/"), &[response(200, fields)]);
        trial.outcome.page().is_some()
    }

    fn csp(sources: &str) -> bool {
        is_framed(&[(
            "content-security-policy",
            &format!("default-src; frame-ancestors {sources}"),
        )])
    }

    #[test]
    fn frame_ancestors_lists_the_allowed_origins() {
        for sources in [
            "*",
            "https:",
            "http:",
            "https://app.shop.test",
            "app.shop.test",
            "http://app.shop.test",
            "https://*.shop.test",
            "*.shop.test:*",
            "https://app.shop.test:443",
            "http://app.shop.test:80",
            "'self' https://APP.shop.test/",
            "wss:",
            "ws://app.shop.test:443",
            "*:443",
        ] {
            assert!(csp(sources), "{sources}");
        }
        for sources in [
            "",
            "'none'",
            "'self'",
            "shop.test",
            "https://*.app.shop.test",
            "https://app.shop.test:8443",
            "https://app.shop.test/path",
            "wss://shop.test",
        ] {
            assert!(!csp(sources), "{sources}");
        }
    }

    #[test]
    fn the_pages_between_the_window_and_the_frame_count() {
        let app = page("https://app.shop.test/");
        let between = |url: &str| app.framed(page(url).url).framed(app.url.clone());
        let is_framed = |parent: &Page, field| {
            let frame = Fetch::frame("https://app.shop.test/");
            load(parent, frame, &[response(200, &[field])]).outcome.page().is_some()
        };
        for field in [
            ("x-frame-options", "sameorigin"),
            ("content-security-policy", "frame-ancestors 'self'"),
        ] {
            assert!(is_framed(&between("https://app.shop.test/"), field));
            assert!(!is_framed(&between("https://evil.test/"), field));
        }
    }

    #[test]
    fn engines_read_sources_in_their_own_way() {
        let is_framed = |profile, sources: &str| {
            let page = page("https://app.shop.test/");
            let csp = format!("frame-ancestors {sources}");
            let response = response(200, &[("content-security-policy", &csp)]);
            let trial = load_by(profile, &page, Fetch::frame("https://shop.test/"), &[response]);
            trial.outcome.page().is_some()
        };
        for (sources, expected) in [
            ("https://app.shop.test", [true, true, true]),
            ("https://app.shop.test/path", [false, true, false]),
            ("http://app.shop.test", [true, true, true]),
            ("http://app.shop.test:80", [true, true, true]),
            ("http://app.shop.test:443", [false, true, true]),
            ("*:443", [true, true, false]),
            ("wss://app.shop.test", [false, false, true]),
        ] {
            let engines = [Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];
            assert_eq!(engines.map(|engine| is_framed(engine, sources)), expected, "{sources}");
        }
    }

    #[test]
    fn every_policy_must_allow_it() {
        let names = ["content-security-policy"; 2];
        assert!(!is_framed(&[
            (names[0], "frame-ancestors *"),
            (names[1], "frame-ancestors 'none'")
        ]));
        assert!(!is_framed(&[(names[0], "frame-ancestors *, frame-ancestors 'none'")]));
        assert!(is_framed(&[(names[0], "frame-ancestors *; frame-ancestors 'none'")]));
    }

    #[test]
    fn x_frame_options_counts_where_frame_ancestors_is_missing() {
        let deny = ("x-frame-options", "DENY");
        assert!(!is_framed(&[deny]));
        assert!(!is_framed(&[deny, ("content-security-policy", "default-src 'none'")]));
        assert!(is_framed(&[deny, ("content-security-policy", "frame-ancestors *")]));
    }

    #[test]
    fn x_frame_options_has_two_values_that_count() {
        for (value, framed) in [
            ("sameorigin", false),
            ("ALLOWALL", true),
            ("allow-from https://app.shop.test", true),
            ("deny, sameorigin", false),
            ("deny, deny", false),
            ("x, y", true),
        ] {
            assert_eq!(is_framed(&[("x-frame-options", value)]), framed, "{value}");
        }
    }

    #[test]
    fn the_top_level_page_is_checked_as_an_ancestor() {
        let inner = Page {
            top_level: Url::parse("https://evil.test/").unwrap(),
            ..page("https://shop.test/")
        };
        let fields = [("x-frame-options", "SAMEORIGIN")];
        let fetch = || Fetch::frame("https://shop.test/");
        assert!(load(&inner, fetch(), &[response(200, &fields)]).outcome.blocked().is_some());
        let alone = page("https://shop.test/");
        assert!(load(&alone, fetch(), &[response(200, &fields)]).outcome.page().is_some());
    }
}
