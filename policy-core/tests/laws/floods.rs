//! Simulates floods of addresses: their cost for other clients, and how many of their requests are
//! granted.
//!
//! `cargo xtask long floods` runs it at full size: a million clients and the default capacity.
//! Every test run uses a sixteenth of all numbers, which is equivalent: shares and multiples stay
//! the same.

use std::{collections::HashMap, env, net::IpAddr, time::Duration};

use policy_core::limits::{Rate, RateCapacity, RateTable};

/// The rates for which the shares were promised: a login, a search, an API.
const RATES: [Rate; 3] = [Rate::per_hour(5), Rate::per_minute(10), Rate::per_minute(100)];

/// A million clients with one request in each period.
const CLIENTS: u64 = 1_000_000;

/// The divisor of every number, compared with full size.
fn scale() -> u64 {
    env::var("POLICY_FLOODS_SCALE").ok().map_or(16, |text| text.parse().expect("a number"))
}

fn capacity() -> RateCapacity {
    let scale = scale();
    let RateCapacity { clients, clients_per_network, .. } = RateCapacity::DEFAULT;
    RateCapacity::DEFAULT
        .clients(clients / scale as usize)
        .clients_per_network(clients_per_network / scale as u32)
}

/// SplitMix64: the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// An address of each client: one half has IPv4, one half IPv6 in as many networks.
fn honest(client: u64) -> IpAddr {
    let number = client as u32;
    if number.is_multiple_of(2) {
        IpAddr::from((0x0b00_0000 + number).to_be_bytes())
    } else {
        IpAddr::from([0x2a00 + (number >> 16) as u16, number as u16, 1, 1, 0, 0, 0, 1])
    }
}

/// The network of 48 bits and the client in it, of an address that [`in_network`] made.
fn network_and_client(address: &IpAddr) -> Option<(u16, u16)> {
    match address {
        IpAddr::V6(address) => match address.segments() {
            [0x2001, 0xdb8, network, client, ..] => Some((network, client)),
            _ => None,
        },
        IpAddr::V4(_) => None,
    }
}

/// The client of this number in a network of 48 bits, which are numbered within `2001:db8::/32`.
fn in_network(network: u64, client: u64) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, network as u16, client as u16, 0, 0, 0, 1])
}

/// Requests in the order in which they arrive.
struct Crowd {
    table: RateTable,
    per: u64,
    arriving: Vec<(u64, IpAddr)>,
}

impl Crowd {
    fn new(rate: Rate) -> Self {
        let table = RateTable::new(rate, capacity(), [7, 11]);
        Self { table, per: rate.per.as_nanos() as u64, arriving: Vec::new() }
    }

    /// Every address sends a request at a random time within the period that starts at `begin`.
    fn ask_once(&mut self, numbers: &mut Numbers, begin: u64, who: impl Iterator<Item = IpAddr>) {
        let per = self.per;
        self.arriving.extend(who.map(|address| (begin + numbers.below(per), address)));
    }

    /// Decides all requests, and returns each with whether it was granted.
    fn decide_all(&mut self) -> Vec<(u64, IpAddr, bool)> {
        self.arriving.sort_unstable();
        let arriving = std::mem::take(&mut self.arriving).into_iter();
        let decide = |(now, address)| {
            let is_granted =
                self.table.take_address(Some(address), Duration::from_nanos(now)).is_ok();
            (now, address, is_granted)
        };
        arriving.map(decide).collect()
    }
}

/// The share of requests that are refused, and how many there are.
fn refused_share(answered: impl Iterator<Item = bool>) -> (f64, u64) {
    let (mut all, mut refused) = (0_u64, 0_u64);
    for is_granted in answered {
        all += 1;
        refused += u64::from(!is_granted);
    }
    (refused as f64 / all as f64, all)
}

/// Clients without a flood, in three periods.
#[test]
fn a_million_clients_with_one_request_each_are_served() {
    for rate in RATES {
        let (mut crowd, mut numbers) = (Crowd::new(rate), Numbers(1));
        for period in 1..=3 {
            let begin = period * crowd.per;
            crowd.ask_once(&mut numbers, begin, (0..CLIENTS / scale()).map(honest));
        }
        let (share, all) =
            refused_share(crowd.decide_all().into_iter().map(|(.., is_granted)| is_granted));
        println!("{rate:?}: {:.4} % of {all} refused", share * 100.0);
        assert!(share < 0.001, "{rate:?}: {share}");
    }
}

