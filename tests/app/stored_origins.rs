//! Lists of origins that are kept in a store, for all instances.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use policy_server::{
    Error, Route, StoredOrigins, StoredOriginsError,
    session::SessionSettings,
    store::{MemoryStore, NewsReader, StoreError, StoreFuture, StoredValue, ValueStore},
};
use policy_tests::{http::until, log::Log};

use super::*;

const A: &str = "https://a.partner.example";
const B: &str = "https://b.partner.example";
const OUTSIDE: &str = "https://evil.example";

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]))]
#[auth(public)]
async fn prices() -> &'static str {
    "prices"
}

/// A release with a narrower rule.
#[get("/prices")]
#[cors(origins = config("partners", within = ["https://a.partner.example"]))]
#[auth(public)]
async fn narrow() -> &'static str {
    "prices"
}

#[post("/partners/{name}")]
#[auth(public)]
async fn admit(name: String, State(partners): State<StoredOrigins>) -> Result<(), Problem> {
    partners.add(&format!("https://{name}.partner.example")).await?;
    Ok(())
}

/// A store in memory that a test can switch off, and that sends no notifications if it is silent.
#[derive(Clone, Debug, Default)]
struct Values {
    store: MemoryStore,
    is_away: Arc<AtomicBool>,
    is_silent: bool,
    /// The older state that the store went back to, if any.
    older: Arc<OnceLock<MemoryStore>>,
    only_reads: Arc<AtomicBool>,
    /// Whether it stores without an answer.
    loses_answers: Arc<AtomicBool>,
}

impl Values {
    fn check(&self) -> Result<(), StoreError> {
        let is_away = self.is_away.load(Ordering::SeqCst);
        if is_away { Err(StoreError::new("the store is away")) } else { Ok(()) }
    }

    fn now(&self) -> &MemoryStore {
        self.older.get().unwrap_or(&self.store)
    }

    /// Goes back to a list that was stored as this version.
    async fn go_back(&self, version: u64, list: &[&str]) {
        let older = MemoryStore::new();
        for version in 0..version {
            let list = format!("[\"{}\"]", list.join("\",\"")).into_bytes();
            older.set_value("partners", version, list.into()).await.unwrap();
        }
        self.older.set(older).unwrap();
    }
}

impl ValueStore for Values {
    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
        match self.check() {
            Ok(()) => self.now().value(name),
            Err(error) => StoreFuture::ready(Err(error)),
        }
    }

    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool> {
        match self.check() {
            Ok(()) if self.only_reads.load(Ordering::SeqCst) => {
                StoreFuture::ready(Err(StoreError::new("the store only reads")))
            }
            Ok(()) if self.loses_answers.load(Ordering::SeqCst) => StoreFuture::new(async move {
                self.now().set_value(name, expected, value).await?;
                Err(StoreError::new("the answer is lost"))
            }),
            Ok(()) => self.now().set_value(name, expected, value),
            Err(error) => StoreFuture::ready(Err(error)),
        }
    }

    fn news(&self) -> Option<NewsReader> {
        (!self.is_silent).then(|| ValueStore::news(&self.store)).flatten()
    }
}

/// An instance of the app, and its handle to the list.
struct Instance {
    client: TestClient,
    partners: StoredOrigins,
}

impl Instance {
    async fn start(store: &Values, initial: &[&str]) -> Self {
        Self::try_start(store, initial, routes![prices, admit]).await.unwrap()
    }

    async fn try_start(
        store: &Values,
        initial: &[&str],
        routes: Vec<Route<StoredOrigins>>,
    ) -> Result<Self, Error> {
        let partners = StoredOrigins::in_store(store.clone(), initial.iter().copied());
        let app = App::new(partners.clone())
            .readiness("/ready")
            .origins("partners", &partners)
            .routes(routes);
        let client = TestClient::new(app.open().await?, "localhost");
        Ok(Self { client, partners })
    }

