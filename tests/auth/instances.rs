//! Two instances of one app with a shared store.

use std::time::{Duration, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use policy_server::{session::minutes, store::MemoryStore, tokens::TokenKeys};
use policy_tests::{
    handlers::{by_ticket, change_tenant, refresh, revoke, revoke_others, ticket, token},
    http::{settle, soon},
};

use super::*;

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(Identity::new("ada")).await
}

#[post("/revoke-all")]
#[auth(session)]
async fn revoke_all(sessions: Sessions, me: Principal) -> Result<String, Problem> {
    Ok(sessions.revoke_user(me.subject()).await?.to_string())
}

#[post("/revoke-everyone")]
#[auth(session)]
async fn revoke_everyone(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_everyone().await?.to_string())
}

#[get("/events")]
#[auth(session)]
async fn events() -> policy_server::Body {
    policy_server::Body::from_stream(futures_util::stream::pending::<
        Result<bytes::Bytes, std::convert::Infallible>,
    >())
}

fn all() -> Vec<Route<All>> {
    routes![
        issue,
        refresh,
        token,
        revoke,
        ticket,
        by_ticket,
        revoke_others,
        revoke_all,
        revoke_everyone,
        change_tenant,
        events
    ]
}

/// Two instances. With a silent store, neither is notified of what the other does.
async fn two(is_silent: bool) -> (Scenario, Scenario) {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    if is_silent {
        store.silence();
    }
    let renewing = |store: &FaultyStore| {
        let sessions = Sessions::store(store.clone()).same_site(SameSite::None).renewal(minutes(5));
        move |app: App<All>| app.sessions(sessions)
    };
    (
        Scenario::on(store.clone(), clock.clone(), all(), renewing(&store)).await,
        Scenario::on(store.clone(), clock, all(), renewing(&store)).await,
    )
}

impl Visitor {
    /// The same browser at another instance.
    fn at(&self, scenario: &Scenario) -> Self {
        Self { client: scenario.client.clone(), ..self.clone() }
    }
}

#[tokio::test]
async fn a_session_is_everywhere_and_ends_everywhere() {
    let (one, two) = two(false).await;
    let ada = one.login("ada").await;
    let there = ada.at(&two);
    assert_eq!(there.who().await.as_deref(), Some("ada"));
    // The CSRF token of the other instance is valid.
    assert_eq!(there.post("/set/a/7").send().await.status(), 200);
    assert_eq!(ada.value("a").await, 7);
    let ticket = ada.post("/ticket").send().await.text();
    assert_eq!(there.get(&format!("/by-ticket?ticket={ticket}")).send().await.status(), 200);
    let again = ada.get(&format!("/by-ticket?ticket={ticket}")).send().await;
    assert_problem(&again, 401, "auth.ticket-invalid");

    let phone = two.login("ada").await;
    assert_eq!(there.post("/revoke-others").send().await.text(), "1");
    assert_eq!(phone.at(&one).who().await, None);
    assert_eq!(there.post("/logout").send().await.status(), 200);
    assert_eq!(ada.who().await, None);
}

/// Two instances renew the id at the same time, to the same new id.
#[tokio::test]
async fn a_renewal_at_two_instances_gives_one_id() {
    let (one, two) = two(false).await;
    let ada = one.login("ada").await;
    one.advance(300);
    let there = ada.at(&two);
    let (first, second) = tokio::join!(ada.get("/me").send(), there.get("/me").send());
    assert_eq!(cookie_of(&first), cookie_of(&second));
    assert_eq!((first.text(), second.text()), ("ada".to_owned(), "ada".to_owned()));
}

#[tokio::test]
async fn a_revoked_token_is_refused_everywhere() {
    for is_silent in [false, true] {
        let (one, two) = two(is_silent).await;
        settle().await;
        let issued: Value = one.client.post("/issue").send().await.json();
        let field = bearer(issued["access_token"].as_str().unwrap());
        let get = async |scenario: &Scenario| {
            let request = scenario.client.get("/token").header("authorization", &field);
            request.send().await.status().as_u16()
        };
        assert_eq!((get(&one).await, get(&two).await), (200, 200));
        one.client.post("/revoke").header("authorization", &field).send().await;
        assert_eq!(get(&one).await, 401);
        settle().await;
        if is_silent {
            assert_eq!(get(&two).await, 200);
            one.advance(1);
            settle().await;
        }
        assert_eq!(get(&two).await, 401);
    }
}

#[tokio::test]
async fn a_refresh_at_two_instances_gives_one_successor() {
    let (one, two) = two(false).await;
    let issued: Value = one.client.post("/issue").send().await.json();
    let refresh = |scenario: &Scenario| {
        let token = issued["refresh_token"].as_str().unwrap().to_owned();
        scenario.client.post("/refresh").body(token).send()
    };
    let (first, second) = tokio::join!(refresh(&one), refresh(&two));
    let (first, second): (Value, Value) = (first.json(), second.json());
    assert_eq!(first["refresh_token"], second["refresh_token"]);
    assert_ne!(first["access_token"], second["access_token"]);
}

