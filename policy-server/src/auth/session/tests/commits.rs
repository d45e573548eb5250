//! The session at the end of a request.

use std::time::Duration;

use http::StatusCode;
use policy_core::{cookie::PresentedCookie, session::Record};

use super::*;
use crate::{
    CredentialError, Identity,
    auth::session::minutes,
    store::{Cas, CreateSession, News, RotateSession, SessionStore},
};

#[test]
fn a_read_only_request_is_answered_at_once() {
    let world = default();
    let id = world.login(None, "ada");
    world.store.take_calls();
    let request = world.request(Some(&id));
    let record = request.load().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(record.user(), Some("ada"));
    let committed = request.commit_now(HandlerOutcome::Answered(StatusCode::OK)).unwrap();
    assert!(committed.set_cookie.is_none() && committed.was_read);
    assert_eq!(calls(&world), ["load"]);
    // A session that the handler does not use is not loaded.
    let request = world.request(Some(&id));
    assert!(!request.commit_now(HandlerOutcome::Answered(StatusCode::OK)).unwrap().was_read);
    assert_eq!(calls(&world), [""; 0]);
}

/// Every request allocates a session, so its size matters.
#[test]
fn the_session_of_a_request_is_small() {
    let size = size_of::<RequestSession>();
    assert!(size <= 384, "{size} bytes");
}

/// A server moves it between threads, which the compiler checks here.
#[test]
fn futures_of_sessions_are_send() {
    fn send<T: Send>(_: T) {}
    let world = default();
    let request = world.request(None);
    let sessions = Sessions::new(Arc::clone(&request));
    send(request.load());
    send(request.commit(HandlerOutcome::Aborted));
    send(sessions.login("ada"));
    send(sessions.list());
    send(sessions.revoke_others());
}

#[test]
fn the_cookie_has_all_its_attributes() {
    let world = default();
    let request = world.request(None);
    wait(Sessions::new(Arc::clone(&request)).login(7_u64)).unwrap();
    let committed = commit(&request, 200).unwrap();
    let header = committed.set_cookie.unwrap();
    assert!(header.is_sensitive());
    let text = header.to_str().unwrap();
    let (pair, attributes) = text.split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-sid=") && pair.len() == 11 + 43, "{pair}");
    assert_eq!(attributes, "Path=/; Secure; HttpOnly; SameSite=Lax");
}

#[test]
fn a_used_session_is_touched_once_a_minute() {
    let world = default();
    let id = world.login(None, "ada");
    for (seconds, expected) in [(59, vec!["load"]), (1, vec!["load", "touch"]), (59, vec!["load"])]
    {
        world.clock.advance(Duration::from_secs(seconds));
        world.store.take_calls();
        commit(&session_request(&world, &id), 500).unwrap();
        assert_eq!(calls(&world), expected);
    }
    // A lost touch does not fail the request.
    world.clock.advance(minutes(2));
    world.store.fail_to_write();
    assert!(commit(&session_request(&world, &id), 200).is_ok());
}

#[test]
fn only_a_logout_removes_a_cookie_that_names_no_session() {
    let world = default();
    let unknown = SessionId::from_bytes([5; 32]);
    for (presented, loads) in [
        (PresentedCookie::Absent, 0),
        (PresentedCookie::Ambiguous, 0),
        (PresentedCookie::Malformed, 0),
        (PresentedCookie::Candidate(unknown.clone()), 1),
    ] {
        let request = world.request_of(presented.clone());
        assert!(request.load().now_or_never().unwrap().unwrap().is_none());
        let committed = commit(&request, 200).unwrap();
        // The response may arrive after that of a login.
        assert!(committed.set_cookie.is_none(), "{presented:?}");
        assert_eq!(calls(&world).len(), loads, "{presented:?}");
        let request = world.request_of(presented.clone());
        session(&request).logout();
        let has_cookie = !matches!(presented, PresentedCookie::Absent);
        assert_eq!(is_removal(&commit(&request, 200).unwrap()), has_cookie, "{presented:?}");
        // A written value begins a session under a new id.
        let request = world.request_of(presented.clone());
        session(&request).set("a", 1).unwrap();
        let id = set_id(&commit(&request, 200).unwrap()).unwrap();
        assert_ne!(id, unknown.text());
        assert!(world.is_alive(&id));
        world.store.take_calls();
    }
    assert!(!world.is_alive(&unknown.text()), "an unknown id was adopted");
}

