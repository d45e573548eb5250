//! How often a password may be tried for an account.
//!
//! Anyone who knows a name can try passwords for it, so a limit that counts all attempts at an
//! account is a way to keep its owner out. Three counts avoid this:
//!
//! - A device on which the user has logged in before has a count of its own, and so has a session.
//!   Strangers never slow them.
//! - All other devices share 20 attempts an hour at each account.
//! - Where these are used up, each network still has one attempt in five minutes. So the owner is
//!   slowed on a new device, and gets in. A stranger with a thousand networks has a thousand
//!   attempts in five minutes, which is the price of never locking the owner out. A service that
//!   wants fewer sends the owner a link by mail instead.
//!
//! Refused attempts do not wait in the server: clients are told when to try again. Names that no
//! user has are counted in the same way, since the difference would tell which names exist. Right
//! passwords count too: whether one is right is known only after it was tried.

use std::{io, net::IpAddr};

use policy_server::{
    RateLimiter,
    policy::{RateGrant, RateRefusal},
    prelude::*,
};

use crate::{devices::Device, passwords::Queue};

/// For each known device, and for each session.
const FAMILIAR: Rate = Rate::new(10, minutes(10));

/// For all strangers together, at each account.
const STRANGERS: Rate = Rate::per_hour(20);

/// For each network beyond that, at each account.
const NETWORK: Rate = Rate::new(1, minutes(5));

/// A client that tries a password.
pub enum Guesser<'a> {
    /// A user who is logged in.
    Session(&'a Principal),
    /// Anybody else, on this device.
    Device(&'a Device),
}

/// Counts attempts.
pub struct Attempts {
    familiar: RateLimiter,
    strangers: RateLimiter,
    networks: RateLimiter,
}

impl Attempts {
    /// Nothing was tried yet.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new() -> io::Result<Self> {
        let limiter = |rate| RateLimiter::new(rate).map_err(io::Error::other);
        Ok(Self {
            familiar: limiter(FAMILIAR)?,
            strangers: limiter(STRANGERS)?,
            networks: limiter(NETWORK)?,
        })
    }

    /// Counts an attempt at this account.
    ///
    /// # Errors
    ///
    /// 429 `passwords.too-many-attempts`, with when to try again.
    pub fn take(&self, account: &str, guesser: &Guesser<'_>) -> Result<(), Problem> {
        let taken = match guesser {
            Guesser::Session(me) => {
                let session = me.session().map(|handle| handle.to_string());
                self.familiar.take(session.unwrap_or_default())
            }
            Guesser::Device(device) => match device.last_login(account) {
                Some(login) => self.familiar.take(login.id),
                None => self.take_stranger(account, device.address),
            },
        };
        taken.map(drop).map_err(|refused| {
            let minutes = refused.retry_after.as_secs().div_ceil(60);
            Problem::from(refused).code("passwords.too-many-attempts").detail(format!(
                "too many passwords were tried for this name; try again in {minutes} min, or on a \
                 device where you have logged in before"
            ))
        })
    }

    fn take_stranger(
        &self,
        account: &str,
        address: Option<IpAddr>,
    ) -> Result<RateGrant, RateRefusal> {
        self.strangers.take(account).or_else(|_| {
            // No network contains a space, so no two pairs make the same key.
            let network = address.map(network_of).map(|network| network.to_string());
            self.networks.take(format!("{} {account}", network.unwrap_or_default()))
        })
    }
}

impl Guesser<'_> {
    /// Where an attempt at this account waits for a core.
    pub fn queue(&self, account: &str) -> Queue {
        match self {
            Guesser::Device(device) if device.last_login(account).is_none() => Queue::Strangers,
            _ => Queue::Familiar,
        }
    }
}

/// An IPv4 address, or the first 48 bits of IPv6: anybody can get a network of that size.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            IpAddr::from([a, b, c, 0, 0, 0, 0, 0])
        }
        address => address,
    }
}