/// A stream at one instance, and its session at another.
struct Far {
    clock: Clock,
    other: Scenario,
    ada: Visitor,
    stream: tokio::task::JoinHandle<bool>,
    _app: policy_server::AppService,
}

impl Far {
    async fn new(is_silent: bool) -> Self {
        use http_body_util::BodyExt;
        use tower::ServiceExt;

        let (store, clock) = (FaultyStore::default(), Clock::at(START));
        let other = Scenario::on(store.clone(), clock.clone(), all(), |app| app).await;
        let ada = other.login("ada").await;
        if is_silent {
            store.silence();
        }
        let (app, _shared) = app(&store, &clock, all());
        let service = app.open().await.unwrap();
        let request = policy_server::http::Request::get("/events")
            .header("host", "api.example")
            .header("cookie", &ada.cookie)
            .body(policy_server::Body::empty())
            .unwrap();
        let mut body = service.clone().oneshot(request).await.unwrap().into_body();
        let ended = async move { body.frame().await.is_some_and(|frame| frame.is_err()) };
        let stream = tokio::spawn(ended);
        settle().await;
        Self { clock, other, ada, stream, _app: service }
    }

    async fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        settle().await;
    }

    async fn assert_ended(&mut self) {
        assert!(http::soon(&mut self.stream).await.unwrap(), "it ends in order");
    }
}

#[tokio::test]
async fn a_stream_ends_as_soon_as_its_session_ends_at_another_instance() {
    for path in ["/logout", "/revoke-all", "/revoke-everyone", "/rights"] {
        let mut far = Far::new(false).await;
        far.advance(3).await;
        assert!(!far.stream.is_finished());
        assert_eq!(far.ada.post(path).send().await.status(), 200, "{path}");
        far.assert_ended().await;
    }
    // Another session of the user ends, or one is kept.
    let far = Far::new(false).await;
    let phone = far.other.login("ada").await;
    phone.post("/logout").send().await;
    far.ada.post("/revoke-others").send().await;
    far.advance(3).await;
    assert!(!far.stream.is_finished());
}

/// Every instance checks for cut-offs once a second. If there is one, its streams check within a
/// second, and every 20 seconds in any case.
#[tokio::test]
async fn a_stream_ends_a_little_later_where_the_news_are_lost() {
    for path in ["/revoke-all", "/revoke-everyone", "/rights"] {
        let mut far = Far::new(true).await;
        assert_eq!(far.ada.post(path).send().await.status(), 200, "{path}");
        settle().await;
        assert!(!far.stream.is_finished());
        far.advance(1).await;
        far.advance(1).await;
        far.assert_ended().await;
    }
    let mut far = Far::new(true).await;
    far.advance(20).await;
    assert!(!far.stream.is_finished());
    far.ada.post("/logout").send().await;
    far.advance(10).await;
    assert!(!far.stream.is_finished());
    far.advance(10).await;
    far.assert_ended().await;
}

/// Values of a session, with keys that are replaced while two instances run.
#[tokio::test]
async fn values_are_encrypted_at_rest_and_keys_are_replaced_without_a_logout() {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let instance = async |keys: &[u8]| {
        let keys: Vec<_> = keys.iter().map(|first| secret(*first)).collect();
        let sessions = Sessions::store(store.clone()).same_site(SameSite::None).encrypted(keys);
        let sessions = sessions.unencrypted_until(UNIX_EPOCH + Duration::from_secs(START + 3600));
        Scenario::on(store.clone(), clock.clone(), all(), |app| app.sessions(sessions)).await
    };
    let plain = Scenario::on(store.clone(), clock.clone(), all(), |app| app).await;
    let ada = plain.login("ada").await;
    assert_eq!(ada.post("/set/a/7").send().await.status(), 200);
    for (step, keys) in [&[1][..], &[1, 2], &[2, 1], &[2]].into_iter().enumerate() {
        let next = instance(keys).await;
        let there = ada.at(&next);
        assert_eq!(there.value("a").await, 7, "{keys:?}");
        // Only changed values are written.
        let set = format!("/set/b/{step}");
        assert_eq!(there.post(&set).send().await.status(), 200, "{keys:?}");
    }
    // Without the key the user is not logged out, and what was written is not lost.
    let without = instance(&[3]).await;
    assert_eq!(ada.at(&without).get("/me").send().await.status(), 503);
    assert_eq!(ada.at(&instance(&[2]).await).value("b").await, 3);
}

