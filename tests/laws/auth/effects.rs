//! Which effects of a handler are kept, however it ends.

use std::time::Duration;

use policy_core_tests::law::{Precondition, holds};
use policy_server::{prelude::*, store::LimitPolicy};
use proptest::{prelude::*, sample::select};

use super::test_server::{End, Reply, Request, Script, Step, TestServer, act, hang_up, look, step};

/// A short time-out where the handler never ends, and a long one elsewhere.
fn server(timeout: Duration) -> TestServer {
    // Every case leaves sessions of the same users behind.
    let sessions = Sessions::memory().limit_per_user(u32::MAX, LimitPolicy::Deny);
    let app = App::new(())
        .sessions(sessions)
        .policies(Policies::new().limits(Limits::NONE.timeout(timeout)));
    TestServer::new(app.routes(routes![act, look]))
}

thread_local! {
    static PATIENT: TestServer = server(Duration::from_secs(600));
    static HASTY: TestServer = server(Duration::from_millis(1));
}

/// Without an end, the client disconnects while the handler runs.
fn play(
    server: &TestServer,
    id: Option<&str>,
    steps: Vec<Step>,
    end: Option<End>,
) -> Option<Reply> {
    let request = |script: &Script| Request::post("/act").cookie(id).script(script);
    if let Some(end) = end {
        return Some(server.send(request(&Script::at_once(steps, end))));
    }
    let script = Script::in_time(steps);
    let mut running = server.begin(request(&script));
    assert!(step(&mut running).is_none() && script.runs() == 1);
    hang_up(running);
    None
}

/// The data under a session id.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    user: String,
    roles: String,
    keys: String,
    is_alive: bool,
}

fn observe(server: &TestServer, id: &str) -> Left {
    let reply = server.send(Request::get("/look").cookie(Some(id)));
    let text = |member: &str| reply.text(member);
    let is_alive = !text("handle").is_empty();
    Left { user: text("user"), roles: text("roles"), keys: text("keys"), is_alive }
}

fn session(user: &str, roles: &str, keys: &str) -> Left {
    Left { user: user.to_owned(), roles: roles.to_owned(), keys: keys.to_owned(), is_alive: true }
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Read),
        1 => Just(Step::Write { key: "b" }),
        2 => (select(vec!["ada", "bob"]), any::<bool>())
            .prop_map(|(user, is_remembered)| Step::Login { user, is_remembered }),
        1 => Just(Step::Elevate),
        2 => Just(Step::Logout),
        1 => Just(Step::LogoutKeep { key: "a" }),
        1 => Just(Step::RevokeOne { handle: String::new() }),
        1 => Just(Step::RevokeOthers),
        1 => Just(Step::RevokeAll),
        1 => Just(Step::RevokeUser { user: "ada" }),
    ]
}

fn ends() -> impl Strategy<Value = Option<End>> {
    prop_oneof![
        5 => (200..600_u16).prop_map(|status| Some(End::Status(status))),
        2 => select(vec![399, 400, 499, 500]).prop_map(|status| Some(End::Status(status))),
        1 => Just(Some(End::Panic)),
        1 => Just(Some(End::Never)),
        1 => Just(None),
    ]
}

/// A logout or a revocation of any kind takes effect however the request ends: for every status,
/// after a panic, after a time-out, and if the client is gone. A login or an elevation takes effect
/// below status 400 only, and values are kept below 500 only; otherwise nothing changes.
#[test]
fn the_effects_of_a_handler_depend_on_its_end_as_they_should() {
    let cases = (steps(), any::<bool>(), prop::bool::weighted(0.8), ends());
    holds("effects", 54, cases, |(step, writes_before, has_session, end)| {
        let judge = |server: &TestServer| judge(server, &step, writes_before, has_session, end);
        if end == Some(End::Never) { HASTY.with(judge) } else { PATIENT.with(judge) }
    });
}

