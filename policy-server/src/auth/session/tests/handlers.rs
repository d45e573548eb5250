//! Other operations of handlers, and the settings of apps.

use http::StatusCode;
use policy_core::{
    Rule, cookie::PresentedCookie, csrf::TokenVerdict, head::OwnOrigin, session::Record,
};

use super::*;
use crate::{
    CredentialError,
    auth::session::{SameSite, minutes},
    store::{LimitPolicy, MemoryStore},
};

#[test]
fn a_user_sees_and_ends_their_sessions() {
    let mut world = default();
    let ids = [world.login(None, "ada"), world.login(None, "ada"), world.login(None, "bob")];
    let request = world.request(Some(&ids[0]));
    let sessions = Sessions::new(Arc::clone(&request));
    let listed = wait(sessions.list()).unwrap();
    assert_eq!(listed.len(), 2);
    let own = session(&request).handle().unwrap();
    let bob = session(&world.request(Some(&ids[2]))).handle().unwrap();
    assert!(!wait(sessions.revoke(bob)).unwrap(), "somebody else's session ended");
    let other = listed.iter().find(|summary| summary.handle != own).unwrap().handle;
    assert!(wait(sessions.revoke(other)).unwrap());
    assert!(!world.is_alive(&ids[1]));
    assert_eq!(wait(sessions.revoke_others()).unwrap(), 0);
    assert!(commit(&request, 200).unwrap().set_cookie.is_none());
    assert!(world.is_alive(&ids[0]));
    let request = world.request(Some(&ids[0]));
    assert_eq!(wait(Sessions::new(Arc::clone(&request)).revoke_all()).unwrap(), 1);
    assert!(is_removal(&commit(&request, 200).unwrap()));
    assert!(world.is_alive(&ids[2]));
    let mut ended = Vec::new();
    while let Ok(event) = world.ended.try_recv() {
        ended.push(event);
    }
    let user: Box<str> = "ada".into();
    assert!(ended.contains(&RevocationEvent::Session(other)));
    assert!(!ended.contains(&RevocationEvent::Session(bob)), "somebody else's streams ended");
    assert!(ended.contains(&RevocationEvent::SessionsOf { user: user.clone(), keep: Some(own) }));
    assert!(ended.contains(&RevocationEvent::SessionsOf { user, keep: None }));
    let nobody = Sessions::new(world.request(None));
    assert_eq!(wait(nobody.revoke_all()), Err(CredentialError::Anonymous));
}

#[test]
fn a_revocation_that_failed_is_made_up_for() {
    let world = default();
    let ids = [world.login(None, "ada"), world.login(None, "ada")];
    let request = session_request(&world, &ids[0]);
    world.store.fail();
    let sessions = Sessions::new(Arc::clone(&request));
    assert_eq!(wait(sessions.revoke_others()), Err(CredentialError::SessionStore));
    world.store.recover();
    wait(request.commit(HandlerOutcome::Aborted)).unwrap();
    assert!(world.is_alive(&ids[0]) && !world.is_alive(&ids[1]));
}

#[test]
fn a_refused_login_still_ends_the_previous_session() {
    let world = World::new(|sessions| sessions.limit_per_user(1, LimitPolicy::Deny));
    let (ada, _bob) = (world.login(None, "ada"), world.login(None, "bob"));
    let request = session_request(&world, &ada);
    session(&request).logout();
    wait(Sessions::new(Arc::clone(&request)).login("bob")).unwrap();
    assert_eq!(commit(&request, 200).unwrap_err().refusal().status(), 409);
    assert!(!world.is_alive(&ada));
}

