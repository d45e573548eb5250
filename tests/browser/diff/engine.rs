//! The engines: as installed and with other settings for third-party cookies, and their profiles in
//! the model.

use policy_core::browser::{Profile, ThirdParty};
use serde_json::json;

use crate::diff::{bidi::Bidi, generate::HOSTS, server::Server, webdriver::Failure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Chromium,
    ChromiumWithThirdPartyCookies,
    Firefox,
    FirefoxWithThirdPartyCookies,
}

impl Engine {
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Chromium => Profile::CHROMIUM,
            Self::ChromiumWithThirdPartyCookies => Profile::CHROMIUM.third_party(ThirdParty::Sent),
            Self::Firefox => Profile::FIREFOX,
            Self::FirefoxWithThirdPartyCookies => Profile::FIREFOX.third_party(ThirdParty::Sent),
        }
    }

    /// A browser that resolves the hosts to the server, and trusts its certificate.
    pub(crate) fn start(self, server: &Server) -> Result<Bidi, Failure> {
        match self {
            Self::Chromium => chromium(server, 1),
            Self::ChromiumWithThirdPartyCookies => chromium(server, 0),
            Self::Firefox => firefox(5),
            Self::FirefoxWithThirdPartyCookies => firefox(0),
        }
    }
}

/// With a `CookieControlsMode`: 0 allows third-party cookies, 1 blocks them.
fn chromium(server: &Server, cookie_controls_mode: u8) -> Result<Bidi, Failure> {
    let hosts = "MAP *.test 127.0.0.1, MAP *.co.uk 127.0.0.1, MAP localhost 127.0.0.1, \
                 MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";
    let flags = [
        format!("--host-resolver-rules={hosts}"),
        format!("--ignore-certificate-errors-spki-list={}", server.authority_hash()),
    ];
    Bidi::chromium(&flags, &json!({ "profile.cookie_controls_mode": cookie_controls_mode }))
}

/// With a `cookieBehavior`: 0 allows third-party cookies, 5 partitions them by the window's site.
fn firefox(cookie_behavior: u8) -> Result<Bidi, Failure> {
    Bidi::firefox(&[
        ("network.dns.localDomains", json!(HOSTS.join(","))),
        ("network.cookie.cookieBehavior", json!(cookie_behavior)),
        // No background requests.
        ("network.proxy.type", json!(0)),
        ("network.captive-portal-service.enabled", json!(false)),
        ("network.connectivity-service.enabled", json!(false)),
        ("app.update.disabledForTesting", json!(true)),
        ("browser.safebrowsing.malware.enabled", json!(false)),
        ("browser.safebrowsing.phishing.enabled", json!(false)),
        ("services.settings.server", json!("data:,")),
        ("datareporting.policy.dataSubmissionEnabled", json!(false)),
        ("extensions.update.enabled", json!(false)),
        // No dialogs.
        ("security.warn_submit_secure_to_insecure", json!(false)),
        ("dom.disable_open_during_load", json!(false)),
        ("dom.popup_maximum", json!(1_000_000)),
    ])
}
