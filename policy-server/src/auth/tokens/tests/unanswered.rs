//! Ends that the store has made, and whose answer did not arrive.

use policy_core::session::Handle;

use super::*;

/// How a login ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Logout,
    Reuse,
    Session,
}

/// Two instances on one store, and a login in a session, which was refreshed long ago.
struct Login {
    instances: [Instance; 2],
    store: FaultyStore,
    refresh: String,
    access: [String; 2],
}

impl Login {
    fn new() -> Self {
        let (clock, store) = (Clock::at(START), FaultyStore::new(MemoryStore::new()));
        let instances = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
        for instance in &instances {
            wait(instance.service.open()).unwrap();
        }
        let session = Some(Handle([7; 16]));
        let caller = Caller { identity: ada(), authenticated: None, session, token: None };
        let tokens = instances[0].tokens_of(caller);
        let first = wait(tokens.login(ada())).unwrap();
        let refresh = first.refresh_token.unwrap();
        let second = wait(tokens.refresh(&refresh)).unwrap();
        clock.advance(Duration::from_secs(60));
        for instance in &instances {
            // Otherwise its revocations are stale, and the next check of a token reads them.
            wait(instance.service.sync()).unwrap();
        }
        let access = [first.access_token, second.access_token];
        Self { instances, store, refresh, access }
    }

    /// The result of a call that ends the login.
    fn end(&self, end: End) -> Result<u64, CredentialError> {
        let one = &self.instances[0];
        match end {
            End::Logout => wait(one.tokens().logout(&self.refresh)).map(u64::from),
            End::Reuse => wait(one.tokens().refresh(&self.refresh)).map(|_| 1),
            End::Session => wait(one.service.end_session("ada", Handle([7; 16]), None))
                .map_err(CredentialError::token_store),
        }
    }

    fn assert_ended(&self, instance: &Instance, why: &str) {
        wait(instance.service.sync()).unwrap();
        for access in &self.access {
            assert_eq!(instance.verify(access), Err(TokenError::Revoked), "{why}");
        }
    }
}

/// Nothing ends it again: the process may have died.
#[test]
fn the_access_tokens_of_a_login_end_with_it_although_no_answer_arrives() {
    for end in [End::Logout, End::Reuse, End::Session] {
        let login = Login::new();
        let [one, other] = &login.instances;
        login.store.lose_answers();
        assert_eq!(login.end(end).unwrap_err().problem().status(), 503, "{end:?}");
        login.store.recover();
        login.assert_ended(other, &format!("{end:?} at the other instance"));
        login.assert_ended(one, &format!("{end:?} at the same instance"));
    }
}

#[test]
fn a_repeated_end_leaves_no_access_token_good() {
    for end in [End::Logout, End::Reuse, End::Session] {
        let login = Login::new();
        login.store.lose_answers();
        assert!(login.end(end).is_err());
        login.store.recover();
        let refused = Err(CredentialError::RefreshRefused);
        let wanted = if end == End::Reuse { refused } else { Ok(0) };
        assert_eq!(login.end(end), wanted, "{end:?}");
        for instance in &login.instances {
            login.assert_ended(instance, &format!("{end:?}"));
        }
    }
}

/// The instance that ends a login asks the store once, and reads nothing back.
#[test]
fn an_end_is_one_call_and_is_known_at_once() {
    for (end, call) in
        [(End::Logout, "end_family"), (End::Reuse, "refresh"), (End::Session, "revoke")]
    {
        let login = Login::new();
        let one = &login.instances[0];
        let mut news = one.news();
        login.store.take_calls();
        let _ = login.end(end);
        assert_eq!(login.store.take_calls(), [call], "{end:?}");
        for access in &login.access {
            assert_eq!(one.verify(access), Err(TokenError::Revoked), "{end:?}");
        }
        assert!(matches!(news.try_recv(), Ok(RevocationEvent::Token(_))), "streams end: {end:?}");
    }
}

#[test]
fn a_login_that_refreshed_too_often_ends_with_its_access_tokens() {
    let clock = Clock::at(START);
    let short = settings().refresh_lifetime(Duration::from_secs(60));
    let instance = Instance::new(short, MemoryStore::new(), &clock);
    let mut issued = wait(instance.tokens().login(ada())).unwrap();
    let mut refreshes = 0;
    while let Ok(next) = wait(instance.tokens().refresh(issued.refresh_token.as_ref().unwrap())) {
        issued = next;
        refreshes += 1;
    }
    assert_eq!(refreshes, 100);
    wait(instance.service.sync()).unwrap();
    assert_eq!(instance.verify(&issued.access_token), Err(TokenError::Revoked));
}

/// The clock of the instance that issued the token is ahead by the leeway, and a cut-off in the same second
/// has moved its `iat` to the next one.
#[test]
fn the_end_of_a_login_is_known_as_long_as_its_access_tokens_are_accepted() {
    for end in [End::Logout, End::Session] {
        let (clock, ahead) = (Clock::at(START), Clock::at(START + 30));
        let (store, hour) = (MemoryStore::new(), Duration::from_secs(3600));
        let one = Instance::new(settings().lifetime(hour), store.clone(), &clock);
        let other = Instance::new(settings().lifetime(hour), store, &ahead);
        for instance in [&one, &other] {
            wait(instance.service.open()).unwrap();
        }
        wait(other.tokens().revoke_user("ada")).unwrap();
        let session = Handle([7; 16]);
        let caller =
            Caller { identity: ada(), authenticated: None, session: Some(session), token: None };
        let login = wait(other.tokens_of(caller).login(ada())).unwrap();
        // This instance has not read the cut-off.
        if end == End::Logout {
            assert!(wait(one.tokens().logout(&login.refresh_token.unwrap())).unwrap());
        } else {
            assert_eq!(wait(one.service.end_session("ada", session, None)).unwrap(), 1);
        }
        clock.advance(hour + Duration::from_secs(60));
        wait(one.service.sync()).unwrap();
        wait(one.service.forget(clock.now()));
        assert_eq!(one.verify(&login.access_token), Err(TokenError::Revoked), "{end:?}");
    }
}
