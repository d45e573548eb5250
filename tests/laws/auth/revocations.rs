//! Tokens after they were revoked.

use std::{cell::Cell, time::Duration};

use policy_core_tests::law::{Precondition, assert_usual, holds};
use policy_server::prelude::*;
use policy_tests::handlers::{by_token, cut_off_all, refresh, revoke};
use proptest::{collection::vec, prelude::*, sample::select};

use super::test_server::{Request, TestServer, login_by_token, revoke_user, token_settings};

/// The tolerated clock difference between servers, and the lifetime of an access token.
const LEEWAY: u64 = 30;
const LIFETIME: u64 = 300;
/// How long a used refresh token still returns its successor.
const GRACE: u64 = 10;

#[post("/leave")]
#[auth(public)]
async fn leave(tokens: Tokens, body: String) -> Result<String, CredentialError> {
    tokens.logout(&body).await.map(|was_live| was_live.to_string())
}

fn server() -> TestServer {
    let settings = token_settings().refresh_grace(Duration::from_secs(GRACE));
    let app = App::new(()).sessions(Sessions::memory()).tokens(settings);
    let app = app.routes(routes![by_token, refresh, leave, revoke, revoke_user, cut_off_all]);
    TestServer::new(app.routes(routes![login_by_token]))
}

#[derive(Clone, Copy, Debug)]
enum Act {
    /// A refresh token is used: the latest, or one that is this many older.
    Refresh {
        age: usize,
    },
    /// A logout uses such a token.
    Leave {
        age: usize,
    },
    /// An access token revokes itself.
    Revoke {
        token: usize,
    },
    RevokeUser,
    RevokeAll,
    Wait {
        seconds: u64,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => select(vec![0, 0, 0, 1, 1, 2, 3]).prop_map(|age| Act::Refresh { age }),
        1 => (0..3_usize).prop_map(|age| Act::Leave { age }),
        2 => (0..9_usize).prop_map(|token| Act::Revoke { token }),
        1 => Just(Act::RevokeUser),
        1 => Just(Act::RevokeAll),
        6 => select(vec![1, 5, 9, 10, 11, 60, 269, 295, 300, 305, 329])
            .prop_map(|seconds| Act::Wait { seconds }),
    ];
    vec(act, 1..20)
}

#[derive(Clone, Debug)]
struct Access {
    text: String,
    issued: u64,
    is_revoked: bool,
}

/// One login, with all that its owner and a thief know.
struct Login {
    server: TestServer,
    access: Vec<Access>,
    refresh: Vec<String>,
    /// When each refresh token but the last was used.
    used: Vec<u64>,
    is_ended: bool,
    was_revoked: bool,
    was_repeated: bool,
    was_reused: bool,
}

impl Login {
    fn new() -> Self {
        let server = server();
        let reply = server.send(Request::post("/tokens/login").body("ada"));
        let access =
            Access { text: reply.text("access_token"), issued: server.now(), is_revoked: false };
        let refresh = vec![reply.text("refresh_token")];
        Self {
            server,
            access: vec![access],
            refresh,
            used: vec![],
            is_ended: false,
            was_revoked: false,
            was_repeated: false,
            was_reused: false,
        }
    }

    fn refresh_token(&self, age: usize) -> String {
        let place = self.refresh.len().saturating_sub(age + 1);
        self.refresh[place].clone()
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.end_access();
    }

    fn end_access(&mut self) {
        self.was_revoked = true;
        self.access.iter_mut().for_each(|access| access.is_revoked = true);
    }