/// Encryption is turned on while sessions exist, and is required after a certain time.
#[tokio::test]
async fn values_in_plain_text_end_their_session_after_the_stated_date() {
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let plain = Scenario::on(store.clone(), clock.clone(), all(), |app| app).await;
    let (ada, bob) = (plain.login("ada").await, plain.login("bob").await);
    assert_eq!(ada.post("/set/a/7").send().await.status(), 200);
    assert_eq!(bob.post("/set/a/8").send().await.status(), 200);
    let encrypted = async |until: Option<u64>| {
        let sessions = Sessions::store(store.clone()).same_site(SameSite::None);
        let sessions = sessions.encrypted([secret(1)]);
        let sessions = match until {
            Some(seconds) => sessions.unencrypted_until(UNIX_EPOCH + Duration::from_secs(seconds)),
            None => sessions,
        };
        Scenario::on(store.clone(), clock.clone(), all(), |app| app.sessions(sessions)).await
    };
    let while_changing = encrypted(Some(START + 60)).await;
    assert_eq!(ada.at(&while_changing).value("a").await, 7);
    assert_eq!(ada.at(&while_changing).post("/set/b/9").send().await.status(), 200);
    assert_eq!(bob.at(&while_changing).value("a").await, 8);
    while_changing.advance(60);
    assert_eq!(ada.at(&while_changing).value("b").await, 9, "it was encrypted meanwhile");
    for instance in [while_changing, encrypted(None).await] {
        assert_eq!(bob.at(&instance).get("/me").send().await.status(), 401);
        assert_eq!(instance.login("bob").await.get("/me").send().await.status(), 200);
    }
    assert!(!log.with_code("session.unprotected").is_empty());
}

/// A rotation, a mistake and a revocation, each one change of the file that both read.
#[tokio::test]
async fn a_change_of_the_key_file_reaches_all_instances_without_a_restart() {
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let folder = policy_tests::folder::Folder::new().expect("a folder");
    let file = folder.path().join("keys");
    let write = |lines: &[&str]| {
        // In one step, as tools that manage secrets do.
        let new = folder.path().join("new");
        std::fs::write(&new, lines.join("\n")).expect("a file");
        std::fs::rename(new, &file).expect("a file");
    };
    let one = "one 0101010101010101010101010101010101010101010101010101010101010100";
    let two = "two 0202020202020202020202020202020202020202020202020202020202020200";
    write(&[one]);
    let (clock, store) = (Clock::at(1_800_000_000), MemoryStore::new());
    let start = async || {
        let keys = TokenKeys::read(&file).expect("keys");
        let settings = Tokens::signed_with(keys).store(store.clone());
        let app = App::new(()).clock(clock.clone()).tokens(settings).routes(routes![issue, token]);
        TestClient::new(app.open().await.expect("an app"), "localhost")
    };
    let instances = [start().await, start().await];
    // The key file is read on another thread.
    let until_logged = async |code: &str, times: usize| {
        soon(async {
            while log.with_code(code).len() < times {
                clock.advance(Duration::from_secs(10));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    };
    let issue = async |instance: &TestClient| {
        let issued: Value = instance.post("/issue").send().await.json();
        let token = issued["access_token"].as_str().expect("a token").to_owned();
        let header = token.split('.').next().expect("a header").to_owned();
        (token, String::from_utf8(BASE64URL_NOPAD.decode(header.as_bytes()).expect("text")))
    };
    let signer = async |instance: &TestClient| {
        let (_, header) = issue(instance).await;
        let header: Value = serde_json::from_str(&header.expect("text")).expect("a header");
        header["kid"].as_str().expect("a key").to_owned()
    };
    let status = async |instance: &TestClient, token: &str| {
        let bearer = format!("Bearer {token}");
        instance.get("/token").header("authorization", bearer).send().await.status().as_u16()
    };

    write(&[two]);
    until_logged("token.keys-replaced", 2).await;
    clock.advance(Duration::from_secs(300));
    for instance in &instances {
        assert_eq!(signer(instance).await, "two");
    }
    let (token, _) = issue(&instances[0]).await;
    assert_eq!(status(&instances[1], &token).await, 200);

    // An invalid key changes nothing, and each instance logs it once.
    write(&["two hunter2"]);
    until_logged("token.keys-kept", 2).await;
    for _ in 0..5 {
        clock.advance(Duration::from_secs(10));
        tokio::task::yield_now().await;
    }
    assert!(log.with("hunter2").is_empty());
    let (token, _) = issue(&instances[1]).await;
    assert_eq!(status(&instances[0], &token).await, 200);

    write(&[one, "two revoked"]);
    until_logged("token.keys-replaced", 4).await;
    for instance in &instances {
        assert_eq!(status(instance, &token).await, 401);
        assert_eq!(signer(instance).await, "one");
    }
    assert_eq!(log.with_code("token.keys-kept").len(), 2);
}
