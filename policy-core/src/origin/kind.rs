//! The kinds of origins.

use super::{OriginPattern, host};
use crate::grammar::{any, eq};

/// What the pages of an origin are, by scheme and host: who can change their scripts, and whether
/// users or developers open them. Every rule that treats kinds of origins differently uses this.
///
/// ```
/// use policy_core::origin::{OriginKind, OriginPattern};
///
/// let kind = |text| OriginPattern::parse(text).map(|origin| origin.kind());
/// assert_eq!(kind("https://app.example.com")?, OriginKind::Web);
/// assert_eq!(kind("http://localhost:5173")?, OriginKind::Development);
/// assert_eq!(kind("https://localhost")?, OriginKind::App);
/// assert_eq!(kind("capacitor://localhost")?, OriginKind::App);
/// assert_eq!(kind("chrome-extension://abcdefghijklmnopabcdefghijklmnop")?, OriginKind::Extension);
/// assert_eq!(kind("http://app.example.com")?, OriginKind::Insecure);
/// assert_eq!(kind("shop://home")?, OriginKind::Unknown);
/// # Ok::<_, policy_core::Rule>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OriginKind {
    /// A web page that a server sends over TLS: `https`, except on loopback.
    Web,
    /// A page of a developer's local server: `http` on loopback, such as `http://localhost:5173`.
    Development,
    /// A page that is part of an installed app: a scheme that only apps have, `https` on loopback
    /// (Capacitor on Android has `https://localhost`), or `http` on the loopback name of such a
    /// scheme (Tauri on Windows and Android has `http://tauri.localhost`). It runs in production on
    /// users' machines, and its scripts are not sent over a network.
    App,
    /// A page of an installed browser extension.
    Extension,
    /// A page that is sent without encryption, so that an attacker on the network can change its
    /// scripts: `http` except on loopback, `ws` and `ftp`.
    Insecure,
    /// A page with any other scheme. It is unknown how it reaches the browser.
    Unknown,
}

/// Schemes that installed apps have by default or by convention: Ionic and Capacitor (`iosScheme`),
/// Tauri, Wails, Electron (`app` in the documentation of `protocol.handle`), and the webviews of
/// Visual Studio Code.
const APP_SCHEMES: [&str; 6] = ["app", "capacitor", "ionic", "tauri", "vscode-webview", "wails"];

/// Schemes of extensions in Chromium, Firefox and Safari.
const EXTENSION_SCHEMES: [&str; 3] = ["chrome-extension", "moz-extension", "safari-web-extension"];

/// Hosts that WebView2 and Android's WebView use instead of `tauri://localhost` and
/// `wails://wails`.
const APP_HOSTS: [&str; 2] = ["tauri.localhost", "wails.localhost"];

impl OriginPattern<'_> {
    /// The kind of the origin; for a pattern, the kind of most of its origins.
    pub const fn kind(&self) -> OriginKind {
        let scheme = self.scheme().as_bytes();
        let is_loopback = host::is_loopback(self.host().as_bytes());
        if eq(scheme, b"https") {
            return if is_loopback { OriginKind::App } else { OriginKind::Web };
        }
        if eq(scheme, b"http") {
            return match is_loopback {
                true if is_one_of(&APP_HOSTS, self.host()) => OriginKind::App,
                true => OriginKind::Development,
                false => OriginKind::Insecure,
            };
        }
        if is_one_of(&APP_SCHEMES, self.scheme()) {
            OriginKind::App
        } else if is_one_of(&EXTENSION_SCHEMES, self.scheme()) {
            OriginKind::Extension
        } else if is_one_of(&["ftp", "ws"], self.scheme()) {
            OriginKind::Insecure
        } else {
            OriginKind::Unknown
        }
    }

    /// Whether only developers open pages of this origin.
    pub const fn is_development(&self) -> bool {
        matches!(self.kind(), OriginKind::Development)
    }
}

const fn is_one_of(names: &[&str], text: &str) -> bool {
    any!(names, name => eq(name.as_bytes(), text.as_bytes()))
}
