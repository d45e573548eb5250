//! A connection that remembers its last credential decides as one that does not.

use std::{cell::Cell, convert::Infallible, time::Duration};

use axum_core::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{
    Request,
    header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, SET_COOKIE},
};
use http_body_util::BodyExt;
use policy_core::{
    csrf::CsrfPolicy,
    secret::SecretKey,
    time::Timestamp,
    token::{Key, KeyRing, NewClaims, RingKey},
};
use policy_core_tests::law::{Precondition, assert_usual, holds_in_fewer};
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use tokio::runtime::{Builder, Runtime};
use tower::service_fn;

use crate::{
    App, AppService, AuthRequirement, Clock, Mount, Session, Sessions, Tokens,
    auth::{CutOffs, LastCredential, caller::Caller},
    pipeline::dispatch::Connection,
    tokens::{Issuer, TokenKeys},
};

const START: u64 = 1_800_000_000;
const OWN: &str = "https://api.example";
const PARTNER: &str = "https://id.example";

/// The routes that ask for a caller, and what they take.
const PATHS: [(&str, AuthRequirement); 4] = [
    ("/own", AuthRequirement::token()),
    ("/partner", AuthRequirement::token().issuers(&[PARTNER])),
    ("/any", AuthRequirement::token().issuers(&["own", PARTNER])),
    ("/either", AuthRequirement::session().or_token()),
];

/// Signs a token that expires this many seconds after the start.
fn signed(key: Key, issuer: &str, user: &str, expires: u64) -> String {
    let now = Timestamp::from_seconds(START);
    let id = format!("{user}-{expires}");
    let mut claims = NewClaims::new(issuer, OWN, user, &id, now);
    claims.expires = now.after(Duration::from_secs(expires));
    KeyRing::new(vec![RingKey::new(key)]).unwrap().sign(&claims, now).unwrap()
}

fn own_key(id: &str) -> (&str, SecretKey) {
    (id, SecretKey::from_bytes([id.as_bytes()[0]; 32]))
}

fn partner_key() -> Key {
    // PKCS#8 of Ed25519 (RFC 8410 7).
    let head = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    Key::ed25519("partner", &[&head[..], &[7; 32]].concat()).unwrap()
}

/// The tokens of the law: key, user, and when each expires. The last is that of the partner.
const TOKENS: [(&str, &str, u64); 4] =
    [("a", "ada", 120), ("b", "bob", 400), ("b", "ada", 400), ("", "ada", 300)];

fn tokens() -> Vec<String> {
    let sign = |&(key, user, expires): &(&str, &str, u64)| match key {
        "" => signed(partner_key(), PARTNER, user, expires),
        key => {
            let (id, secret) = own_key(key);
            signed(Key::hs256(id, &secret).unwrap(), OWN, user, expires)
        }
    };
    TOKENS.iter().map(sign).collect()
}

/// One app, its clock and its keys.
struct World {
    service: AppService,
    clock: Clock,
    keys: TokenKeys,
    cookies: Vec<String>,
}

async fn respond(request: Request<Body>) -> Result<Response, Infallible> {
    let (mut parts, _) = request.into_parts();
    let path = parts.uri.path().to_owned();
    Ok(match path.as_str() {
        "/logout" => match Session::from_request_parts(&mut parts, &()).await {
            Ok(session) => {
                session.logout();
                path.into_response()
            }
            Err(refused) => refused.into_response(),
        },
        "/login" => match Sessions::from_request_parts(&mut parts, &()).await {
            Ok(sessions) => sessions.login("eve").await.into_response(),
            Err(refused) => refused.into_response(),
        },
        _ => match Caller::from_request_parts(&mut parts, &()).await {
            Ok(caller) => format!("{:?}", caller.subject()).into_response(),
            Err(problem) => problem.into_response(),
        },
    })
}

impl World {
    async fn new() -> Self {
        let clock = Clock::at(START);
        let keys = TokenKeys::new(["a", "b", "c"].map(own_key)).unwrap();
        let issuer = Issuer::new(PARTNER).keys([partner_key()]);
        let mut app = App::new(())
            .public_origin(OWN)
            .clock(clock.clone())
            .sessions(Sessions::memory())
            .tokens(Tokens::signed_with(keys.clone()).accept(issuer));
        for (path, callers) in PATHS {
            app = app.mount(path, Mount::new(service_fn(respond)).auth(callers));
        }
        let acts = || Mount::new(service_fn(respond)).all_methods().csrf(CsrfPolicy::Origin);
        let service = app
            .mount("/login", acts().public())
            .mount("/logout", acts().auth(AuthRequirement::session()))
            .into_service();
        let mut world = Self { service, clock, keys, cookies: Vec::new() };
        for _ in 0..2 {
            let response = world.act("/login", "").await;
            let cookie = response.headers()[SET_COOKIE].to_str().unwrap();
            world.cookies.push(cookie.split(';').next().unwrap().to_owned());
        }
        world
    }

