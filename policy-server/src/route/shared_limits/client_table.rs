//! Requests that an instance has reserved in the store, so that not every request calls the store.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use policy_core::limits::{Rate, RateGrant, RateRefusal};

use crate::{base::locks::lock, store::TakenRate};

/// The number of parts of the map, each with its own lock.
const SHARDS: usize = 16;

/// After this time, another call may reserve a block although the first one has not returned.
const PATIENCE: Duration = Duration::from_secs(1);

/// The reserved requests and the current refusals of clients, in bounded memory. A dropped entry
/// costs a call of the store.
#[derive(Debug)]
pub(super) struct ClientTable {
    per: Duration,
    /// The number of requests that one call reserves.
    block: u32,
    /// The maximum number of clients in a shard.
    most: usize,
    shards: [Mutex<HashMap<u64, Client>>; SHARDS],
    hasher: RandomState,
}

/// A recent client.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    /// Reserved and unused requests, valid until `left_until`.
    left: u32,
    left_until: Duration,
    /// Requests that remained in the store after the last call, until its quota is reset.
    remaining: u32,
    reset_at: Duration,
    refused_until: Duration,
    /// Until then, no other call reserves a block: one is in flight.
    asked_until: Duration,
    /// The end of a period in which the client was admitted.
    admitted_until: Duration,
}

impl Client {
    fn is_needed(&self, now: Duration) -> bool {
        [self.left_until, self.refused_until, self.asked_until, self.admitted_until]
            .iter()
            .any(|until| *until > now)
    }
}

/// The decision without the store, or the number of requests to reserve there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalDecision {
    Decided(Result<RateGrant, RateRefusal>),
    Ask { wanted: u32 },
}

impl ClientTable {
    pub(super) fn new(rate: &Rate, clients: usize) -> Self {
        Self {
            per: rate.per,
            block: (rate.count / 100).max(1),
            most: clients.div_ceil(SHARDS),
            shards: Default::default(),
            hasher: RandomState::new(),
        }
    }

    /// Decides by a reserved request or a current refusal. `admit` is called once in a period.
    pub(super) fn take(
        &self,
        client: &[u8],
        now: Duration,
        admit: impl FnOnce() -> Result<(), RateRefusal>,
    ) -> LocalDecision {
        let hash = self.hasher.hash_one(client);
        let mut clients = self.shard(hash);
        if clients.len() >= self.most && !clients.contains_key(&hash) {
            clients.retain(|_, client| client.is_needed(now));
            if clients.len() >= self.most {
                clients.clear();
            }
        }
        let client = clients.entry(hash).or_default();
        if client.refused_until > now {
            return LocalDecision::Decided(Err(RateRefusal::new(client.refused_until - now)));
        }
        if client.admitted_until <= now {
            if let Err(refused) = admit() {
                return LocalDecision::Decided(Err(refused));
            }
            client.admitted_until = now.saturating_add(self.per);
        }
        if client.left > 0 && client.left_until > now {
            client.left -= 1;
            let remaining = client.remaining.saturating_add(client.left);
            let reset = client.reset_at.saturating_sub(now);
            return LocalDecision::Decided(Ok(RateGrant::new(remaining, reset)));
        }
        let is_asked = client.asked_until > now;
        if !is_asked {
            client.asked_until = now + PATIENCE;
        }
        LocalDecision::Ask { wanted: if is_asked { 1 } else { self.block } }
    }

    /// Decides by the result of a call that began at `asked`, and keeps the rest of its block.
    pub(super) fn learn(
        &self,
        client: &[u8],
        wanted: u32,
        start: Duration,
        taken: TakenRate,
    ) -> Result<RateGrant, RateRefusal> {
        let hash = self.hasher.hash_one(client);
        let mut clients = self.shard(hash);
        let client = clients.entry(hash).or_default();
        // A call for a single request does not complete the call for a block.
        if wanted == self.block {
            client.asked_until = Duration::ZERO;
        }
        let then = start.saturating_add(taken.wait);
        let Some(more) = taken.granted.checked_sub(1) else {
            client.refused_until = then;
            return Err(RateRefusal::new(taken.wait));
        };
        if more > 0 {
            let left = if client.left_until > start { client.left } else { 0 };
            client.left = left.saturating_add(more);
            client.left_until = start.saturating_add(self.per);
        }
        (client.remaining, client.reset_at) = (taken.remaining, then);
        Ok(RateGrant::new(taken.remaining.saturating_add(client.left), taken.wait))
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, HashMap<u64, Client>> {
        // The map uses the other bits.
        let shard = usize::try_from(hash >> 60).unwrap_or_default();
        let [first, ..] = &self.shards;
        lock(self.shards.get(shard).unwrap_or(first))
    }
}

#[cfg(test)]
mod tests {
    use policy_core::limits::Account;
    use policy_core_tests::law::{Precondition, holds};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NOW: Duration = Duration::from_secs(10_000);

    fn take(held: &ClientTable, client: &[u8], now: Duration) -> LocalDecision {
        held.take(client, now, || Ok(()))
    }

    fn remaining(known: LocalDecision) -> Option<u32> {
        match known {
            LocalDecision::Decided(decided) => decided.ok().map(|granted| granted.remaining),
            LocalDecision::Ask { .. } => None,
        }
    }

