//! Sequences of requests of several clients with old and new cookies, some of them concurrent.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    time::Duration,
};

use policy_core_tests::law::{Precondition, assert_usual, holds};
use proptest::{collection::vec, prelude::*, sample::select};

use policy_server::{Body, prelude::*, store::MemoryStore, testing::FaultyStore};

use super::test_server::{
    End, Reply, Request, Running, Script, Step, TestServer, act, goes_on, hang_up, look, step,
    stream,
};

const IDLE: u64 = 100;
const ABSOLUTE: u64 = 400;

/// What one client does.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A request with one of the known ids reaches its handler.
    Begin { id: usize, what: usize, handle: usize },
    /// A request that began is answered, or its client disconnects.
    End { request: usize, end: Option<End> },
    /// Someone requests the data of an id.
    Look { id: usize },
    /// Time passes.
    Wait { seconds: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let end = prop_oneof![
        8 => select(vec![200, 204, 302]).prop_map(|status| Some(End::Status(status))),
        2 => select(vec![400, 404, 500, 503]).prop_map(|status| Some(End::Status(status))),
        1 => Just(Some(End::Panic)),
        1 => Just(None),
    ];
    let act = prop_oneof![
        8 => (any::<usize>(), 0..WHAT, any::<usize>())
            .prop_map(|(id, what, handle)| Act::Begin { id, what, handle }),
        8 => (any::<usize>(), end).prop_map(|(request, end)| Act::End { request, end }),
        5 => any::<usize>().prop_map(|id| Act::Look { id }),
        2 => select(vec![1, 9, 11, 12, 13, 30, 99, 150]).prop_map(|seconds| Act::Wait { seconds }),
    ];
    vec(act, 1..50)
}

/// The number of handler scripts, some of them listed more than once.
const WHAT: usize = 18;

fn what(number: usize, handle: String) -> Step {
    let login = |user| Step::Login { user, is_remembered: number == 6 };
    match number {
        0 => Step::Read,
        1 | 2 => Step::Write { key: "a" },
        3..=6 => login("ada"),
        7 | 8 => login("bob"),
        9 => Step::Elevate,
        10..=12 => Step::Logout,
        13 => Step::LogoutKeep { key: "a" },
        14 => Step::RevokeOne { handle },
        15 => Step::RevokeOthers,
        16 => Step::RevokeAll,
        _ => Step::RevokeUser { user: "ada" },
    }
}

struct Pending {
    running: Running,
    script: Script,
    presented: Option<String>,
}

/// Everything that an observer of all requests and responses knows.
struct History {
    server: TestServer,
    /// Ids that clients have: issued or made up.
    ids: Vec<String>,
    pending: Vec<Pending>,
    presented: HashSet<String>,
    /// The first id of the chain of renewals that an id belongs to.
    lines: HashMap<String, String>,
    dead_ids: HashSet<String>,
    dead_handles: HashSet<String>,
    owners: HashMap<String, String>,
    /// The absolute end of a session.
    deadlines: HashMap<String, u64>,
    /// A stream of each session whose user had no roles when it was first seen.
    streams: HashMap<String, Body>,
    counts: Counts,
}

/// How often the interesting cases occurred.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// A request wrote to a session, or elevated it, that had ended meanwhile.
    late: u64,
    dead: u64,
    new_ids: u64,
    repeated: u64,
    /// A stream was open after another session had ended.
    kept_streams: u64,
    /// A session with a user had another id since its login, and the time of that login.
    kept_deadlines: u64,
}

impl History {
    fn new(is_renewing: bool) -> Self {
        let seconds = Duration::from_secs;
        let store = FaultyStore::<MemoryStore>::default();
        // The news of a cut-off may be late, and then end streams of sessions that began after it.
        store.silence();
        let mut sessions = Sessions::store(store)
            .idle(seconds(IDLE))
            .absolute(seconds(ABSOLUTE))
            .remembered_idle(seconds(2 * IDLE))
            .remembered_absolute(seconds(2 * ABSOLUTE))
            .touch_interval(seconds(5));
        if is_renewing {
            sessions = sessions.renewal(seconds(12));
        }
        Self {
            server: TestServer::new(
                App::new(()).sessions(sessions).routes(routes![act, look, stream]),
            ),
            // An id that an attacker plants.
            ids: vec!["A".repeat(43)],
            pending: Vec::new(),
            presented: HashSet::new(),
            lines: HashMap::new(),
            dead_ids: HashSet::new(),
            dead_handles: HashSet::new(),
            owners: HashMap::new(),
            deadlines: HashMap::new(),
            streams: HashMap::new(),
            counts: Counts::default(),
        }
    }

