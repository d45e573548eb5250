//! Stores that go back in time.
//!
//! Covers: ways of going back x {sessions, tokens, refresh tokens, logins in progress} x what
//! was acknowledged before and is lost, what is made after, who has noticed it; numbers that the store
//! gives out a second time.

use policy_server::store::{
    Cas, ERA, Revocation, RevokeUser, RotateSession, SessionStore, TokenStore, conformance,
};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{
    origins,
    records::{NOW, create, key, record},
    site::{Instance, OWN, are_held, go_on, until},
};

/// A way in which a store goes back.
pub(crate) trait Way {
    fn url(&self) -> String;

    /// Saves the state to which the store goes back.
    async fn save(&self);

    async fn go_back(&self);
}

async fn post(instance: &Instance, path: &str) -> (u16, Value) {
    let response = instance.client.post(path).origin(OWN).send().await;
    let status = response.status().as_u16();
    let body = if status == 200 { response.text().to_owned() } else { String::new() };
    (status, serde_json::from_str(&body).unwrap_or_default())
}

/// The access token and the refresh token of a login.
pub(crate) async fn issue(instance: &Instance, user: &str) -> [String; 2] {
    let mut issued = (0, Value::Null);
    until(async || {
        issued = post(instance, &format!("/issue/{user}")).await;
        issued.0 == 200
    })
    .await;
    ["access_token", "refresh_token"].map(|name| issued.1[name].as_str().unwrap().to_owned())
}

pub(crate) async fn revoke_user(instance: &Instance, user: &str) {
    until(async || post(instance, &format!("/revoke-user/{user}")).await.0 == 200).await;
}

pub(crate) async fn is_refused(instance: &Instance, token: &str) -> bool {
    instance.bearer("/token", token).send().await.status() == 401
}

async fn refreshes(instance: &Instance, token: &str) -> u16 {
    let request = instance.client.post("/refresh").origin(OWN);
    request.body(token.to_owned()).send().await.status().as_u16()
}

/// The results of a login and of an issue of tokens that were held.
struct Held {
    login: u16,
    cookie: Option<String>,
    issue: u16,
}

/// Begins both. The task continues when they are released.
fn begin(instance: &Instance, users: &str) -> JoinHandle<Held> {
    let (instance, users) = (instance.clone(), users.to_owned());
    tokio::spawn(async move {
        let login = instance.client.post(&format!("/held-login/{users}-session"));
        let issue = format!("/held-issue/{users}-token");
        let (login, issue) = tokio::join!(login.origin(OWN).send(), post(&instance, &issue));
        let cookie = login.header("set-cookie").and_then(|line| line.split(';').next());
        let cookie = cookie.map(str::to_owned);
        Held { login: login.status().as_u16(), cookie, issue: issue.0 }
    })
}

async fn revoke_begun(instance: &Instance, users: &str) {
    are_held(2, users).await;
    revoke_user(instance, &format!("{users}-session")).await;
    revoke_user(instance, &format!("{users}-token")).await;
}

