//! Laws of all sequences of requests by several clients with old and new cookies.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use policy_core::{
    session::{Handle, HandlerOutcome, Record, SessionId},
    time::Timestamp,
};
use policy_core_tests::law::{Precondition, assert_usual, holds};
use proptest::prelude::*;

use super::{World, session, set_id, wait};
use crate::auth::{
    revocation_events::RevocationEvent,
    session::{RequestSession, Session, Sessions},
};

const IDLE: Duration = Duration::from_secs(100);
const ABSOLUTE: Duration = Duration::from_secs(400);

/// One operation of a client.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A request with one of the known ids begins.
    Begin { id: usize, what: RequestAction },
    /// A request that began ends.
    End { request: usize, outcome: HandlerOutcome },
    /// Time passes.
    Wait { seconds: u64 },
}

#[derive(Clone, Copy, Debug)]
enum RequestAction {
    Read,
    Write { key: u8 },
    Login { user: u8, is_remembered: bool },
    Elevate,
    Logout,
    LogoutKeep,
    RevokeOthers,
    RevokeUser { user: u8 },
}

fn act() -> impl Strategy<Value = Act> {
    let what = prop_oneof![
        2 => Just(RequestAction::Read),
        4 => (0..3_u8).prop_map(|key| RequestAction::Write { key }),
        4 => (0..2_u8, prop::bool::weighted(0.2))
            .prop_map(|(user, is_remembered)| RequestAction::Login { user, is_remembered }),
        2 => Just(RequestAction::Elevate),
        3 => Just(RequestAction::Logout),
        1 => Just(RequestAction::LogoutKeep),
        1 => Just(RequestAction::RevokeOthers),
        1 => (0..2_u8).prop_map(|user| RequestAction::RevokeUser { user }),
    ];
    let status = |status: u16| HandlerOutcome::Answered(status.try_into().unwrap());
    let outcome = prop_oneof![
        8 => Just(status(200)),
        1 => Just(status(404)),
        1 => Just(status(500)),
        1 => Just(HandlerOutcome::Aborted),
    ];
    prop_oneof![
        5 => (any::<usize>(), what).prop_map(|(id, what)| Act::Begin { id, what }),
        5 => (any::<usize>(), outcome).prop_map(|(request, outcome)| Act::End { request, outcome }),
        2 => prop::sample::select(vec![1, 9, 11, 12, 13, 30, 99, 150])
            .prop_map(|seconds| Act::Wait { seconds }),
    ]
}

/// Everything that an observer of all responses knows.
struct History {
    world: World,
    /// Ids that clients have: issued or made up.
    ids: Vec<String>,
    pending: Vec<(Arc<RequestSession>, RequestAction)>,
    presented: HashSet<String>,
    /// Sessions whose end was published, or that were found to have ended.
    dead_handles: HashSet<Handle>,
    dead_ids: HashSet<String>,
    /// The owner of each session.
    owners: HashMap<Handle, Option<Box<str>>>,
    /// The absolute deadline of each session since its last login.
    deadlines: HashMap<Handle, Timestamp>,
    counts: Counts,
}

/// How often the interesting cases occurred.
#[derive(Default)]
struct Counts {
    late: u64,
    new_ids: u64,
    kept_deadlines: u64,
    renewals: u64,
}

impl History {
    fn new() -> Self {
        let world = World::new(|sessions| {
            sessions
                .idle(IDLE)
                .absolute(ABSOLUTE)
                .remembered_idle(2 * IDLE)
                .remembered_absolute(2 * ABSOLUTE)
                .touch_interval(Duration::from_secs(5))
                .renewal(Duration::from_secs(12))
        });
        Self {
            world,
            // An id that an attacker plants.
            ids: vec![SessionId::from_bytes([9; 32]).text()],
            pending: Vec::new(),
            presented: HashSet::new(),
            dead_handles: HashSet::new(),
            dead_ids: HashSet::new(),
            owners: HashMap::new(),
            deadlines: HashMap::new(),
            counts: Counts::default(),
        }
    }

    fn record(&self, id: &str) -> Option<Arc<Record>> {
        let request = self.world.request(Some(id));
        wait(request.load()).unwrap().cloned()
    }

