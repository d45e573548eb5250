//! Laws of rates, compared with a plain log of grants.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use policy_core::limits::{Account, Rate, RateCapacity, RateTable};
use policy_core_tests::law::{Precondition, holds};
use proptest::{collection::vec, prelude::*};

/// Rates of a few requests, which divide their periods evenly or not.
fn rates() -> impl Strategy<Value = Rate> {
    (1..12_u32, 1..200_u64).prop_map(|(count, per)| Rate::new(count, Duration::from_nanos(per)))
}

/// The time between two evenly spaced requests.
fn interval(rate: &Rate) -> u64 {
    nanos(rate.per).div_ceil(u64::from(rate.count))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("short")
}

/// Pauses between requests: none, about an interval, about a period, or any.
fn pauses(length: usize) -> impl Strategy<Value = Vec<(u8, u64)>> {
    let weighted =
        prop_oneof![5 => Just(0_u8), 4 => Just(1), 2 => Just(2), 2 => Just(3), 1 => Just(4)];
    vec((weighted, 0..1000_u64), 1..length)
}

fn pause(rate: &Rate, (kind, any): (u8, u64)) -> u64 {
    let per = nanos(rate.per);
    match kind {
        0 => 0,
        1 => interval(rate),
        2 => per,
        3 => any % (interval(rate) + 1),
        _ => any % (2 * per),
    }
}

/// The grants to one client.
#[derive(Default)]
struct Log(Vec<u64>);

impl Log {
    /// The number of grants in the period that ends now, including now and excluding its beginning.
    fn within(&self, rate: &Rate, now: u64) -> usize {
        let is_within = |then: &&u64| **then <= now && **then + nanos(rate.per) > now;
        self.0.iter().filter(is_within).count()
    }
}

/// Requests with these pauses from a random start; returns the account, the time and the log.
fn history(rate: &Rate, pauses: &[(u8, u64)]) -> (Account, u64, Log) {
    let (mut account, mut now, mut log) = (Account::EMPTY, 1_000_000, Log::default());
    for one in pauses {
        now += pause(rate, *one);
        if account.take(rate, Duration::from_nanos(now)).is_ok() {
            log.0.push(now);
        }
    }
    (account, now, log)
}

/// No period has more than `count` grants, wherever it begins.
#[test]
fn no_client_exceeds_the_rate() {
    holds("rate", 79, (rates(), pauses(120)), |(rate, pauses)| {
        let (_, _, log) = history(&rate, &pauses);
        for now in &log.0 {
            prop_assert!(log.within(&rate, *now) <= rate.count as usize, "{:?}", log.0);
        }
        let is_long = log.0.len() > 2 * rate.count as usize;
        Ok(Precondition::met_if(is_long && log.0.len() < pauses.len()))
    });
}

/// Evenly spaced requests are never refused, and after a silent period the whole rate is granted at
/// once.
#[test]
fn evenly_spaced_requests_are_never_refused() {
    let pauses = vec(prop_oneof![Just(0), 0..300_u64], 1..100);
    holds("patience", 93, (rates(), pauses), |(rate, pauses)| {
        let (mut account, mut now) = (Account::EMPTY, 1_000_000);
        for more in &pauses {
            now += interval(&rate) + more;
            prop_assert!(account.take(&rate, Duration::from_nanos(now)).is_ok());
        }
        let later = Duration::from_nanos(now) + rate.per;
        for left in (0..rate.count).rev() {
            let granted = account.take(&rate, later);
            prop_assert_eq!(granted.map(|granted| granted.remaining), Ok(left));
        }
        prop_assert_eq!(account.take(&rate, later).map_err(|it| it.retry_after), Err(rate.per));
        Ok(Precondition::met_if(pauses.len() > rate.count as usize))
    });
}

/// After any history, the remaining number that a response states is granted and no more, and a
/// request after the stated delay is granted.
#[test]
fn stated_remainders_and_delays_are_exact() {
    let law = |(rate, pauses): (Rate, Vec<(u8, u64)>)| {
        let (mut account, now, _) = history(&rate, &pauses);
        let now = Duration::from_nanos(now);
        let mut promised = None;
        let refused = loop {
            match account.take(&rate, now) {
                Ok(granted) => {
                    let (remaining, reset) =
                        promised.unwrap_or((granted.remaining + 1, granted.reset));
                    prop_assert_eq!(granted.remaining + 1, remaining);
                    prop_assert_eq!(granted.reset, reset);
                    promised = Some((granted.remaining, granted.reset));
                }
                Err(refused) => break refused,
            }
        };
        if let Some((remaining, reset)) = promised {
            prop_assert_eq!((remaining, reset), (0, refused.retry_after));
        }
        prop_assert!(!refused.retry_after.is_zero() && refused.retry_after <= rate.per);
        prop_assert!(account.take(&rate, now + refused.retry_after).is_ok());
        Ok(Precondition::met_if(promised.is_some() && pauses.len() > 20))
    };
    holds("promises", 35, (rates(), pauses(60)), law);
}