#[test]
fn a_session_that_others_change_at_each_try_is_busy() {
    let world = default();
    let id = world.login(None, "ada");
    let request = session_request(&world, &id);
    let current = session(&request);
    let (service, shared) = (Arc::clone(&world.service), id.clone());
    let meddle = move |values: &mut serde_json::Map<String, serde_json::Value>| {
        let id = SessionId::parse(shared.as_bytes()).unwrap();
        let other = RequestSession::new(
            Arc::clone(&service),
            PresentedSession::new(PresentedCookie::Candidate(id), None),
        );
        let other = Arc::new(other);
        session(&other).increment("others", 1).unwrap();
        wait(other.commit(HandlerOutcome::Answered(StatusCode::OK))).unwrap();
        values.insert("mine".to_owned(), true.into());
    };
    current.update_with(meddle).unwrap();
    assert_eq!(commit(&request, 200).unwrap_err().refusal().code(), "session.busy");
    let others = session(&world.request(Some(&id))).get::<u8>("others").unwrap();
    assert_eq!(others, Some(4), "once when it was told, and at three tries");
}

#[test]
fn too_much_data_is_the_handlers_error() {
    let world = default();
    let request = world.request(None);
    let current = session(&request);
    current.set("ok", 1).unwrap();
    let refused = current.set("big", "x".repeat(Record::MAX_DATA));
    assert!(matches!(refused, Err(CredentialError::Data(_))));
    assert_eq!(current.get::<String>("big").unwrap(), None);
    let id = set_id(&commit(&request, 200).unwrap()).unwrap();
    assert_eq!(session(&world.request(Some(&id))).get::<u8>("ok").unwrap(), Some(1));
}

#[test]
fn csrf_tokens_belong_to_the_session_after_the_response() {
    let world = default();
    assert_eq!(session(&world.request(None)).csrf_token().unwrap(), None);
    let request = world.request(None);
    wait(Sessions::new(Arc::clone(&request)).login("ada")).unwrap();
    let token = request.csrf_token().unwrap().unwrap();
    let committed = commit(&request, 200).unwrap();
    assert!(committed.is_token_rendered);
    let id = set_id(&committed).unwrap();
    let request = session_request(&world, &id);
    let binding = wait(request.load()).unwrap().unwrap().binding;
    let verdict = |token: &str| world.service.csrf.verify(&binding, token.as_bytes());
    assert_eq!(verdict(&token), TokenVerdict::Valid);
    let other = request.csrf_token().unwrap().unwrap();
    assert_ne!(other, token);
    assert_eq!(verdict(&other), TokenVerdict::Valid);
    session(&request).logout();
    assert_eq!(request.csrf_token().unwrap(), None);
}

/// The forms of such a page are sent with the cookie of the new session.
#[test]
fn a_page_whose_values_begin_a_session_has_a_token_for_it() {
    let world = default();
    let ada = world.login(None, "ada");
    for (id, ends) in [(None, false), (None, true), (Some(&*ada), true)] {
        let request = world.request(id);
        let current = session(&request);
        current.set("cart", 1).unwrap();
        if ends {
            current.logout();
            assert_eq!(current.csrf_token().unwrap(), None);
            current.set("cart", 2).unwrap();
            current.logout_keep(["cart"]);
        }
        let token = current.csrf_token().unwrap().unwrap();
        let id = set_id(&commit(&request, 200).unwrap()).unwrap();
        let binding = session_request(&world, &id).record().unwrap().binding;
        let verdict = world.service.csrf.verify(&binding, token.as_bytes());
        assert_eq!(verdict, TokenVerdict::Valid, "{ends}");
    }
}

#[test]
fn a_second_commit_finds_nothing_to_do() {
    let world = default();
    let id = world.login(None, "ada");
    let request = session_request(&world, &id);
    session(&request).increment("n", 1).unwrap();
    commit(&request, 200).unwrap();
    world.store.take_calls();
    assert!(wait(request.commit(HandlerOutcome::Aborted)).unwrap().set_cookie.is_none());
    assert_eq!(calls(&world), [""; 0]);
}

