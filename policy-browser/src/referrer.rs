//! Referrer policies: `Referer`, and the effect on `Origin` outside of the CORS protocol.

use http::HeaderMap;
use url::Url;

use crate::{
    PageOrigin, Profile, ReferrerPolicy,
    site::{is_of_domain, is_trustworthy},
};

/// The maximum length of `Referer`; a longer one is reduced to the origin (Referrer Policy, 8.3,
/// step 5).
const LONGEST: usize = 4096;

/// The policy that a response sets: the last known token (Referrer Policy, 8.1). An empty or
/// unknown one changes nothing.
pub(crate) fn policy(headers: &HeaderMap) -> Option<ReferrerPolicy> {
    headers
        .get_all("referrer-policy")
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|token| parse_policy(token.trim_matches([' ', '\t'])))
        .next_back()
}

/// Whether `Origin` keeps its value, instead of `null`, in a request whose mode is not `cors`
/// (Fetch, "append a request `Origin` header").
pub(crate) fn origin_allowed(policy: ReferrerPolicy, origin: &PageOrigin, url: &Url) -> bool {
    match policy {
        ReferrerPolicy::NoReferrer => false,
        ReferrerPolicy::NoReferrerWhenDowngrade
        | ReferrerPolicy::StrictOrigin
        | ReferrerPolicy::StrictOriginWhenCrossOrigin => {
            let is_secure = matches!(origin, PageOrigin::Tuple(own) if own.starts_with("https:"));
            !is_secure || url.scheme() == "https"
        }
        ReferrerPolicy::SameOrigin => origin.is_same(&PageOrigin::from_url(url)),
        ReferrerPolicy::Origin
        | ReferrerPolicy::OriginWhenCrossOrigin
        | ReferrerPolicy::UnsafeUrl => true,
    }
}

/// The referrer for `source`, if any (Referrer Policy, 8.3: "determine request's referrer"): the
/// page, or the referrer before a redirect. `policy` is the policy of the page, unless the load or
/// a redirect has set another.
pub(crate) fn referrer(
    profile: &Profile,
    policy: ReferrerPolicy,
    source: &Url,
    url: &Url,
) -> Option<Url> {
    let origin = PageOrigin::from_url(source);
    let is_same_origin = origin.is_same(&PageOrigin::from_url(url));
    let is_downgrade = match profile.loopback_is_downgrade {
        true => source.scheme() == "https" && url.scheme() != "https",
        false => is_trustworthy(source) && !is_trustworthy(url),
    };
    let part = match policy {
        ReferrerPolicy::NoReferrer => None,
        ReferrerPolicy::NoReferrerWhenDowngrade => (!is_downgrade).then_some(Part::Whole),
        ReferrerPolicy::Origin => Some(Part::Origin),
        ReferrerPolicy::OriginWhenCrossOrigin => {
            Some(if is_same_origin { Part::Whole } else { Part::Origin })
        }
        ReferrerPolicy::SameOrigin => is_same_origin.then_some(Part::Whole),
        ReferrerPolicy::StrictOrigin => (!is_downgrade).then_some(Part::Origin),
        ReferrerPolicy::StrictOriginWhenCrossOrigin if is_same_origin => Some(Part::Whole),
        ReferrerPolicy::StrictOriginWhenCrossOrigin => (!is_downgrade).then_some(Part::Origin),
        ReferrerPolicy::UnsafeUrl => Some(Part::Whole),
    }?;
    stripped(source, part)
}

/// The effect of a policy on requests to other origins; for a sandboxed page all origins are other
/// ones.
pub(crate) fn across_origins(policy: ReferrerPolicy) -> ReferrerPolicy {
    match policy {
        ReferrerPolicy::SameOrigin => ReferrerPolicy::NoReferrer,
        ReferrerPolicy::OriginWhenCrossOrigin => ReferrerPolicy::Origin,
        ReferrerPolicy::StrictOriginWhenCrossOrigin => ReferrerPolicy::StrictOrigin,
        same => same,
    }
}

/// Whether an engine that limits cross-site referrers to the default policy does so here.
/// The scheme does not count there (`ReferrerInfo::IsCrossSiteRequest`).
pub(crate) fn is_relaxed(policy: ReferrerPolicy, origin: &PageOrigin, url: &Url) -> bool {
    matches!(
        policy,
        ReferrerPolicy::NoReferrerWhenDowngrade
            | ReferrerPolicy::OriginWhenCrossOrigin
            | ReferrerPolicy::UnsafeUrl
    ) && !is_of_domain(origin, url)
}

/// How much of a URL is sent.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Origin,
}

/// Removes user, password and fragment (Referrer Policy, 8.4).
fn stripped(url: &Url, part: Part) -> Option<Url> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let mut url = url.clone();
    url.set_fragment(None);
    // A URL without a host has neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if matches!(part, Part::Origin) || url.as_str().len() > LONGEST {
        url.set_query(None);
        url.set_path("");
    }
    Some(url)
}