    #[test]
    fn a_block_is_used_up_before_the_next_call_of_the_store() {
        let held = ClientTable::new(&Rate::per_hour(300), 100);
        assert_eq!(take(&held, b"ada", NOW), LocalDecision::Ask { wanted: 3 });
        // One call for a block is in flight.
        assert_eq!(take(&held, b"ada", NOW), LocalDecision::Ask { wanted: 1 });
        let taken = |granted, remaining| TakenRate::new(granted, remaining, SECOND, NOW);
        let first = held.learn(b"ada", 3, NOW, taken(3, 297));
        assert_eq!(first, Ok(RateGrant::new(299, SECOND)));
        assert_eq!(remaining(take(&held, b"ada", NOW)), Some(298));
        assert_eq!(remaining(take(&held, b"ada", NOW)), Some(297));
        assert_eq!(take(&held, b"ada", NOW), LocalDecision::Ask { wanted: 3 });
        assert_eq!(take(&held, b"eve", NOW), LocalDecision::Ask { wanted: 3 });
    }

    /// Requests that were taken in advance expire with their period.
    #[test]
    fn reserved_requests_expire_with_their_period() {
        let held = ClientTable::new(&Rate::per_hour(300), 100);
        take(&held, b"ada", NOW);
        let _first = held.learn(b"ada", 3, NOW, TakenRate::new(3, 297, SECOND, NOW));
        let later = NOW + 3600 * SECOND;
        assert!(remaining(take(&held, b"ada", later - SECOND)).is_some());
        assert_eq!(take(&held, b"ada", later), LocalDecision::Ask { wanted: 3 });
        // A single request does not keep the rest alive.
        let _single = held.learn(b"ada", 1, later, TakenRate::new(1, 200, SECOND, later));
        assert!(remaining(take(&held, b"ada", later)).is_none());
    }

    #[test]
    fn a_refusal_holds_until_its_end() {
        let held = ClientTable::new(&Rate::per_hour(3), 100);
        take(&held, b"ada", NOW);
        let refused = TakenRate::new(0, 0, 5 * SECOND, NOW);
        assert_eq!(held.learn(b"ada", 1, NOW, refused), Err(RateRefusal::new(5 * SECOND)));
        let again = take(&held, b"ada", NOW + 2 * SECOND);
        assert_eq!(again, LocalDecision::Decided(Err(RateRefusal::new(3 * SECOND))));
        assert_eq!(take(&held, b"ada", NOW + 5 * SECOND), LocalDecision::Ask { wanted: 1 });
        assert_eq!(take(&held, b"eve", NOW), LocalDecision::Ask { wanted: 1 });
    }

    #[test]
    fn a_client_is_admitted_once_in_a_period() {
        let held = ClientTable::new(&Rate::per_hour(300), 100);
        let no = RateRefusal::new(SECOND);
        let refused = held.take(b"ada", NOW, || Err(no));
        assert_eq!(refused, LocalDecision::Decided(Err(no)));
        assert_eq!(held.take(b"ada", NOW, || Ok(())), LocalDecision::Ask { wanted: 3 });
        assert_eq!(held.take(b"ada", NOW, || Err(no)), LocalDecision::Ask { wanted: 1 });
        let _first = held.learn(b"ada", 3, NOW, TakenRate::new(3, 297, SECOND, NOW));
        assert!(remaining(held.take(b"ada", NOW, || Err(no))).is_some());
        let later = NOW + 3600 * SECOND;
        assert_eq!(held.take(b"ada", later, || Err(no)), LocalDecision::Decided(Err(no)));
    }

    /// Requests at some instances, which share an account, each with its own memory.
    #[test]
    fn no_period_has_more_than_the_rate_and_a_block_for_each_instance() {
        let pause = prop_oneof![160 => Just(0), 32 => 0..3_u64, 2 => 0..60_u64, 1 => 300..1100_u64];
        let requests = vec((0..4_usize, pause), 200..900);
        holds(
            "shared rate",
            40,
            (1..5_usize, 100..400_u32, requests),
            |(many, count, requests)| {
                let rate = Rate::new(count, Duration::from_millis(1000));
                let instances: Vec<_> = (0..many).map(|_| ClientTable::new(&rate, 100)).collect();
                let (mut account, mut now) = (Account::EMPTY, NOW);
                let (mut log, mut refused) = (Vec::new(), 0);
                for (instance, pause) in requests {
                    now += Duration::from_millis(pause);
                    let instance = &instances[instance % many];
                    let decided = match take(instance, b"ada", now) {
                        LocalDecision::Decided(decided) => decided,
                        LocalDecision::Ask { wanted } => {
                            let taken = match account.take_up_to(&rate, now, wanted) {
                                Ok((granted, left)) => {
                                    TakenRate::new(granted, left.remaining, left.reset, now)
                                }
                                Err(refused) => TakenRate::new(0, 0, refused.retry_after, now),
                            };
                            instance.learn(b"ada", wanted, now, taken)
                        }
                    };
                    match decided {
                        Ok(_) => log.push(now),
                        Err(_) => refused += 1,
                    }
                }
                let block = (count / 100).max(1) as usize;
                let most = count as usize + many * (block - 1);
                for (index, time) in log.iter().enumerate() {
                    let first = log.partition_point(|then| *then + rate.per <= *time);
                    prop_assert!(index + 1 - first <= most, "{} of {most}", index + 1 - first);
                }
                Ok(Precondition::met_if(refused > 0 && log.len() > count as usize))
            },
        );
    }

    #[test]
    fn memory_is_bounded_and_needed_clients_stay_while_there_is_room() {
        let held = ClientTable::new(&Rate::per_second(300), 160);
        let most = || held.shards.iter().map(|shard| shard.lock().unwrap().len()).max();
        for client in 0..10_000_u32 {
            take(&held, &client.to_le_bytes(), NOW + SECOND * client);
            assert!(most() <= Some(10));
        }
        for client in 0..10_000_u32 {
            take(&held, &client.to_le_bytes(), NOW + 10_000 * SECOND);
            assert!(most() <= Some(10));
        }
    }
}
