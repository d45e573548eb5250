//! Stores that go back in time.
//!
//! What meets here: ways of going back x {sessions, tokens, refresh tokens, logins under way} x what was
//! acknowledged before and is lost, what is made after, who has noticed it; numbers that the store gives out
//! a second time.

use policy_core::session::Identity;
use policy_server::store::{
    CreateFamily, CreateSession, Created, ERA, Family, Refresh, Refreshed, Revocation, RevokeUser,
    SessionStore, TokenHash, TokenStore,
};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{
    records::{NOW, key, record},
    site::{Instance, OWN, are_held, go_on, until},
};

/// A way in which a store goes back.
pub(crate) trait Way {
    fn url(&self) -> String;

    /// What the store has now is what it goes back to.
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
async fn issue(instance: &Instance, user: &str) -> [String; 2] {
    let mut issued = (0, Value::Null);
    until(async || {
        issued = post(instance, &format!("/issue/{user}")).await;
        issued.0 == 200
    })
    .await;
    ["access_token", "refresh_token"].map(|name| issued.1[name].as_str().unwrap().to_owned())
}

async fn revoke_user(instance: &Instance, user: &str) {
    until(async || post(instance, &format!("/revoke-user/{user}")).await.0 == 200).await;
}

async fn is_refused(instance: &Instance, token: &str) -> bool {
    instance.bearer("/token", token).send().await.status() == 401
}

async fn refreshes(instance: &Instance, token: &str) -> u16 {
    let request = instance.client.post("/refresh").origin(OWN);
    request.body(token.to_owned()).send().await.status().as_u16()
}

/// How a login and an issue of tokens end that are held.
struct Held {
    login: u16,
    cookie: Option<String>,
    issue: u16,
}

/// Begins them. The task goes on when they do.
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

/// What takes rights away goes on to win against what grants them, at every instance.
pub(crate) async fn nothing_that_was_taken_away_comes_back(way: &impl Way) {
    let url = way.url();
    let (a, b) = tokio::join!(Instance::start(&url), Instance::start(&url));
    let name = format!("{:?}", std::time::Instant::now());
    let name: String = name.chars().filter(char::is_ascii_digit).collect();
    let eve = format!("eve-{name}");
    let session = a.login(&eve).await;
    let [access, refresh] = issue(&a, &eve).await;
    let [_, of_nobody] = issue(&a, &format!("ida-{name}")).await;
    revoke_user(&a, "somebody").await;
    way.save().await;

    // Acknowledged and lost.
    let carol = format!("carol-{name}");
    let before = begin(&b, &carol);
    revoke_begun(&a, &carol).await;
    revoke_user(&a, &eve).await;
    for number in 0..20 {
        revoke_user(&a, &format!("somebody-{number}")).await;
    }
    until(async || is_refused(&b, &access).await).await;
    way.go_back().await;
    for instance in [&a, &b] {
        until(async || instance.status("/ready").await == 200).await;
    }

    // What began before a cut-off that is lost.
    go_on(&carol);
    let held = before.await.unwrap();
    assert!(matches!(held.issue, 409 | 503), "{}", held.issue);
    match held.cookie {
        None => assert!(matches!(held.login, 409 | 503), "{}", held.login),
        // At an instance that had not heard of it: it ends when the one that made it has noticed.
        Some(cookie) => {
            until(async || {
                let visit = b.client.get("/me").header("cookie", &cookie).send().await;
                visit.status() == 401
            })
            .await;
        }
    }

    // What an instance ended is ended again, and what it knows holds.
    for instance in [&a, &b] {
        until(async || session.status(instance).await == 401).await;
        until(async || is_refused(instance, &access).await).await;
        until(async || refreshes(instance, &refresh).await == 401).await;
    }
    assert_eq!(refreshes(&b, &of_nobody).await, 200, "a login of somebody else goes on");

    // What is revoked after it, whichever instance has noticed it.
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

/// The numbers that instances know are those of a server that is gone, and another server has given them to
/// something else, as where each side of a split went on for itself.
pub(crate) async fn a_number_that_is_given_out_twice_is_not_taken_for_the_first<S>(
    way: &impl Way,
    open: impl Fn(&str) -> S,
) where
    S: SessionStore + TokenStore,
{
    let url = way.url();
    let (one, two) = (open(&url), open(&url));
    for store in [&one, &two] {
        SessionStore::open(store).await.unwrap();
    }
    let family = |number: u8| {
        let identity = Identity::new("ada");
        Family::new([number; 16], identity, NOW, NOW.after(std::time::Duration::from_secs(3600)))
    };
    let token = |number: u8| TokenHash([number; 32]);
    let make = async |store: &S, user: &str| {
        let cut = store.revoke_user(RevokeUser::new(user, NOW)).await.unwrap();
        let revocation = Revocation::User { user: user.into(), before: 5 };
        (cut.number, store.revoke(revocation).await.unwrap().position)
    };
    make(&one, "somebody").await;
    let known = one.revocations(0).await.unwrap().sequence;
    let started = CreateFamily::new(family(1), token(1), known);
    assert!(one.create_family(started).await.unwrap());
    way.save().await;
    for _ in 0..5 {
        make(&one, "somebody").await;
    }
    let lost = (one.cut_offs().await.unwrap(), one.revocations(0).await.unwrap().sequence);
    way.go_back().await;
    // The other side gives out the same numbers, and more.
    until(async || two.cut_offs().await.is_ok()).await;
    let mut newest = (0, 0);
    for _ in 0..10 {
        newest = make(&two, "ada").await;
    }
    assert!(newest.0 > lost.0 && newest.0 < ERA, "{newest:?} after {lost:?}");
    assert!(newest.1 > lost.1 && newest.1 < ERA, "{newest:?} after {lost:?}");
    until(async || one.time().await.is_ok()).await;

    // Of a user who was cut off, and of one who was not: both are refused, since nobody can tell.
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let create = CreateSession::new(key(number), record(number, Some(user)), NOW).began(lost.0);
        assert_eq!(one.create(create).await.unwrap(), Created::CutOff, "{user}");
    }
    let late = CreateFamily::new(family(2), token(2), lost.1);
    assert!(!one.create_family(late).await.unwrap());
    let grace = std::time::Duration::from_secs(10);
    let refresh = Refresh::new(token(1), token(9), grace, NOW);
    assert!(one.refresh(refresh).await.is_err(), "it does not know what was revoked");

    // Its next look finds it, and everyone goes on in the same era.
    let (found, batch) = (one.cut_offs().await.unwrap(), one.revocations(lost.1).await.unwrap());
    assert_eq!((found / ERA, batch.sequence / ERA), (1, 1));
    assert!(batch.revocations.contains(&(ERA, Revocation::All { before: 0 })), "{batch:?}");
    assert!(matches!(one.refresh(refresh).await.unwrap(), Refreshed::Dead), "`ada` was cut off");
    assert_eq!(two.cut_offs().await.unwrap(), found, "noticed once");
    assert_eq!(two.revocations(newest.1).await.unwrap().sequence, batch.sequence);
    let create = CreateSession::new(key(3), record(3, Some("bob")), NOW).began(newest.0);
    assert_eq!(two.create(create).await.unwrap(), Created::CutOff, "it began in the last era");
    let create = CreateSession::new(key(3), record(3, Some("bob")), NOW).began(found);
    assert!(matches!(two.create(create).await.unwrap(), Created::Done { .. }));

    // A cut-off of a request that began before does not make it one that began after.
    let cut = one.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap();
    assert!(cut.before > lost.0 && cut.number > ERA, "{cut:?}");
}