    /// Sends a request of another connection, as from a page of the app.
    async fn act(&self, path: &str, cookie: &str) -> Response {
        let request = Request::post(path).header(HOST, "api.example").header(ORIGIN, OWN);
        let request = request.header(COOKIE, cookie).body(Body::empty()).unwrap();
        let Ok(response) = self.service.respond(request, Connection::default()).await;
        response
    }

    /// The status and the body of the response to this credential.
    async fn ask(&self, sent: &SentRequest, last: Option<&LastCredential>) -> (u16, String) {
        let mut request = Request::get(sent.path).header(HOST, "api.example");
        if let Some(cookie) = &sent.cookie {
            request = request.header(COOKIE, &**cookie);
        }
        if let Some(token) = &sent.token {
            request = request.header(AUTHORIZATION, [b"Bearer ", &**token].concat());
        }
        let request = request.body(Body::empty()).unwrap();
        let Ok(response) =
            self.service.respond(request, Connection { last, ..Connection::default() }).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn tokens(&self) -> Tokens {
        let auth = &self.service.app().auth;
        let cut_offs = CutOffs::new(None, auth.tokens.clone(), auth.known_cut_offs());
        Tokens::new(auth.tokens.clone().unwrap(), cut_offs.into(), None)
    }
}

#[derive(Clone, Debug)]
enum Credential {
    Token(usize),
    /// A token with one byte changed.
    Forged(usize, Index, u8),
    Cookie(usize),
    /// A cookie whose value has one byte changed.
    ForgedCookie(usize, Index),
    None,
}

#[derive(Clone, Debug)]
enum Step {
    Send(&'static str, Credential),
    /// The credential that was sent last.
    Again(&'static str),
    Wait(u64),
    Revoke(usize),
    RevokeUser,
    RevokeAll,
    Retire(&'static str),
    Logout(usize),
}

#[derive(Clone, Debug, PartialEq)]
struct SentRequest {
    path: &'static str,
    token: Option<Vec<u8>>,
    cookie: Option<String>,
}

impl SentRequest {
    fn new(path: &'static str, credential: &Credential, world: &World, tokens: &[String]) -> Self {
        let mut sent = Self { path, token: None, cookie: None };
        match credential {
            Credential::Token(which) => sent.token = Some(tokens[*which].clone().into()),
            Credential::Forged(which, place, byte) => {
                let mut token = tokens[*which].clone().into_bytes();
                let place = place.index(token.len());
                token[place] = if token[place] == *byte { b'A' ^ 1 } else { *byte };
                sent.token = Some(token);
            }
            Credential::Cookie(which) => sent.cookie = Some(world.cookies[*which].clone()),
            Credential::ForgedCookie(which, place) => {
                let mut cookie = world.cookies[*which].clone().into_bytes();
                let begins = cookie.iter().position(|byte| *byte == b'=').unwrap() + 1;
                // The last character cannot be any of the 64, so it is not changed.
                let place = begins + place.index(cookie.len() - begins - 1);
                cookie[place] = if cookie[place] == b'A' { b'B' } else { b'A' };
                sent.cookie = Some(String::from_utf8(cookie).unwrap());
            }
            Credential::None => (),
        }
        sent
    }

    /// Whether the credentials of both have the same length, as a forged and the true one have.
    fn has_length_of(&self, other: &Self) -> bool {
        let lengths = |sent: &Self| {
            (sent.token.as_ref().map(Vec::len), sent.cookie.as_ref().map(String::len))
        };
        lengths(self) == lengths(other)
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = || select(PATHS.map(|(path, _)| path).to_vec());
    // Mostly paths that accept it.
    let usual = || prop_oneof![2 => path(), 3 => Just("/any"), 3 => Just("/either")];
    let byte = select(b"AZaz09-_.".to_vec());
    let credential = prop_oneof![
        8 => (0..TOKENS.len()).prop_map(Credential::Token),
        3 => (0..TOKENS.len(), any::<Index>(), byte)
            .prop_map(|(which, place, byte)| Credential::Forged(which, place, byte)),
        4 => (0..2_usize).prop_map(Credential::Cookie),
        1 => (0..2_usize, any::<Index>())
            .prop_map(|(which, place)| Credential::ForgedCookie(which, place)),
        1 => Just(Credential::None),
    ];
    let step = prop_oneof![
        10 => (usual(), credential).prop_map(|(path, credential)| Step::Send(path, credential)),
        24 => usual().prop_map(Step::Again),
        3 => (0..150_u64).prop_map(Step::Wait),
        1 => (0..3_usize).prop_map(Step::Revoke),
        1 => Just(Step::RevokeUser),
        1 => Just(Step::RevokeAll),
        2 => select(vec!["a", "b"]).prop_map(Step::Retire),
        2 => (0..2_usize).prop_map(Step::Logout),
    ];
    prop::collection::vec(step, 8..32)
}

/// What a case contained.
const KINDS: [(&str, u32); 7] = [
    ("accepted again", 60),
    ("expired", 10),
    ("revoked", 15),
    ("key retired", 9),
    ("logged out", 8),
    ("not taken by another route", 36),
    ("forged after the true one", 19),
];

/// Whatever a client sends over one connection, and whatever happens meanwhile: the memory of the
/// connection changes no response, and a forged credential is refused.
#[test]
fn the_memory_of_a_connection_changes_no_response() {
    let runtime: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let tokens = tokens();
    let tried = Cell::new(0_u64);
    let hits: [Cell<u64>; KINDS.len()] = Default::default();
    holds_in_fewer(3, "one connection: accepted again", KINDS[0].1, steps(), |steps| {
        tried.set(tried.get() + 1);
        let seen = runtime.block_on(run(&steps, &tokens))?;
        for (count, seen) in hits.iter().zip(seen) {
            count.set(count.get() + u64::from(seen));
        }
        Ok(Precondition::met_if(seen[0]))
    });
    for ((kind, usual), count) in KINDS.iter().zip(&hits) {
        assert_usual(&format!("one connection: {kind}"), count.get(), tried.get(), *usual);
    }
}

async fn run(steps: &[Step], tokens: &[String]) -> Result<[bool; KINDS.len()], TestCaseError> {
    let world = World::new().await;
    let last = LastCredential::default();
    let mut seen = [false; KINDS.len()];
    // The last request, the last accepted one, and what happened since.
    let mut sent = SentRequest::new("/any", &Credential::None, &world, tokens);
    let mut accepted: Option<SentRequest> = None;
    let mut since = None;
    for step in steps {
        let is_forged =
            matches!(step, Step::Send(_, Credential::Forged(..) | Credential::ForgedCookie(..)));
        match step {
            Step::Send(path, credential) => {
                sent = SentRequest::new(path, credential, &world, tokens);
            }
            Step::Again(path) => sent.path = path,
            Step::Wait(seconds) => {
                world.clock.advance(Duration::from_secs(*seconds));
                since = Some(1);
                continue;
            }
            Step::Revoke(which) => {
                let (_, user, expires) = TOKENS[*which];
                let until = Timestamp::from_seconds(START + expires);
                world.tokens().revoke_token(&format!("{user}-{expires}"), until).await.unwrap();
                since = Some(2);
                continue;
            }
            Step::RevokeUser => {
                world.tokens().revoke_user("ada").await.unwrap();
                since = Some(2);
                continue;
            }
            Step::RevokeAll => {
                world.tokens().revoke_all().await.unwrap();
                since = Some(2);
                continue;
            }
            Step::Retire(key) => {
                world.keys.retire(key).unwrap();
                since = Some(3);
                continue;
            }
            Step::Logout(which) => {
                world.act("/logout", &world.cookies[*which]).await;
                since = Some(4);
                continue;
            }
        }
        let (with, without) = (world.ask(&sent, Some(&last)).await, world.ask(&sent, None).await);
        prop_assert_eq!(&with, &without, "{:?}", sent);
        let is_accepted = with.0 == 200;
        prop_assert!(!(is_forged && is_accepted), "{:?}", sent);
        if let Some(before) = &accepted {
            let is_same = (&before.token, &before.cookie) == (&sent.token, &sent.cookie);
            let kind = match (is_same, is_accepted, since) {
                (true, true, _) => Some(0),
                (true, false, None) => Some(5),
                (true, false, since) => since,
                (false, ..) => (is_forged && before.has_length_of(&sent)).then_some(6),
            };
            if let Some(kind) = kind {
                seen[kind] = true;
            }
        }
        if is_accepted {
            accepted =
                Some(sent.clone()).filter(|sent| sent.token.is_some() || sent.cookie.is_some());
            since = None;
        }
    }
    Ok(seen)
}
