//! The relation between a request and the cookies of its target (RFC 6265bis, 5.2; Cookies Having
//! Independent Partitioned State).

use http::Method;
use url::Url;

use crate::{
    Page, PageOrigin, Profile, ThirdParty,
    site::{is_loopback, is_of_domain, is_same_domain, is_same_site, site},
};

/// The properties of a request that decide about cookies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CookieContext<'a> {
    /// Its URL.
    pub(crate) url: &'a Url,
    pub(crate) method: &'a Method,
    /// The top-level page.
    pub(crate) top_level: Option<&'a Url>,
    /// The initiating origin; `None` if the user started the request.
    pub(crate) initiator: Option<&'a PageOrigin>,
    /// Whether the initiating page and all pages around it are same-site.
    pub(crate) has_same_site_ancestors: bool,
    /// Whether the request is a top-level navigation.
    pub(crate) is_top_level_navigation: bool,
    /// Whether another site redirected to its URL.
    pub(crate) was_cross_site_redirected: bool,
}

/// The partition of a cookie, if it is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// The top-level site.
    pub(crate) site: String,
    /// Whether another site is between the page and the site of the cookie.
    is_foreign: bool,
}

/// The relation between a request and the site of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    SameSite,
    /// Another site, in a top-level navigation.
    Navigation,
    CrossSite,
}

impl<'a> CookieContext<'a> {
    /// The relation between a page and its own cookies.
    pub(crate) fn for_page(page: &'a Page) -> Self {
        Self {
            url: &page.url,
            method: &Method::GET,
            top_level: Some(&page.top_level),
            initiator: Some(&page.origin),
            has_same_site_ancestors: page.has_same_site_ancestors,
            is_top_level_navigation: false,
            was_cross_site_redirected: false,
        }
    }

    /// Whether the top-level page, or a page between it and this request, is of another site.
    pub(crate) fn is_third_party(&self, profile: &Profile) -> bool {
        let is_of_window = self.top_level.is_none_or(|top| match profile.sites_have_schemes {
            true => site(top) == site(self.url),
            false => is_same_domain(top, self.url),
        });
        let is_sandboxed = self.initiator == Some(&PageOrigin::Opaque);
        !self.is_top_level_navigation
            && (!is_of_window || !self.has_same_site_ancestors || is_sandboxed)
    }

    /// The partition of a new cookie.
    pub(crate) fn partition(&self, profile: &Profile, is_asked_for: bool) -> Option<Partition> {
        let is_parted =
            profile.third_party == ThirdParty::Partitioned && self.is_third_party(profile);
        (is_asked_for || is_parted).then(|| self.window(profile))
    }

    /// The partition of this request; a top-level navigation uses the one of the new page.
    pub(crate) fn window(&self, profile: &Profile) -> Partition {
        let top_level = self.top_level.filter(|_| !self.is_top_level_navigation);
        Partition {
            site: site(top_level.unwrap_or(self.url)),
            is_foreign: self.is_third_party(profile),
        }
    }

    /// "Same-site" and "cross-site" (5.2).
    pub(crate) fn relation(&self, profile: &Profile) -> Relation {
        let is_asked_by_site = self.initiator.is_none_or(|initiator| {
            let is_of_domain = !profile.sites_have_schemes && is_of_domain(initiator, self.url);
            is_same_site(initiator, self.url) || is_of_domain
        });
        if is_asked_by_site && !self.is_third_party(profile) {
            Relation::SameSite
        } else {
            self.relation_elsewhere()
        }
    }

    /// The same for cookies that are sent.
    pub(crate) fn relation_of_sending(&self, profile: &Profile) -> Relation {
        if profile.redirects_count && self.was_cross_site_redirected {
            self.relation_elsewhere()
        } else {
            self.relation(profile)
        }
    }

    fn relation_elsewhere(&self) -> Relation {
        if self.is_top_level_navigation { Relation::Navigation } else { Relation::CrossSite }
    }

