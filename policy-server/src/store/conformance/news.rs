//! The news that a store sends, if it sends any.

use std::time::Duration;

use super::{
    NOW, Runtime, SessionStore, TokenStore, answer, at, create, create_limited, handle, key,
    open_store, record, rule,
    tokens::{self, UNTIL, family, hash},
};
use crate::{
    base::timers,
    store::{
        CreateFamily, Limit, LimitPolicy, News, NewsReader, Revocation, RevokeUser, RotateSession,
    },
};

/// News of another instance may take a while, which depends on the machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads until these news arrive.
pub(super) async fn hears(news: &mut NewsReader, expected: &News) -> bool {
    let heard = async {
        while let Some(news) = news.next().await {
            if news == *expected {
                return true;
            }
        }
        false
    };
    // The runtime of the test may have no timers.
    let patience = {
        let _entered = timers::runtime().as_ref().ok().map(Runtime::enter);
        tokio::time::sleep(PATIENCE)
    };
    tokio::select! {
        heard = heard => heard,
        () = patience => false,
    }
}

/// Reads until the end of this session arrives.
async fn hears_end(news: &mut NewsReader, number: u32, what: &str) {
    rule(hears(news, &News::Session(handle(number))).await, what);
}

pub(super) async fn check_sessions<S: SessionStore>(make: &impl Fn() -> S) {
    let store = open_store(make).await;
    let Some(mut news) = store.news() else { return };
    let one = Some(Limit { sessions: 1, policy: LimitPolicy::EvictOldest });
    create(&*store, 1, record(1, Some("ada"))).await;
    answer(store.delete(&key(1))).await;
    hears_end(&mut news, 1, "news report a deleted session").await;
    create(&*store, 2, record(2, Some("ada"))).await;
    answer(store.delete_by_handle("ada", handle(2))).await;
    hears_end(&mut news, 2, "news report a session that ended by its handle").await;
    create(&*store, 3, record(3, Some("ada"))).await;
    let mut newer = record(4, Some("ada"));
    newer.created = at(1);
    create_limited(&*store, key(4), newer, one).await;
    hears_end(&mut news, 3, "news report a session that a limit ended").await;
    create(&*store, 5, record(5, None)).await;
    let mut newest = record(6, Some("ada"));
    newest.created = at(2);
    let login = RotateSession::new(key(5), key(6), 1, newest, NOW).limit(one);
    answer(store.rotate(login)).await;
    hears_end(&mut news, 4, "news report a session that a rotation ended").await;
    let cut = RevokeUser::new("ada", NOW).keep(Some(key(6)));
    answer(store.revoke_user(cut)).await;
    let expected = News::SessionsOf { user: "ada".into(), keep: Some(handle(6)) };
    rule(hears(&mut news, &expected).await, "news report a cut-off and the session that it kept");
    answer(store.revoke_user(RevokeUser::new("nobody", NOW))).await;
    let expected = News::SessionsOf { user: "nobody".into(), keep: None };
    rule(hears(&mut news, &expected).await, "news report a cut-off of a user without sessions");
    let logout = RotateSession::new(key(6), key(7), 2, record(7, None), NOW).ends(handle(6));
    answer(store.rotate(logout)).await;
    hears_end(&mut news, 6, "news report a session that an anonymous one replaced").await;
    answer(store.revoke_everyone(NOW)).await;
    rule(hears(&mut news, &News::AllSessions).await, "news report a cut-off of everyone");
}

pub(super) async fn check_tokens<S: TokenStore>(make: &impl Fn() -> S) {
    let store = tokens::open_store(make).await;
    let Some(mut news) = store.news() else { return };
    answer(store.revoke(Revocation::Token { id: "j".into(), until: at(60) })).await;
    rule(hears(&mut news, &News::Revocation).await, "news report a revocation");
    let family = CreateFamily::new(family(1, "ada"), hash(1), 0);
    answer(store.create_family(family)).await;
    answer(store.end_family(hash(1), UNTIL)).await;
    rule(hears(&mut news, &News::Revocation).await, "news report the end of a family");
}
