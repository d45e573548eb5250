//! Whether a document may be embedded in a frame: `frame-ancestors` (CSP 3, 6.4.2) and
//! `X-Frame-Options` (HTML, 7.7), which counts only if the first is missing.

use http::HeaderMap;
use url::Url;

use super::{
    Page, PageOrigin, Reason,
    document::{csp, directive},
    headers::text,
    request::Request,
};

/// Checks the parent and the top-level page. The pages between them are not known here.
pub(super) fn check(parent: &Page, request: &Request, headers: &HeaderMap) -> Result<(), Reason> {
    let top_level = PageOrigin::of(&parent.top_level);
    let ancestors = [&parent.origin, &top_level];
    let mut is_named = false;
    for policy in csp(headers) {
        let Some(sources) = directive(&policy, "frame-ancestors") else { continue };
        is_named = true;
        let allows = |ancestor: &&PageOrigin| {
            sources.iter().any(|source| matches(source, ancestor, request))
        };
        if !ancestors.iter().all(allows) {
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
            !ancestors.iter().all(|ancestor| ancestor.is_same(&request.target))
        }
        [_] => false,
        several => several.iter().any(is_known),
    };
    if is_refused { Err(Reason::Framing(written)) } else { Ok(()) }
}

/// Does a source expression match an ancestor (CSP 3, 6.7.2).
fn matches(source: &str, ancestor: &PageOrigin, request: &Request) -> bool {
    let PageOrigin::Tuple(origin) = ancestor else { return false };
    let Ok(ancestor_url) = Url::parse(origin) else { return false };
    match source {
        "'self'" => ancestor.is_same(&request.target),
        "*" => true,
        _ => match source.strip_suffix(':') {
            Some(scheme) => scheme_matches(scheme, ancestor_url.scheme()),
            None => host_matches(source, &ancestor_url, request.url.scheme()),
        },
    }
}

/// A scheme also matches its secure form.
fn scheme_matches(written: &str, scheme: &str) -> bool {
    written == scheme || (written == "http" && scheme == "https")
}

fn host_matches(source: &str, ancestor: &Url, own_scheme: &str) -> bool {
    let (scheme, rest) = match source.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => (own_scheme, source),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let name = ancestor.host_str().unwrap_or_default();
    let is_host = match host.strip_prefix('*') {
        Some("") => true,
        Some(suffix) => name.ends_with(suffix) && suffix.starts_with('.'),
        None => name == host,
    };
    let actual = ancestor.port_or_known_default();
    let default = if ancestor.scheme() == "https" { 443 } else { 80 };
    let is_port = match port {
        Some("*") => true,
        Some(port) => {
            let port = port.parse().ok();
            port == actual || (port == Some(80) && actual == Some(443))
        }
        None => actual == Some(default),
    };
    scheme_matches(scheme, ancestor.scheme()) && is_host && is_port
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::{
        Fetch,
        trial::{load, page, response},
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
    fn frame_ancestors_names_who_may() {
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
            "'self' https://APP.shop.test/path",
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
            "wss:",
        ] {
            assert!(!csp(sources), "{sources}");
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
    fn the_page_in_the_window_is_asked_about_too() {
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
