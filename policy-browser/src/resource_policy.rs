//! Cross-origin resource policy check (Fetch, 3.7).

use http::HeaderMap;

use crate::{
    PageOrigin, Reason,
    headers::text,
    request::Request,
    site::{origin_parts, registrable},
};

/// Whether a cross-origin response to a request without CORS may be used.
pub(crate) fn check(request: &Request, response: &HeaderMap) -> Result<(), Reason> {
    let Some(policy) = text(response, "cross-origin-resource-policy") else { return Ok(()) };
    let is_allowed = match &*policy {
        "same-origin" => request.is_same_origin(),
        "same-site" => request.is_same_origin() || is_same_site(request),
        _ => true,
    };
    if is_allowed { Ok(()) } else { Err(Reason::ResourcePolicy(policy)) }
}

/// Same-site, with any schemes; but a response over TLS is blocked for a page without TLS.
fn is_same_site(request: &Request) -> bool {
    let PageOrigin::Tuple(origin) = &request.origin else { return false };
    let (Some((scheme, host)), Some(own)) = (origin_parts(origin), request.url.host_str()) else {
        return false;
    };
    registrable(host) == registrable(own) && (scheme == "https" || request.url.scheme() != "https")
}

#[cfg(test)]
mod tests {
    use crate::{
        Credentials, Fetch, Mode,
        trial::{load, page, response},
    };

    fn is_shown(from: &str, url: &str, policy: &str) -> bool {
        let fields = [("cross-origin-resource-policy", policy)];
        load(&page(from), Fetch::image(url), &[response(200, &fields)]).outcome.blocked().is_none()
    }

    #[test]
    fn a_policy_keeps_other_origins_or_other_sites_away() {
        const URL: &str = "https://api.shop.test/";
        for (policy, sister, other) in [
            ("same-origin", false, false),
            ("same-site", true, false),
            ("cross-origin", true, true),
        ] {
            assert!(is_shown("https://api.shop.test/", URL, policy));
            assert_eq!(is_shown("https://app.shop.test/", URL, policy), sister, "{policy}");
            assert_eq!(is_shown("https://evil.test/", URL, policy), other, "{policy}");
        }
    }

    #[test]
    fn a_malformed_resource_policy_is_ignored() {
        assert!(is_shown("https://evil.test/", "https://api.test/", "Same-Origin"));
    }

    #[test]
    fn a_page_without_tls_cannot_load_a_same_site_resource_over_tls() {
        assert!(!is_shown("http://app.shop.test/", "https://api.shop.test/", "same-site"));
    }

    #[test]
    fn a_page_that_was_granted_it_reads_it() {
        let fields =
            [("cross-origin-resource-policy", "same-origin"), ("access-control-allow-origin", "*")];
        let fetch =
            Fetch::image("https://api.test/").mode(Mode::Cors).credentials(Credentials::Omit);
        assert!(
            load(&page("https://a.test"), fetch, &[response(200, &fields)]).outcome.is_readable()
        );
    }
}