#[test]
fn rights_need_a_status_below_400_and_writes_one_below_500() {
    for (status, rights, write) in [
        (200, true, true),
        (302, true, true),
        (399, true, true),
        (400, false, true),
        (499, false, true),
        (500, false, false),
    ] {
        let world = default();
        let request = world.request(None);
        session(&request).set("before", 1).unwrap();
        wait(Sessions::new(Arc::clone(&request)).login("ada")).unwrap();
        // A value for the user's session only.
        session(&request).set("after", 1).unwrap();
        let id = set_id(&commit(&request, status).unwrap());
        assert_eq!(id.is_some(), write, "{status}");
        let Some(id) = id else { continue };
        assert_eq!(world.user(&id).is_some(), rights, "{status}");
        let session = session(&world.request(Some(&id)));
        assert_eq!(session.get::<u8>("before").unwrap(), Some(1));
        assert_eq!(session.get::<u8>("after").unwrap().is_some(), rights, "{status}");
    }
}

#[test]
fn a_refused_login_of_another_user_takes_nothing() {
    for elevates in [false, true] {
        let world = default();
        let id = world.login(None, "ada");
        let request = world.request(Some(&id));
        session(&request).set("cart", "lamp").unwrap();
        commit(&request, 200).unwrap();
        let request = world.request(Some(&id));
        wait(Sessions::new(Arc::clone(&request)).login("bob")).unwrap();
        if elevates {
            session(&request).elevate().unwrap();
        }
        assert_eq!(session(&request).get::<String>("cart").unwrap(), None);
        commit(&request, 401).unwrap();
        assert_eq!(world.user(&id).as_deref(), Some("ada"));
        let session = session(&world.request(Some(&id)));
        assert_eq!(session.get::<String>("cart").unwrap().as_deref(), Some("lamp"), "{elevates}");
    }
}

/// A login and its second factor in one request.
#[test]
fn an_elevation_after_a_login_changes_only_the_rights_of_the_login() {
    for before in [None, Some("ada"), Some("bob")] {
        let world = default();
        let id = before.map(|user| world.login(None, user));
        let old = id.as_deref().map(|id| session(&world.request(Some(id))).handle().unwrap());
        world.clock.advance(minutes(5));
        let request = world.request(id.as_deref());
        wait(Sessions::new(Arc::clone(&request)).login_remembered("ada")).unwrap();
        session(&request).elevate_as(Identity::new("ada").roles(["admin"])).unwrap();
        let new = set_id(&commit(&request, 200).unwrap()).unwrap();
        let after = Arc::clone(wait(session_request(&world, &new).load()).unwrap().unwrap());
        assert_eq!(&*after.identity.as_ref().unwrap().roles, [Box::from("admin")], "{before:?}");
        assert_eq!((after.created, after.is_remembered), (world.clock.now(), true), "{before:?}");
        assert_eq!(old == Some(after.handle), before == Some("ada"), "{before:?}");
    }
}

#[test]
fn no_elevation_brings_back_rights_that_its_request_took() {
    for elevates_first in [true, false] {
        let world = default();
        let request = world.request(None);
        let admin = Identity::new("ada").roles(["admin"]);
        wait(Sessions::new(Arc::clone(&request)).login(admin)).unwrap();
        let id = set_id(&commit(&request, 200).unwrap()).unwrap();
        let request = session_request(&world, &id);
        let (current, sessions) = (session(&request), Sessions::new(Arc::clone(&request)));
        if elevates_first {
            current.elevate().unwrap();
        }
        wait(sessions.set_rights(Identity::new("ada"))).unwrap();
        if !elevates_first {
            current.elevate().unwrap();
        }
        let new = set_id(&commit(&request, 200).unwrap()).unwrap();
        let identity = session(&world.request(Some(&new))).identity();
        assert_eq!(identity, Some(Identity::new("ada")), "{elevates_first}");
    }
}

