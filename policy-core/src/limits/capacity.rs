//! How many clients a rate limit tells apart.

use super::accounts;

/// How many clients each rate limit tells apart, and how many of one IPv6 network it serves.
///
/// ```
/// use policy_core::limits::RateCapacity;
///
/// // A service with at most 50,000 clients an hour.
/// const SMALL: RateCapacity = RateCapacity::DEFAULT.clients(100_000);
/// assert!(SMALL.memory() < 8_000_000);
/// assert!(RateCapacity::DEFAULT.memory() < 64_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RateCapacity {
    /// How many clients have an account of their own.
    pub clients: usize,
    /// How many clients of one /48 are served within a period.
    pub clients_per_network: u32,
}

impl RateCapacity {
    /// 1,048,576 clients, and 10,240 clients of one /48.
    pub const DEFAULT: Self = Self { clients: 1 << 20, clients_per_network: 10 << 10 };

    /// Tells this many clients apart, for 58 bytes each.
    ///
    /// The memory belongs to each limit: two routes with a rate of their own have two tables. The
    /// operating system provides it as clients come, page by page. Clients that are more than the
    /// capacity within a period are counted together with a few others each, so that many more are
    /// still served.
    #[must_use]
    pub const fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Serves this many clients of one IPv6 network of 48 bits within a period. Half as many are
    /// served whenever they come: of more, the strict count refuses some if they come in bursts.
    ///
    /// Such a network is what one site is given (RFC 6177), and anybody can get one. It contains
    /// 65,536 networks of 64 bits, each of which counts as a client. A limit per principal does not
    /// count networks, except for anonymous clients.
    #[must_use]
    pub const fn clients_per_network(mut self, clients: u32) -> Self {
        self.clients_per_network = clients;
        self
    }

    /// The most memory of one limit, in bytes.
    pub const fn memory(self) -> usize {
        accounts::memory(self.clients).saturating_add(accounts::memory(self.networks()))
    }

    /// How many networks have an account of their own. Networks without one share accounts, which
    /// are large: they are never the bottleneck.
    pub(super) const fn networks(self) -> usize {
        self.clients / 64
    }
}

impl Default for RateCapacity {
    fn default() -> Self {
        Self::DEFAULT
    }
}