/// A flood from a /44, which has 16 networks of 48 bits.
#[derive(Clone, Copy, Debug)]
enum Flood {
    /// Each network of 64 bits sends one request.
    Wide,
    /// Each client uses its whole rate, and keeps its account for as long as it can.
    Deep,
    /// This many requests a second, of the full size, from a random network of 64 bits each.
    Steady(u64),
}

const NETWORKS: u64 = 16;

/// The clients of a network of 48 bits.
const OF_NETWORK: u64 = 1 << 16;

impl Flood {
    fn requests(self, crowd: &mut Crowd, numbers: &mut Numbers, begin: u64, rate: Rate) {
        let (per, of_network) = (crowd.per, OF_NETWORK / scale());
        let random =
            |numbers: &mut Numbers| in_network(numbers.below(NETWORKS), numbers.below(of_network));
        match self {
            Self::Wide => {
                let all = (0..NETWORKS).flat_map(|network| {
                    (0..of_network).map(move |client| in_network(network, client))
                });
                crowd.ask_once(numbers, begin, all);
            }
            Self::Deep => {
                // Twice what is served, so that a client that is not served is replaced by another.
                let served = u64::from(capacity().clients_per_network) * 2;
                for network in 0..NETWORKS {
                    for client in 0..served {
                        let first = begin + numbers.below(per / 64);
                        for ask in 0..=u64::from(rate.count.min(8)) {
                            // The last one keeps the account for almost another period.
                            let after = if ask == 0 { per - per / 32 } else { ask };
                            crowd.arriving.push((first + after, in_network(network, client)));
                        }
                    }
                }
            }
            Self::Steady(per_second) => {
                let count = per_second * rate.per.as_secs() / scale();
                for _ in 0..count {
                    let at = begin + numbers.below(per);
                    crowd.arriving.push((at, random(numbers)));
                }
            }
        }
    }
}

/// Against a million honest new clients in each period, of whom fewer than one in a hundred is
/// refused. The flood itself gets, for each network of 48 bits, twice its number of clients times
/// the rate within any period, and that number times the rate in the long run.
#[test]
fn a_flood_costs_others_little_and_gets_the_stated_multiple() {
    let most = u64::from(capacity().clients_per_network);
    for rate in RATES {
        for flood in [Flood::Wide, Flood::Deep, Flood::Steady(100), Flood::Steady(1_000)] {
            let (mut crowd, mut numbers) = (Crowd::new(rate), Numbers(2));
            let periods = 3;
            for period in 1..=periods {
                let begin = period * crowd.per;
                flood.requests(&mut crowd, &mut numbers, begin, rate);
                let newcomers = period * CLIENTS / scale()..(period + 1) * CLIENTS / scale();
                crowd.ask_once(&mut numbers, begin, newcomers.map(honest));
            }
            let answered = crowd.decide_all();
            let of_honest =
                answered.iter().filter(|(_, address, _)| network_and_client(address).is_none());
            let (share, all) = refused_share(of_honest.map(|(.., is_granted)| *is_granted));
            let granted = granted_by_network(&answered);
            let peak = granted.values().map(|grants| most_within(grants, crowd.per)).max();
            let total = granted.values().map(Vec::len).max().unwrap_or(0) as u64;
            println!(
                "{rate:?} {flood:?}: {:.4} % of {all} refused; a /48 got {total} in {periods} periods, \
                 at most {peak:?} in one, with {most} clients",
                share * 100.0
            );
            assert!(share < 0.01, "{rate:?} {flood:?}: {share}");
            let count = u64::from(rate.count);
            assert!(total <= (periods + 1) * most * count, "{rate:?} {flood:?}: {total}");
            assert!(peak <= Some(2 * most * count), "{rate:?} {flood:?}: {peak:?}");
            let clients = granted.values().map(|grants| clients_within(grants, crowd.per)).max();
            assert!(clients <= Some(2 * most), "{rate:?} {flood:?}: {clients:?} clients");
        }
    }
}

/// When requests were granted, and of which client, for each network of 48 bits.
fn granted_by_network(answered: &[(u64, IpAddr, bool)]) -> HashMap<u16, Vec<(u64, u16)>> {
    let mut granted = HashMap::<_, Vec<_>>::new();
    for (now, address, is_granted) in answered {
        if let Some((network, client)) = network_and_client(address)
            && *is_granted
        {
            granted.entry(network).or_default().push((*now, client));
        }
    }
    granted
}

