//! The values that handlers receive, and their effects.

use axum_core::{body::Body, response::IntoResponse};
use http::StatusCode;
use http_body_util::BodyExt;
use policy_core::session::Handle;

use super::*;
use crate::auth::tokens::TokenKeys;

fn instance() -> (Instance, Clock) {
    let clock = Clock::at(START);
    (Instance::new(settings(), MemoryStore::new(), &clock), clock)
}

fn json(body: Body) -> Value {
    serde_json::from_slice(&wait(body.collect()).unwrap().to_bytes()).unwrap()
}

fn caller() -> Caller {
    Caller {
        identity: ada(),
        authenticated: Some(Timestamp::from_seconds(START - 60)),
        session: Some(Handle([7; 16])),
        token: Some(("J1".into(), Timestamp::from_seconds(START + 300))),
    }
}

/// A user of another issuer, whose token has no `jti`.
fn foreign_caller() -> Caller {
    let token = Some(("https://a.example\u{1f}".into(), Timestamp::from_seconds(START + 300)));
    Caller { identity: Identity::new("eve"), token, ..caller() }
}

#[test]
fn a_login_is_answered_as_rfc_6749_5_1_says() {
    let (instance, _) = instance();
    let issued = wait(instance.tokens().login(ada())).unwrap();
    let text = format!("{issued:?}");
    assert!(!text.contains("rt_") && !text.contains("eyJ"), "{text}");
    let response = issued.clone().into_response();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(
        json(response.into_body()),
        serde_json::json!({
            "access_token": issued.access_token, "token_type": "Bearer", "expires_in": 300,
            "refresh_token": issued.refresh_token,
        })
    );
}

#[test]
fn an_access_token_states_its_subject_and_login_time() {
    let (instance, clock) = instance();
    let login = wait(instance.tokens().login(ada())).unwrap();
    clock.advance(Duration::from_secs(100));
    let later = wait(instance.tokens().refresh(&login.refresh_token.unwrap())).unwrap();
    let verify =
        |token: &str| instance.service.verify(token.as_bytes(), &[], clock.now(), None).unwrap();
    let (first, second) = (verify(&login.access_token), verify(&later.access_token));
    for claims in [first.claims(), second.claims()] {
        assert_eq!(claims.subject(), "ada");
        assert!(claims.has_scope("read") && claims.has_scope("write") && claims.has_role("admin"));
        assert_eq!(claims.authenticated_at(), Some(Timestamp::from_seconds(START)));
    }
    assert_eq!(first.claims().session(), second.claims().session(), "both are of one login");
    assert_ne!(first.claims().id(), second.claims().id());
    assert_eq!(second.claims().issued().seconds(), START + 100);
}

#[test]
fn only_tokens_of_the_caller_contain_their_session() {
    let (instance, clock) = instance();
    let tokens = instance.tokens_of(caller());
    let verify = |issued: IssuedTokens| {
        instance.service.verify(issued.access_token.as_bytes(), &[], clock.now(), None).unwrap()
    };
    let own = verify(tokens.issue(&ada()).unwrap());
    assert_eq!(own.claims().session(), Some(&*Handle([7; 16]).to_string()));
    assert_eq!(own.claims().authenticated_at(), Some(Timestamp::from_seconds(START - 60)));
    let other = verify(tokens.issue(&Identity::new("eve")).unwrap());
    assert_eq!((other.claims().session(), other.claims().authenticated_at()), (None, None));
}

#[test]
fn custom_claims_come_back() {
    let (instance, clock) = instance();
    let claims = serde_json::json!({"region": "blue", "limits": [1, 2]});
    let issued = instance.tokens().issue_with(&ada(), &claims).unwrap();
    let token =
        instance.service.verify(issued.access_token.as_bytes(), &[], clock.now(), None).unwrap();
    let read: Value = token.claims().custom().unwrap();
    assert_eq!((&read["region"], &read["limits"]), (&claims["region"], &claims["limits"]));
}

#[test]
fn unreadable_tokens_are_not_issued() {
    let (instance, _) = instance();
    let tokens = instance.tokens();
    let long = "x".repeat(4096);
    let refused = [
        tokens.issue(&Identity::new("")),
        tokens.issue(&ada().scopes(["two scopes"])),
        tokens.issue(&ada().scopes([""])),
        tokens.issue_with(&ada(), &["no", "object"]),
        tokens.issue_with(&ada(), &serde_json::json!({"sub": "eve"})),
        tokens.issue_with(&ada(), &serde_json::json!({"tenant": "acme"})),
        tokens.issue(&ada().tenant("")),
        tokens.issue_with(&ada(), &serde_json::json!({"long": long})),
    ];
    for outcome in refused {
        assert_eq!(outcome.unwrap_err().problem().status(), 500);
    }
}