#[test]
fn a_logout_reaches_a_session_that_got_another_id_meanwhile() {
    let world = default();
    let old = world.login(None, "ada");
    let logout = session_request(&world, &old);
    let elevate = session_request(&world, &old);
    session(&elevate).elevate().unwrap();
    let new = set_id(&commit(&elevate, 200).unwrap()).unwrap();
    session(&logout).logout();
    commit(&logout, 200).unwrap();
    assert!(!world.is_alive(&new));
}

#[test]
fn an_ended_session_is_not_elevated_but_a_login_is_genuine() {
    let world = default();
    let old = world.login(None, "ada");
    let (elevate, login) = (session_request(&world, &old), session_request(&world, &old));
    session(&elevate).elevate().unwrap();
    session(&login).set("a", 1).unwrap();
    wait(Sessions::new(Arc::clone(&login)).login("ada")).unwrap();
    let logout = session_request(&world, &old);
    let ended = session(&logout).handle();
    session(&logout).logout();
    commit(&logout, 200).unwrap();
    assert_eq!(commit(&elevate, 200).unwrap_err().refusal().status(), 409);
    let new = set_id(&commit(&login, 200).unwrap()).unwrap();
    let session = session(&world.request(Some(&new)));
    assert_eq!(session.get::<u8>("a").unwrap(), Some(1));
    assert!(session.handle().is_some() && session.handle() != ended, "the dead one came back");
}

#[test]
fn logout_keeps_the_named_values_only() {
    let world = default();
    let id = world.login(None, "ada");
    let request = world.request(Some(&id));
    let current = session(&request);
    for key in ["theme", "secret"] {
        current.set(key, key).unwrap();
    }
    current.logout_keep(["theme"]);
    assert!(current.identity().is_none());
    let new = set_id(&commit(&request, 200).unwrap()).unwrap();
    assert!(!world.is_alive(&id) && world.user(&new).is_none());
    let current = session(&world.request(Some(&new)));
    assert_eq!(current.get::<String>("theme").unwrap().as_deref(), Some("theme"));
    assert_eq!(current.get::<String>("secret").unwrap(), None);
    // After a failed handler the logout still takes effect, and nothing else begins.
    let request = world.request(Some(&new));
    session(&request).logout_keep(["theme"]);
    assert!(is_removal(&commit(&request, 500).unwrap()));
    assert!(!world.is_alive(&new));
}

/// The store may lose each kind of end, and other instances have streams of the session.
#[test]
fn a_session_that_ends_is_remembered_and_told_however_it_ends() {
    type Act = fn(&Arc<RequestSession>);
    let acts: [Act; 4] = [
        |request| session(request).logout(),
        |request| session(request).logout_keep(["theme"]),
        |request| {
            session(request).logout();
            session(request).set("notice", "goodbye").unwrap();
        },
        |request| wait(Sessions::new(Arc::clone(request)).login("bob")).unwrap(),
    ];
    for (number, act) in acts.into_iter().enumerate() {
        let world = default();
        let id = world.login(None, "ada");
        let request = world.request(Some(&id));
        session(&request).set("theme", "dark").unwrap();
        commit(&request, 200).unwrap();
        let record = Record::clone(wait(session_request(&world, &id).load()).unwrap().unwrap());
        let (handle, store) = (record.handle, world.store.inner());
        let mut news = store.news().unwrap();
        let request = session_request(&world, &id);
        act(&request);
        commit(&request, 200).unwrap();
        assert!(!world.is_alive(&id), "{number}");
        assert_eq!(wait(news.try_next()), Some(News::Session(handle)), "{number}");
        // As after the return to a copy from before the end.
        let key = SessionId::parse(id.as_bytes()).unwrap().key();
        wait(store.create(CreateSession::new(key, record, world.clock.now()))).unwrap();
        assert!(world.is_alive(&id), "{number}");
        wait(world.service.end_again()).unwrap();
        assert!(!world.is_alive(&id), "{number}");
    }
}