    fn act(&mut self, act: Act) -> Result<(), TestCaseError> {
        match act {
            Act::Wait { seconds } => self.world.clock.advance(Duration::from_secs(seconds)),
            Act::Begin { id, what } => {
                // Every fifth has no cookie.
                let id = (id % 5 != 0).then(|| self.ids[id % self.ids.len()].clone());
                self.presented.extend(id.clone());
                let request = self.world.request(id.as_deref());
                let is_done = self.handle(&request, what);
                self.pending.push((request, if is_done { what } else { RequestAction::Read }));
            }
            Act::End { .. } if self.pending.is_empty() => (),
            Act::End { request, outcome } => {
                let (request, what) = self.pending.swap_remove(request % self.pending.len());
                self.end(&request, what, outcome)?;
            }
        }
        self.look()
    }

    /// Runs the handler, and whether it succeeded.
    fn handle(&self, request: &Arc<RequestSession>, what: RequestAction) -> bool {
        let (current, sessions) = (session(request), Sessions::new(Arc::clone(request)));
        let user = |user: u8| ["ada", "bob"][usize::from(user)];
        match what {
            RequestAction::Read => drop(current.get::<u8>("0")),
            RequestAction::Write { key } => current.set(&key.to_string(), key).unwrap(),
            RequestAction::Login { user: who, is_remembered: false } => {
                wait(sessions.login(user(who))).unwrap();
            }
            RequestAction::Login { user: who, is_remembered: true } => {
                wait(sessions.login_remembered(user(who))).unwrap();
            }
            RequestAction::Elevate => return current.elevate().is_ok(),
            RequestAction::Logout => current.logout(),
            RequestAction::LogoutKeep => current.logout_keep(["0"]),
            RequestAction::RevokeOthers => drop(wait(sessions.revoke_others())),
            RequestAction::RevokeUser { user: who } => drop(wait(sessions.revoke_user(user(who)))),
        }
        true
    }

    fn end(
        &mut self,
        request: &Arc<RequestSession>,
        what: RequestAction,
        outcome: HandlerOutcome,
    ) -> Result<(), TestCaseError> {
        let id = request.presented.id().map(SessionId::text);
        let before = request.record().cloned();
        if id.as_ref().is_some_and(|id| before.is_some() && self.record(id).is_none()) {
            self.counts.late += 1;
        }
        let committed = wait(request.commit(outcome));
        let set = committed.as_ref().ok().and_then(set_id);
        let gives = matches!(outcome, HandlerOutcome::Answered(status) if status.as_u16() < 400);
        if let Some(new) = &set {
            if matches!(what, RequestAction::Login { .. } | RequestAction::Elevate) && gives {
                // Session fixation: the id was not known before.
                prop_assert!(!self.presented.contains(new), "a known id got rights");
                self.counts.new_ids += 1;
            }
            if matches!(what, RequestAction::Read | RequestAction::Write { .. }) && before.is_some()
            {
                self.counts.renewals += 1;
            }
            if !self.ids.contains(new) {
                self.ids.push(new.clone());
            }
        }
        let Some(before) = before else { return Ok(()) };
        match what {
            // Logouts take effect however the request ends.
            RequestAction::Logout | RequestAction::LogoutKeep => {
                prop_assert!(committed.is_ok());
                if before.user().is_some() {
                    self.dead_handles.insert(before.handle);
                }
                self.dead_ids.extend(id);
            }
            RequestAction::Login { .. } | RequestAction::Elevate if gives && set.is_some() => {
                self.dead_ids.extend(id);
            }
            _ => (),
        }
        if let (RequestAction::Login { .. }, true, Some(new)) = (what, gives, &set)
            && let Some(record) = self.record(new)
        {
            self.deadlines.insert(record.handle, record.absolute_deadline);
        }
        Ok(())
    }

