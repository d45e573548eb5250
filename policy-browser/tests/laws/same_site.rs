//! RFC 6265bis, 5.2 and the part of 5.8.3 about `SameSite`, and third-party cookies.

use policy_browser::{Credentials, Fetch, Page, Profile, ThirdParty};
use policy_core_tests::law::{Precondition, holds};
use proptest::{prelude::*, sample::select};

use crate::{browser, load, response, url};

/// The site of the cookie, and another one.
const OWN: &str = "https://api.shop.example/";
const OTHER: &str = "https://evil.test/";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Strict,
    Lax,
    None,
    Unsaid,
    Partitioned,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Fetch,
    Image,
    Frame,
    Link,
    Form,
    AddressBar,
}

#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    how: How,
    /// Whether the requesting page, the window, and all frames between are of the cookie's site.
    is_own_page: bool,
    is_own_window: bool,
    is_own_between: bool,
    third_party: ThirdParty,
    lax_by_default: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    use How::{AddressBar, Fetch, Form, Frame, Image, Link};
    use Kind::{Lax, None, Partitioned, Strict, Unsaid};
    let kind = select(vec![Strict, Lax, None, Unsaid, Partitioned]);
    let how = select(vec![Fetch, Image, Frame, Link, Form, AddressBar]);
    let third_party = select(vec![ThirdParty::Sent, ThirdParty::Partitioned, ThirdParty::Blocked]);
    (kind, how, any::<[bool; 4]>(), third_party).prop_map(
        |(kind, how, [is_own_page, is_own_window, between, lax_by_default], third_party)| Case {
            kind,
            how,
            is_own_page,
            is_own_window,
            is_own_between: between && is_own_page && is_own_window,
            third_party,
            lax_by_default,
        },
    )
}

impl Case {
    fn line(&self) -> &'static str {
        match self.kind {
            Kind::Strict => "a=1; Secure; SameSite=Strict",
            Kind::Lax => "a=1; Secure; SameSite=Lax",
            Kind::None => "a=1; Secure; SameSite=None",
            Kind::Unsaid => "a=1; Secure",
            Kind::Partitioned => "a=1; Secure; SameSite=None; Partitioned",
        }
    }

    fn page(&self) -> Page {
        let site = |is_own| if is_own { "https://app.shop.example/" } else { OTHER };
        let mut page = Page::at(url(site(self.is_own_page)));
        page.top_level = url(site(self.is_own_window));
        page.has_same_site_ancestors =
            self.is_own_between || !self.is_own_page && !self.is_own_window;
        page
    }

    fn fetch(&self) -> Fetch {
        match self.how {
            How::Fetch => Fetch::get(OWN).credentials(Credentials::Include),
            How::Image => Fetch::image(OWN),
            How::Frame => Fetch::frame(OWN),
            How::Link | How::AddressBar => Fetch::navigate(OWN),
            How::Form => Fetch::form(OWN, [("a", "b")]),
        }
    }

    /// Whether the window navigates to the cookie's site.
    fn leaves(&self) -> bool {
        matches!(self.how, How::Link | How::Form | How::AddressBar)
    }

    /// Whether a cookie that was set in a window of its own site is sent.
    fn is_sent(&self) -> bool {
        let is_first_party = self.leaves() || self.is_own_between;
        let is_in_reach = match (self.kind, self.third_party) {
            // It was set in a window of its own site.
            (Kind::Partitioned, _) => is_first_party,
            (_, ThirdParty::Sent) => true,
            // Partitioned, or blocked.
            (_, _) => is_first_party,
        };
        let is_same_site = is_first_party && (self.is_own_page || self.how == How::AddressBar);
        let lets_in = match self.kind {
            Kind::None | Kind::Partitioned => true,
            Kind::Unsaid if !self.lax_by_default => true,
            Kind::Lax | Kind::Unsaid => is_same_site || self.how == How::Link,
            Kind::Strict => is_same_site,
        };
        is_in_reach && lets_in
    }
}

/// A cookie set in a window of its own site is sent elsewhere if `SameSite` and the setting allow
/// it.
#[test]
fn same_site_and_the_setting_decide() {
    holds("SameSite", 85, cases(), |case| {
        let mut profile = Profile::STANDARD.third_party(case.third_party);
        profile.lax_by_default = case.lax_by_default;
        let set = response(204, &[("set-cookie", case.line().to_owned())]);
        let (state, _) = load(browser(profile), None, Fetch::navigate(OWN), &set);
        let page = case.page();
        let page = Some(&page).filter(|_| case.how != How::AddressBar);
        let (_, sent) = load(state, page, case.fetch(), &response(204, &[]));
        let sent = sent.expect("nothing is cached");
        prop_assert_eq!(sent.headers.contains_key("cookie"), case.is_sent());
        Ok(Precondition::met_if(!case.is_own_between))
    });
}

/// A cookie set in a frame below another site is sent at most in windows of that site.
#[test]
fn a_cookie_of_a_cross_site_frame_stays_in_windows_of_that_site() {
    holds("foreign windows", 35, (cases(), any::<bool>()), |(case, same_window)| {
        let mut profile = Profile::STANDARD.third_party(case.third_party);
        profile.lax_by_default = case.lax_by_default;
        let foreign = |site: &str| Page::at(url(site));
        let fetch = || Fetch::get(OWN).credentials(Credentials::Include);
        let set = response(204, &[("set-cookie", case.line().to_owned())]);
        let (state, _) = load(browser(profile), Some(&foreign(OTHER)), fetch(), &set);
        let then =
            foreign(if same_window { "https://www.evil.test/" } else { "https://bad.test/" });
        let (_, sent) = load(state, Some(&then), fetch(), &response(204, &[]));
        let is_stored = match case.kind {
            Kind::Partitioned => true,
            Kind::Strict | Kind::Lax => false,
            Kind::Unsaid if case.lax_by_default => false,
            Kind::None | Kind::Unsaid => case.third_party != ThirdParty::Blocked,
        };
        let is_for_all = case.kind != Kind::Partitioned && case.third_party == ThirdParty::Sent;
        let is_sent = sent.expect("nothing is cached").headers.contains_key("cookie");
        prop_assert_eq!(is_sent, is_stored && (same_window || is_for_all));
        Ok(Precondition::met_if(is_stored))
    });
}
