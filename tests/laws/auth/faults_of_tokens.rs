//! Bearer tokens that were never valid or are not any more.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderMap, HeaderValue};
use policy_core::token::{Key, KeyRing, NewClaims, RingKey};
use policy_core_tests::law::{Precondition, holds};
use policy_server::{Timestamp, http, prelude::*, tokens::SecretKey};
use policy_tests::handlers::{me, revoke};
use proptest::{prelude::*, sample::select};

use super::test_server::{
    End, OWN, Reply, Request, SECRET, START, Script, Step, TestServer, act, issue, login,
    login_by_token, revoke_user, token_settings,
};

#[get("/read")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(token)]
async fn read(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/read")]
#[auth(session | token)]
async fn write(me: Principal) -> String {
    me.subject().to_owned()
}

thread_local! {
    static SERVER: TestServer = {
        let app = App::new(()).sessions(Sessions::memory()).tokens(token_settings());
        let app = app.routes(routes![read, write, me, revoke, revoke_user, issue, act, login]);
        TestServer::new(app.routes(routes![login_by_token]))
    };
}

/// A request that carries a token.
fn at(method: &str) -> Request {
    Request::new(method.parse().expect("a method"), "/read")
        .with("origin", "https://app.shop.example")
}

fn issued(server: &TestServer, body: &str) -> String {
    let reply = server.send(Request::post("/tokens/issue").body(body));
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.text("access_token")
}

/// Any change of one byte of a token, to any byte that a field can carry, and the loss of one,
/// makes it invalid.
#[test]
fn a_token_with_another_byte_is_refused() {
    let cases = (any::<prop::sample::Index>(), any::<Option<u8>>(), 0..4_usize);
    holds("one byte", 91, cases, |(place, byte, scopes)| {
        SERVER.with(|server| {
            let token = issued(server, &format!("ada;{}", "s ".repeat(scopes)));
            prop_assert_eq!(server.send(at("GET").bearer(&token)).status, 200);
            let mut changed = token.clone().into_bytes();
            let place = place.index(changed.len());
            match byte {
                Some(byte) => changed[place] = byte,
                None => drop(changed.remove(place)),
            }
            let field = [b"Bearer ", &changed[..]].concat();
            if changed == token.as_bytes() || HeaderValue::from_bytes(&field).is_err() {
                return Ok(Precondition::Unmet);
            }
            let reply = server.send(at("GET").with("authorization", field));
            prop_assert!(matches!(reply.status, 400 | 401), "{:?}", reply);
            Ok(Precondition::Met)
        })
    });
}

/// A token with this header, and the payload and signature of a valid one.
fn with_header(server: &TestServer, header: &str) -> String {
    let good = issued(server, "ada");
    let (_, rest) = good.split_once('.').expect("three segments");
    format!("{}.{rest}", BASE64URL_NOPAD.encode(header.as_bytes()))
}

/// A token with a valid signature and changed claims.
fn signed(secret: [u8; 32], change: impl FnOnce(&mut NewClaims<'_>)) -> String {
    let key = Key::hs256("k1", &SecretKey::from_bytes(secret)).expect("a key");
    let ring = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    let now = Timestamp::from_seconds(SERVER.with(TestServer::now));
    let mut claims = NewClaims::new(OWN, OWN, "ada", "an-id", now);
    change(&mut claims);
    ring.sign(&claims, now).expect("a token")
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// What is wrong with a token, and such a token.
type Fault = (&'static str, fn(&TestServer) -> String);

const FAULTS: &[Fault] = &[
    ("the signature", |server| {
        let good = issued(server, "ada");
        let (text, signature) = good.rsplit_once('.').expect("a signature");
        let (first, rest) = signature.split_at(1);
        let other = if first == "A" { "B" } else { "A" };
        format!("{text}.{other}{rest}")
    }),
    ("a longer signature", |server| format!("{}AA", issued(server, "ada"))),
    ("no signature", |server| {
        issued(server, "ada").rsplit_once('.').expect("a signature").0.to_owned()
    }),
    ("no segments", |_server| "token".to_owned()),
    ("no algorithm", |server| with_header(server, r#"{"alg":"none","typ":"at+jwt"}"#)),
    ("another algorithm", |server| {
        with_header(server, r#"{"alg":"HS512","typ":"at+jwt","kid":"k1"}"#)
    }),
    ("an unknown key", |server| {
        with_header(server, r#"{"alg":"HS256","typ":"at+jwt","kid":"k2"}"#)
    }),
    ("another type", |server| with_header(server, r#"{"alg":"HS256","typ":"JWT","kid":"k1"}"#)),
    ("a critical extension", |server| {
        with_header(server, r#"{"alg":"HS256","typ":"at+jwt","kid":"k1","crit":["exp"]}"#)
    }),
    ("its length", |server| format!("{}.{}", issued(server, "ada"), "A".repeat(8000))),
    ("issued in the future", |_server| {
        signed(SECRET, |claims| claims.issued = claims.issued.after(minutes(1)))
    }),
    ("too long a lifetime", |_server| {
        signed(SECRET, |claims| claims.expires = claims.expires.after(minutes(600)))
    }),
    ("another issuer", |_server| signed(SECRET, |claims| claims.issuer = "https://evil.example")),
    ("another audience", |_server| {
        signed(SECRET, |claims| claims.audience = "https://evil.example")
    }),
    ("an audience that begins alike", |_server| {
        signed(SECRET, |claims| claims.audience = "https://api.shop.example.evil.example")
    }),
    ("revoked", |server| {
        let token = issued(server, "ada");
        assert_eq!(server.send(Request::post("/revoke").bearer(&token)).status, 200);
        token
    }),
    ("a revoked user", |server| {
        let token = issued(server, "eve");
        assert_eq!(server.send(Request::post("/revoke/eve")).status, 200);
        token
    }),
    ("another secret", |_server| signed([7; 32], |_claims| ())),
    ("another payload", |server| {
        let good = issued(server, "ada");
        let parts: Vec<&str> = good.split('.').collect();
        format!("{}.{}.{}", parts[0], BASE64URL_NOPAD.encode(br#"{"sub":"eve"}"#), parts[2])
    }),
];

/// T17, uniform refusals. The responses to any two refused tokens are equal, byte for byte, in
/// status, fields and body. Only an expired token, or none at all, is reported as such, by the code
/// and the challenge alone.
#[test]
fn t17_responses_do_not_reveal_why_a_token_is_invalid() {
    let cases = (select(FAULTS), select(FAULTS), select(vec!["GET", "POST"]));
    holds("T17", 91, cases, |(one, other, method)| {
        SERVER.with(|server| {
            let response = |(_, token): Fault| server.send(at(method).bearer(&token(server)));
            let (first, second): (Reply, Reply) = (response(one), response(other));
            prop_assert_eq!(first.status, 401);
            prop_assert_eq!(&first, &second);
            let expired = signed(SECRET, |claims| {
                claims.issued = Timestamp::from_seconds(START - 400);
                claims.expires = Timestamp::from_seconds(START - 100);
            });
            let expired = server.send(at(method).bearer(&expired));
            let missing = server.send(at(method));
            for (reply, code) in
                [(&expired, "auth.token-expired"), (&missing, "auth.credentials-missing")]
            {
                prop_assert_eq!(reply.text("code"), code);
                // Without a token, a route that also accepts sessions has read the cookie.
                if method == "GET" || code == "auth.token-expired" {
                    prop_assert_eq!(without_challenge(reply), without_challenge(&first));
                }
            }
            Ok(Precondition::met_if(one.0 != other.0))
        })
    });
}

/// Status and fields without the challenge.
fn without_challenge(reply: &Reply) -> (u16, HeaderMap) {
    let mut headers = reply.headers.clone();
    headers.remove("www-authenticate");
    headers.remove("content-length");
    (reply.status, headers)
}

/// What is wrong with a session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dead {
    Unknown,
    LoggedOut,
    Idle,
    Old,
}

/// T17 for sessions. A response does not reveal whether an id ever belonged to a session, or how
/// that session ended.
#[test]
fn t17_responses_do_not_reveal_why_a_session_ended() {
    let dead = select(vec![Dead::Unknown, Dead::LoggedOut, Dead::Idle, Dead::Old]);
    holds("T17, sessions", 72, (dead.clone(), dead), |(one, other)| {
        SERVER.with(|server| {
            let response = |dead: Dead| {
                let login =
                    || server.send(Request::post("/login").body("ada")).set_id().expect("an id");
                let id = match dead {
                    Dead::Unknown => "A".repeat(43),
                    Dead::LoggedOut => {
                        let id = login();
                        let steps = Script::at_once(vec![Step::Logout], End::Status(200));
                        server.send(Request::post("/act").cookie(Some(&id)).script(&steps));
                        id
                    }
                    Dead::Idle | Dead::Old => {
                        let id = login();
                        server.wait(if dead == Dead::Idle { 15 * 60 } else { 8 * 3600 });
                        id
                    }
                };
                server.send(Request::get("/me").cookie(Some(&id)))
            };
            let (first, second) = (response(one), response(other));
            prop_assert_eq!(first.status, 401);
            prop_assert_eq!(&first, &second);
            let missing = server.send(Request::get("/me"));
            prop_assert_eq!((missing.status, &missing.body), (first.status, &first.body));
            Ok(Precondition::met_if(one != other))
        })
    });
}