/// Operations that take rights away still win against those that grant them, at every instance.
pub(crate) async fn revoked_rights_stay_revoked(way: &impl Way) {
    let url = way.url();
    let (a, b) = tokio::join!(Instance::start(&url), Instance::start(&url));
    let name = format!("{:?}", std::time::Instant::now());
    let name: String = name.chars().filter(char::is_ascii_digit).collect();
    let eve = format!("eve-{name}");
    let session = a.login(&eve).await;
    let [access, refresh] = issue(&a, &eve).await;
    let [_, of_nobody] = issue(&a, &format!("ida-{name}")).await;
    let zoe = a.login(&format!("zoe-{name}")).await;
    let [_, ended] = issue(&a, &format!("zoe-{name}")).await;
    let mut of_session = String::new();
    until(async || {
        let response = zoe.post(&a, "/issue").await;
        if response.status() == 200 {
            let issued: Value = response.json();
            of_session = issued["refresh_token"].as_str().unwrap().to_owned();
        }
        !of_session.is_empty()
    })
    .await;
    revoke_user(&a, "somebody").await;
    way.save().await;

    // These changes are acknowledged and lost.
    let carol = format!("carol-{name}");
    let before = begin(&b, &carol);
    revoke_begun(&a, &carol).await;
    zoe.logs_out(&a).await;
    until(async || {
        let request = a.client.post("/end").origin(OWN).body(ended.clone());
        request.send().await.status() == 200
    })
    .await;
    revoke_user(&a, &eve).await;
    for number in 0..20 {
        revoke_user(&a, &format!("somebody-{number}")).await;
    }
    until(async || is_refused(&b, &access).await).await;
    way.go_back().await;
    assert_eq!(session.status(&a).await, 401, "the first thing that is said of what `a` ended");
    for instance in [&a, &b] {
        until(async || instance.status("/ready").await == 200).await;
    }

    // These operations began before a cut-off that is lost.
    go_on(&carol);
    let held = before.await.unwrap();
    assert!(matches!(held.issue, 409 | 503), "{}", held.issue);
    match held.cookie {
        None => assert!(matches!(held.login, 409 | 503), "{}", held.login),
        // This instance did not know of the cut-off: the session ends once the other instance
        // notices the loss.
        Some(cookie) => {
            until(async || {
                let visit = b.client.get("/me").header("cookie", &cookie).send().await;
                visit.status() == 401
            })
            .await;
        }
    }

    // What an instance ended is ended again, and what it knows of stays in effect.
    for instance in [&a, &b] {
        until(async || session.status(instance).await == 401).await;
        until(async || is_refused(instance, &access).await).await;
        for refresh in [&refresh, &ended, &of_session] {
            until(async || {
                let status = refreshes(instance, refresh).await;
                assert_ne!(status, 200, "it knows that this family has ended");
                status == 401
            })
            .await;
        }
    }
    assert_eq!(refreshes(&b, &of_nobody).await, 200, "a login of somebody else goes on");

    // Revoked after the loss, whichever instance has noticed it.
    for (one, other) in [(&a, &b), (&b, &a)] {
        let mallory = format!("mallory-{name}");
        let [access, _] = issue(one, &mallory).await;
        revoke_user(one, &mallory).await;
        for instance in [one, other] {
            until(async || is_refused(instance, &access).await).await;
        }
        let bob = format!("bob-{name}-{}", std::ptr::eq(one, &raw const a));
        let before = begin(other, &bob);
        revoke_begun(one, &bob).await;
        go_on(&bob);
        let held = before.await.unwrap();
        assert_eq!((held.login, held.issue), (409, 409));
        one.login(&format!("{bob}-session")).await;
    }
}

/// The instance that made a cut-off knows it, even if the store lost it before the next check. Until
/// that check, nothing is taken from the store.
pub(crate) async fn recent_writes_are_detected_as_lost<S>(way: &impl Way, open: impl Fn(&str) -> S)
where
    S: SessionStore + TokenStore,
{
    let store = open(&way.url());
    SessionStore::open(&store).await.unwrap();
    let revoke = || Revocation::User { user: "ada".into(), before: 5 };
    create(&store, 1, record(1, Some("ada"))).await;
    store.revoke_user(RevokeUser::new("bob", NOW)).await.unwrap();
    store.revoke(revoke()).await.unwrap();
    assert!(store.load(&key(1), NOW).await.unwrap().is_some());
    let (_, read) = (store.cut_offs().await.unwrap(), store.revocations(0).await.unwrap().sequence);
    way.save().await;
    store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap();
    store.revoke(revoke()).await.unwrap();
    assert!(store.load(&key(1), NOW).await.unwrap().is_none());
    way.go_back().await;
    until(async || store.time().await.is_ok()).await;
    let error = store.load(&key(1), NOW).await.map(|found| found.is_some()).unwrap_err();
    assert!(error.to_string().contains("has lost"), "{error}");
    assert_eq!(store.cut_offs().await.unwrap() / ERA, 1);
    assert_eq!(store.revocations(read).await.unwrap().sequence / ERA, 1);
    assert!(store.load(&key(1), NOW).await.unwrap().is_some(), "whoever ended it ends it again");
}

/// The end of one session assigns no number.
pub(crate) async fn a_loss_of_logouts_alone_is_noticed<S: SessionStore>(
    way: &impl Way,
    open: impl Fn(&str) -> S,
) {
    let end = async |store: &S, number: u64| assert!(store.delete(&key(number)).await.unwrap());
    a_loss_of_ends_is_noticed(way, open, end).await;
}

/// Neither does a logout that keeps values: an anonymous session replaces the session of the user.
pub(crate) async fn a_loss_of_replaced_sessions_alone_is_noticed<S: SessionStore>(
    way: &impl Way,
    open: impl Fn(&str) -> S,
) {
    let end = async |store: &S, number: u64| {
        let (ended, anonymous) = (record(number, Some("ada")).handle, record(number + 10, None));
        let logout = RotateSession::new(key(number), key(number + 10), 1, anonymous, NOW);
        let replaced = store.rotate(logout.ends(ended)).await.unwrap();
        assert!(matches!(replaced, Cas::Done { .. }), "{replaced:?}");
    };
    a_loss_of_ends_is_noticed(way, open, end).await;
}

