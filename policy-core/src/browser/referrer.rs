//! What a page says of itself to those whom it asks (Referrer Policy): `Referer`, and what of
//! `Origin` is left where the CORS protocol is not used.

use http::HeaderMap;
use url::Url;

use super::{
    Mode, Page, PageOrigin, Profile, ReferrerPolicy,
    site::{is_same_site, is_trustworthy},
};

/// The longest `Referer`; a longer one is cut down to the origin (Referrer Policy, 8.3, step 5).
const LONGEST: usize = 4096;

/// The policy that an answer sets: the last token that is known (Referrer Policy, 8.1). An empty
/// or unknown one changes nothing.
pub(super) fn policy(headers: &HeaderMap) -> Option<ReferrerPolicy> {
    headers
        .get_all("referrer-policy")
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|token| named(token.trim_matches([' ', '\t'])))
        .next_back()
}

/// Whether `Origin` keeps its value, and does not become `null`, in a request whose mode is not
/// `cors` (Fetch, "append a request `Origin` header").
pub(super) fn origin_allowed(policy: ReferrerPolicy, origin: &PageOrigin, url: &Url) -> bool {
    match policy {
        ReferrerPolicy::NoReferrer => false,
        ReferrerPolicy::NoReferrerWhenDowngrade
        | ReferrerPolicy::StrictOrigin
        | ReferrerPolicy::StrictOriginWhenCrossOrigin => {
            let is_secure = matches!(origin, PageOrigin::Tuple(own) if own.starts_with("https:"));
            !is_secure || url.scheme() == "https"
        }
        ReferrerPolicy::SameOrigin => origin.is_same(&PageOrigin::of(url)),
        ReferrerPolicy::Origin
        | ReferrerPolicy::OriginWhenCrossOrigin
        | ReferrerPolicy::UnsafeUrl => true,
    }
}

/// The value of `Referer`, if it is sent (Referrer Policy, 8.3: "determine request's referrer").
/// `policy` is that of the page, unless the load or a redirect has set another.
pub(super) fn referrer(
    profile: &Profile,
    mode: Mode,
    policy: ReferrerPolicy,
    page: &Page,
    url: &Url,
) -> Option<String> {
    // WebSockets, "establish a WebSocket connection": their referrer is "no-referrer".
    if page.origin == PageOrigin::Opaque || mode == Mode::WebSocket {
        return None;
    }
    let is_trimmed =
        profile.trims_referrers && mode != Mode::Navigate && !is_same_site(&page.origin, url);
    let policy = match policy {
        ReferrerPolicy::NoReferrerWhenDowngrade
        | ReferrerPolicy::OriginWhenCrossOrigin
        | ReferrerPolicy::UnsafeUrl
            if is_trimmed =>
        {
            ReferrerPolicy::StrictOriginWhenCrossOrigin
        }
        policy => policy,
    };
    let is_same_origin = page.origin.is_same(&PageOrigin::of(url));
    let is_downgrade = is_trustworthy(&page.url) && !is_trustworthy(url);
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
    stripped(&page.url, part)
}

/// How much of an address is said.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Origin,
}

/// Without user, password and fragment (Referrer Policy, 8.4).
fn stripped(url: &Url, part: Part) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let origin = url.origin().ascii_serialization();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let whole = format!("{origin}{}{query}", url.path());
    let is_cut = matches!(part, Part::Origin) || whole.len() > LONGEST;
    Some(if is_cut { format!("{origin}/") } else { whole })
}

fn named(token: &str) -> Option<ReferrerPolicy> {
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

    const PAGE: &str = "https://user:secret@shop.example/cart?item=7#top";
    const WHOLE: Option<&str> = Some("https://shop.example/cart?item=7");
    const ORIGIN: Option<&str> = Some("https://shop.example/");

    fn page(url: &str) -> Page {
        Page::at(Url::parse(url).unwrap())
    }

    /// What each policy says to the same origin, another one, and one without TLS.
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
    fn each_policy_says_what_its_table_says() {
        for (policy, expected) in TABLE {
            let told =
                TARGETS.map(|target| said(policy, &page(PAGE), &Url::parse(target).unwrap()));
            assert_eq!(told.each_ref().map(Option::as_deref), expected, "{policy:?}");
        }
    }

    #[test]
    fn origin_is_kept_where_the_policy_lets_it() {
        let origin = PageOrigin::of(&Url::parse(PAGE).unwrap());
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
            let kept =
                TARGETS.map(|target| origin_allowed(policy, &origin, &Url::parse(target).unwrap()));
            assert_eq!(kept, expected, "{policy:?}");
        }
    }

    fn said(policy: ReferrerPolicy, page: &Page, url: &Url) -> Option<String> {
        referrer(&Profile::STANDARD, Mode::Cors, policy, page, url)
    }

    #[test]
    fn some_engines_tell_other_sites_no_more_than_the_origin() {
        let [_, other, _] = TARGETS.map(|target| Url::parse(target).unwrap());
        let sister = Url::parse("https://api.shop.example/").unwrap();
        let told = |profile, mode, url| {
            referrer(&profile, mode, ReferrerPolicy::UnsafeUrl, &page(PAGE), url)
        };
        assert_eq!(told(Profile::CHROMIUM, Mode::Cors, &other).as_deref(), WHOLE);
        for profile in [Profile::FIREFOX, Profile::WEBKIT] {
            assert_eq!(told(profile, Mode::Cors, &other).as_deref(), ORIGIN);
            assert_eq!(told(profile, Mode::Cors, &sister).as_deref(), WHOLE);
            assert_eq!(told(profile, Mode::Navigate, &other).as_deref(), WHOLE);
        }
    }

    #[test]
    fn a_web_socket_has_no_referrer() {
        let page = page(PAGE);
        let policy = ReferrerPolicy::UnsafeUrl;
        let told = referrer(&Profile::STANDARD, Mode::WebSocket, policy, &page, &page.url);
        assert_eq!(told, None);
    }

    #[test]
    fn a_page_without_tls_downgrades_nothing() {
        let page = page("http://shop.example/a");
        let target = Url::parse("http://api.example").unwrap();
        assert_eq!(
            said(ReferrerPolicy::NoReferrerWhenDowngrade, &page, &target).as_deref(),
            Some("http://shop.example/a"),
        );
        assert!(origin_allowed(ReferrerPolicy::StrictOrigin, &page.origin, &target));
    }

    #[test]
    fn a_sandboxed_page_says_nothing() {
        let page = Page { origin: PageOrigin::Opaque, ..page(PAGE) };
        assert_eq!(said(ReferrerPolicy::UnsafeUrl, &page, &page.url), None);
    }

    #[test]
    fn a_long_address_is_cut_down_to_its_origin() {
        let page = page(&format!("https://shop.example/{}", "a".repeat(LONGEST)));
        assert_eq!(said(ReferrerPolicy::UnsafeUrl, &page, &page.url).as_deref(), ORIGIN);
    }

    #[test]
    fn the_last_known_policy_of_an_answer_holds() {
        let mut headers = HeaderMap::new();
        assert_eq!(policy(&headers), None);
        for line in ["origin, NO-REFERRER", "hush,,"] {
            headers.append("referrer-policy", HeaderValue::from_static(line));
        }
        assert_eq!(policy(&headers), Some(ReferrerPolicy::NoReferrer));
    }
}
