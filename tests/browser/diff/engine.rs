//! The engines: as installed and with other settings for third-party cookies, and their profiles in
//! the model.

use policy_browser::{Profile, ThirdParty};
use serde_json::{Value, json};

use crate::diff::{
    bidi::Bidi, generate::HOSTS, server::Server, webdriver::Failure, webkit::WebKit,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Chromium,
    ChromiumWithThirdPartyCookies,
    Firefox,
    FirefoxWithThirdPartyCookies,
    WebKit,
}

/// What the cases of an engine leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    Cookies,
    HttpCache,
    /// Bytes of fields that are not ASCII; `Location` without a value, with a password, or to `http`
    /// from `https`; redirects of WebSockets.
    Details,
}

/// A browser as the cases need it.
pub(crate) trait Drive {
    /// Name and version of the engine.
    fn version(&self) -> &str;

    /// Forgets everything that it has visited.
    fn reopen(&mut self) -> Result<(), Failure>;

    /// Loads a page and waits until it is complete.
    fn goto(&mut self, url: &str) -> Result<(), Failure>;

    /// Calls an `async` function of the page with one argument and waits for its result.
    fn run(&mut self, function: &str, input: &Value) -> Result<Value, Failure>;
}

impl Engine {
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Chromium => Profile::CHROMIUM,
            Self::ChromiumWithThirdPartyCookies => Profile::CHROMIUM.third_party(ThirdParty::Sent),
            Self::Firefox => Profile::FIREFOX,
            Self::FirefoxWithThirdPartyCookies => Profile::FIREFOX.third_party(ThirdParty::Sent),
            Self::WebKit => Profile::WEBKIT,
        }
    }

    /// WebKitGTK has the cookies and some details of libsoup, not those of Safari, and when it is
    /// driven it keeps no responses.
    pub(crate) fn left_out(self) -> &'static [LeftOut] {
        match self {
            Self::WebKit => &[LeftOut::Cookies, LeftOut::HttpCache, LeftOut::Details],
            _ => &[],
        }
    }

    /// A browser that resolves the hosts to the server, and trusts its certificate.
    pub(crate) fn start(self, server: &Server) -> Result<Box<dyn Drive>, Failure> {
        Ok(match self {
            Self::Chromium => Box::new(chromium(server, 1)?),
            Self::ChromiumWithThirdPartyCookies => Box::new(chromium(server, 0)?),
            Self::Firefox => Box::new(firefox(5)?),
            Self::FirefoxWithThirdPartyCookies => Box::new(firefox(0)?),
            Self::WebKit => Box::new(WebKit::start(server.port())?),
        })
    }
}

macro_rules! drive {
    ($($browser:ty),*) => {$(
        impl Drive for $browser {
            fn version(&self) -> &str {
                self.version()
            }

            fn reopen(&mut self) -> Result<(), Failure> {
                self.reopen()
            }

            fn goto(&mut self, url: &str) -> Result<(), Failure> {
                self.goto(url)
            }

            fn run(&mut self, function: &str, input: &Value) -> Result<Value, Failure> {
                self.run(function, input)
            }
        }
    )*};
}

drive!(Bidi, WebKit);

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
