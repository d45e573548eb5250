//! Keys that are fetched: when, how often, and the effect on tokens.

use std::{sync::Arc, time::Duration};

use policy_core::token::Jwks;
use policy_tests::{
    http::{Running, request, settle},
    log::Log,
};
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::issuers::{
    identity_provider::{IdentityProvider, Reply, body, keys},
    signing::hs256,
};

const A: &str = "https://a.example";
const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// A client of an app in the development profile that accepts the issuer and has fetched its keys
/// once.
async fn open(issuer: Issuer) -> (Caller, Clock) {
    let clock = Clock::at(START);
    let service = app(own_tokens().accept(issuer), &[A], &clock).open().await.unwrap();
    (Caller::from_service(service), clock)
}

fn published(provider: &IdentityProvider) -> Issuer {
    Issuer::new(A).audience("orders").jwks(provider.url())
}

/// A token of the issuer that is valid now.
fn token(signer: &Signer, clock: &Clock) -> String {
    signer.token(Claims { issued: clock.now().seconds(), ..claims(A) })
}

/// Repeats a request until its response has this status, since keys are fetched in the background.
async fn until(caller: &Caller, token: &str, status: u16) {
    policy_tests::http::until(async || caller.status(token).await == status).await;
}

/// Like [`until`] after a failed fetch: advances the clock, since a fetch in progress may fail and
/// is repeated later.
async fn until_repeated(caller: &Caller, clock: &Clock, signer: &Signer) {
    for _ in 0..100 {
        clock.advance(10 * MINUTE);
        let token = token(signer, clock);
        let attempts = async {
            while caller.status(&token).await != 200 {
                tokio::task::yield_now().await;
            }
        };
        if timeout(Duration::from_millis(200), attempts).await.is_ok() {
            return;
        }
    }
    panic!("nobody asks again");
}

