//! A browser with cookies only, for the tests of this module.

use std::time::Duration;

use http::Method;
use url::Url;

use crate::{
    Jar, Page, Profile,
    cookie_context::CookieContext,
    trial::{page, url},
};

pub(crate) const NOW: Duration = Duration::from_secs(1_700_000_000);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const SHOP: &str = "https://shop.example/";

/// A browser with cookies only.
pub(crate) struct Browser {
    pub(crate) jar: Jar,
    pub(crate) profile: Profile,
    pub(crate) now: Duration,
}

/// The page that sends a request, and the kind of the request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) url: Url,
    pub(crate) method: Method,
    pub(crate) page: Option<Page>,
    pub(crate) leaves: bool,
    pub(crate) was_elsewhere: bool,
}

impl Ask {
    /// The address bar.
    pub(crate) fn at(address: &str) -> Self {
        let url = url(address);
        Self { url, method: Method::GET, page: None, leaves: true, was_elsewhere: false }
    }

    /// A subresource of a page in a window.
    pub(crate) fn from(from: &str, address: &str) -> Self {
        Self { page: Some(page(from)), leaves: false, ..Self::at(address) }
    }

    /// A navigation of a page in a window.
    pub(crate) fn leaving(page: &str, method: Method, address: &str) -> Self {
        Self { method, leaves: true, ..Self::from(page, address) }
    }

    pub(crate) fn context(&self) -> CookieContext<'_> {
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
    pub(crate) fn new(profile: Profile) -> Self {
        Self { jar: Jar::default(), profile, now: NOW }
    }

    pub(crate) fn gets(mut self, ask: &Ask, lines: &[&str]) -> Self {
        for line in lines {
            self.jar.store(&self.profile, self.now, &ask.context(), line.as_bytes());
        }
        self
    }

    pub(crate) fn sends(&mut self, ask: &Ask) -> String {
        let value = self.jar.header(&self.profile, self.now, &ask.context());
        value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    pub(crate) fn waits(mut self, time: Duration) -> Self {
        self.now += time;
        self.jar.drop_expired(self.now);
        self
    }

    pub(crate) fn writes(mut self, page: &Page, text: &str) -> Self {
        self.jar.write(&self.profile, self.now, page, text);
        self
    }

    pub(crate) fn reads(&self, page: &Page) -> String {
        self.jar.read(&self.profile, self.now, page)
    }
}

/// The cookies that are sent to one URL after another one set them, both in the address bar.
pub(crate) fn back(from: &str, line: &str, to: &str) -> String {
    back_by(Profile::STANDARD, from, line, to)
}

/// The same in a browser of this kind.
pub(crate) fn back_by(profile: Profile, from: &str, line: &str, to: &str) -> String {
    Browser::new(profile).gets(&Ask::at(from), &[line]).sends(&Ask::at(to))
}

/// All four kinds of `SameSite`.
pub(crate) const KINDS: [&str; 4] = [
    "strict=1; Secure; SameSite=Strict",
    "lax=1; Secure; SameSite=Lax",
    "none=1; Secure; SameSite=None",
    "default=1; Secure",
];
pub(crate) const EVIL: &str = "https://evil.test/";

pub(crate) fn with_kinds(profile: Profile) -> Browser {
    Browser::new(profile).gets(&Ask::at(SHOP), &KINDS)
}