#[test]
fn revoking_needs_no_more_than_the_request() {
    let (instance, _) = instance();
    let token = instance.sign("J1", "ada", START, START + 300);
    assert_eq!(instance.verify(&token), Ok(()));
    assert!(!wait(instance.tokens().revoke()).unwrap());
    assert!(wait(instance.tokens_of(caller()).revoke()).unwrap());
    assert_eq!(instance.verify(&token), Err(TokenError::Revoked));
}

#[test]
fn a_store_that_fails_is_503_and_leaves_the_token_valid() {
    let (instance, store) = on_faulty_store();
    let tokens = instance.tokens_of(caller());
    let text = wait(tokens.login(ada())).unwrap().refresh_token.unwrap();
    store.fail();
    let problems = [
        wait(tokens.login(ada())).unwrap_err(),
        wait(tokens.refresh(&text)).unwrap_err(),
        wait(tokens.logout(&text)).unwrap_err(),
        wait(tokens.revoke()).unwrap_err(),
        wait(tokens.revoke_user("ada")).unwrap_err(),
        wait(tokens.revoke_all()).unwrap_err(),
        wait(tokens.ticket()).unwrap_err(),
    ];
    for problem in problems {
        let response = problem.into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
    }
    store.recover();
    assert!(wait(tokens.refresh(&text)).is_ok());
}

#[test]
fn a_revocation_whose_client_goes_away_is_stored() {
    let clock = Clock::at(START);
    let store = FaultyStore::new(MemoryStore::new());
    let instances = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
    for instance in &instances {
        wait(instance.service.open()).unwrap();
    }
    let [one, other] = &instances;
    let token = one.sign("J1", "ada", START, START + 300);
    let tokens = one.tokens_of(caller());
    store.hold();
    assert!(tokens.revoke().now_or_never().is_none());
    store.release();
    assert_eq!(one.verify(&token), Ok(()));
    wait(one.service.store_rest()).unwrap();
    wait(other.service.sync()).unwrap();
    for instance in [one, other] {
        assert_eq!(instance.verify(&token), Err(TokenError::Revoked));
    }
}

/// What the store had not begun to end is ended by the commit of the request.
#[test]
fn a_family_and_a_foreign_user_end_although_the_client_goes_away() {
    let (instance, store) = on_faulty_store();
    let text = wait(instance.tokens().login(ada())).unwrap().refresh_token.unwrap();
    let cut_offs = instance.cut_offs();
    let service = Arc::clone(&instance.service);
    let tokens = Tokens::new(service, Arc::clone(&cut_offs), Some(foreign_caller()));
    store.hold();
    assert!(tokens.logout(&text).now_or_never().is_none());
    assert!(tokens.revoke().now_or_never().is_none());
    store.release();
    wait(cut_offs.finish()).unwrap();
    let refreshed = wait(instance.tokens().refresh(&text));
    assert_eq!(refreshed.unwrap_err(), CredentialError::RefreshRefused);
    let eve = "https://a.example\u{1f}eve";
    assert_eq!(instance.service.check_cut_offs(eve, 0), Err(CredentialError::Ended));
}

#[test]
fn a_cut_off_of_a_foreign_user_hides_no_other() {
    let (instance, _) = instance();
    let tokens = instance.tokens_of(foreign_caller());
    wait(instance.tokens().revoke_user("ada")).unwrap();
    assert!(wait(tokens.revoke()).unwrap());
    assert_eq!(wait(tokens.login(ada())).unwrap_err(), CredentialError::Ended);
    assert_eq!(wait(tokens.ticket()).unwrap_err(), CredentialError::Ended);
}

#[test]
fn the_end_of_a_session_whose_client_goes_away_ends_all_its_tokens() {
    let (instance, store) = on_faulty_store();
    let issued = [(); 2].map(|()| wait(instance.tokens_of(caller()).login(ada())).unwrap());
    store.hold();
    {
        let mut ending = pin!(instance.service.end_session("ada", Handle([7; 16]), None));
        assert!(ending.as_mut().now_or_never().is_none());
    }
    store.release();
    for tokens in &issued {
        assert_eq!(instance.verify(&tokens.access_token), Ok(()), "the store has ended nothing");
    }
    wait(instance.service.store_rest()).unwrap();
    for tokens in issued {
        assert_eq!(instance.verify(&tokens.access_token), Err(TokenError::Revoked));
    }
}

/// What takes long to store makes no tokens stale.
#[tokio::test]
async fn revocations_are_read_while_others_are_stored() {
    let clock = Clock::at(START);
    let memory = MemoryStore::new();
    let store = FaultyStore::new(memory.clone());
    let one = Instance::new(settings(), store.clone(), &clock);
    let other = Instance::new(settings(), memory, &clock);
    one.service.open().await.unwrap();
    store.fail_to_write();
    one.tokens_of(caller()).revoke().await.unwrap_err();
    store.recover();
    store.hold();
    let service = Arc::clone(&one.service);
    let running = tokio::spawn(async move { service.run().await });
    tokio::task::yield_now().await;
    clock.advance(Duration::from_secs(1));
    store.is_held().await;
    let issued = other.tokens().issue(&ada()).unwrap();
    other.tokens().revoke_token(&issued.id, issued.expires).await.unwrap();
    clock.advance(Duration::from_secs(1));
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    assert_eq!(one.verify(&issued.access_token), Err(TokenError::Revoked));
    running.abort();
}

