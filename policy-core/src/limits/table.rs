//! One rate limit for all clients, in bounded memory.

use std::{fmt, net::IpAddr, time::Duration};

use siphasher::sip::SipHasher13;

use super::{
    Rate, RateCapacity, RateGrant, RateRefusal,
    accounts::{AccountKind, Accounts},
    address_key,
    gcra::nanos,
};

/// Decides how often each client may call, for any number of clients, in memory of fixed size.
///
/// No client ever gets more than its rate, regardless of other clients. As many clients as the
/// [`RateCapacity`] states have a separate account for as long as their requests matter. Further
/// clients share accounts with a few others.
///
/// An IPv6 client is a network of 64 bits. Each network of 48 bits has an account too, which counts
/// the clients in it: a request that begins a client's stretch of a period takes one of
/// [`clients_per_network`](RateCapacity::clients_per_network). So a network of 48 bits is granted
/// at most that multiple of the rate in the long run, and twice the multiple within one period.
/// While the table is full, clients without a separate account are counted by networks of 32 bits
/// as well, so that one flood cannot fill the shared accounts.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Rate, RateCapacity, RateTable};
///
/// let (rate, now) = (Rate::per_second(1), Duration::from_secs(7));
/// let table = RateTable::new(rate, RateCapacity::DEFAULT.clients(10_000), [1, 2]);
/// assert!(table.take(b"ada", now).is_ok());
/// assert!(table.take(b"eve", now).is_ok());
/// let refused = table.take(b"ada", now).unwrap_err();
/// assert_eq!(refused.retry_after, Duration::from_secs(1));
/// ```
pub struct RateTable {
    clients: Accounts,
    /// Counts the stretches of the clients of a network.
    networks: Accounts,
    /// Keyed by the seed.
    hasher: SipHasher13,
}

impl RateTable {
    /// A table for this rate. The seed must be random, so that an attacker cannot choose addresses
    /// whose hashes collide.
    pub fn new(rate: Rate, capacity: RateCapacity, [key_0, key_1]: [u64; 2]) -> Self {
        let of_network = Rate::new(capacity.clients_per_network, rate.per);
        Self {
            clients: Accounts::new(rate, capacity.clients),
            networks: Accounts::new(of_network, capacity.networks()),
            hasher: SipHasher13::new_with_keys(key_0, key_1),
        }
    }

    /// Decides about a request of the client that `key` names, at `now`. `now` is the time since a
    /// point that is the same for all calls, by a monotonic clock. If calls arrive out of order,
    /// the decision is off by the time between them.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time to wait.
    pub fn take(&self, key: &[u8], now: Duration) -> Result<RateGrant, RateRefusal> {
        self.clients.take(self.hasher.hash(key), nanos(now), |_| Ok(()))
    }

    /// Whether [`take`](Self::take) would grant a request, which is not counted.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time to wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use policy_core::limits::{Rate, RateCapacity, RateTable};
    ///
    /// let now = Duration::from_secs(7);
    /// let table = RateTable::new(Rate::per_second(1), RateCapacity::DEFAULT, [1, 2]);
    /// assert!(table.peek(b"ada", now).is_ok());
    /// assert!(table.take(b"ada", now).is_ok());
    /// assert!(table.peek(b"ada", now).is_err());
    /// ```
    pub fn peek(&self, key: &[u8], now: Duration) -> Result<(), RateRefusal> {
        self.clients.peek(self.hasher.hash(key), nanos(now), |_| Ok(()))
    }

    /// Decides about a request from this address, like [`take`](Self::take), and about its network.
    /// All clients without an address count as one. The keys of addresses begin with a byte below
    /// 8, so that keys of other clients in the same table can be distinguished from them.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time to wait.
    pub fn take_address(
        &self,
        address: Option<IpAddr>,
        now: Duration,
    ) -> Result<RateGrant, RateRefusal> {
        let key = address.map_or([0; 9], address_key);
        let now = nanos(now);
        self.clients.take(self.hasher.hash(&key), now, |kind| {
            admit(&key, kind, |network| self.take_network(network, now))
        })
    }

    /// Whether [`take_address`](Self::take_address) would grant a request, which is not counted.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time to wait.
    pub fn peek_address(&self, address: Option<IpAddr>, now: Duration) -> Result<(), RateRefusal> {
        let key = address.map_or([0; 9], address_key);
        let now = nanos(now);
        self.clients.peek(self.hasher.hash(&key), now, |kind| {
            let peek =
                |network: &[u8]| self.networks.peek(self.hasher.hash(network), now, |_| Ok(()));
            admit(&key, kind, peek)
        })
    }

    /// How full the table is, from 0 to 1: the share of separate accounts that are in use. It is
    /// estimated by a part of them. From 1 on, further clients share accounts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use policy_core::limits::{Rate, RateCapacity, RateTable};
    ///
    /// let (rate, now) = (Rate::per_hour(9), Duration::from_secs(7));
    /// let table = RateTable::new(rate, RateCapacity::DEFAULT.clients(8), [1, 2]);
    /// assert_eq!(table.utilization(now), 0.0);
    /// let _granted = [table.take(b"ada", now), table.take(b"eve", now)];
    /// assert_eq!(table.utilization(now), 0.25);
    /// assert_eq!(table.utilization(now + Duration::from_secs(3600)), 0.0);
    /// ```
    pub fn utilization(&self, now: Duration) -> f64 {
        self.clients.utilization(nanos(now))
    }