    /// Loads every known id.
    fn look(&mut self) -> Result<(), TestCaseError> {
        while let Ok(ended) = self.world.ended.try_recv() {
            match ended {
                RevocationEvent::Session(handle) => drop(self.dead_handles.insert(handle)),
                RevocationEvent::SessionsOf { user, keep } => {
                    let of_user = |(handle, owner): &(&Handle, &Option<Box<str>>)| {
                        owner.as_ref() == Some(&user) && Some(**handle) != keep
                    };
                    let ended = self.owners.iter().filter(of_user).map(|(handle, _)| *handle);
                    self.dead_handles.extend(ended);
                }
                other => panic!("{other:?} is no end of a session"),
            }
        }
        let now = self.world.clock.now();
        for id in self.ids.clone() {
            let Some(record) = self.record(&id) else {
                self.dead_ids.insert(id);
                continue;
            };
            self.owners.insert(record.handle, record.user().map(Into::into));
            prop_assert!(!self.dead_ids.contains(&id), "a dead id lives");
            prop_assert!(!self.dead_handles.contains(&record.handle), "a dead session lives");
            let most = if record.is_remembered { 2 * ABSOLUTE } else { ABSOLUTE };
            prop_assert_eq!(record.absolute_deadline, record.created.after(most));
            prop_assert!(record.idle_deadline <= record.absolute_deadline);
            prop_assert!(record.idle_deadline <= now.after(record.idle));
            let kept = *self.deadlines.entry(record.handle).or_insert(record.absolute_deadline);
            prop_assert_eq!(record.absolute_deadline, kept, "a session lasts longer");
            if record.rotated > record.created {
                self.counts.kept_deadlines += 1;
            }
        }
        Ok(())
    }
}

/// No sequence of operations by several clients with old cookies revives a session that ended, by
/// its id or its handle. An id that gains rights was never presented before. No session lasts
/// longer than its limit after its last login.
#[test]
fn a_dead_session_stays_dead_and_an_id_with_rights_is_new() {
    let totals = [const { Cell::new(0) }; 5];
    holds("dead sessions", 43, prop::collection::vec(act(), 1..60), |acts| {
        let mut history = History::new();
        for act in acts {
            history.act(act)?;
        }
        let Counts { late, new_ids, kept_deadlines, renewals } = history.counts;
        let counted = [1, late, new_ids, kept_deadlines, renewals];
        for (total, counted) in totals.iter().zip(counted) {
            total.set(total.get() + u64::from(counted > 0));
        }
        Ok(Precondition::met_if(!history.dead_handles.is_empty()))
    });
    let [tried, late, new_ids, kept_deadlines, renewals] = totals.map(Cell::into_inner);
    assert_usual("dead sessions: late commits", late, tried, 31);
    assert_usual("dead sessions: new ids", new_ids, tried, 68);
    assert_usual("dead sessions: kept deadlines", kept_deadlines, tried, 22);
    assert_usual("dead sessions: renewals", renewals, tried, 16);
}

/// Concurrent requests that write different keys do not undo each other, in whatever order they
/// end.
#[test]
fn concurrent_writes_to_different_keys_merge() {
    let order = Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle();
    holds("merged writes", 100, (order, prop::collection::vec(0..4_u8, 6)), |(order, kinds)| {
        let world = World::new(|sessions| sessions);
        let id = world.login(None, "ada");
        let requests: Vec<_> = (0..6).map(|_| world.request(Some(&id))).collect();
        let sessions: Vec<Session> = requests.iter().map(session).collect();
        let mut expected = BTreeMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            let (session, key) = (&sessions[number], format!("k{number}"));
            let value = match kind {
                0 => session.set(&key, 7).map(|()| serde_json::json!(7)),
                1 => session.increment(&key, 2).map(Into::into),
                2 => session.push(&key, 3, 9).map(|()| serde_json::json!([3])),
                _ => {
                    let of = key.clone();
                    let update = move |values: &mut serde_json::Map<_, _>| {
                        values.insert(of.clone(), "x".into());
                    };
                    session.update_with(update).map(|()| serde_json::json!("x"))
                }
            };
            expected.insert(key, value.unwrap());
            session.increment("all", 1).unwrap();
        }
        expected.insert("all".to_owned(), 6.into());
        world.store.take_calls();
        for number in order {
            let committed =
                wait(requests[number].commit(HandlerOutcome::Answered(http::StatusCode::OK)));
            prop_assert!(committed.is_ok());
        }
        let calls = world.store.take_calls();
        let conflicts = calls.iter().filter(|call| **call == "load").count();
        prop_assert_eq!(conflicts, 5, "each request but the first meets one");
        let request = world.request(Some(&id));
        let record = wait(request.load()).unwrap().unwrap();
        let stored: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&record.data).unwrap();
        prop_assert_eq!(stored, expected);
        Ok(Precondition::Met)
    });
}