    fn act(&mut self, act: Act) -> Result<(), TestCaseError> {
        match act {
            Act::Wait { seconds } => self.server.wait(seconds),
            Act::Look { id } => {
                let id = self.ids[id % self.ids.len()].clone();
                self.look(&id)?;
            }
            Act::Begin { id, what: number, handle } => {
                // Every fifth has no cookie.
                let id = (id % 5 != 0).then(|| self.ids[id % self.ids.len()].clone());
                let mut handles: Vec<&String> = self.owners.keys().collect();
                handles.sort();
                let handle = handles.get(handle % handles.len().max(1)).map(|it| (*it).clone());
                let script = Script::in_time(vec![what(number, handle.unwrap_or_default())]);
                self.presented.extend(id.clone());
                let request = Request::post("/act").cookie(id.as_deref()).script(&script);
                let mut running = self.server.begin(request);
                prop_assert!(step(&mut running).is_none(), "the handler did not run");
                self.note_revocations(&script);
                self.pending.push(Pending { running, script, presented: id });
            }
            Act::End { .. } if self.pending.is_empty() => (),
            Act::End { request, end } => {
                let pending = self.pending.swap_remove(request % self.pending.len());
                self.end(pending, end)?;
            }
        }
        Ok(())
    }

    /// Revocations by a handler take effect at once.
    fn note_revocations(&mut self, script: &Script) {
        let seen = script.observed_session();
        let user = seen.user.as_deref();
        let of = |user: Option<&str>| {
            let is_of = |owner: &String| Some(owner.as_str()) == user;
            let handles = self.owners.iter().filter(move |(_, owner)| is_of(owner));
            handles.map(|(handle, _)| handle.clone()).collect::<Vec<_>>()
        };
        let ended = match &script.steps[..] {
            [Step::RevokeOne { handle }] if seen.is_done => vec![handle.clone()],
            [Step::RevokeOthers] => of(user),
            [Step::RevokeAll] => of(user),
            [Step::RevokeUser { user }] => of(Some(user)),
            _ => Vec::new(),
        };
        let keeps = script.steps[..] == [Step::RevokeOthers];
        let kept = seen.handle.filter(|_| keeps);
        self.dead_handles.extend(ended.into_iter().filter(|handle| Some(handle) != kept.as_ref()));
    }

    fn end(&mut self, pending: Pending, end: Option<End>) -> Result<(), TestCaseError> {
        let Pending { mut running, script, presented } = pending;
        let (seen, step_taken) = (script.observed_session(), script.steps[0].clone());
        let is_dead = |handle: &String| self.dead_handles.contains(handle);
        let changes = !matches!(step_taken, Step::Read);
        if changes && seen.handle.as_ref().is_some_and(is_dead) {
            self.counts.late += 1;
        }
        let reply = match end {
            Some(end) => {
                script.open(end);
                step(&mut running)
            }
            None => {
                hang_up(running);
                None
            }
        };
        prop_assert_eq!(reply.is_some(), end.is_some(), "a memory store answers at once");
        let reply = reply.as_ref();
        // A logout ends the session even if its request fails.
        let ends = matches!(step_taken, Step::Logout | Step::LogoutKeep { .. });
        if ends && seen.user.is_some() {
            if let (Some(reply), Some(End::Status(status))) = (reply, end) {
                prop_assert_eq!(reply.status, status, "a logout is refused");
            }
            self.dead_handles.extend(seen.handle.clone());
            self.dead_ids.extend(presented.clone());
        }
        let new = reply.and_then(Reply::set_id);
        let gives = seen.is_done
            && matches!(end, Some(End::Status(..400)))
            && matches!(step_taken, Step::Login { .. } | Step::Elevate);
        if let Some(new) = &new {
            self.note_id(presented.as_ref(), new, gives || ends)?;
            if gives && seen.handle.is_some() {
                self.dead_ids.extend(presented);
            }
        }
        if let (Some(new), Step::Login { is_remembered, .. }, true) = (&new, step_taken, gives) {
            let most = if is_remembered { 2 * ABSOLUTE } else { ABSOLUTE };
            let handle = self.look(new)?;
            self.deadlines.insert(handle, self.server.now() + most);
        } else if let Some(new) = new {
            self.look(&new)?;
        }
        Ok(())
    }

