//! The scenarios of `tests/cases/auth.json`, step by step.
//!
//! Effects that only a server shows are derived here from the commit: the status from its error,
//! `no-store` from the cookie, the end of a stream from the event of the session's end.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use policy_core::session::{Data, Handle, HandlerOutcome, SessionId};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{START, World, is_removal, random, session, set_id, wait};
use crate::{
    CredentialError,
    auth::{
        revocation_events::RevocationEvent,
        session::{CommitFacts, RequestSession, Sessions},
    },
    base::clock::Clock,
    store::{LimitPolicy, SessionStore},
    testing::FaultyStore,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    id: String,
    name: String,
    config: Config,
    steps: Vec<Step>,
    #[serde(rename = "why")]
    _why: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    idle_s: u64,
    absolute_s: u64,
    touch_min_interval_s: u64,
    /// How long the id before a renewal stays valid: the default, which no app can change.
    rotation_grace_s: u64,
    max_sessions_per_user: u32,
    limit_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: u64,
    #[serde(rename = "do")]
    action: Action,
    cookie: Option<String>,
    user: Option<String>,
    req: Option<String>,
    except_: Option<String>,
    #[serde(default = "one")]
    instance: usize,
    /// The steps are in this order here.
    #[serde(rename = "order")]
    _order: Option<IgnoredAny>,
    #[serde(default)]
    writes: Map<String, Value>,
    #[serde(default)]
    ops: Vec<Vec<Value>>,
    touches_session: Option<bool>,
    route_auth: Option<String>,
    handler_status: Option<u16>,
    #[serde(default)]
    streaming: bool,
    store: Option<String>,
    stored: Option<String>,
    #[serde(default)]
    expect: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Request,
    Login,
    Elevate,
    Logout,
    RevokeUser,
    Begin,
    Commit,
    Abort,
    End,
    Observe,
}

fn one() -> usize {
    1
}

/// The observations of a step.
#[derive(Default)]
struct StepObservations {
    status: Option<u16>,
    principal: Option<String>,
    data: Option<Value>,
    committed: Option<CommitFacts>,
    version: Option<u64>,
    count: Option<u64>,
    calls: Vec<&'static str>,
}

struct ScenarioRun {
    /// Two instances of the app on one store.
    worlds: [World; 2],
    now: u64,
    ids: HashMap<String, String>,
    handed_out: HashSet<String>,
    pending: HashMap<String, Arc<RequestSession>>,
    streams: HashMap<String, Handle>,
    ended: Vec<Handle>,
}

#[test]
fn every_session_scenario_comes_out_as_the_shared_cases_say() {
    let file: Value =
        serde_json::from_str(include_str!("../../../../../tests/cases/auth.json")).unwrap();
    let scenarios = Vec::<Scenario>::deserialize(&file["sections"]["session_scenario"]).unwrap();
    assert_eq!((scenarios.len(), run(&scenarios)), (27, (102, 94)));
}

/// Runs scenarios, and counts their steps and expectations.
fn run(scenarios: &[Scenario]) -> (usize, usize) {
    let (mut steps, mut expectations) = (0, 0);
    for scenario in scenarios {
        let mut run = ScenarioRun::new(&scenario.config);
        for (number, step) in scenario.steps.iter().enumerate() {
            let place = format!("{} ({}), step {number}", scenario.id, scenario.name);
            let observations = run.step(step);
            steps += 1;
            for (name, expected) in &step.expect {
                run.judge(&place, step, name, expected, &observations);
                expectations += 1;
            }
        }
    }
    (steps, expectations)
}

