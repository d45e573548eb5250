//! The number of clients that a rate limit distinguishes.

use super::accounts;

/// How many clients each rate limit distinguishes, and how many of one IPv6 network it serves.
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
    /// The number of clients with a separate account.
    pub clients: usize,
    /// The maximum number of clients of one /48 that are served within a period.
    pub clients_per_network: u32,
}

impl RateCapacity {
    /// 1,048,576 clients, and 10,240 clients of one /48.
    pub const DEFAULT: Self = Self { clients: 1 << 20, clients_per_network: 10 << 10 };

    /// Distinguishes this many clients, for 58 bytes each.
    ///
    /// The memory belongs to each limit: two routes with separate rates have two tables. The
    /// operating system provides it page by page as clients arrive. Clients beyond the capacity
    /// within a period share accounts with a few others each, so that many more are still served.
    #[must_use]
    pub const fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Serves this many clients of one IPv6 network of 48 bits within a period. Half as many are
    /// served whenever they arrive; if there are more, the strict count refuses some of them in
    /// bursts.
    ///
    /// Such a network is the allocation to one site (RFC 6177), and easy to obtain. It contains
    /// 65,536 networks of 64 bits, each of which counts as a client. A limit per principal does not
    /// count networks, except for anonymous clients.
    #[must_use]
    pub const fn clients_per_network(mut self, clients: u32) -> Self {
        self.clients_per_network = clients;
        self
    }

    /// The maximum memory of one limit, in bytes.
    pub const fn memory(self) -> usize {
        accounts::memory(self.clients).saturating_add(accounts::memory(self.networks()))
    }

    /// The number of networks with a separate account. Networks without one share accounts, which
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
