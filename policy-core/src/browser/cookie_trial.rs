//! A browser with cookies only, for the tests of this module.

use std::time::Duration;

use http::Method;
use url::Url;

use super::{Jar, Page, Profile, cookie_context::CookieContext};

pub(super) const NOW: Duration = Duration::from_secs(1_700_000_000);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
pub(super) const SHOP: &str = "https://shop.example/";

pub(super) fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// A browser with cookies only.
pub(super) struct Browser {
    pub(super) jar: Jar,
    pub(super) profile: Profile,
    pub(super) now: Duration,
}

/// The page that sends a request, and the kind of the request.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) page: Option<Page>,
    pub(super) leaves: bool,
    pub(super) was_elsewhere: bool,
}

impl Ask {
    /// The address bar.
    pub(super) fn at(address: &str) -> Self {
        let url = url(address);
        Self { url, method: Method::GET, page: None, leaves: true, was_elsewhere: false }
    }

    /// A subresource of a page in a window.
    pub(super) fn from(page: &str, address: &str) -> Self {
        Self { page: Some(Page::at(url(page))), leaves: false, ..Self::at(address) }
    }

    /// A navigation of a page in a window.
    pub(super) fn leaving(page: &str, method: Method, address: &str) -> Self {
        Self { method, leaves: true, ..Self::from(page, address) }
    }

    pub(super) fn context(&self) -> CookieContext<'_> {
        let page = self.page.as_ref();
        CookieContext {
            url: &self.url,
            method: &self.method,
            top_level: page.map(|page| &page.top_level),
            initiator: page.map(|page| &page.origin),
            has_same_site_ancestors: page.is_none_or(|page| page.has_same_site_ancestors),
            is_top_level_navigation: self.leaves,
            was_cross_site_redirected: self.was_elsewhere,
        }
    }
}

impl Browser {
    pub(super) fn new(profile: Profile) -> Self {
        Self { jar: Jar::default(), profile, now: NOW }
    }

    pub(super) fn gets(mut self, ask: &Ask, lines: &[&str]) -> Self {
        for line in lines {
            self.jar.store(&self.profile, self.now, &ask.context(), line.as_bytes());
        }
        self
    }

    pub(super) fn sends(&mut self, ask: &Ask) -> String {
        let value = self.jar.header(&self.profile, self.now, &ask.context());
        value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    pub(super) fn waits(mut self, time: Duration) -> Self {
        self.now += time;
        self.jar.drop_expired(self.now);
        self
    }

    pub(super) fn writes(mut self, page: &Page, text: &str) -> Self {
        self.jar.write(&self.profile, self.now, page, text);
        self
    }

    pub(super) fn reads(&self, page: &Page) -> String {
        self.jar.read(&self.profile, self.now, page)
    }
}

/// The cookies that are sent to one URL after another one set them, both in the address bar.
pub(super) fn back(from: &str, line: &str, to: &str) -> String {
    Browser::new(Profile::STANDARD).gets(&Ask::at(from), &[line]).sends(&Ask::at(to))
}

/// All four kinds of `SameSite`.
pub(super) const KINDS: [&str; 4] = [
    "strict=1; Secure; SameSite=Strict",
    "lax=1; Secure; SameSite=Lax",
    "none=1; Secure; SameSite=None",
    "default=1; Secure",
];
pub(super) const EVIL: &str = "https://evil.test/";

pub(super) fn with_kinds(profile: Profile) -> Browser {
    Browser::new(profile).gets(&Ask::at(SHOP), &KINDS)
}
