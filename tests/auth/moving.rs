//! An app whose sessions move from one store to another.

use policy_server::{
    session::{SessionSettings, hours},
    store::{MemoryStore, SessionStore},
};
use policy_tests::{handlers::elevate, log::Log};

use super::*;

/// An app before the move and after it began, on the same stores.
struct Move {
    before: Scenario,
    after: Scenario,
}

impl Move {
    async fn with(change: impl Fn(SessionSettings) -> SessionSettings) -> Self {
        let (old, new, clock) = (FaultyStore::default(), FaultyStore::default(), Clock::at(START));
        let in_old = change(Sessions::store(old.clone()).same_site(SameSite::None));
        let moving = change(Sessions::store(new.clone()).same_site(SameSite::None))
            .moving_from(Sessions::store(old.clone()));
        let routes = || routes![elevate];
        let before = Scenario::on(old, clock.clone(), routes(), |app| app.sessions(in_old)).await;
        let after = Scenario::on(new, clock, routes(), |app| app.sessions(moving)).await;
        Self { before, after }
    }

    /// Logs a user in before the move. The visitor continues at the app that moves.
    async fn login_before(&self, user: &str) -> Visitor {
        let visitor = self.before.login(user).await;
        Visitor { client: self.after.client.clone(), ..visitor }
    }
}

#[tokio::test]
async fn a_session_comes_to_the_new_store_with_its_next_id_and_keeps_its_values() {
    let moves = Move::with(|sessions| sessions.encrypted([secret(7)])).await;
    let ada = moves.login_before("ada").await;
    assert_eq!(ada.post("/set/a/7").send().await.status(), 200);
    assert_eq!(ada.value("a").await, 7);
    let response = ada.post("/elevate").send().await;
    let elevated = Visitor { cookie: cookie_of(&response), ..ada.clone() };
    assert_eq!((ada.who().await, elevated.who().await.as_deref()), (None, Some("ada")));
    assert_eq!(elevated.value("a").await, 7);
    // The app no longer needs the old store.
    moves.before.store.fail();
    assert_eq!(elevated.value("a").await, 7);
}

#[tokio::test]
async fn without_the_old_store_its_sessions_wait_and_new_ones_work() {
    let moves = Move::with(|sessions| sessions).await;
    let (of_old, of_new) = (moves.login_before("ada").await, moves.after.login("bob").await);
    moves.before.store.fail();
    let waits = of_old.get("/me").send().await;
    assert_problem(&waits, 503, "auth.credentials-unchecked");
    assert!(leaves_cookie(&waits));
    assert_eq!(of_new.who().await.as_deref(), Some("bob"));
    moves.before.store.recover();
    assert_eq!(of_old.who().await.as_deref(), Some("ada"));
}

/// Advances the clock by minutes until this is logged. A purge takes many steps.
async fn until_logged(moves: &Move, log: &Log, expected: &str) {
    for step in 0..40_000 {
        if log.with("session.store-mov").last().is_some_and(|line| line.contains(expected)) {
            return;
        }
        if step % 4000 == 0 {
            moves.after.advance(60);
        }
        tokio::task::yield_now().await;
    }
    panic!("no {expected}: {:?}", log.with("code="));
}

#[tokio::test]
async fn the_log_says_how_many_sessions_are_left_and_when_none_is() {
    let (log, _guard) = Log::start("policy_server");
    let moves = Move::with(|sessions| sessions.idle(hours(8))).await;
    let mut visitors = Vec::new();
    for user in ["ada", "bob", "eve", "joe"] {
        visitors.push(moves.login_before(user).await);
    }
    until_logged(&moves, &log, "left=4").await;
    for (visitor, left) in visitors.iter().zip(["", "left=2", "left=1", "session.store-moved"]) {
        assert_eq!(visitor.post("/logout").send().await.status(), 200);
        if !left.is_empty() {
            until_logged(&moves, &log, left).await;
        }
    }
    let lines = [log.with_code("session.store-moving"), log.with_code("session.store-moved")];
    assert_eq!(lines.each_ref().map(Vec::len), [3, 1], "only halves are told: {lines:?}");
}

/// Otherwise tokens would be in the new store, which knows no refresh token and no revocation.
#[tokio::test]
async fn tokens_name_their_store_while_sessions_leave_it() {
    let tokens = || Tokens::hs256(secret(1)).unwrap();
    let app = |sessions, tokens| {
        App::new(()).public_origin(OWN).sessions(sessions).tokens(tokens).routes(routes![])
    };
    let from = || Sessions::memory().moving_from(Sessions::memory());
    assert_eq!(codes(app(from(), tokens()).open().await), ["session.tokens-of-moving"]);
    assert!(app(from(), tokens().store(MemoryStore::new())).open().await.is_ok());
    // Before that, tokens are in the store of the sessions.
    let to = Sessions::memory().moving_to(Sessions::memory());
    assert!(app(to, tokens()).open().await.is_ok());
}

#[tokio::test]
async fn a_used_new_store_and_a_missing_old_store_are_refused() {
    let new = MemoryStore::new();
    SessionStore::secret(&new, [1; 32]).await.unwrap();
    let app = |sessions| App::new(()).public_origin(OWN).sessions(sessions).routes(routes![]);
    let used = Sessions::store(new).moving_from(Sessions::memory());
    let Err(error) = app(used).open().await.map(drop) else { panic!("it starts") };
    let text = error.to_string();
    assert!(text.contains("app.store") && text.contains("a secret of its own"), "{text}");
    let nowhere = Sessions::memory().moving_from(Sessions::from_url("mysql://ada:secret@db"));
    assert_eq!(codes(app(nowhere).open().await), ["session.store-url"]);
    // Tests open neither store.
    let nowhere = Sessions::memory().moving_from(Sessions::from_url("mysql://ada:secret@db"));
    assert_eq!(app(nowhere).test().get("/").send().await.status(), 404);
}