#[test]
fn a_session_that_continues_under_a_new_id_has_not_ended() {
    let world = default();
    let id = world.login(None, "ada");
    let mut news = world.store.inner().news().unwrap();
    let request = session_request(&world, &id);
    session(&request).elevate().unwrap();
    let id = set_id(&commit(&request, 200).unwrap()).unwrap();
    let id = world.login(Some(&id), "ada");
    assert_eq!(wait(news.try_next()), None);
    wait(world.service.end_again()).unwrap();
    assert!(world.is_alive(&id));
}

#[test]
fn elevation_keeps_the_deadline_and_changes_id_binding_and_rights() {
    let world = default();
    let id = world.login(None, "ada");
    let before = Arc::clone(wait(session_request(&world, &id).load()).unwrap().unwrap());
    world.clock.advance(minutes(5));
    let request = world.request(Some(&id));
    let current = session(&request);
    assert_eq!(current.elevate_as("bob"), Err(CredentialError::OtherUser));
    current.elevate_as(Identity::new("ada").roles(["admin"])).unwrap();
    let new = set_id(&commit(&request, 200).unwrap()).unwrap();
    let after = Arc::clone(wait(session_request(&world, &new).load()).unwrap().unwrap());
    assert!(!world.is_alive(&id) && new != id);
    assert_eq!(after.handle, before.handle);
    assert_eq!(after.absolute_deadline, before.absolute_deadline);
    assert_ne!(after.binding, before.binding);
    assert_eq!(after.authenticated, Some(world.clock.now()));
    assert_eq!(&*after.identity.as_ref().unwrap().roles, [Box::from("admin")]);
    let anonymous = session(&world.request(None));
    assert_eq!(anonymous.elevate(), Err(CredentialError::Anonymous));
}

#[test]
fn a_renewal_tells_all_requests_of_its_grace_the_same_id() {
    let world = World::new(|sessions| sessions.renewal(minutes(5)));
    let id = world.login(None, "ada");
    let before = Arc::clone(wait(session_request(&world, &id).load()).unwrap().unwrap());
    world.clock.advance(minutes(5));
    let late = session_request(&world, &id);
    session(&late).set("late", 1).unwrap();
    let new = set_id(&commit(&session_request(&world, &id), 200).unwrap()).unwrap();
    assert_ne!(new, id);
    // One request began before the renewal, and one arrives afterwards with the old cookie.
    assert!(commit(&late, 200).is_ok());
    let parallel = session_request(&world, &id);
    assert_eq!(set_id(&commit(&parallel, 200).unwrap()), Some(new.clone()));
    world.clock.advance(Duration::from_secs(10));
    assert!(!world.is_alive(&id) && world.is_alive(&new));
    let after = Arc::clone(wait(session_request(&world, &new).load()).unwrap().unwrap());
    assert_eq!((after.binding, after.handle), (before.binding, before.handle));
    assert_eq!(session(&world.request(Some(&new))).get::<u8>("late").unwrap(), Some(1));
}

#[test]
fn an_old_id_leads_nowhere_but_to_its_own_successor() {
    let world = default();
    let id = world.login(None, "ada");
    let record = Record::clone(wait(session_request(&world, &id).load()).unwrap().unwrap());
    // A faulty store at a login: the old id has a grace, and the new one was drawn.
    let (old, new) = (SessionId::parse(id.as_bytes()).unwrap(), SessionId::from_bytes([3; 32]));
    let (now, grace) = (world.clock.now(), world.clock.now().after(minutes(1)));
    let (old, new, version) = (old.key(), new.key(), record.version);
    let store = world.store.inner();
    let rotated =
        store.rotate(RotateSession::new(old, new, version, record, now).grace(Some(grace)));
    assert!(matches!(wait(rotated).unwrap(), Cas::Done { .. }));
    let request = world.request(Some(&id));
    assert!(wait(request.load()).unwrap().is_none());
    assert!(commit(&request, 200).unwrap().set_cookie.is_none());
}
