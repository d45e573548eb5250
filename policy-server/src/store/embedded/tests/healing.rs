//! Random sequences of writes, errors of the disk, repairs and crashes, compared with a model.

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, Instant},
};

use policy_core::session::{Handle, Identity};

use super::{
    super::{
        EmbeddedStore,
        crash::{Disk, Survive, Trouble, open},
    },
    NOW, key, record,
};
use crate::store::{
    Cas, CreateSession, ListSessions, Revocation, RevokeUser, SessionCreated, SessionStore,
    StoreError, TokenStore, UpdateSession,
};

/// A small deterministic generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) as usize) % limit
    }
}

/// What must be true of a session or of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Its end was refused, but holds in this process, and for ever once the store has healed.
    Held,
    Ended,
    /// Not known: the process crashed before a refused end was written, or a login was refused that
    /// may be on the disk all the same.
    Open,
}

#[derive(Clone, Debug)]
struct Session {
    user: &'static str,
    state: State,
    version: u64,
    rights: Rights,
}

/// The roles of a session: none, or one that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Stored(u32),
    /// The change was refused, but holds.
    Held(u32),
    /// Not known, as [`State::Open`].
    Open,
}

/// How often each premise occurred, in all cases so far.
#[derive(Clone, Copy, Debug, Default)]
struct Premises {
    outages: usize,
    held: usize,
    rights_held: usize,
    healed: usize,
    crashes_while_held: usize,
    reads_while_broken: usize,
}

struct World {
    disk: Disk,
    store: EmbeddedStore,
    sessions: BTreeMap<u8, Session>,
    tokens: BTreeMap<u8, State>,
    /// How often rights were changed.
    changes: u32,
    is_failing: bool,
    premises: Premises,
    log: Vec<String>,
}

fn token(number: u8) -> Revocation {
    Revocation::Token { id: number.to_string().into(), until: NOW.after(Duration::from_secs(60)) }
}

const USERS: [&str; 2] = ["ada", "bo"];

impl World {
    fn new(premises: Premises) -> Self {
        let disk = Disk::new(vec![], usize::MAX);
        let store = open(disk.clone()).unwrap();
        Self {
            disk,
            store,
            sessions: BTreeMap::new(),
            tokens: BTreeMap::new(),
            changes: 0,
            is_failing: false,
            premises,
            log: vec![],
        }
    }

    /// Records an ending with this result, and returns the state after it.
    fn record_ending<T>(&mut self, result: &Result<T, StoreError>) -> State {
        match result {
            Ok(_) => State::Ended,
            Err(_) => {
                self.premises.held += 1;
                State::Held
            }
        }
    }

    fn end(&mut self, state: State, which: impl Fn(u8, &Session) -> bool) {
        for (number, session) in &mut self.sessions {
            if which(*number, session) && session.state != State::Ended {
                session.state = state;
            }
        }
    }

    fn any_good(&self, draw: &mut Draw) -> Option<u8> {
        let good =
            |(number, session): (&u8, &Session)| (session.state == State::Good).then_some(*number);
        let good: Vec<u8> = self.sessions.iter().filter_map(good).collect();
        (!good.is_empty()).then(|| good[draw.below(good.len())])
    }

    async fn step(&mut self, draw: &mut Draw) {
        match draw.below(22) {
            0..5 => self.create(draw).await,
            5..7 => self.update(draw).await,
            7..9 => self.delete(draw).await,
            9 => self.delete_by_handle(draw).await,
            10 => self.revoke_user(draw).await,
            11..13 => self.revoke_token().await,
            13..16 if !self.is_failing => {
                // The disk may fail in the middle of a commit.
                let after = draw.below(12);
                let trouble = [Trouble::Full, Trouble::Broken][draw.below(2)];
                self.log.push(format!("{trouble:?} after {after} writes"));
                self.disk.fail_after(after, trouble);
                self.is_failing = true;
            }
            13..17 => self.heal().await,
            17 => self.crash(draw).await,
            18..20 => self.change_rights(draw).await,
            _ => (),
        }
        self.check().await;
    }

    async fn create(&mut self, draw: &mut Draw) {
        let number = self.sessions.len() as u8 + 1;
        let user = USERS[draw.below(2)];
        let request = CreateSession::new(key(number), record(Some(user), number), NOW);
        let result = self.store.create(request).await;
        self.log.push(format!("create {number} {user}: {result:?}"));
        let (state, rights) = match &result {
            Ok(created) => {
                assert_eq!(*created, SessionCreated::Done { evicted: vec![] });
                (State::Good, Rights::Stored(0))
            }
            Err(_) => (State::Open, Rights::Open),
        };
        self.failed(result.is_err());
        self.sessions.insert(number, Session { user, state, version: 1, rights });
    }