fn parse_policy(token: &str) -> Option<ReferrerPolicy> {
    let policies = [
        ("no-referrer", ReferrerPolicy::NoReferrer),
        ("no-referrer-when-downgrade", ReferrerPolicy::NoReferrerWhenDowngrade),
        ("origin", ReferrerPolicy::Origin),
        ("origin-when-cross-origin", ReferrerPolicy::OriginWhenCrossOrigin),
        ("same-origin", ReferrerPolicy::SameOrigin),
        ("strict-origin", ReferrerPolicy::StrictOrigin),
        ("strict-origin-when-cross-origin", ReferrerPolicy::StrictOriginWhenCrossOrigin),
        ("unsafe-url", ReferrerPolicy::UnsafeUrl),
    ];
    policies
        .into_iter()
        .find_map(|(name, policy)| name.eq_ignore_ascii_case(token).then_some(policy))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::trial::url;

    const PAGE: &str = "https://user:secret@shop.example/cart?item=7#top";
    const WHOLE: Option<&str> = Some("https://shop.example/cart?item=7");
    const ORIGIN: Option<&str> = Some("https://shop.example/");

    /// The referrer of each policy for the same origin, for another one, and for one without TLS.
    const TABLE: [(ReferrerPolicy, [Option<&str>; 3]); 8] = [
        (ReferrerPolicy::NoReferrer, [None, None, None]),
        (ReferrerPolicy::NoReferrerWhenDowngrade, [WHOLE, WHOLE, None]),
        (ReferrerPolicy::Origin, [ORIGIN, ORIGIN, ORIGIN]),
        (ReferrerPolicy::OriginWhenCrossOrigin, [WHOLE, ORIGIN, ORIGIN]),
        (ReferrerPolicy::SameOrigin, [WHOLE, None, None]),
        (ReferrerPolicy::StrictOrigin, [ORIGIN, ORIGIN, None]),
        (ReferrerPolicy::StrictOriginWhenCrossOrigin, [WHOLE, ORIGIN, None]),
        (ReferrerPolicy::UnsafeUrl, [WHOLE, WHOLE, WHOLE]),
    ];
    const TARGETS: [&str; 3] =
        ["https://shop.example/x", "https://api.example/", "http://api.example/"];

    #[test]
    fn each_referrer_policy_follows_its_table() {
        for (policy, expected) in TABLE {
            let referrers =
                TARGETS.map(|target| standard_referrer(policy, &url(PAGE), &url(target)));
            assert_eq!(referrers.each_ref().map(Option::as_deref), expected, "{policy:?}");
        }
    }

    #[test]
    fn origin_is_kept_where_the_policy_lets_it() {
        let origin = PageOrigin::from_url(&url(PAGE));
        for (policy, expected) in [
            (ReferrerPolicy::NoReferrer, [false, false, false]),
            (ReferrerPolicy::NoReferrerWhenDowngrade, [true, true, false]),
            (ReferrerPolicy::Origin, [true, true, true]),
            (ReferrerPolicy::OriginWhenCrossOrigin, [true, true, true]),
            (ReferrerPolicy::SameOrigin, [true, false, false]),
            (ReferrerPolicy::StrictOrigin, [true, true, false]),
            (ReferrerPolicy::StrictOriginWhenCrossOrigin, [true, true, false]),
            (ReferrerPolicy::UnsafeUrl, [true, true, true]),
        ] {
            let kept = TARGETS.map(|target| origin_allowed(policy, &origin, &url(target)));
            assert_eq!(kept, expected, "{policy:?}");
        }
    }

    fn standard_referrer(policy: ReferrerPolicy, source: &Url, url: &Url) -> Option<String> {
        referrer(&Profile::STANDARD, policy, source, url).map(String::from)
    }

    #[test]
    fn another_site_gets_at_most_the_origin_as_referrer() {
        let [_, other, _] = TARGETS.map(url);
        let sister = url("https://api.shop.example/");
        let over_http = url("http://shop.example/");
        let origin = PageOrigin::from_url(&url(PAGE));
        assert!(is_relaxed(ReferrerPolicy::UnsafeUrl, &origin, &other));
        assert!(is_relaxed(ReferrerPolicy::UnsafeUrl, &PageOrigin::Opaque, &sister));
        for own in [&sister, &over_http] {
            assert!(!is_relaxed(ReferrerPolicy::UnsafeUrl, &origin, own), "{own}");
        }
        assert!(!is_relaxed(ReferrerPolicy::Origin, &origin, &other));
    }

    #[test]
    fn a_page_without_tls_downgrades_nothing() {
        let page = url("http://shop.example/a");
        let target = url("http://api.example");
        assert_eq!(
            standard_referrer(ReferrerPolicy::NoReferrerWhenDowngrade, &page, &target).as_deref(),
            Some("http://shop.example/a"),
        );
        assert!(origin_allowed(
            ReferrerPolicy::StrictOrigin,
            &PageOrigin::from_url(&page),
            &target
        ));
    }

    #[test]
    fn engines_take_the_local_machine_without_tls_for_a_downgrade() {
        let local = url("http://localhost:8080/");
        let policy = ReferrerPolicy::StrictOrigin;
        for (profile, expected) in
            [(Profile::STANDARD, ORIGIN), (Profile::CHROMIUM, None), (Profile::FIREFOX, None)]
        {
            let referrer = referrer(&profile, policy, &url(PAGE), &local);
            assert_eq!(referrer.as_ref().map(Url::as_str), expected, "{}", profile.name);
        }
    }

    #[test]
    fn a_long_address_is_cut_down_to_its_origin() {
        let page = url(&format!("https://shop.example/{}", "a".repeat(LONGEST)));
        assert_eq!(standard_referrer(ReferrerPolicy::UnsafeUrl, &page, &page).as_deref(), ORIGIN);
    }

    #[test]
    fn the_last_known_policy_of_a_response_holds() {
        let mut headers = HeaderMap::new();
        assert_eq!(policy(&headers), None);
        for line in ["origin, NO-REFERRER", "hush,,"] {
            headers.append("referrer-policy", HeaderValue::from_static(line));
        }
        assert_eq!(policy(&headers), Some(ReferrerPolicy::NoReferrer));
    }
}
