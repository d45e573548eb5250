//! The origin of a load: pages and their policies.

use std::fmt;

use url::Url;

use crate::site::is_same_site;

/// A document that loads things: its URL, its origin, and the pages around it (HTML, environment
/// settings object).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its URL.
    pub url: Url,
    /// Its origin; opaque if it is sandboxed.
    pub origin: PageOrigin,
    /// The URL of the top-level page, which differs for a frame.
    pub top_level: Url,
    /// The origins of the pages around it, the parent's first (HTML, `ancestorOrigins`).
    pub ancestor_origins: Vec<PageOrigin>,
    /// Whether all pages around it are of its own site.
    pub has_same_site_ancestors: bool,
    /// Whether a sandbox makes its origin opaque, and so the origins of the pages in its frames.
    pub is_sandboxed: bool,
    /// Its referrer policy.
    pub referrer_policy: ReferrerPolicy,
}

impl Page {
    /// A page in its own window.
    pub fn at(url: Url) -> Self {
        Self {
            origin: PageOrigin::from_url(&url),
            top_level: url.clone(),
            ancestor_origins: Vec::new(),
            has_same_site_ancestors: true,
            is_sandboxed: false,
            referrer_policy: ReferrerPolicy::default(),
            url,
        }
    }

    /// A page in a frame of this page. If this page is sandboxed, so is the frame, which inherits the
    /// sandboxing flags of the document around it (HTML, 7.1.5).
    pub fn framed(&self, url: Url) -> Self {
        let page = Self {
            top_level: self.top_level.clone(),
            ancestor_origins: [&self.origin]
                .into_iter()
                .chain(&self.ancestor_origins)
                .cloned()
                .collect(),
            has_same_site_ancestors: self.has_same_site_ancestors
                && is_same_site(&self.origin, &url),
            ..Self::at(url)
        };
        if self.is_sandboxed { page.sandboxed() } else { page }
    }

    /// The same page in a sandbox without `allow-same-origin`: the attribute of its frame, or
    /// `Content-Security-Policy: sandbox` of its response.
    #[must_use]
    pub fn sandboxed(self) -> Self {
        Self { origin: PageOrigin::Opaque, is_sandboxed: true, ..self }
    }
}

/// The schemes that apps and extensions register with their engine, so that their pages have an
/// origin: `capacitor` and `ionic` (Capacitor, `iosScheme`), `tauri`, `wails`, `app` (Electron,
/// `protocol.registerSchemesAsPrivileged` with `standard`), `vscode-webview`, and those of extensions
/// (WebExtensions, `runtime.getURL`). WKWebView and WebKitGTK let apps register any scheme
/// with a host (`WKURLSchemeHandler`, `webkit_security_manager_register_uri_scheme_as_secure`).
const REGISTERED: [&str; 9] = [
    "app",
    "capacitor",
    "chrome-extension",
    "ionic",
    "moz-extension",
    "safari-web-extension",
    "tauri",
    "vscode-webview",
    "wails",
];

/// The origin of a page (HTML, 7.1.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageOrigin {
    /// Scheme, host and port, serialised: `https://app.shop.example`.
    Tuple(String),
    /// An origin that is equal to no other: the origin of a sandboxed frame, a `data:` or `file:`
    /// URL.
    Opaque,
}

impl PageOrigin {
    /// The origin of a URL. Pages of installed apps and extensions have one, too, such as
    /// `capacitor://localhost`, although the URL Standard ("origin of a URL") defines none for
    /// their schemes.
    pub fn from_url(url: &Url) -> Self {
        match (url.origin(), url.host_str()) {
            (origin @ url::Origin::Tuple(..), _) => Self::Tuple(origin.ascii_serialization()),
            (url::Origin::Opaque(_), Some(host)) if REGISTERED.contains(&url.scheme()) => {
                let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
                Self::Tuple(format!("{}://{host}{port}", url.scheme()))
            }
            (url::Origin::Opaque(_), _) => Self::Opaque,
        }
    }

    /// Whether two origins are the same origin.
    pub fn is_same(&self, other: &Self) -> bool {
        *self != Self::Opaque && self == other
    }
}

/// As in the field `Origin`: `null` if it is opaque.
impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tuple(origin) => f.write_str(origin),
            Self::Opaque => f.write_str("null"),
        }
    }
}

/// How much a page tells servers about itself (Referrer Policy, 3). Outside of the CORS protocol it
/// also decides about `Origin`.
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
    /// `strict-origin-when-cross-origin`, the default.
    #[default]
    StrictOriginWhenCrossOrigin,
    /// `unsafe-url`
    UnsafeUrl,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_apps_and_extensions_have_an_origin() {
        for (url, origin) in [
            ("capacitor://localhost/index.html", "capacitor://localhost"),
            ("tauri://localhost", "tauri://localhost"),
            ("https://localhost/", "https://localhost"),
            ("app://obsidian.md/", "app://obsidian.md"),
            (
                "chrome-extension://abcdefghijklmnopabcdefghijklmnop/popup.html",
                "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
            ),
            ("ionic://localhost:8100/", "ionic://localhost:8100"),
            ("shop://home", "null"),
            ("tauri:/page", "null"),
            ("file:///page.html", "null"),
            ("data:text/html,x", "null"),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(PageOrigin::from_url(&url).to_string(), origin, "{url}");
        }
    }
}
