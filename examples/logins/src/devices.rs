//! The devices on which users log in, and the cookie by which they are recognised (OWASP, Slow Down
//! Online Guessing Attacks with Device Cookies).
//!
//! The cookie gives no rights. It says that somebody logged in here as this user before, so that
//! passwords which strangers try elsewhere do not slow this device. Each login sets a new one;
//! a logout keeps it. It names one user: on a shared browser, the last one who logged in.

use std::{convert::Infallible, io, net::IpAddr, sync::Arc, time::Duration};

use axum_core::extract::FromRequestParts;
use http::{HeaderValue, header::USER_AGENT, request::Parts};
use policy_core::{
    cookie::{CookieSpec, Cookies, SignedCookies},
    head::OwnOrigin,
};
use policy_server::{
    Clock, Random, Timestamp, extract::Rejects, prelude::*, session::days, tokens::SecretKey,
};

/// How long a device is known after its last login.
const KNOWN_FOR: Duration = days(180);

/// Writes and reads device cookies.
#[derive(Clone)]
pub struct Devices(Arc<(CookieSpec, SignedCookies)>);

impl Devices {
    /// Signs with this key.
    ///
    /// # Errors
    ///
    /// None: name and flags of the cookie are constants.
    pub fn new(key: &SecretKey) -> io::Result<Self> {
        let cookie = CookieSpec::new("__Host-device").path("/").secure().http_only();
        // With a public origin: `OwnOrigin::Public(..)`, and the cookie keeps prefix and `Secure`.
        let cookie = cookie.max_age(KNOWN_FOR).at(&OwnOrigin::Development);
        let cookie = cookie.map_err(io::Error::other)?;
        let signed = SignedCookies::new("device", "1", key).map_err(io::Error::other)?;
        Ok(Self(Arc::new((cookie, signed))))
    }

    /// The cookie of a device on which this user has just logged in.
    ///
    /// # Errors
    ///
    /// 500: the system has no random numbers.
    pub fn remember(&self, user: &str) -> Result<HeaderValue, Problem> {
        let Self(devices) = self;
        let (cookie, signed) = &**devices;
        let id: [u8; 16] = Random::system().draw().map_err(Problem::internal)?;
        let now = Clock::system().now();
        let payload = [&id, &now.millis().to_be_bytes()[..], user.as_bytes()].concat();
        let value = signed.seal(cookie.name(), &payload, now.after(KNOWN_FOR));
        cookie.set(&value).map_err(Problem::internal)
    }

    fn read(&self, parts: &Parts) -> Option<Login> {
        let Self(devices) = self;
        let (cookie, signed) = &**devices;
        let value = Cookies::read(&parts.headers).ok()?.get(cookie.name()).ok()??;
        let payload = signed.open(cookie.name(), value, Clock::system().now()).ok()?;
        let (id, payload) = payload.split_first_chunk()?;
        let (at, user) = payload.split_first_chunk()?;
        let at = Timestamp::from_millis(u64::from_be_bytes(*at));
        Some(Login { id: *id, at, user: String::from_utf8(user.to_vec()).ok()? })
    }
}

/// The device that sent a request.
pub struct Device {
    /// The name by which users recognise it.
    pub name: String,
    /// `None` only where a server has no socket.
    pub address: Option<IpAddr>,
    last_login: Option<Login>,
}

/// The last login on a device.
pub struct Login {
    /// Another one at each login.
    pub id: [u8; 16],
    /// When it was.
    pub at: Timestamp,
    user: String,
}

impl Device {
    /// The last login of this user on the device, if nobody else has logged in on it since.
    pub fn last_login(&self, user: &str) -> Option<&Login> {
        self.last_login.as_ref().filter(|login| login.user == user)
    }

    /// The address, for people.
    pub fn place(&self) -> String {
        self.address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Device
where
    Devices: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let name = agent.unwrap_or("unknown").chars().take(200).collect();
        let last_login = Devices::from_ref(state).read(parts);
        let address = ClientAddr::from_request_parts(parts, state).await.ok();
        Ok(Self { name, address: address.map(|ClientAddr(address)| address), last_login })
    }
}

impl Rejects for Device {
    type Problems = Infallible;
}
