//! Where a load comes from.

use std::fmt;

use url::Url;

use super::site::is_same_site;

/// A document that loads things: its address, its origin, and what it stands in (HTML,
/// environment settings object).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub url: Url,
    /// Its origin; opaque where it is sandboxed.
    pub origin: PageOrigin,
    /// The address of the page in the window, which is another one for a frame.
    pub top_level: Url,
    /// Whether every page that it stands in is of its own site.
    pub has_same_site_ancestors: bool,
    /// What it says of itself to those whom it asks.
    pub referrer_policy: ReferrerPolicy,
}

impl Page {
    /// A page in a window of its own.
    pub fn at(url: Url) -> Self {
        Self {
            origin: PageOrigin::of(&url),
            top_level: url.clone(),
            has_same_site_ancestors: true,
            referrer_policy: ReferrerPolicy::default(),
            url,
        }
    }

    /// A page in a frame of this one.
    pub fn framed(&self, url: Url) -> Self {
        Self {
            top_level: self.top_level.clone(),
            has_same_site_ancestors: self.has_same_site_ancestors
                && is_same_site(&self.origin, &url),
            ..Self::at(url)
        }
    }
}

/// The origin of a page (HTML, 7.1.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageOrigin {
    /// Scheme, host and port, as they are serialised: `https://app.shop.example`.
    Tuple(String),
    /// An origin that is the same as no other: a sandboxed frame, a `data:` or `file:` address.
    Opaque,
}

impl PageOrigin {
    /// The origin of an address.
    pub fn of(url: &Url) -> Self {
        match url.origin() {
            origin @ url::Origin::Tuple(..) => Self::Tuple(origin.ascii_serialization()),
            url::Origin::Opaque(_) => Self::Opaque,
        }
    }

    /// Whether a script of this origin and one of the other are one to the browser.
    pub fn is_same(&self, other: &Self) -> bool {
        *self != Self::Opaque && self == other
    }
}

/// As the `Origin` field says it: `null` where it is opaque.
impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tuple(origin) => f.write_str(origin),
            Self::Opaque => f.write_str("null"),
        }
    }
}

/// What a page says of itself to those whom it asks (Referrer Policy, 3). It decides about
/// `Origin` too, where the CORS protocol is not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferrerPolicy {
    /// `no-referrer`
    NoReferrer,
    /// `no-referrer-when-downgrade`
    NoReferrerWhenDowngrade,
    /// `origin`
    Origin,
    /// `origin-when-cross-origin`
    OriginWhenCrossOrigin,
    /// `same-origin`
    SameOrigin,
    /// `strict-origin`
    StrictOrigin,
    /// `strict-origin-when-cross-origin`, which holds where nothing is said.
    #[default]
    StrictOriginWhenCrossOrigin,
    /// `unsafe-url`
    UnsafeUrl,
}