#[test]
fn a_ticket_has_the_credential_of_its_caller() {
    let (instance, _) = instance();
    let tokens = instance.tokens_of(caller());
    let take = |text: &str| wait(instance.service.take_ticket(text)).unwrap();
    let text = wait(tokens.ticket()).unwrap();
    let ticket = take(&text).unwrap();
    assert_eq!((ticket.identity, ticket.session), (ada(), caller().session));
    assert_eq!((ticket.token, ticket.authenticated), (caller().token, caller().authenticated));
    assert_eq!(wait(instance.tokens().ticket()).unwrap_err(), CredentialError::NoCaller);
}

#[test]
fn a_ticket_ends_with_its_credential() {
    let (instance, _) = instance();
    let tokens = instance.tokens_of(caller());
    let take = |text: &str| wait(instance.service.take_ticket(text)).unwrap();
    let before = wait(tokens.ticket()).unwrap();
    wait(tokens.revoke_user("ada")).unwrap();
    assert!(take(&before).is_none(), "its user was revoked");
    let after = wait(tokens.ticket()).unwrap();
    assert!(take(&after).is_some(), "made in the second of the cut-off, and after it");
    let with_token = wait(tokens.ticket()).unwrap();
    wait(tokens.revoke()).unwrap();
    assert!(take(&with_token).is_none(), "its token was revoked");
}

/// The revocation of a token is forgotten when the token could no longer be used.
#[test]
fn a_ticket_whose_token_expired_is_not_taken() {
    let (instance, clock) = instance();
    let tokens = instance.tokens_of(caller());
    // The last second of the leeway.
    clock.advance(Duration::from_secs(329));
    let text = wait(tokens.ticket()).unwrap();
    wait(tokens.revoke()).unwrap();
    clock.advance(Duration::from_secs(10));
    wait(instance.service.sync()).unwrap();
    wait(instance.service.forget(clock.now()));
    assert!(wait(instance.service.take_ticket(&text)).unwrap().is_none());
}

#[test]
fn a_refresh_during_a_revocation_of_its_user_is_revoked() {
    let (instance, store) = on_faulty_store();
    let tokens = instance.tokens();
    let text = wait(tokens.login(ada())).unwrap().refresh_token.unwrap();
    store.hold();
    store.take_calls();
    let mut revoking = pin!(tokens.revoke_user("ada"));
    assert!(revoking.as_mut().now_or_never().is_none());
    assert_eq!(store.take_calls(), ["revoke"]);
    store.release();
    let between = wait(tokens.refresh(&text)).unwrap();
    assert_eq!(wait(revoking).unwrap(), 1);
    assert_eq!(instance.verify(&between.access_token), Err(TokenError::Revoked));
}

#[test]
fn a_compromised_key_signs_nothing_that_is_accepted() {
    let clock = Clock::at(START);
    let keys = TokenKeys::new([("old", SecretKey::from_bytes([1; 32]))]).unwrap();
    let tokens = Tokens::signed_with(keys.clone());
    let instance = Instance::new(tokens, MemoryStore::new(), &clock);
    let stolen = instance.sign("J1", "ada", START, START + 300);
    let only = wait(instance.tokens().revoke_key("old")).unwrap_err();
    assert_eq!((only.problem().status().as_u16(), instance.verify(&stolen)), (500, Ok(())));
    keys.replace([("new", SecretKey::from_bytes([2; 32]))]).unwrap();
    wait(instance.tokens().revoke_key("old")).unwrap();
    assert_eq!(instance.verify(&stolen), Err(TokenError::UnknownKey));
    let issued = instance.tokens().issue(&ada()).unwrap();
    assert_eq!(instance.verify(&issued.access_token), Ok(()), "the new key signs at once");
}

/// Two instances with one store: the second learns of a revocation by polling every second.
#[tokio::test]
async fn a_running_instance_learns_revocations_of_others() {
    let clock = Clock::at(START);
    let store = FaultyStore::new(MemoryStore::new());
    let [one, two] = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
    let issued = one.tokens().issue(&ada()).unwrap();
    one.service.open().await.unwrap();
    two.service.open().await.unwrap();
    let service = Arc::clone(&two.service);
    let mut news = two.news();
    let running = tokio::spawn(async move { service.run().await });
    tokio::task::yield_now().await;
    one.tokens().revoke_token(&issued.id, issued.expires).await.unwrap();
    assert_eq!(two.verify(&issued.access_token), Ok(()), "it has not asked yet");
    clock.advance(Duration::from_secs(1));
    assert_eq!(news.recv().await.unwrap(), RevocationEvent::Token(issued.id.clone()));
    assert_eq!(two.verify(&issued.access_token), Err(TokenError::Revoked));
    running.abort();
}