    fn act(&mut self, act: Act) -> Result<(), TestCaseError> {
        let now = self.server.now();
        match act {
            Act::Wait { seconds } => self.server.wait(seconds),
            Act::Leave { age } => {
                let request = Request::post("/leave").body(self.refresh_token(age));
                let reply = self.server.send(request);
                prop_assert_eq!((reply.status, reply.body), (200, (!self.is_ended).to_string()));
                self.end();
            }
            Act::RevokeUser => {
                let reply = self.server.send(Request::post("/revoke/ada"));
                let families = u64::from(!self.is_ended).to_string();
                prop_assert_eq!((reply.status, reply.body), (200, families));
                self.end();
            }
            Act::RevokeAll => {
                prop_assert_eq!(self.server.send(Request::post("/cut-off-all")).status, 200);
                // Refresh tokens stay valid, so that clients get new access tokens.
                self.end_access();
            }
            Act::Revoke { token } => {
                let place = token % self.access.len();
                let text = self.access[place].text.clone();
                let reply = self.server.send(Request::post("/revoke").bearer(&text));
                if reply.status == 200 {
                    self.access[place].is_revoked = true;
                    self.was_revoked = true;
                }
            }
            Act::Refresh { age } => {
                let token = self.refresh_token(age);
                let behind = self.refresh.iter().rev().position(|it| *it == token).expect("known");
                let reply = self.server.send(Request::post("/refresh").body(token));
                let place = self.refresh.len() - 1 - behind;
                let is_again = self.used.get(place).is_some_and(|used| now - used < GRACE);
                let is_let_in = !self.is_ended && (behind == 0 || is_again);
                prop_assert_eq!(reply.status, if is_let_in { 200 } else { 401 }, "{:?}", reply);
                if !is_let_in {
                    // A copy is in use.
                    self.was_reused |= !self.is_ended;
                    self.end();
                    return Ok(());
                }
                let successor = reply.text("refresh_token");
                if is_again {
                    prop_assert_eq!(&successor, &self.refresh_token(0), "a second living token");
                    self.was_repeated = true;
                } else {
                    prop_assert!(!self.refresh.contains(&successor));
                    self.refresh.push(successor);
                    self.used.push(now);
                }
                let text = reply.text("access_token");
                self.access.push(Access { text, issued: now, is_revoked: false });
            }
        }
        self.look()
    }

    /// Uses every access token that was ever issued.
    fn look(&self) -> Result<(), TestCaseError> {
        let now = self.server.now();
        for access in &self.access {
            let reply = self.server.send(Request::get("/by-token").bearer(&access.text));
            // One issued in the second of a cut-off counts as issued in the next second.
            let is_over = now >= access.issued + LIFETIME + LEEWAY + 20;
            let lives = now < access.issued + LIFETIME + LEEWAY;
            if access.is_revoked || is_over {
                prop_assert_eq!(reply.status, 401, "{:?} at {}", access, now);
            } else if lives {
                prop_assert_eq!(reply.status, 200, "{:?} at {}: {:?}", access, now, reply);
            }
        }
        Ok(())
    }
}

/// A token that was revoked, by itself, with its login, its user or all users, or because a refresh
/// token was reused, is refused at all later times until its expiry plus the leeway. Other tokens
/// stay valid until then. A login has at most one refresh token that continues it: an older one
/// yields that one within the grace period of its own use, whatever was used since, and ends the
/// login after that.
#[test]
fn a_revoked_token_stays_revoked_and_a_login_has_one_refresh_token() {
    let [tried, alive, reused, repeated] = [const { Cell::new(0_u64) }; 4];
    let count = |cell: &Cell<u64>, is_one: bool| cell.set(cell.get() + u64::from(is_one));
    holds("revocations", 75, acts(), |acts| {
        let mut login = Login::new();
        for act in acts {
            login.act(act)?;
        }
        count(&tried, true);
        count(&alive, !login.is_ended);
        count(&reused, login.was_reused);
        count(&repeated, login.was_repeated);
        let lasts = login.server.now() > super::test_server::START + LEEWAY;
        Ok(Precondition::met_if((login.was_revoked && lasts) || login.was_repeated))
    });
    let tried = tried.get();
    assert_usual("revocations: a living login", alive.get(), tried, 25);
    assert_usual("revocations: reused", reused.get(), tried, 19);
    assert_usual("revocations: given twice", repeated.get(), tried, 23);
}