    /// No id in a response was presented before, except that the new id of a renewal is repeated to
    /// clients with an older id of the same chain.
    fn note_id(
        &mut self,
        presented: Option<&String>,
        new: &str,
        gives: bool,
    ) -> Result<(), TestCaseError> {
        let line = |id: &String| self.lines.get(id).unwrap_or(id).clone();
        let line_of_new = self.lines.get(new).cloned();
        let line = presented.filter(|_| !gives).map(line);
        let again = line.is_some() && line == line_of_new;
        if self.presented.contains(new) {
            prop_assert!(again, "an id that was presented before is handed out");
            self.counts.repeated += 1;
        } else {
            self.counts.new_ids += 1;
        }
        if let Some(line) = line {
            self.lines.insert(new.to_owned(), line);
        }
        if !self.ids.iter().any(|id| id == new) {
            self.ids.push(new.to_owned());
        }
        Ok(())
    }

    /// Looks up an id and returns the handle of its session.
    fn look(&mut self, id: &str) -> Result<String, TestCaseError> {
        self.presented.insert(id.to_owned());
        let reply = self.server.send(Request::get("/look").cookie(Some(id)));
        prop_assert_eq!(reply.status, 200);
        let handle = reply.text("handle");
        if handle.is_empty() {
            self.dead_ids.insert(id.to_owned());
            return Ok(handle);
        }
        prop_assert!(!self.dead_ids.contains(id), "a dead id lives");
        prop_assert!(!self.dead_handles.contains(&handle), "a dead session lives");
        let now = self.server.now();
        let deadline = *self.deadlines.entry(handle.clone()).or_insert(now + 2 * ABSOLUTE);
        prop_assert!(now < deadline, "a session lasts longer than from its last login");
        let is_renewed = reply.set_id().is_some() || self.lines.contains_key(id);
        let has_login = !reply.text("user").is_empty();
        self.counts.kept_deadlines += u64::from(is_renewed && has_login);
        self.watch(id, &handle, &reply)?;
        self.owners.insert(handle.clone(), reply.text("user"));
        if let Some(new) = reply.set_id() {
            self.note_id(Some(&id.to_owned()), &new, false)?;
        }
        Ok(handle)
    }

    /// Checks that no end of a living session was told to its stream, or opens one. A later login may
    /// take roles away, which ends a stream that began with them.
    fn watch(&mut self, id: &str, handle: &str, reply: &Reply) -> Result<(), TestCaseError> {
        if let Some(body) = self.streams.get_mut(handle) {
            prop_assert!(goes_on(body), "the stream of a living session ends");
            self.counts.kept_streams += u64::from(!self.dead_handles.is_empty());
        } else if !reply.text("user").is_empty() && reply.text("roles").is_empty() {
            let body = self.server.open(Request::get("/stream").cookie(Some(id)));
            self.streams.insert(handle.to_owned(), body);
        }
        Ok(())
    }
}

/// No sequence of logins, logouts, elevations, writes, revocations, renewals and expiries by
/// several clients with old cookies, some of them answered late or never, revives a session: an id
/// that was invalid, logged out or replaced by a login stays invalid, and so does every id of a
/// session that was ended by its handle or its user. No session outlives its last login by more
/// than the absolute limit. No id in a response was presented before, except the successor that a
/// renewal returns to all requests within its grace. The streams of a session go on while it lives,
/// whatever else ends.
#[test]
fn a_dead_session_stays_dead_and_an_id_in_a_response_is_new() {
    let totals = Cell::new(Counts::default());
    let tried = Cell::new(0);
    holds("resurrection", 8, (acts(), prop::bool::weighted(0.7)), |(acts, is_renewing)| {
        let mut history = History::new(is_renewing);
        for act in acts {
            history.act(act)?;
        }
        for id in history.ids.clone() {
            history.look(&id)?;
        }
        history.counts.dead = history.dead_handles.len() as u64;
        let (counts, mut sum) = (history.counts, totals.get());
        sum.late += counts.late.min(1);
        sum.dead += counts.dead.min(1);
        sum.new_ids += counts.new_ids.min(1);
        sum.repeated += counts.repeated.min(1);
        sum.kept_streams += counts.kept_streams.min(1);
        sum.kept_deadlines += counts.kept_deadlines.min(1);
        totals.set(sum);
        tried.set(tried.get() + 1);
        Ok(Precondition::met_if(counts.late > 0))
    });
    let (totals, tried) = (totals.get(), tried.get());
    let Counts { dead, new_ids, repeated, kept_streams, kept_deadlines, .. } = totals;
    assert_usual("resurrection: dead sessions", dead, tried, 27);
    assert_usual("resurrection: new ids", new_ids, tried, 69);
    assert_usual("resurrection: one id twice", repeated, tried, 3);
    assert_usual("resurrection: streams beside an ended session", kept_streams, tried, 8);
    assert_usual("resurrection: kept deadlines", kept_deadlines, tried, 6);
}