    async fn grants(&self, origin: &str) -> bool {
        let response = self.client.get("/prices").origin(origin).send().await;
        response.header("access-control-allow-origin").is_some()
    }

    async fn status(&self, path: &str) -> u16 {
        self.client.get(path).send().await.status().as_u16()
    }
}

#[tokio::test]
async fn a_change_at_one_instance_holds_at_all_and_after_a_restart() {
    for is_silent in [false, true] {
        let store = Values { is_silent, ..Values::default() };
        let (one, two) = (Instance::start(&store, &[A]).await, Instance::start(&store, &[A]).await);
        assert!(one.grants(A).await && two.grants(A).await);
        one.partners.replace(&[B]).await.unwrap();
        // The change takes effect at once where it was made.
        assert_eq!((one.grants(A).await, one.grants(B).await), (false, true));
        until(async || two.grants(B).await).await;
        assert!(!two.grants(A).await);
        assert_eq!(two.partners.patterns(), [B]);
        // The initial list is that of the first start only.
        let restarted = Instance::start(&store, &[A]).await;
        assert_eq!(restarted.partners.patterns(), [B]);
    }
}

/// Every request sees the old list or the new one, also at the instance that is notified.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_whole() {
    let store = Values::default();
    const ALWAYS: &str = "https://always.partner.example";
    let one = Instance::start(&store, &[A, ALWAYS]).await;
    let two = Instance::start(&store, &[]).await;
    let changes = tokio::spawn(async move {
        for number in 0..200 {
            let other = if number % 2 == 0 { B } else { A };
            one.partners.replace(&[other, ALWAYS]).await.unwrap();
        }
    });
    while !changes.is_finished() {
        assert!(two.grants(ALWAYS).await);
    }
    changes.await.unwrap();
    until(async || two.partners.patterns().contains(&A.to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_the_same_moment_are_all_kept() {
    let store = Values::default();
    let instances = [
        Instance::start(&store, &[]).await,
        Instance::start(&store, &[]).await,
        Instance::start(&store, &[]).await,
    ];
    let mut changes = tokio::task::JoinSet::new();
    for number in 0..12 {
        let partners = instances[number % 3].partners.clone();
        changes.spawn(async move {
            let origin = format!("https://p{number}.partner.example");
            assert!(partners.add(&origin).await.unwrap());
            assert!(!partners.add(&origin).await.unwrap());
            if number % 2 == 0 {
                assert!(partners.remove(&origin).await.unwrap());
                assert!(!partners.remove(&origin).await.unwrap());
            }
        });
    }
    changes.join_all().await;
    for instance in &instances {
        until(async || instance.partners.patterns().len() == 6).await;
    }
}

#[tokio::test]
async fn a_list_that_breaks_a_rule_is_refused_before_it_is_stored() {
    let store = Values::default();
    let one = Instance::start(&store, &[A]).await;
    let Err(StoredOriginsError::Refused(errors)) = one.partners.replace(&[B, OUTSIDE, "*"]).await
    else {
        panic!("it is stored")
    };
    assert_eq!(errors.errors().len(), 2, "{errors}");
    let stored = store.value("partners").await.unwrap().unwrap();
    assert_eq!((stored.version, &*stored.value), (1, format!("[\"{A}\"]").as_bytes()));
    assert!(one.grants(A).await && !one.grants(B).await);
    // The response of a handler states the reason.
    let response = one.client.post("/partners/B").send().await;
    assert_eq!(response.status(), 422, "{response:?}");
    for part in ["cors.list-refused", "https://B.partner.example", "(cors.origin-"] {
        assert!(response.text().contains(part), "{response:?}");
    }
}

#[tokio::test]
async fn an_instance_that_cannot_use_a_list_keeps_its_own_and_is_not_ready() {
    let (log, _guard) = Log::start("policy_server");
    let store = Values::default();
    let newer = Instance::try_start(&store, &[A], routes![narrow]).await.unwrap();
    let older = Instance::start(&store, &[]).await;
    assert_eq!(newer.status("/ready").await, 200);
    older.partners.add(B).await.unwrap();
    until(async || newer.status("/ready").await == 503).await;
    assert_eq!((newer.grants(A).await, newer.grants(B).await), (true, false));
    let logged = log.with_code("cors.stored-list-refused");
    assert!(
        logged[0].contains("cors.origin-outside-bound") && logged[0].contains("ERROR"),
        "{logged:?}"
    );
    let response = newer.client.get("/ready").send().await;
    assert!(response.text().contains("cors.list-outdated"), "{response:?}");
    // An instance does not start with such a list.
    let Err(error) = Instance::try_start(&store, &[A], routes![narrow]).await.map(drop) else {
        panic!("it starts")
    };
    let text = error.to_string();
    assert!(text.contains("cors.origin-outside-bound") && text.contains("`partners`"), "{text}");
    older.partners.remove(B).await.unwrap();
    until(async || newer.status("/ready").await == 200).await;
    // Nor does it use a value that is no list, until another list replaces that.
    let version = store.value("partners").await.unwrap().unwrap().version;
    assert!(store.set_value("partners", version, Box::from(*b"{}")).await.unwrap());
    until(async || newer.status("/ready").await == 503).await;
    assert!(newer.grants(A).await);
    assert!(matches!(newer.partners.add(A).await, Err(StoredOriginsError::Store(_))));
    newer.partners.replace(&[A]).await.unwrap();
    assert_eq!(newer.status("/ready").await, 200);
    let restored = MemoryStore::new();
    assert!(restored.set_value("partners", 0, Box::from(*b"{}")).await.unwrap());
    store.older.set(restored).unwrap();
    until(async || newer.status("/ready").await == 503).await;
    newer.partners.replace(&[A]).await.unwrap();
    assert_eq!(newer.status("/ready").await, 200);
}

/// An older version, and another list of the same version, as from a server that continued separately.
#[tokio::test]
async fn an_origin_that_was_removed_does_not_come_back_with_an_older_list() {
    const C: &str = "https://c.partner.example";
    for version in [1, 3] {
        let (log, _guard) = Log::start("policy_server");
        let store = Values::default();
        let one = Instance::start(&store, &[A, B]).await;
        one.partners.add(C).await.unwrap();
        one.partners.remove(B).await.unwrap();
        assert_eq!(log.with_code("session.store-lost-writes"), [""; 0]);
        store.only_reads.store(true, Ordering::SeqCst);
        store.go_back(version, &[A, B]).await;
        until(async || one.status("/ready").await == 503).await;
        let ready = one.client.get("/ready").send().await;
        assert!(ready.text().contains("cors.list-outdated"), "{ready:?}");
        // The instance keeps its own list. Meanwhile, nothing can be added to it.
        assert_eq!(
            (one.grants(A).await, one.grants(B).await, one.grants(C).await),
            (true, false, true)
        );
        assert!(matches!(one.partners.add(B).await, Err(StoredOriginsError::Store(_))));
        assert!(!one.grants(B).await);
        store.only_reads.store(false, Ordering::SeqCst);
        until(async || one.status("/ready").await == 200).await;
        assert_eq!(one.partners.patterns(), [A], "what both lists have");
        assert_eq!(Instance::start(&store, &[]).await.partners.patterns(), [A]);
        let lines = log.with_code("session.store-lost-writes");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("ERROR") && lines[0].contains("store=\"partners\""), "{lines:?}");
        one.partners.add(B).await.unwrap();
        assert!(one.grants(B).await);
    }
}

/// What is stored again has the version and the origins that the instance knew.
#[tokio::test]
async fn a_list_that_is_stored_again_without_an_answer_is_not_outdated() {
    let store = Values::default();
    let one = Instance::start(&store, &[A, B]).await;
    one.partners.remove(B).await.unwrap();
    store.only_reads.store(true, Ordering::SeqCst);
    store.go_back(1, &[A, B]).await;
    until(async || one.status("/ready").await == 503).await;
    store.loses_answers.store(true, Ordering::SeqCst);
    store.only_reads.store(false, Ordering::SeqCst);
    until(async || one.status("/ready").await == 200).await;
    assert_eq!(one.partners.patterns(), [A]);
}

#[tokio::test]
async fn an_origin_that_was_removed_does_not_come_back_when_a_move_is_undone() {
    const C: &str = "https://c.partner.example";
    let (old, new) = (Sessions::memory(), Sessions::memory());
    let to = old.clone().moving_to(new.clone());
    let from = new.clone().moving_from(old.clone());
    let start = async |sessions: &SessionSettings| {
        let partners = StoredOrigins::new([A, B]);
        let app = App::new(()).sessions(sessions.clone()).origins("partners", &partners);
        app.routes(routes![prices]).open().await.map(drop).unwrap();
        partners
    };
    for sessions in [&old, &to, &from] {
        assert_eq!(start(sessions).await.patterns(), [A, B]);
    }
    assert!(start(&from).await.remove(B).await.unwrap());
    let undone = start(&to).await;
    assert_eq!(undone.patterns(), [A]);
    undone.replace(&[B, C]).await.unwrap();
    assert_eq!(start(&from).await.patterns(), [B, C]);
    // The last step leaves the list of the old store behind, until that step is undone.
    assert!(start(&new).await.remove(B).await.unwrap());
    for sessions in [&from, &to, &old] {
        assert_eq!(start(sessions).await.patterns(), [C]);
    }
}

#[tokio::test]
async fn a_list_that_the_store_lost_is_stored_again() {
    let store = Values::default();
    let one = Instance::start(&store, &[A, B]).await;
    one.partners.remove(B).await.unwrap();
    store.go_back(0, &[]).await;
    until(async || store.value("partners").await.unwrap().is_some()).await;
    let two = Instance::start(&store, &[A, B]).await;
    assert_eq!(
        (two.partners.patterns(), one.partners.patterns()),
        (vec![A.into()], vec![A.into()])
    );
}

#[tokio::test]
async fn while_the_store_is_away_the_last_list_holds_and_changes_fail() {
    let store = Values::default();
    let (one, two) = (Instance::start(&store, &[A]).await, Instance::start(&store, &[A]).await);
    store.is_away.store(true, Ordering::SeqCst);
    assert!(matches!(one.partners.add(B).await, Err(StoredOriginsError::Store(_))));
    let response = one.client.post("/partners/b").send().await;
    assert_eq!(response.status(), 503);
    assert!(response.text().contains("cors.list-unavailable"), "{response:?}");
    assert!(one.grants(A).await && two.grants(A).await);
    assert!(Instance::try_start(&store, &[A], routes![prices]).await.is_err());
    store.is_away.store(false, Ordering::SeqCst);
    one.partners.add(B).await.unwrap();
    until(async || two.grants(B).await).await;
}

#[tokio::test]
async fn a_stored_list_is_in_the_store_of_the_sessions_or_names_one() {
    let partners = StoredOrigins::new([A]);
    let error = partners.add(B).await.unwrap_err();
    assert!(matches!(error, StoredOriginsError::NotStarted));
    assert!(error.to_string().contains("`App::origins`"), "{error}");
    let app = || App::new(()).origins("partners", &partners).routes(routes![prices]);
    let error = app().open().await.map(drop).expect_err("no store");
    assert_eq!(codes(&error), ["cors.list-without-store"]);
    app().sessions(Sessions::memory()).open().await.map(drop).unwrap();
    assert!(partners.add(B).await.unwrap());
    // Tests need no store. An initial list is checked like any other.
    assert_eq!(app().test().get("/prices").send().await.status(), 200);
    let wrong = StoredOrigins::new([OUTSIDE]);
    let app = App::new(()).origins("partners", &wrong).routes(routes![prices]);
    let text = app.check().unwrap_err().to_string();
    assert!(text.contains("cors.origin-outside-bound"), "{text}");
}