async fn a_loss_of_ends_is_noticed<S: SessionStore>(
    way: &impl Way,
    open: impl Fn(&str) -> S,
    end: impl AsyncFn(&S, u64),
) {
    let (one, two) = (open(&way.url()), open(&way.url()));
    for (number, store) in [(1, &one), (2, &two)] {
        store.open().await.unwrap();
        create(store, number, record(number, Some("ada"))).await;
        assert_eq!(store.cut_offs().await.unwrap(), 0);
    }
    way.save().await;
    for (number, store) in [(1, &one), (2, &two)] {
        end(store, number).await;
        for _ in 0..2 {
            assert_eq!(store.cut_offs().await.unwrap(), 0, "nothing is lost yet");
        }
    }
    way.go_back().await;
    until(async || one.time().await.is_ok() && two.time().await.is_ok()).await;
    for store in [&one, &two, &one, &two] {
        assert_eq!(store.cut_offs().await.unwrap(), ERA, "noticed once");
    }
}

/// Each process stores a count of its own. A running process keeps its count. One that slept until
/// its count was removed cannot distinguish this from a loss.
pub(crate) async fn counts_of_processes_that_are_gone_are_removed<S: SessionStore>(
    open: impl Fn() -> S,
    pass_days: impl AsyncFn(u32),
    counts: impl AsyncFn() -> usize,
) {
    let start = async || {
        let store = open();
        store.open().await.unwrap();
        store
    };
    let end_one = async |store: &S, number: u64| {
        create(store, number, record(number, Some("ada"))).await;
        assert!(store.delete(&key(number)).await.unwrap());
        store.cut_offs().await.unwrap()
    };
    let (running, asleep) = (start().await, start().await);
    assert_eq!((end_one(&running, 1).await, end_one(&asleep, 2).await), (0, 0));
    for number in 3..6 {
        assert_eq!(end_one(&start().await, number).await, 0);
    }
    assert_eq!(counts().await, 5);
    for _ in 0..2 {
        pass_days(20).await;
        assert_eq!(running.cut_offs().await.unwrap(), 0);
    }
    let new = start().await;
    assert_eq!(end_one(&new, 6).await, 0);
    assert_eq!(counts().await, 2, "those of `running` and `new`");
    assert_eq!(running.cut_offs().await.unwrap(), 0);
    assert_eq!(asleep.cut_offs().await.unwrap(), ERA, "its count is gone");
    for store in [&running, &new, &asleep] {
        assert_eq!(store.cut_offs().await.unwrap(), ERA, "noticed once");
    }
    assert_eq!(end_one(&asleep, 7).await, ERA);
    assert_eq!(counts().await, 3);
}

/// An origin that was removed does not come back with an older list, and no list is lost where an instance
/// knows it.
pub(crate) async fn no_list_of_origins_is_widened(way: &impl Way) {
    const LISTS: [&str; 3] = ["a", "b", "c"];
    let origin = |name: &str| format!("https://{name}.customer.example");
    let url = way.url();
    let (one, two) = tokio::join!(origins::Instance::start(&url), origins::Instance::start(&url));
    let all = LISTS.map(origin);
    one.customers.replace(&all).await.unwrap();
    until(async || two.customers.patterns() == all).await;
    way.save().await;
    // These changes, at both instances, are acknowledged and lost.
    assert!(one.customers.remove(&all[0]).await.unwrap());
    until(async || two.customers.remove(&all[1]).await.is_ok_and(|was_there| was_there)).await;
    assert!(two.customers.add(&origin("d")).await.unwrap());
    until(async || one.customers.patterns() == two.customers.patterns()).await;
    way.go_back().await;
    // Whatever the store has by now, what was removed is never granted, and all instances arrive at one
    // list.
    let left = [all[2].clone()];
    until(async || {
        for instance in [&one, &two] {
            for removed in &all[..2] {
                assert!(!instance.grants(removed).await, "{removed}");
            }
        }
        let mut lists = [&one, &two].map(|instance| instance.customers.patterns());
        lists.iter_mut().for_each(|list| list.retain(|origin| *origin != left[0]));
        lists.iter().all(Vec::is_empty)
    })
    .await;
    until(async || origins::Instance::start(&url).await.customers.patterns() == left).await;
    assert!(one.customers.add(&all[0]).await.unwrap(), "it may be added again");
    until(async || two.grants(&all[0]).await).await;
}

/// The numbers that instances know are those of a server that is gone, and another server has given
/// them to something else, as if each side of a split had continued separately.
pub(crate) async fn a_reused_number_is_not_mistaken_for_the_first<S>(
    [sessions, tokens]: &[impl Way; 2],
    open: impl Fn(&str) -> S,
) where
    S: SessionStore + TokenStore,
{
    let url = sessions.url();
    let go_back = async || sessions.go_back().await;
    conformance::sessions_after_loss(|| open(&url), async || sessions.save().await, go_back).await;
    let url = tokens.url();
    let go_back = async || tokens.go_back().await;
    conformance::tokens_after_loss(|| open(&url), async || tokens.save().await, go_back).await;
}