    async fn update(&mut self, draw: &mut Draw) {
        let Some(number) = self.any_good(draw) else { return };
        let version = self.sessions[&number].version;
        if version == u64::MAX {
            return;
        }
        let request = UpdateSession::new(key(number), version, b"{}".as_slice().into(), NOW);
        let result = self.store.update(request).await;
        self.log.push(format!("update {number}: {result:?}"));
        self.failed(result.is_err());
        let session = self.sessions.get_mut(&number).unwrap();
        match result {
            Ok(cas) => {
                session.version += 1;
                assert!(matches!(cas, Cas::Done { .. }), "{cas:?} {:#?}", self.log);
            }
            // It may be on the disk; no other update is tried.
            Err(_) => session.version = u64::MAX,
        }
    }

    async fn delete(&mut self, draw: &mut Draw) {
        let Some(number) = self.any_good(draw) else { return };
        let result = self.store.delete(&key(number)).await;
        self.log.push(format!("delete {number}: {result:?}"));
        let state = self.record_ending(&result);
        self.end(state, |one, _| one == number);
        self.failed(result.is_err());
    }

    async fn delete_by_handle(&mut self, draw: &mut Draw) {
        let Some(number) = self.any_good(draw) else { return };
        let user = self.sessions[&number].user;
        let result = self.store.delete_by_handle(user, Handle([number; 16])).await;
        self.log.push(format!("delete by handle {number}: {result:?}"));
        let state = self.record_ending(&result);
        self.end(state, |one, _| one == number);
        self.failed(result.is_err());
    }

    async fn revoke_user(&mut self, draw: &mut Draw) {
        let kept = self.any_good(draw).filter(|_| draw.below(2) == 0);
        let user = kept.map_or(USERS[draw.below(2)], |kept| self.sessions[&kept].user);
        let result = self.store.revoke_user(RevokeUser::new(user, NOW).keep(kept.map(key))).await;
        self.log.push(format!("revoke {user} but {kept:?}: {result:?}"));
        let state = self.record_ending(&result);
        self.end(state, |one, session| session.user == user && Some(one) != kept);
        self.failed(result.is_err());
    }

    async fn change_rights(&mut self, draw: &mut Draw) {
        let user = USERS[draw.below(2)];
        self.changes += 1;
        let identity = Identity::new(user).roles([self.changes.to_string()]);
        let result = self.store.revoke_user(RevokeUser::new(user, NOW).rights(&identity)).await;
        self.log.push(format!("rights of {user} {}: {result:?}", self.changes));
        self.premises.rights_held += usize::from(result.is_err());
        for session in self.sessions.values_mut().filter(|session| session.user == user) {
            session.rights = match result {
                Ok(_) => Rights::Stored(self.changes),
                Err(_) => Rights::Held(self.changes),
            };
            session.version = u64::MAX;
        }
        self.failed(result.is_err());
    }

    async fn revoke_token(&mut self) {
        let number = self.tokens.len() as u8 + 1;
        let result = self.store.revoke(token(number)).await;
        self.log.push(format!("revoke token {number}: {result:?}"));
        let state = self.record_ending(&result);
        self.tokens.insert(number, state);
        self.failed(result.is_err());
    }

    /// Asserts that a store that refuses a write while the disk fails reports that it cannot write.
    fn failed(&mut self, is_refused: bool) {
        if is_refused && self.is_failing {
            self.premises.outages += 1;
            assert!(!self.store.can_write(), "{:#?}", self.log);
        }
    }

    /// The disk works again, and the store notices by itself.
    async fn heal(&mut self) {
        self.disk.work();
        self.is_failing = false;
        let begun = Instant::now();
        let was_broken = !self.store.can_write();
        while !self.store.can_write() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:#?}", self.log);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.log.push(format!("healed, broken: {was_broken}"));
        self.premises.healed += usize::from(was_broken);
        // From now on it is on the disk.
        self.end_held(State::Ended);
        for session in self.sessions.values_mut() {
            if let Rights::Held(rights) = session.rights {
                session.rights = Rights::Stored(rights);
            }
        }
    }