    /// Counts a stretch of the client with this address in its network. It is for a client whose
    /// requests are counted in another account.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`] if the network has reached its number of clients.
    pub fn admit_of_network(&self, address: IpAddr, now: Duration) -> Result<(), RateRefusal> {
        let (key, now) = (address_key(address), nanos(now));
        admit(&key, AccountKind::Own, |network| self.take_network(network, now))
    }

    /// Counts a stretch of a client in one of its networks.
    #[cold]
    fn take_network(&self, network: &[u8], now: u64) -> Result<(), RateRefusal> {
        self.networks.take(self.hasher.hash(network), now, |_| Ok(())).map(drop)
    }
}

/// Asks about each network that counts a client.
fn admit(
    key: &[u8; 9],
    kind: AccountKind,
    ask: impl Fn(&[u8]) -> Result<(), RateRefusal>,
) -> Result<(), RateRefusal> {
    let [of_48_bits @ .., _, _] = key;
    let [of_32_bits @ .., _, _] = of_48_bits;
    if !matches!(key, [6, ..]) {
        return Ok(());
    }
    if kind == AccountKind::Shared {
        ask(of_32_bits)?;
    }
    ask(of_48_bits)
}

impl fmt::Debug for RateTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateTable").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rate: Rate, clients: usize, seed: [u64; 2]) -> RateTable {
        RateTable::new(rate, RateCapacity::DEFAULT.clients(clients), seed)
    }

    #[test]
    fn the_seed_decides_which_clients_share_a_cell() {
        let refusals = |seed| {
            let table = table(Rate::per_hour(1), 64, seed);
            (0..1_000_u32)
                .filter(|client| table.take(&client.to_be_bytes(), Duration::from_secs(1)).is_err())
                .collect::<Vec<_>>()
        };
        assert_eq!(refusals([1, 2]), refusals([1, 2]));
        assert_ne!(refusals([1, 2]), refusals([1, 3]));
        assert_ne!(refusals([1, 2]), refusals([2, 2]));
    }

    #[test]
    fn a_network_is_served_as_many_clients_as_are_stated() {
        let capacity = RateCapacity::DEFAULT.clients(1_000).clients_per_network(3);
        let table = RateTable::new(Rate::per_minute(2), capacity, [1, 2]);
        let take = |address: &str, seconds| {
            let address = Some(address.parse().unwrap());
            table.take_address(address, Duration::from_secs(seconds)).map_err(|it| it.retry_after)
        };
        for client in ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1"] {
            assert!(take(client, 1).is_ok());
        }
        assert_eq!(take("2001:db8:0:4::1", 1), Err(Duration::from_secs(60)));
        // A client that is already served takes no further place of its network.
        assert!(take("2001:db8:0:3::2", 1).is_ok());
        assert!(take("2001:db8:0:3::3", 1).is_err());
        // Other networks and IPv4 are not affected.
        assert!(take("2001:db8:1:1::1", 1).is_ok());
        assert!((1..=200).all(|last| take(&format!("192.0.2.{last}"), 1).is_ok()));
        // The next stretch of a client is counted again.
        for client in ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:4::1"] {
            assert!(take(client, 61).is_ok());
        }
        assert!(take("2001:db8:0:3::1", 61).is_err());
    }

    #[test]
    fn in_a_full_table_a_network_of_32_bits_is_counted() {
        let capacity = RateCapacity::DEFAULT.clients(8).clients_per_network(3);
        let table = RateTable::new(Rate::per_minute(100), capacity, [1, 2]);
        let now = Duration::from_secs(1);
        assert!((0..8_u8).all(|other| table.take(&[other], now).is_ok()));
        // Each in another network of 48 bits.
        let from = |network| Some(IpAddr::from([0x2001, 0xdb8, network, 1, 0, 0, 0, 1]));
        let served = (0..20).filter(|network| table.take_address(from(*network), now).is_ok());
        assert_eq!(served.count(), 3);
        assert!(
            table.take_address(Some(IpAddr::from([0x2001, 0xdb9, 0, 1, 0, 0, 0, 1])), now).is_ok()
        );
    }

    #[test]
    fn a_rate_of_nothing_grants_nothing() {
        let nothing = Rate::per_second(0);
        let refused = table(nothing, 1, [0; 2]).take(b"ada", Duration::from_secs(1));
        assert_eq!(refused, Err(RateRefusal { retry_after: nothing.per }));
    }

    #[test]
    fn the_ends_of_time_are_no_end_of_the_program() {
        for (per, now) in [
            (Duration::MAX, Duration::MAX),
            (Duration::MAX, Duration::ZERO),
            (Duration::ZERO, Duration::MAX),
            (Duration::from_nanos(1), Duration::ZERO),
        ] {
            let table = table(Rate { per, ..Rate::per_second(u32::MAX) }, 1, [0; 2]);
            for back in [now, Duration::ZERO, now] {
                for key in 0..20_u16 {
                    let _ = table.take(&[7; 2], back);
                    let address = [0x2001, 0xdb8, 0, key, 0, 0, 0, 1];
                    let _ = table.take_address(Some(IpAddr::from(address)), back);
                }
            }
        }
    }
}