    /// Whether cookies with `Secure` may be sent to and set by this URL.
    pub(crate) fn is_secure(&self, profile: &Profile) -> bool {
        self.url.scheme() == "https" || profile.secure_on_loopback && is_loopback(self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cookie_trial::{Ask, Browser, EVIL, KINDS, SHOP, with_kinds},
        trial::{page, url},
    };

    const FRAMED: &str = "https://widget.test/";

    #[test]
    fn same_site_keeps_cookies_from_other_sites() {
        let all = "strict=1; lax=1; none=1; default=1";
        for (ask, expected) in [
            (Ask::at(SHOP), all),
            (Ask::from("https://app.shop.example/", SHOP), all),
            (Ask { method: Method::POST, ..Ask::from(SHOP, SHOP) }, all),
            (Ask::leaving(SHOP, Method::POST, SHOP), all),
            (Ask::from(EVIL, SHOP), "none=1"),
            (Ask::leaving(EVIL, Method::GET, SHOP), "lax=1; none=1; default=1"),
            (Ask::leaving(EVIL, Method::POST, SHOP), "none=1"),
            (Ask::leaving("http://shop.example", Method::POST, SHOP), "none=1"),
        ] {
            assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), expected, "{:?}", ask.context());
        }
    }

    #[test]
    fn a_frame_within_another_site_is_of_another_site() {
        let framed = Page { top_level: url(EVIL), has_same_site_ancestors: false, ..page(SHOP) };
        let ask = Ask { page: Some(framed.clone()), ..Ask::from(SHOP, SHOP) };
        assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), "none=1");
        assert_eq!(with_kinds(Profile::STANDARD).reads(&framed), "none=1");
        let sandwiched = Page { has_same_site_ancestors: false, ..page(SHOP) };
        assert_eq!(with_kinds(Profile::STANDARD).reads(&sandwiched), "none=1");
    }

    #[test]
    fn a_cross_site_response_sets_only_cookies_that_are_sent_cross_site() {
        let set =
            |ask: &Ask| Browser::new(Profile::STANDARD).gets(ask, &KINDS).sends(&Ask::at(SHOP));
        assert_eq!(set(&Ask::from(EVIL, SHOP)), "none=1");
        assert_eq!(
            set(&Ask::leaving(EVIL, Method::POST, SHOP)),
            "strict=1; lax=1; none=1; default=1",
        );
    }

    #[test]
    fn without_lax_by_default_the_default_is_none() {
        for profile in [Profile::FIREFOX, Profile::WEBKIT] {
            let profile = profile.third_party(ThirdParty::Sent);
            assert_eq!(with_kinds(profile).sends(&Ask::from(EVIL, SHOP)), "none=1; default=1");
        }
    }

    #[test]
    fn a_redirect_by_another_site_counts_for_firefox_where_it_sends() {
        let firefox = Profile::FIREFOX.third_party(ThirdParty::Sent);
        let part = Ask { was_elsewhere: true, ..Ask::from(SHOP, SHOP) };
        let window = Ask { was_elsewhere: true, ..Ask::at(SHOP) };
        assert_eq!(with_kinds(firefox).sends(&part), "none=1; default=1");
        assert_eq!(with_kinds(firefox).sends(&window), "lax=1; none=1; default=1");
        let all = "strict=1; lax=1; none=1; default=1";
        assert_eq!(with_kinds(Profile::CHROMIUM).sends(&part), all);
        assert_eq!(Browser::new(firefox).gets(&part, &KINDS).sends(&Ask::at(SHOP)), all);
    }

    #[test]
    fn cookies_of_the_own_window_are_not_sent_in_frames() {
        let line = "a=1; Secure; SameSite=None";
        for third_party in [ThirdParty::Partitioned, ThirdParty::Blocked] {
            let profile = Profile::STANDARD.third_party(third_party);
            let mut browser = Browser::new(profile).gets(&Ask::at(FRAMED), &[line]);
            assert_eq!(browser.sends(&Ask::from(SHOP, FRAMED)), "");
            assert_eq!(browser.sends(&Ask::leaving(SHOP, Method::GET, FRAMED)), "a=1");
        }
    }

    #[test]
    fn a_frame_of_the_windows_own_site_has_its_own_partition_behind_another_site() {
        let line = "a=1; Secure; SameSite=None; Partitioned";
        let behind = Page { has_same_site_ancestors: false, ..page(SHOP) };
        let ask = Ask { page: Some(behind), ..Ask::from(SHOP, SHOP) };
        let mut browser = Browser::new(Profile::CHROMIUM).gets(&Ask::from(SHOP, SHOP), &[line]);
        assert_eq!(browser.sends(&ask), "");
        assert_eq!(browser.sends(&Ask::at(SHOP)), "a=1");
    }

    #[test]
    fn a_sandboxed_page_is_foreign_to_its_own_site() {
        let sandboxed = Page { origin: PageOrigin::Opaque, ..page(SHOP) };
        let ask = Ask { page: Some(sandboxed), ..Ask::from(SHOP, SHOP) };
        assert_eq!(with_kinds(Profile::STANDARD).sends(&ask), "none=1");
        assert_eq!(with_kinds(Profile::CHROMIUM).sends(&ask), "");
        assert_eq!(with_kinds(Profile::FIREFOX).sends(&ask), "");
    }

    #[test]
    fn partitioned_and_unpartitioned_cookies_coexist() {
        let (own, chip) = ("a=1; Secure", "a=2; Secure; Partitioned");
        let mut browser = Browser::new(Profile::CHROMIUM).gets(&Ask::at(SHOP), &[own, chip]);
        assert_eq!(browser.sends(&Ask::at(SHOP)), "a=1; a=2");
        assert_eq!(browser.jar.iter().last().unwrap().partition(), Some("https://shop.example"));
    }
}