/// The maximum number of grants within one period.
fn most_within(grants: &[(u64, u16)], per: u64) -> u64 {
    let (mut first, mut most) = (0, 0);
    for (last, (now, _)) in grants.iter().enumerate() {
        while grants[first].0 + per <= *now {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as u64
}

/// The maximum number of clients with a grant within one period.
fn clients_within(grants: &[(u64, u16)], per: u64) -> u64 {
    let (mut first, mut most) = (0, 0);
    let mut within = HashMap::<u16, u32>::new();
    for (now, client) in grants {
        *within.entry(*client).or_default() += 1;
        while grants[first].0 + per <= *now {
            let left = within.get_mut(&grants[first].1).expect("it was granted");
            *left -= 1;
            if *left == 0 {
                within.remove(&grants[first].1);
            }
            first += 1;
        }
        most = most.max(within.len());
    }
    most as u64
}

/// A /32 has filled the table and continues. Of a hundred thousand new clients, fewer than one in a
/// hundred is refused, while nearly all of the flood is.
#[test]
fn a_full_table_refuses_the_flood_and_not_the_newcomers() {
    let RateCapacity { clients, clients_per_network, .. } = capacity();
    for rate in RATES {
        let (mut crowd, mut numbers) = (Crowd::new(rate), Numbers(4));
        let networks = 2 * clients as u64 / u64::from(clients_per_network);
        let mut filling = Vec::new();
        for network in 0..networks {
            filling.extend((0..clients_per_network).map(|it| in_network(network, it.into())));
        }
        // Within the second half of a period, so that all of them matter in the next half.
        let begin = crowd.per + crowd.per / 2;
        let half = crowd.per / 2;
        crowd.arriving.extend(filling.into_iter().map(|it| (begin + numbers.below(half), it)));
        crowd.decide_all();
        for _ in 0..3 * clients {
            let network = networks + numbers.below((1 << 16) - networks);
            let flooding = in_network(network, numbers.below(OF_NETWORK));
            crowd.arriving.push((2 * crowd.per + numbers.below(half), flooding));
        }
        for client in 0..CLIENTS / 10 / scale() {
            crowd.arriving.push((2 * crowd.per + numbers.below(half), honest(client)));
        }
        let answered = crowd.decide_all();
        let refused_of = |is_flood: bool| {
            let of = answered
                .iter()
                .filter(|(_, address, _)| network_and_client(address).is_some() == is_flood);
            refused_share(of.map(|(.., is_granted)| *is_granted)).0
        };
        let (of_flood, of_newcomers) = (refused_of(true), refused_of(false));
        println!(
            "{rate:?}: {:.1} % of the flood and {:.4} % of newcomers refused",
            of_flood * 100.0,
            of_newcomers * 100.0
        );
        assert!(of_flood > 0.95, "{rate:?}: {of_flood}");
        assert!(of_newcomers < 0.01, "{rate:?}: {of_newcomers}");
    }
}

/// All clients of one /48 use their whole rate, in bursts and evenly, while a /44 floods the table:
/// no request of theirs is refused.
#[test]
fn five_thousand_clients_of_a_campus_are_served() {
    const CAMPUS: u16 = 999;
    let clients = 5_000 / scale();
    for rate in RATES {
        let (mut crowd, mut numbers) = (Crowd::new(rate), Numbers(3));
        for period in 1..=3 {
            let begin = period * crowd.per;
            Flood::Wide.requests(&mut crowd, &mut numbers, begin, rate);
            for client in 0..clients {
                // Evenly spaced, so that each client keeps to its rate.
                let step = crowd.per / u64::from(rate.count) + 1;
                let first = begin + numbers.below(step);
                let asks = (0..u64::from(rate.count) - 1).map(|ask| first + ask * step);
                let address = in_network(CAMPUS.into(), client);
                crowd.arriving.extend(asks.map(|now| (now, address)));
            }
        }
        let is_of_campus = |address: &IpAddr| {
            network_and_client(address).is_some_and(|(network, _)| network == CAMPUS)
        };
        let answered = crowd.decide_all();
        let of_campus = answered.iter().filter(|(_, address, _)| is_of_campus(address));
        let (share, all) = refused_share(of_campus.map(|(.., is_granted)| *is_granted));
        println!("{rate:?}: {:.4} % of {all} refused on the campus", share * 100.0);
        assert_eq!(share, 0.0, "{rate:?}");
        assert!(all > clients * 3);
    }
}