#[tokio::test]
async fn keys_are_there_when_the_app_is() {
    let key = Signer::es256("1");
    let provider = IdentityProvider::new(keys(&[&key], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    assert_eq!(caller.me(&token(&key, &clock)).await.1, format!("ada of {A}"));
    assert_eq!(provider.request_count(), 1);
    let head = provider.last_request();
    assert!(head.starts_with("GET /keys?v=1 HTTP/1.1\r\n"), "{head}");
    let host = provider.url().split('/').nth(2).unwrap().to_owned();
    assert!(head.contains(&format!("\r\nhost: {host}\r\n")), "{head}");
}

#[tokio::test]
async fn a_server_needs_a_certificate_of_the_right_authority() {
    let key = Signer::ed25519("1");
    let (provider, authority) = IdentityProvider::with_tls(keys(&[&key], "")).await;
    let (caller, clock) =
        open(published(&provider).certificate_authority(authority.as_bytes())).await;
    assert_eq!(caller.status(&token(&key, &clock)).await, 200);
    let (other, other_authority) = IdentityProvider::with_tls(keys(&[&key], "")).await;
    for issuer in [
        published(&provider),
        published(&provider).certificate_authority(other_authority.as_bytes()),
        // The certificate has another name.
        Issuer::new(A)
            .audience("orders")
            .certificate_authority(other_authority.as_bytes())
            .jwks(other.url().replace("localhost", "127.0.0.1")),
    ] {
        let (caller, clock) = open(issuer).await;
        assert_eq!(caller.status(&token(&key, &clock)).await, 503);
    }
    assert_eq!((provider.request_count(), other.request_count()), (1, 0));
}

/// The connection remembers the token only as long as the key that verified it.
#[tokio::test]
async fn a_key_that_its_issuer_withdrew_has_ended_on_open_connections() {
    let (old, new) = (Signer::es256("1"), Signer::ed25519("2"));
    let provider = IdentityProvider::new(keys(&[&old], "")).await;
    let clock = Clock::at(START);
    let app = app(own_tokens().accept(published(&provider)), &[A], &clock);
    let server = Running::start(app).await;
    let mut connection = server.connect().await;
    let mut status = async |token: &str| {
        connection.send(request("GET /me", &[&format!("authorization: Bearer {token}")])).await;
        connection.response().await.status
    };
    let (of_old, of_new) = (token(&old, &clock), token(&new, &clock));
    for _ in 0..3 {
        assert_eq!(status(&of_old).await, 200);
    }
    provider.set_reply(keys(&[&new], ""));
    clock.advance(5 * MINUTE);
    policy_tests::http::until(async || status(&of_old).await != 200).await;
    assert_eq!(provider.request_count(), 2);
    assert_eq!(status(&of_old).await, 401);
    assert_eq!(status(&of_new).await, 200);
}

/// The time of day decides neither when keys are fetched nor how long they are used.
#[tokio::test]
async fn a_clock_that_is_set_back_delays_no_fetch() {
    let (old, new) = (Signer::es256("1"), Signer::ed25519("2"));
    let provider = IdentityProvider::new(keys(&[&old], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    clock.turn_back(2 * HOUR);
    provider.set_reply(keys(&[&old, &new], ""));
    clock.advance(MINUTE);
    // A new key is fetched on demand.
    assert_eq!(caller.status(&token(&new, &clock)).await, 503);
    until(&caller, &token(&new, &clock), 200).await;
    // A withdrawn key is noticed by the planned fetch.
    provider.set_reply(keys(&[&new], ""));
    clock.advance(5 * MINUTE);
    until(&caller, &token(&old, &clock), 401).await;
    assert_eq!(provider.request_count(), 3);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_it_is_first_seen() {
    let (old, new) = (Signer::es256("1"), Signer::ed25519("2"));
    let provider = IdentityProvider::new(keys(&[&old], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    provider.set_reply(keys(&[&old, &new], ""));
    clock.advance(MINUTE);
    let response = caller.send("GET", "/me", &token(&new, &clock)).await;
    let code = response.json::<serde_json::Value>()["code"].clone();
    assert_eq!((response.status().as_u16(), code), (503, "auth.credentials-unchecked".into()));
    assert_eq!(response.header("retry-after"), Some("1"));
    until(&caller, &token(&new, &clock), 200).await;
    assert_eq!(caller.status(&token(&old, &clock)).await, 200);
    assert_eq!(provider.request_count(), 2);
}

#[tokio::test]
async fn a_removed_key_is_valid_until_the_next_fetch() {
    let (old, new) = (Signer::es256("1"), Signer::es256("2"));
    let provider =
        IdentityProvider::new(keys(&[&old, &new], "cache-control: max-age=600\r\n")).await;
    let (caller, clock) = open(published(&provider)).await;
    provider.set_reply(keys(&[&new], ""));
    clock.advance(10 * MINUTE - Duration::from_millis(1));
    assert_eq!(caller.status(&token(&old, &clock)).await, 200);
    clock.advance(Duration::from_millis(1));
    until(&caller, &token(&old, &clock), 401).await;
    assert_eq!(caller.status(&token(&new, &clock)).await, 200);
    provider.until_asked(2).await;
    // A document without keys removes all of them.
    provider.set_reply(keys(&[], ""));
    clock.advance(5 * MINUTE);
    until(&caller, &token(&new, &clock), 401).await;
}

#[tokio::test]
async fn the_age_of_a_document_is_kept_within_bounds() {
    let key = Signer::ed25519("1");
    for (fields, age) in [
        ("", 5 * MINUTE),
        ("cache-control: max-age=0, must-revalidate\r\n", 5 * MINUTE),
        ("Cache-Control: public\r\ncache-control: Max-Age=\"1800\"\r\n", 30 * MINUTE),
        ("cache-control: max-age=900000\r\n", 24 * HOUR),
        ("cache-control: max-age=-1, s-maxage=9000, max-age\r\n", 5 * MINUTE),
    ] {
        let provider = IdentityProvider::new(keys(&[&key], fields)).await;
        let (_caller, clock) = open(published(&provider)).await;
        // A fetch that is not due yet is made once it is.
        clock.advance(age - Duration::from_millis(1));
        settle().await;
        assert_eq!(provider.request_count(), 1, "{fields}");
        clock.advance(Duration::from_millis(1));
        provider.until_asked(2).await;
    }
}

#[tokio::test]
async fn unknown_keys_lead_to_one_fetch_in_30_seconds() {
    let key = Signer::ed25519("1");
    let provider = IdentityProvider::new(keys(&[&key], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    let flood = async |status: u16, clock: &Clock| {
        for number in 0..200 {
            let stranger = Signer { id: format!("x{number}"), pair: Signer::ed25519("").pair };
            assert_eq!(caller.status(&token(&stranger, clock)).await, status);
        }
    };
    clock.advance(Duration::from_millis(29_999));
    flood(401, &clock).await;
    assert_eq!(provider.request_count(), 1);
    clock.advance(Duration::from_millis(1));
    // Meanwhile, tokens of unknown keys get 503 without another fetch.
    let stranger = token(&Signer::ed25519("x"), &clock);
    assert_eq!(caller.status(&stranger).await, 503);
    until(&caller, &stranger, 401).await;
    flood(401, &clock).await;
    assert_eq!(provider.request_count(), 2);
    assert_eq!(caller.status(&token(&key, &clock)).await, 200);
    clock.advance(Duration::from_secs(30));
    until(&caller, &stranger, 401).await;
    assert_eq!(provider.request_count(), 3);
}

#[tokio::test]
async fn requests_with_the_same_missing_key_share_one_fetch() {
    let (old, new) = (Signer::ed25519("1"), Signer::ed25519("2"));
    let provider = IdentityProvider::new(keys(&[&old], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    let caller = Arc::new(caller);
    clock.advance(MINUTE);
    provider.set_reply(Reply::Silence);
    let token = Arc::new(token(&new, &clock));
    let all: Vec<_> = (0..100)
        .map(|_| {
            let (caller, token) = (Arc::clone(&caller), Arc::clone(&token));
            tokio::spawn(async move { caller.status(&token).await })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), 503, "nobody waits for it");
    }
    provider.until_asked(2).await;
    provider.set_reply(keys(&[&old, &new], ""));
    assert_eq!(caller.status(&token).await, 503);
    // The fetch without a response is given up and repeated.
    until_repeated(&caller, &clock, &new).await;
    assert_eq!(provider.request_count(), 3);
}

#[tokio::test]
async fn a_token_that_names_no_issuer_with_a_document_leads_to_no_fetch() {
    let key = Signer::ed25519("1");
    let provider = IdentityProvider::new(keys(&[&key], "")).await;
    let (caller, clock) = open(published(&provider)).await;
    clock.advance(MINUTE);
    let own = hs256("gone", &[3; 32], claims("http://localhost"));
    for token in
        [&*own, &token(&key, &clock), "x", "a.b.c", &key.token(claims("https://c.example"))]
    {
        assert_ne!(caller.status(token).await, 503);
    }
    settle().await;
    assert_eq!(provider.request_count(), 1);
}

/// Replies that are no key document.
fn broken() -> Vec<(&'static str, Reply)> {
    let key = Signer::ed25519("1").jwk();
    let bytes = |text: &str| Reply::Bytes(text.into());
    let many = vec![key.clone(); 65];
    let long = format!("{}{}", json!({ "keys": [key] }), " ".repeat(Jwks::MAX_LEN));
    let chunk = format!("{:x}\r\n{}\r\n", 4096, " ".repeat(4096));
    let endless = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(17)
    );
    vec![
        ("garbage", body("\u{0}<html>", "")),
        ("nothing", body("", "")),
        ("another document", body("{\"issuer\":\"https://a.example\"}", "")),
        ("too many keys", body(&json!({ "keys": many }).to_string(), "")),
        ("too long", body(&long, "")),
        ("too long, without saying so", bytes(&endless)),
        ("cut off", bytes("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"keys\":[]")),
        ("an error", bytes("HTTP/1.1 500 Oh\r\ncontent-length: 11\r\n\r\n{\"keys\":[]}")),
        ("no content", bytes("HTTP/1.1 204 No\r\n\r\n")),
        ("no HTTP", bytes("SSH-2.0-OpenSSH_9.9\r\n\r\n")),
        ("a long head", bytes(&format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "b".repeat(40_000)))),
        ("nothing at all", bytes("")),
    ]
}

#[tokio::test]
async fn an_app_starts_without_the_keys_of_an_issuer_and_its_own_tokens_are_good() {
    let key = Signer::ed25519("1");
    for (name, reply) in broken() {
        let (log, _guard) = Log::start("policy_server");
        let provider = IdentityProvider::new(reply).await;
        let (caller, clock) = open(published(&provider)).await;
        assert_eq!(provider.request_count(), 1);
        assert_eq!(caller.status(&token(&key, &clock)).await, 503, "{name}");
        let own = caller.own_token().await;
        assert_eq!(caller.status(&own).await, 200, "{name}");
        // It is tried again after 10 seconds at the latest.
        provider.set_reply(keys(&[&key], ""));
        clock.advance(Duration::from_secs(10));
        until(&caller, &token(&key, &clock), 200).await;
        provider.until_asked(2).await;
        assert!(!log.with_code("token.issuer-keys-away").is_empty(), "{name}");
        assert_eq!(log.with_code("token.issuer-keys-back").len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_document_without_a_key_that_is_used_here_is_logged() {
    let (log, _guard) = Log::start("policy_server");
    let provider = IdentityProvider::new(keys(&[], "")).await;
    let (_caller, _clock) = open(published(&provider)).await;
    assert_eq!(log.with_code("token.issuer-without-keys").len(), 1, "{:?}", log.with("code="));
}

#[tokio::test]
async fn the_last_keys_are_kept_for_24_hours_after_they_were_due() {
    let key = Signer::ed25519("1");
    for (name, reply) in broken() {
        let provider =
            IdentityProvider::new(keys(&[&key], "cache-control: max-age=3600\r\n")).await;
        let (caller, clock) = open(published(&provider)).await;
        provider.set_reply(reply);
        clock.advance(HOUR);
        provider.until_asked(2).await;
        clock.advance(24 * HOUR - Duration::from_millis(1));
        assert_eq!(caller.status(&token(&key, &clock)).await, 200, "{name}");
        clock.advance(Duration::from_millis(1));
        assert_eq!(caller.status(&token(&key, &clock)).await, 503, "{name}");
        let own = caller.own_token().await;
        assert_eq!(caller.status(&own).await, 200, "{name}");
        provider.set_reply(keys(&[&key], ""));
        until_repeated(&caller, &clock, &key).await;
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let key = Signer::ed25519("1");
    let target = IdentityProvider::new(keys(&[&key], "")).await;
    for status in [301, 302, 303, 307, 308] {
        let url = target.url();
        let reply =
            format!("HTTP/1.1 {status} There\r\nlocation: {url}\r\ncontent-length: 0\r\n\r\n");
        let provider = IdentityProvider::new(Reply::Bytes(reply.into_bytes())).await;
        let (caller, clock) = open(published(&provider)).await;
        assert_eq!(caller.status(&token(&key, &clock)).await, 503);
    }
    assert_eq!(target.request_count(), 0);
}

#[tokio::test]
async fn a_slow_server_holds_a_start_up_for_5_seconds() {
    let key = Signer::ed25519("1");
    let provider = IdentityProvider::new(Reply::Silence).await;
    let clock = Clock::at(START);
    let app = app(own_tokens().accept(published(&provider)), &[A], &clock);
    let mut opening = tokio::spawn(app.open());
    provider.until_asked(1).await;
    clock.advance(Duration::from_millis(4_999));
    tokio::select! {
        biased;
        _ = &mut opening => panic!("too early"),
        () = settle() => (),
    }
    clock.advance(Duration::from_millis(1));
    let opened = timeout(Duration::from_secs(60), opening).await.expect("it goes on");
    let caller = Caller::from_service(opened.unwrap().unwrap());
    assert_eq!(caller.status(&token(&key, &clock)).await, 503);
}

#[tokio::test]
async fn only_public_keys_that_sign_are_taken_from_a_document() {
    let (good, rsa, ec) = (Signer::ed25519("1"), Signer::rs256("r"), Signer::es256("e"));
    let secret = [7; 32];
    let mut encrypting = ec.jwk();
    encrypting["use"] = "enc".into();
    let mut of_another = rsa.jwk();
    of_another["alg"] = "PS256".into();
    let mut disguised = rsa.jwk();
    (disguised["kid"], disguised["alg"]) = ("d".into(), "ES256".into());
    let document = json!({ "keys": [
        { "kty": "oct", "kid": "s", "alg": "HS256", "k": data_encoding::BASE64URL_NOPAD.encode(&secret) },
        encrypting, of_another, disguised, good.jwk(),
    ] });
    let provider = IdentityProvider::new(body(&document.to_string(), "")).await;
    let (log, _guard) = Log::start("policy_server");
    let (caller, clock) = open(published(&provider)).await;
    assert_eq!(log.with_code("token.issuer-secret-published").len(), 1, "{:?}", log.with("code="));
    assert_eq!(caller.status(&token(&good, &clock)).await, 200);
    let disguised = Signer { id: "d".to_owned(), pair: Signer::rs256("").pair };
    let header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": "d" });
    for token in [
        hs256("s", &secret, claims(A)),
        token(&ec, &clock),
        token(&rsa, &clock),
        disguised.sign(&header, &claims(A).json()),
    ] {
        assert_eq!(caller.status(&token).await, 401);
    }
}

#[tokio::test]
async fn issuers_do_not_wait_for_each_other() {
    let (a, b) = (Signer::ed25519("k"), Signer::es256("k"));
    let gone = IdentityProvider::new(Reply::Bytes(Vec::new())).await;
    let there = IdentityProvider::new(keys(&[&b], "")).await;
    let of_b = Issuer::new("https://b.example").audience("orders").jwks(there.url());
    let clock = Clock::at(START);
    let tokens = own_tokens().accept(published(&gone)).accept(of_b);
    let caller =
        Caller::from_service(app(tokens, &[A, "https://b.example"], &clock).open().await.unwrap());
    assert_eq!(caller.status(&a.token(claims(A))).await, 503);
    assert_eq!(caller.status(&b.token(claims("https://b.example"))).await, 200);
    assert_eq!(caller.status(&b.token(claims("https://c.example"))).await, 401);
}