/// A block equals as many simultaneous requests, and a partial block exhausts the grants.
#[test]
fn a_block_is_as_many_requests_at_once() {
    holds("blocks", 35, (rates(), pauses(60), 1..15_u32), |(rate, pauses, wanted)| {
        let (mut account, now, log) = history(&rate, &pauses);
        let (mut one_by_one, now) = (account, Duration::from_nanos(now));
        let block = account.take_up_to(&rate, now, wanted);
        match block {
            Ok((granted, promised)) => {
                prop_assert!((1..=wanted).contains(&granted));
                let last = (0..granted).map(|_| one_by_one.take(&rate, now)).last();
                prop_assert_eq!(last, Some(Ok(promised)));
                let mut next = one_by_one;
                prop_assert!(granted == wanted || next.take(&rate, now).is_err());
            }
            Err(refused) => prop_assert_eq!(one_by_one.take(&rate, now), Err(refused)),
        }
        prop_assert_eq!(account, one_by_one);
        let is_partial = block.is_ok_and(|(granted, _)| granted < wanted && granted > 1);
        Ok(Precondition::met_if(is_partial || log.0.len() > 20))
    });
}

/// After any history, a client that follows the stated delays gets the whole rate in the long run.
#[test]
fn clients_that_follow_the_stated_delays_get_the_whole_rate() {
    holds("throughput", 71, (rates(), pauses(60)), |(rate, pauses)| {
        let (mut account, begin, log) = history(&rate, &pauses);
        let begin = Duration::from_nanos(begin);
        // Even intervals are rounded up to whole nanoseconds.
        let rounded = Duration::from_nanos(interval(&rate)) * rate.count;
        let (mut now, mut granted) = (begin, 0);
        while now < begin + 10 * rounded {
            match account.take(&rate, now) {
                Ok(_) => granted += 1,
                Err(refused) => now += refused.retry_after,
            }
        }
        prop_assert!(granted >= 9 * rate.count, "{} of {}", granted, 10 * rate.count);
        Ok(Precondition::met_if(log.0.len() < pauses.len()))
    });
}

/// In a table that is too small for its clients, no client is granted more than its rate.
#[test]
fn a_flood_lets_no_client_exceed_the_rate() {
    let request = (0..60_u16, (0..5_u8, 0..1000_u64));
    let cases = (rates(), 1..10_usize, 1..80_u32, vec(request, 100..600));
    holds("flood", 98, cases, |(rate, clients, of_network, requests)| {
        let capacity = RateCapacity::DEFAULT.clients(clients).clients_per_network(of_network);
        let table = RateTable::new(rate, capacity, [1, 2]);
        let (mut now, mut refused, mut logs) = (1_000_000, 0, HashMap::<_, Log>::new());
        for (client, gap) in requests {
            // A flood: most requests arrive at the same time.
            now += pause(&rate, gap) / 16;
            // Of three networks of 48 bits.
            let address = IpAddr::from([0x2001, 0xdb8, client % 3, client, 0, 0, 0, 1]);
            match table.take_address(Some(address), Duration::from_nanos(now)) {
                Ok(_) => logs.entry(client).or_default().0.push(now),
                Err(_) => refused += usize::from(!logs.contains_key(&client)),
            }
        }
        for log in logs.values() {
            for now in &log.0 {
                prop_assert!(log.within(&rate, *now) <= rate.count as usize);
            }
        }
        Ok(Precondition::met_if(refused > 10))
    });
}

/// A table with enough room decides as if each client had a separate account.
#[test]
fn clients_do_not_disturb_each_other() {
    let requests = vec((0..10_u64, (0..5_u8, 0..1000_u64)), 1..300);
    holds("separation", 82, (rates(), requests), |(rate, requests)| {
        let table = RateTable::new(rate, RateCapacity::DEFAULT.clients(10_000), [3, 4]);
        let (mut now, mut refused) = (0, 0);
        let mut accounts = HashMap::<u64, Account>::new();
        for (client, gap) in requests {
            now += pause(&rate, gap) / 16;
            let time = Duration::from_nanos(now);
            let account = accounts.entry(client).or_insert(Account::EMPTY);
            let decision = table.take(&client.to_be_bytes(), time);
            refused += usize::from(decision.is_err());
            prop_assert_eq!(decision, account.take(&rate, time));
        }
        Ok(Precondition::met_if(refused > 0))
    });
}

/// Peeking at a table states the result that a request would get, and changes nothing, whatever
/// else was granted.
#[test]
fn a_look_says_what_a_request_gets() {
    let request = (0..60_u16, (0..5_u8, 0..1000_u64));
    let cases = (rates(), 1..10_usize, vec(request, 1..300));
    holds("looks", 83, cases, |(rate, clients, requests)| {
        let capacity = RateCapacity::DEFAULT.clients(clients).clients_per_network(9);
        let [table, unseen] = [(); 2].map(|()| RateTable::new(rate, capacity, [1, 2]));
        let (mut now, mut refused) = (1_000_000, 0);
        for (client, gap) in requests {
            now += pause(&rate, gap) / 16;
            let (time, key) = (Duration::from_nanos(now), client.to_be_bytes());
            let looks = [(); 2].map(|()| table.peek(&key, time));
            let taken = table.take(&key, time);
            prop_assert_eq!(looks, [taken.map(drop); 2]);
            prop_assert_eq!(taken, unseen.take(&key, time));
            let address = Some(IpAddr::from([0x2001, 0xdb8, 0, client, 0, 0, 0, 1]));
            let look = table.peek_address(address, time);
            let taken = table.take_address(address, time);
            prop_assert_eq!(look, taken.map(drop));
            prop_assert_eq!(taken, unseen.take_address(address, time));
            refused += usize::from(taken.is_err());
        }
        Ok(Precondition::met_if(refused > 0))
    });
}
