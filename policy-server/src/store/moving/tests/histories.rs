//! Two stores behave as one.

use std::time::Duration;

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};
use proptest::prelude::*;

use super::{Moving, NOW, Phase, key, moving, record, stepped::run};
use crate::store::{
    Cas, CreateSession, CutOff, Limit, LimitPolicy, ListSessions, MemoryStore, RevokeUser,
    RotateSession, SessionCreated, SessionStore, TouchSession, UpdateSession,
};

const USERS: [&str; 2] = ["ada", "bob"];

/// A call. Sessions are named by the number of one that was begun at some time.
#[derive(Clone, Copy, Debug)]
enum Act {
    Create { user: Option<usize>, limit: Option<Limit>, is_late: bool },
    Update { of: usize, is_late: bool },
    Touch { of: usize },
    Rotate { of: usize, user: Option<usize>, limit: Option<Limit>, is_late: bool },
    Renew { of: usize },
    Delete { of: usize },
    DeleteByHandle { of: usize, user: usize },
    Revoke { user: usize, keep: Option<usize>, is_change: bool },
    RevokeEveryone,
    Purge,
    Wait { seconds: u64 },
}

fn act() -> impl Strategy<Value = Act> {
    let user = || prop::option::weighted(0.8, 0..USERS.len());
    let policy = prop_oneof![Just(LimitPolicy::Deny), Just(LimitPolicy::EvictOldest)];
    let limit = prop::option::of((1..4_u32, policy).prop_map(|(most, how)| Limit::new(most, how)));
    let of = || 0..30_usize;
    let is_late = || prop::bool::weighted(0.2);
    prop_oneof![
        4 => (user(), limit.clone(), is_late())
            .prop_map(|(user, limit, is_late)| Act::Create { user, limit, is_late }),
        4 => (of(), is_late()).prop_map(|(of, is_late)| Act::Update { of, is_late }),
        2 => of().prop_map(|of| Act::Touch { of }),
        6 => (of(), user(), limit, is_late())
            .prop_map(|(of, user, limit, is_late)| Act::Rotate { of, user, limit, is_late }),
        3 => of().prop_map(|of| Act::Renew { of }),
        2 => of().prop_map(|of| Act::Delete { of }),
        2 => (of(), 0..USERS.len()).prop_map(|(of, user)| Act::DeleteByHandle { of, user }),
        1 => (0..USERS.len(), prop::option::of(of()), any::<bool>())
            .prop_map(|(user, keep, is_change)| Act::Revoke { user, keep, is_change }),
        1 => Just(Act::RevokeEveryone),
        1 => Just(Act::Purge),
        2 => (1..400_u64).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

/// One store, and two with the same sessions, some of them in the old one.
struct Both {
    one: MemoryStore,
    two: Moving,
    now: Timestamp,
    /// The number of the newest session.
    newest: u64,
    /// The cut-offs that were made before the new store was known, which has numbers of its own.
    earlier: u64,
}

impl Both {
    fn new(old_sessions: u64, earlier: u64) -> Self {
        let (one, old) = (MemoryStore::new(), MemoryStore::new());
        run(async {
            for store in [&one, &old] {
                for _ in 0..earlier {
                    store.revoke_user(RevokeUser::new(USERS[0], NOW)).await.unwrap();
                }
                for number in 0..old_sessions {
                    let user = (number % 4 > 0).then_some(USERS[number as usize % 2]);
                    let record = record(number, user, NOW);
                    store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
                }
            }
        });
        let two = moving(&MemoryStore::new(), &old, Phase::From);
        Self { one, two, now: NOW, newest: old_sessions, earlier }
    }

    fn next(&mut self) -> u64 {
        self.newest += 1;
        self.newest
    }

    /// The record that a key leads to, with its key, in each.
    async fn find(&self, of: usize) -> [Option<(u64, policy_core::session::Record)>; 2] {
        let at = key(of as u64);
        let one = self.one.load(&at, self.now).await.unwrap();
        let two = self.two.load(&at, self.now).await.unwrap();
        let number = |key: policy_core::session::SessionKey| {
            key.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
        };
        [one, two].map(|loaded| {
            let loaded = loaded?;
            let at = number(loaded.successor.unwrap_or(at));
            Some((at, policy_core::session::Record::clone(&loaded.record)))
        })
    }

    async fn act(&mut self, act: Act) -> Result<(), TestCaseError> {
        let now = self.now;
        let known = self.one.cut_offs().await.unwrap();
        let began = |is_late: bool| known.saturating_sub(u64::from(is_late)).max(self.earlier);
        match act {
            Act::Create { user, limit, is_late } => {
                let began = began(is_late);
                let number = self.next();
                let record = record(number, user.map(|user| USERS[user]), now);
                let request = CreateSession::new(key(number), record, now).limit(limit);
                let one = self.one.create(request.clone().began(began)).await.unwrap();
                let two = self.two.create(request.began(began - self.earlier)).await.unwrap();
                let sorted = |created| match created {
                    SessionCreated::Done { mut evicted } => {
                        evicted.sort_unstable();
                        SessionCreated::Done { evicted }
                    }
                    other => other,
                };
                prop_assert_eq!(sorted(one), sorted(two));
            }
            Act::Update { of, is_late } => {
                let found = self.find(of).await;
                let data = Box::<[u8]>::from(self.next().to_be_bytes());
                let version = |place: usize| {
                    let version = found[place].as_ref().map_or(1, |(_, record)| record.version);
                    version + u64::from(is_late)
                };
                let request =
                    |place| UpdateSession::new(key(of as u64), version(place), data.clone(), now);
                let one = self.one.update(request(0)).await.unwrap();
                same(&one, &self.two.update(request(1)).await.unwrap())?;
            }
            Act::Touch { of } => {
                let used = now.after(Duration::from_secs(900));
                let request = TouchSession::new(key(of as u64), used, now);
                let one = self.one.touch(request).await.unwrap();
                prop_assert_eq!(one, self.two.touch(request).await.unwrap());
            }
            Act::Rotate { of, user, limit, is_late } => {
                let found = self.find(of).await;
                let began = began(is_late);
                let number = self.next();
                let mut next = record(number, user.map(|user| USERS[user]), now);
                if let [Some((_, before)), _] = &found
                    && before.user() == next.user()
                {
                    next.handle = before.handle;
                }
                let request = |place: usize, began| {
                    let version = found[place].as_ref().map_or(1, |(_, record)| record.version);
                    RotateSession::new(key(of as u64), key(number), version, next.clone(), now)
                        .limit(limit)
                        .began(user.map(|_| began))
                };
                let one = self.one.rotate(request(0, began)).await.unwrap();
                let two = self.two.rotate(request(1, began - self.earlier)).await.unwrap();
                // For a key whose successor is dead, a store may return either result.
                let is_dead = found[0].is_none() && one == Cas::Conflict && two == Cas::Gone;
                if !is_dead {
                    same(&one, &two)?;
                }
            }
            Act::Renew { of } => {
                let found = self.find(of).await;
                let number = self.next();
                let grace = now.after(Duration::from_secs(100));
                let request = |place: usize| {
                    let before = found[place].clone();
                    let (at, record) = before.unwrap_or((of as u64, record(number, None, now)));
                    let version = record.version;
                    RotateSession::new(key(at), key(number), version, record, now).grace(grace)
                };
                let one = self.one.rotate(request(0)).await.unwrap();
                same(&one, &self.two.rotate(request(1)).await.unwrap())?;
            }
            Act::Delete { of } => {
                let one = self.one.delete(&key(of as u64)).await.unwrap();
                let two = self.two.delete(&key(of as u64)).await.unwrap();
                // For an expired session, a store may return either result.
                prop_assert!(one || !two, "{one} {two}");
            }
            Act::DeleteByHandle { of, user } => {
                let handle = Handle((of as u128).to_be_bytes());
                self.one.delete_by_handle(USERS[user], handle).await.unwrap();
                self.two.delete_by_handle(USERS[user], handle).await.unwrap();
            }
            Act::Revoke { user, keep, is_change } => {
                let rights = Identity::new(USERS[user]).roles(["changed"]);
                let request = RevokeUser::new(USERS[user], now).keep(keep.map(|of| key(of as u64)));
                let request = if is_change { request.rights(&rights) } else { request };
                let one = self.one.revoke_user(request).await.unwrap();
                let two = self.two.revoke_user(request).await.unwrap();
                self.same_cut(one, two)?;
            }
            Act::RevokeEveryone => {
                let one = self.one.revoke_everyone(now).await.unwrap();
                let two = self.two.revoke_everyone(now).await.unwrap();
                self.same_cut(one, two)?;
            }
            Act::Purge => {
                SessionStore::purge(&self.one, now, 1000).await.unwrap();
                self.two.purge(now, 1000).await.unwrap();
            }
            Act::Wait { seconds } => self.now = now.after(Duration::from_secs(seconds)),
        }
        self.compare().await
    }

    fn same_cut(&self, one: CutOff, two: CutOff) -> Result<(), TestCaseError> {
        let (before, number) = (one.before, one.number);
        prop_assert_eq!(
            (one.sessions, before.saturating_sub(self.earlier), number - self.earlier),
            (two.sessions, two.before, two.number)
        );
        Ok(())
    }

    /// All keys ever used lead to the same sessions, and all lists are equal.
    async fn compare(&self) -> Result<(), TestCaseError> {
        for number in 0..=self.newest {
            let [one, two] = self.find(number as usize).await.map(|found| {
                found.map(|(at, mut record)| {
                    // Each store has numbers of its own.
                    (record.epoch, record.version) = (0, 0);
                    (at, record)
                })
            });
            prop_assert_eq!(&one, &two, "session {}", number);
            if let Some((_, record)) = &one
                && let Some(user) = record.user()
            {
                let found = self.two.identity(user, record.handle, self.now).await.unwrap();
                prop_assert!(found.is_some());
            }
        }
        for user in USERS {
            for most in [1, 100] {
                let request = ListSessions::new(user, most, self.now);
                let one = self.one.list(request).await.unwrap();
                prop_assert_eq!(one, self.two.list(request).await.unwrap());
            }
        }
        prop_assert_eq!(
            self.one.count(self.now).await.unwrap(),
            self.two.count(self.now).await.unwrap()
        );
        Ok(())
    }
}

fn same(one: &Cas, two: &Cas) -> Result<(), TestCaseError> {
    let without_version = |cas: &Cas| match cas {
        Cas::Done { evicted, .. } => {
            let mut evicted = evicted.clone();
            evicted.sort_unstable();
            format!("done {evicted:?}")
        }
        other => format!("{other:?}"),
    };
    prop_assert_eq!(without_version(one), without_version(two));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// For any calls in any order, two stores return what one store returns, and have the same live
    /// sessions.
    #[test]
    fn two_stores_behave_as_one(
        old_sessions in 0..12_u64,
        earlier in 0..3_u64,
        acts in prop::collection::vec(act(), 1..40),
    ) {
        let mut both = Both::new(old_sessions, earlier);
        run(async {
            for act in acts {
                both.act(act).await?;
            }
            Ok::<_, TestCaseError>(())
        })?;
    }
}