fn judge(
    server: &TestServer,
    last: &Step,
    writes_before: bool,
    has_session: bool,
    end: Option<End>,
) -> Result<Precondition, TestCaseError> {
    let login = |user| Step::Login { user, is_remembered: false };
    let session_id = |steps| {
        let reply = play(server, None, steps, Some(End::Status(200))).expect("a response");
        reply.set_id().expect("a session")
    };
    // Two sessions of one user, and one of another.
    let own = session_id(vec![login("ada"), Step::Write { key: "a" }]);
    let (other, bobs) = (session_id(vec![login("ada")]), session_id(vec![login("bob")]));
    let seen = server.send(Request::get("/look").cookie(Some(&other)));
    let last = match last {
        Step::RevokeOne { .. } => Step::RevokeOne { handle: seen.text("handle") },
        last => last.clone(),
    };
    let mut steps = vec![last.clone()];
    if writes_before {
        steps.insert(0, Step::Write { key: "b" });
    }
    let id = has_session.then_some(&*own);
    let reply = play(server, id, steps, end);
    let gives = matches!(end, Some(End::Status(..400)));
    let writes = matches!(end, Some(End::Status(..500)));
    let new = reply.as_ref().and_then(Reply::set_id);
    let wrote_b = writes && (writes_before || matches!(last, Step::Write { .. }));
    let keys_of = |a: bool, b: bool| match (a, b) {
        (true, true) => "a b",
        (true, false) => "a",
        (false, true) => "b",
        (false, false) => "",
    };
    let kept = session("ada", "", keys_of(true, wrote_b && has_session));
    // The expected data under the presented id and under a new one.
    let (old_due, new_due) = match (&last, has_session) {
        (Step::Login { user, .. }, _) if gives => {
            let is_same = !has_session || *user == "ada";
            let keys = if is_same { keys_of(has_session, wrote_b) } else { "" };
            let old = if has_session { Left::default() } else { kept };
            (old, Some(session(user, "", keys)))
        }
        (Step::Elevate, true) if gives => {
            (Left::default(), Some(session("ada", "admin", keys_of(true, wrote_b))))
        }
        (Step::LogoutKeep { .. }, true) if writes => (Left::default(), Some(session("", "", "a"))),
        (
            Step::Logout | Step::LogoutKeep { .. } | Step::RevokeAll | Step::RevokeUser { .. },
            true,
        ) => (Left::default(), None),
        // Without a session there is nothing to end, and no user to revoke.
        (Step::RevokeUser { .. }, false) => (Left::default(), None),
        (_, true) => (kept, None),
        (_, false) => (kept, None),
    };
    let new_due = match (new_due, has_session, &last) {
        (None, false, Step::Logout | Step::LogoutKeep { .. }) => None,
        // An anonymous session, for the values.
        (None, false, _) if wrote_b => Some(session("", "", "b")),
        (due, ..) => due,
    };
    prop_assert_eq!(observe(server, &own), old_due, "the presented id, {:?}", reply);
    let found = new.as_ref().map(|new| observe(server, new));
    prop_assert_eq!(found, new_due, "the new id, {:?}", reply);
    let revokes_other = match &last {
        Step::RevokeUser { .. } => true,
        Step::RevokeAll | Step::RevokeOthers | Step::RevokeOne { .. } => has_session,
        _ => false,
    };
    prop_assert_eq!(
        observe(server, &other).is_alive,
        !revokes_other,
        "the other session of the user"
    );
    prop_assert!(observe(server, &bobs).is_alive, "somebody else's session");
    let ends_own = has_session && new.is_none() && !observe(server, &own).is_alive;
    if let (true, Some(reply)) = (ends_own, &reply) {
        let by_user = matches!(last, Step::RevokeUser { .. });
        prop_assert!(reply.removes_cookie() || by_user, "the cookie of a dead session stays");
    }
    if let (Some(reply), Some(end)) = (&reply, end) {
        prop_assert!(ends_own || !reply.removes_cookie(), "the cookie of a session is removed");
        let status = match end {
            End::Status(status) => status,
            End::Panic => 500,
            End::Never => 503,
        };
        prop_assert_eq!(reply.status, status);
    }
    // The precondition: an action on rights, or an end that is not the usual one.
    let is_plain = matches!(last, Step::Read | Step::Write { .. });
    Ok(Precondition::met_if(!is_plain && !gives))
}