impl ScenarioRun {
    fn new(config: &Config) -> Self {
        let (store, clock, random) = (FaultyStore::default(), Clock::at(START), random());
        let policy = match config.limit_policy.as_deref() {
            None => LimitPolicy::EvictOldest,
            Some("deny") => LimitPolicy::Deny,
            Some(other) => panic!("unknown limit policy {other}"),
        };
        assert_eq!(config.rotation_grace_s, 10, "the default");
        let world = || {
            World::on(store.clone(), clock.clone(), random.clone(), |sessions| {
                sessions
                    .idle(Duration::from_secs(config.idle_s))
                    .absolute(Duration::from_secs(config.absolute_s))
                    .touch_interval(Duration::from_secs(config.touch_min_interval_s))
                    .limit_per_user(config.max_sessions_per_user, policy)
            })
        };
        Self {
            worlds: [world(), world()],
            now: 0,
            ids: HashMap::new(),
            handed_out: HashSet::new(),
            pending: HashMap::new(),
            streams: HashMap::new(),
            ended: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) -> StepObservations {
        let world = &self.worlds[step.instance - 1];
        world.clock.advance(Duration::from_secs(step.at - self.now));
        self.now = step.at;
        match step.store.as_deref() {
            None => world.store.recover(),
            Some("down") => world.store.fail(),
            Some("down_on_write") => world.store.fail_to_write(),
            Some(other) => panic!("unknown state of the store {other}"),
        }
        // This version ignores rows of a newer one. The tests of the store show that the row is
        // kept; here there is none.
        assert!(matches!(step.stored.as_deref(), None | Some("v999")));
        world.store.take_calls();
        let mut observations = self.act(step);
        let world = &mut self.worlds[step.instance - 1];
        observations.calls = world.store.take_calls();
        while let Ok(RevocationEvent::Session(handle)) = world.ended.try_recv() {
            self.ended.push(handle);
        }
        let ids = observations.committed.as_ref().and_then(set_id);
        if let (Some(id), Some(Value::String(letter))) = (ids, step.expect.get("set_cookie")) {
            assert!(self.handed_out.insert(id.clone()), "an id was handed out twice");
            self.ids.insert(letter.clone(), id);
        }
        observations
    }

    fn act(&mut self, step: &Step) -> StepObservations {
        let mut observations = StepObservations::default();
        let named = || step.req.clone().unwrap();
        let request = match step.action {
            Action::Commit | Action::Abort => self.pending.remove(&named()).unwrap(),
            Action::End => Arc::clone(&self.pending[&named()]),
            Action::Observe => return observations,
            _ => self.worlds[step.instance - 1].request(self.cookie(step).as_deref()),
        };
        let outcome = match step.action {
            Action::Abort => HandlerOutcome::Aborted,
            _ => HandlerOutcome::Answered(step.handler_status.unwrap_or(200).try_into().unwrap()),
        };
        observations.status = Some(step.handler_status.unwrap_or(200));
        if let Err(error) = self.handle(step, &request, &mut observations) {
            assert_eq!(error, CredentialError::SessionStore);
            observations.status = Some(503);
            return observations;
        }
        if step.action == Action::Begin {
            self.pending.insert(named(), Arc::clone(&request));
            if !step.streaming {
                return observations;
            }
            self.streams.insert(named(), session(&request).handle().unwrap());
        }
        match wait(request.commit(outcome)) {
            Ok(committed) => observations.committed = Some(committed),
            Err(error) => observations.status = Some(error.refusal().status()),
        }
        if let Some(key) = request.presented.key() {
            let load = self.worlds[0].store.inner().load(key, self.worlds[0].clock.now());
            observations.version = wait(load).unwrap().map(|loaded| loaded.record.version);
        }
        observations
    }

    /// Runs the handler of a step.
    fn handle(
        &self,
        step: &Step,
        request: &Arc<RequestSession>,
        observations: &mut StepObservations,
    ) -> Result<(), CredentialError> {
        let sessions = Sessions::new(Arc::clone(request));
        match step.action {
            Action::Commit | Action::Abort | Action::End | Action::Observe => return Ok(()),
            Action::Login => return wait(sessions.login(step.user.clone().unwrap())),
            Action::RevokeUser => {
                let count = match step.except_ {
                    Some(_) => wait(sessions.revoke_others()),
                    None => wait(sessions.revoke_user(step.user.as_deref().unwrap())),
                };
                observations.count = Some(count?);
                return Ok(());
            }
            _ => (),
        }
        let needs = step.route_auth.as_deref() == Some("session");
        if !needs && step.touches_session == Some(false) {
            return Ok(());
        }
        let record = wait(request.load())?;
        observations.principal = record.and_then(|record| record.user().map(str::to_owned));
        observations.data = record.map(|record| {
            Data::read(&record.data).unwrap();
            serde_json::from_slice(&record.data).unwrap_or_else(|_| Value::Object(Map::new()))
        });
        let session = session(request);
        match step.action {
            Action::Elevate => session.elevate()?,
            Action::Logout => session.logout(),
            _ => (),
        }
        for (key, value) in &step.writes {
            session.set(key, value)?;
        }
        for op in &step.ops {
            match (op[0].as_str().unwrap(), op[1].as_str().unwrap(), op.get(2)) {
                ("incr", key, Some(by)) => drop(session.increment(key, by.as_i64().unwrap())?),
                ("remove", key, None) => session.remove(key)?,
                _ => panic!("unknown change {op:?}"),
            }
        }
        Ok(())
    }

    /// The id that a letter represents, or one that was never issued.
    fn cookie(&self, step: &Step) -> Option<String> {
        let letter = step.cookie.as_ref().or(step.except_.as_ref())?;
        let unknown = || SessionId::from_bytes([letter.as_bytes()[0]; 32]).text();
        Some(self.ids.get(letter).cloned().unwrap_or_else(unknown))
    }

    fn judge(
        &self,
        place: &str,
        step: &Step,
        name: &str,
        expected: &Value,
        observations: &StepObservations,
    ) {
        let committed = observations.committed.as_ref();
        let without_loads: Vec<_> =
            observations.calls.iter().filter(|call| **call != "load").copied().collect();
        let place = format!("{place}, {name}");
        match name {
            "principal" => {
                assert_eq!(observations.principal.as_deref(), expected.as_str(), "{place}");
            }
            "data" => assert_eq!(observations.data.as_ref(), Some(expected), "{place}"),
            "version" => assert_eq!(observations.version, expected.as_u64(), "{place}"),
            "count" => assert_eq!(observations.count, expected.as_u64(), "{place}"),
            "set_cookie" => match expected.as_str() {
                None => assert!(committed.is_none_or(|done| done.set_cookie.is_none()), "{place}"),
                Some("remove") => assert!(committed.is_some_and(is_removal), "{place}"),
                Some(letter) => {
                    let id = committed.and_then(set_id);
                    assert!(id.is_some() && id.as_ref() == self.ids.get(letter), "{place}");
                }
            },
            "status" => match expected.as_u64() {
                Some(status) => {
                    assert_eq!(observations.status, u16::try_from(status).ok(), "{place}");
                }
                // The session is kept.
                None => assert_eq!(observations.status, Some(200), "{place}"),
            },
            "store_ops" => {
                let expected: Vec<_> =
                    expected.as_array().unwrap().iter().map(|op| op.as_str().unwrap()).collect();
                // An empty list means no call at all; otherwise loads are not counted.
                let calls = if expected.is_empty() { &observations.calls } else { &without_loads };
                assert_eq!(*calls, expected, "{place}");
            }
            "outcome" => {
                assert_eq!(expected, "gone", "{place}");
                assert_eq!(without_loads, ["update"], "{place}");
                assert!(committed.is_some_and(|done| done.set_cookie.is_none()), "{place}");
            }
            "conflict_then_merge" => {
                assert_eq!(observations.calls, ["update", "load", "update"], "{place}");
            }
            "committed_before_headers" => assert_eq!(without_loads, ["update"], "{place}"),
            "headers" => {
                assert_eq!(expected, &serde_json::json!({"cache-control": "no-store"}));
                assert!(committed.is_some_and(|done| done.set_cookie.is_some()), "{place}");
            }
            "closed_within_s" => {
                let handle = self.streams[step.req.as_ref().unwrap()];
                assert!(self.ended.contains(&handle), "{place}");
            }
            "note" => assert_eq!(without_loads, [""; 0], "{place}"),
            other => panic!("{place}: unknown expectation {other}"),
        }
    }
}