#[test]
fn the_domain_and_the_profile_decide_about_the_cookie() {
    let rules = |sessions: SessionSettings, own: &OwnOrigin| -> Vec<Rule> {
        sessions.violations(own).into_iter().map(|(rule, _)| rule).collect()
    };
    let own = public();
    assert_eq!(rules(Sessions::memory().cookie_name("__host-sid"), &own), [Rule::SessionCookie]);
    let everywhere = Sessions::memory().domain("shop.example").same_site(SameSite::None);
    assert_eq!(rules(everywhere.clone(), &own), []);
    assert_eq!(everywhere.cookie(&own).unwrap().name(), "__Secure-sid");
    assert_eq!(rules(everywhere.domain("other.example"), &own), [Rule::SessionCookie]);
    let local = Sessions::memory().cookie(&OwnOrigin::Development).unwrap();
    assert_eq!(local.set("x").unwrap(), "sid=x; Path=/; HttpOnly; SameSite=Lax");
}

#[test]
fn the_port_is_in_the_name_where_no_other_instance_has_the_sessions() {
    let public = OwnOrigin::Public(PublicOrigin::parse("https://api.shop.example").unwrap());
    let name = |sessions: SessionSettings, own: &OwnOrigin| {
        sessions.on_port(8080).cookie(own).unwrap().name().to_owned()
    };
    let memory = Sessions::memory;
    assert_eq!(name(memory(), &OwnOrigin::Development), "sid-8080");
    assert_eq!(name(memory().domain("shop.example"), &OwnOrigin::Development), "sid-8080");
    assert_eq!(name(memory().cookie_name("__Host-shop"), &OwnOrigin::Development), "shop");
    assert_eq!(name(memory().moving_to(memory()), &OwnOrigin::Development), "sid");
    assert_eq!(name(Sessions::store(MemoryStore::new()), &OwnOrigin::Development), "sid");
    assert_eq!(name(memory(), &public), "__Host-sid");
}

#[test]
fn secrets_are_never_printed() {
    let world = default();
    let id = world.login(None, "ada");
    let request = session_request(&world, &id);
    session(&request).set("pin", "1234").unwrap();
    let printed = format!("{request:?} {:?} {:?}", session(&request), world.service);
    assert!(!printed.contains(&id) && !printed.contains("1234"), "{printed}");
}

/// A handler that logs in, and out again on its way to an error.
#[test]
fn a_reverted_login_leaves_no_session() {
    let world = default();
    for (earlier, status) in [(None, 200), (None, 401), (Some("ada"), 200), (Some("bob"), 401)] {
        let earlier = earlier.map(|user| world.login(None, user));
        let request = world.request(earlier.as_deref());
        wait(request.load()).unwrap();
        wait(Sessions::new(Arc::clone(&request)).login("ada")).unwrap();
        Session::new(Arc::clone(&request)).logout();
        assert!(session(&request).identity().is_none());
        let committed = commit(&request, status).unwrap();
        assert_eq!(set_id(&committed), None, "{earlier:?} {status}");
        assert_eq!(is_removal(&committed), earlier.is_some(), "{earlier:?} {status}");
        let sessions = Sessions::new(world.request(None));
        for user in ["ada", "bob"] {
            assert_eq!(wait(sessions.list_user(user)).unwrap().len(), 0, "{earlier:?} {status}");
        }
    }
}

#[test]
fn a_request_that_writes_puts_the_idle_deadline_off() {
    let world = World::new(|sessions| sessions.idle(minutes(15)));
    for writes in [true, false] {
        let id = world.login(None, "ada");
        for _ in 0..3 {
            world.clock.advance(minutes(10));
            let request = session_request(&world, &id);
            if writes {
                session(&request).increment("n", 1).unwrap();
            }
            commit(&request, 200).unwrap();
            assert!(world.is_alive(&id), "{writes}");
        }
        world.clock.advance(minutes(15));
        assert!(!world.is_alive(&id), "{writes}");
    }
}
