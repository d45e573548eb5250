//! How a request stands to the cookies of where it goes (RFC 6265bis, 5.2; Cookies Having
//! Independent Partitioned State).

use http::Method;
use url::Url;

use super::{
    Page, PageOrigin, Profile, ThirdParty,
    site::{is_loopback, is_same_site, site},
};

/// A request, as far as cookies depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CookieContext<'a> {
    /// Where it goes.
    pub(super) url: &'a Url,
    pub(super) method: &'a Method,
    /// The page in the window.
    pub(super) top_level: Option<&'a Url>,
    /// The origin of who asks; without one it is the person in front of the browser.
    pub(super) initiator: Option<&'a PageOrigin>,
    /// Whether the page that asks, and all that it stands in, are of one site.
    pub(super) has_same_site_ancestors: bool,
    /// Whether the page in the window is left for the answer.
    pub(super) is_top_level_navigation: bool,
    /// Whether another site redirected to here.
    pub(super) was_cross_site_redirected: bool,
}

/// The windows that a cookie is for, if it is not for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// The site of their pages.
    pub(super) site: String,
    /// Whether another site stands between the page and the cookie's.
    is_foreign: bool,
}

/// How a request stands to the site that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    SameSite,
    /// Another site, which is left for this one in its window.
    Navigation,
    CrossSite,
}

impl<'a> CookieContext<'a> {
    /// How a page stands to its own cookies.
    pub(super) fn of(page: &'a Page) -> Self {
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

    /// Whether the window is of another site, or one stands between it and this request.
    pub(super) fn is_third_party(&self) -> bool {
        let is_of_window = self.top_level.is_none_or(|top| site(top) == site(self.url));
        let is_sandboxed = self.initiator == Some(&PageOrigin::Opaque);
        !self.is_top_level_navigation
            && (!is_of_window || !self.has_same_site_ancestors || is_sandboxed)
    }

    /// The windows that a new cookie is for.
    pub(super) fn partition(&self, profile: &Profile, is_asked_for: bool) -> Option<Partition> {
        let is_parted = profile.third_party == ThirdParty::Partitioned && self.is_third_party();
        (is_asked_for || is_parted).then(|| self.window())
    }

    /// Those like the one of this request; one that leaves its page belongs to the next.
    pub(super) fn window(&self) -> Partition {
        let top_level = self.top_level.filter(|_| !self.is_top_level_navigation);
        Partition { site: site(top_level.unwrap_or(self.url)), is_foreign: self.is_third_party() }
    }

    /// "Same-site" and "cross-site" (5.2).
    pub(super) fn relation(&self, profile: &Profile) -> Relation {
        let is_asked_by_site =
            self.initiator.is_none_or(|initiator| is_same_site(initiator, self.url));
        let was_elsewhere = profile.redirects_count && self.was_cross_site_redirected;
        if is_asked_by_site && !self.is_third_party() && !was_elsewhere {
            Relation::SameSite
        } else if self.is_top_level_navigation {
            Relation::Navigation
        } else {
            Relation::CrossSite
        }
    }

    /// Whether cookies with `Secure` may travel there and from there.
    pub(super) fn is_secure(&self, profile: &Profile) -> bool {
        self.url.scheme() == "https" || profile.secure_on_loopback && is_loopback(self.url)
    }
}