    fn end_held(&mut self, state: State) {
        let sessions = self.sessions.values_mut().map(|session| &mut session.state);
        for one in sessions.chain(self.tokens.values_mut()).filter(|one| **one == State::Held) {
            *one = state;
        }
    }

    async fn crash(&mut self, draw: &mut Draw) {
        let survive = [Survive::None, Survive::All, Survive::Even, Survive::Odd][draw.below(4)];
        self.log.push(format!("crash, {survive:?} survive"));
        let held = self.sessions.values().filter(|one| one.state == State::Held).count();
        self.premises.crashes_while_held += usize::from(held > 0);
        let image = self.disk.after_crash(survive);
        self.disk = Disk::new(image, usize::MAX);
        self.store = open(self.disk.clone()).unwrap();
        self.is_failing = false;
        self.end_held(State::Open);
        for session in self.sessions.values_mut() {
            if let Rights::Held(_) = session.rights {
                session.rights = Rights::Open;
            }
        }
    }

    async fn check(&mut self) {
        let is_broken = !self.store.can_write();
        let revocations = self.store.revocations(0).await;
        let listed = self.store.list(ListSessions::new("ada", 1000, NOW)).await;
        for (number, session) in &mut self.sessions {
            let handle = Handle([*number; 16]);
            let loaded = match self.store.load(&key(*number), NOW).await {
                Ok(loaded) => loaded,
                // Only while the file cannot even be opened.
                Err(_) if is_broken || self.is_failing => continue,
                Err(error) => panic!("{number}: {error} {:#?}", self.log),
            };
            let found = loaded.is_some();
            self.premises.reads_while_broken += usize::from(is_broken && found);
            if let Some(loaded) = loaded {
                let roles = &loaded.record.identity.as_ref().unwrap().roles;
                let now = roles.first().map_or(0, |role| role.parse().unwrap());
                match session.rights {
                    Rights::Stored(rights) | Rights::Held(rights) => {
                        assert_eq!(now, rights, "{number}: {:#?}", self.log);
                    }
                    Rights::Open if is_broken || self.is_failing => (),
                    Rights::Open => session.rights = Rights::Stored(now),
                }
            }
            match session.state {
                State::Good => assert!(found, "{number} is gone: {:#?}", self.log),
                State::Held | State::Ended => {
                    assert!(!found, "{number} lives on: {:#?}", self.log);
                }
                // Known from now on, once no call is in flight.
                State::Open if is_broken || self.is_failing => continue,
                State::Open => {
                    session.state = if found { State::Good } else { State::Ended };
                    // The version is not known.
                    session.version = u64::MAX;
                }
            }
            if let Ok(identity) = self.store.identity(session.user, handle, NOW).await {
                assert_eq!(identity.is_some(), found, "{number}: {:#?}", self.log);
            }
            if let (Ok(listed), "ada") = (&listed, session.user) {
                let is_listed = listed.iter().any(|one| one.handle == handle);
                assert_eq!(is_listed, found, "{number}: {:#?}", self.log);
            }
        }
        let Ok(revocations) = revocations else {
            assert!(is_broken || self.is_failing, "{:#?}", self.log);
            return;
        };
        for (number, state) in &mut self.tokens {
            let revoked = token(*number);
            let is_revoked = revocations.revocations.iter().any(|(_, one)| *one == revoked);
            match *state {
                State::Open => *state = if is_revoked { State::Ended } else { continue },
                state => assert!(is_revoked, "token {number} {state:?}: {:#?}", self.log),
            }
        }
    }
}

/// As often as `POLICY_HEALING_CASES` says.
#[tokio::test]
async fn endings_survive_errors_repairs_and_crashes() {
    let cases = env::var("POLICY_HEALING_CASES").map_or(40, |text| text.parse().unwrap());
    let mut all = Premises::default();
    for seed in 0..cases {
        let mut draw = Draw(seed * 7919 + 1);
        let mut world = World::new(all);
        for _ in 0..30 {
            world.step(&mut draw).await;
        }
        world.heal().await;
        world.check().await;
        all = world.premises;
    }
    let cases = cases as usize;
    assert!(all.outages > cases && all.held > cases / 2 && all.healed > cases / 2, "{all:?}");
    assert!(all.crashes_while_held > cases / 20 && all.reads_while_broken > cases, "{all:?}");
    assert!(all.rights_held > cases / 10, "{all:?}");
}
