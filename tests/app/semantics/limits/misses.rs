//! How often a caller may ask for objects that they cannot see.

use std::collections::BTreeMap;

use futures_util::{FutureExt, future::join_all};
use policy_server::object::{LoadLocked, Locked, Lookup};
use policy_tests::caller_scheme::CallerScheme;

use super::{rates::connect_from, *};

/// The owners of drafts by their numbers, and how many drafts were loaded.
#[derive(Clone)]
struct Drafts {
    owners: Arc<BTreeMap<u64, &'static str>>,
    loaded: Arc<AtomicUsize>,
    /// A permit for each query at a time.
    store: Arc<Semaphore>,
}

const STORE: usize = 16;

#[derive(Debug, Object)]
#[rule(View = owner | is_public)]
#[rule(Edit = owner)]
struct Draft {
    #[object(key)]
    id: u64,
    #[object(owner)]
    user: String,
    #[object(flag)]
    is_public: bool,
}

impl Load for Draft {
    type Source = Drafts;

    async fn load(id: &u64, _: &(), drafts: &Drafts) -> Result<Option<Self>, Problem> {
        drafts.loaded.fetch_add(1, Ordering::Relaxed);
        let _permit = drafts.store.acquire().await.or_internal()?;
        let owner = drafts.owners.get(id);
        Ok(owner.map(|user| Self { id: *id, user: (*user).to_owned(), is_public: *id >= 100 }))
    }
}

impl LoadLocked for Draft {
    type Lock = ();

    async fn load_locked(
        id: &u64,
        parent: &(),
        drafts: &Drafts,
    ) -> Result<Option<(Self, ())>, Problem> {
        Ok(Self::load(id, parent, drafts).await?.map(|draft| (draft, ())))
    }
}

#[get("/drafts/{id}")]
#[auth(scheme = CallerScheme)]
async fn show(draft: Allowed<Draft>) -> String {
    draft.id.to_string()
}

#[post("/drafts/{id}")]
#[auth(scheme = CallerScheme)]
async fn change(draft: Locked<Draft, Edit>) -> String {
    draft.id.to_string()
}

#[post("/copies")]
#[auth(scheme = CallerScheme)]
async fn copy(drafts: Lookup<Draft>, id: String) -> Result<String, Problem> {
    let id = id.parse().map_err(|_no_number| Problem::bad_request())?;
    Ok(drafts.get(&id).await?.id.to_string())
}

#[get("/plain")]
#[auth(scheme = CallerScheme)]
async fn plain() -> &'static str {
    "plain"
}

/// Two misses by its own limit.
#[get("/strict/{id}")]
#[auth(scheme = CallerScheme)]
#[limit(misses = "2/min")]
async fn strict(draft: Allowed<Draft>) -> String {
    draft.id.to_string()
}

#[get("/shared/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn shared(draft: Allowed<Draft>) -> String {
    draft.id.to_string()
}

struct House {
    drafts: Drafts,
    clock: Clock,
}

impl House {
    /// Draft 1 belongs to Ada, 2 to Eve, and 100 is public.
    fn new() -> Self {
        let owners = Arc::new(BTreeMap::from([(1, "ada"), (2, "eve"), (100, "ada")]));
        let store = Arc::new(Semaphore::new(STORE));
        Self { drafts: Drafts { owners, loaded: Arc::default(), store }, clock: Clock::at(START) }
    }

    /// Each caller has three misses a minute.
    fn app(&self) -> App<Drafts> {
        App::new(self.drafts.clone())
            .clock(self.clock.clone())
            .scheme(CallerScheme)
            .policies(Policies::new().limits(Limits::NONE.misses(Rate::per_minute(3))))
            .routes(routes![show, change, copy, plain, strict, shared])
    }

    /// How many objects were loaded since the last call.
    fn take_loads(&self) -> usize {
        self.drafts.loaded.swap(0, Ordering::Relaxed)
    }
}

/// A user of a client.
struct Caller<'a>(&'a TestClient, &'static str);

impl Caller<'_> {
    fn get(&self, path: &str) -> TestRequest {
        self.0.get(path).header("x-caller", self.1)
    }

    fn post(&self, path: &str) -> TestRequest {
        self.0.post(path).header("x-caller", self.1)
    }
}

async fn status(request: TestRequest) -> u16 {
    request.send().await.status().as_u16()
}

#[tokio::test]
async fn after_too_many_misses_a_caller_gets_no_object() {
    let house = House::new();
    let client = house.app().test();
    let [ada, eve] = [Caller(&client, "ada"), Caller(&client, "eve")];
    // A missing draft, another user's draft, and a draft of one's own, which is no miss.
    for (path, expected) in
        [("/drafts/7", 404), ("/drafts/2", 404), ("/drafts/1", 200), ("/drafts/8", 404)]
    {
        assert_eq!(status(ada.get(path)).await, expected, "{path}");
    }
    assert_eq!(house.take_loads(), 4);
    house.clock.advance(Duration::from_secs(10));
    for path in ["/drafts/7", "/drafts/1", "/drafts/2", "/shared/100"] {
        let response = ada.get(path).send().await;
        assert_eq!(response.status(), 429, "{path}");
        assert!(response.text().contains("limit.misses"), "{path}");
        assert_eq!(response.header("retry-after"), Some("50"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(response.header("ratelimit"), None, "{path}");
    }
    assert_eq!(status(ada.post("/drafts/1")).await, 429);
    assert_eq!(status(ada.post("/copies").body("1")).await, 429);
    assert_eq!(house.take_loads(), 0);
    // Other callers, and routes without objects, are served.
    assert_eq!(status(ada.get("/plain")).await, 200);
    assert_eq!(status(eve.get("/drafts/2")).await, 200);
    house.clock.advance(Duration::from_secs(50));
    assert_eq!(status(ada.get("/drafts/1")).await, 200);
}

#[tokio::test]
async fn each_way_to_an_object_counts_its_misses() {
    let house = House::new();
    let client = house.app().test();
    let ada = Caller(&client, "ada");
    assert_eq!(status(ada.get("/drafts/7")).await, 404);
    assert_eq!(status(ada.post("/drafts/7")).await, 404);
    assert_eq!(status(ada.post("/copies").body("7")).await, 404);
    assert_eq!(status(ada.get("/drafts/1")).await, 429);
}

#[tokio::test]
async fn what_is_denied_or_malformed_is_no_miss() {
    let house = House::new();
    let client = house.app().test();
    let eve = Caller(&client, "eve");
    for _ in 0..5 {
        assert_eq!(status(eve.post("/drafts/100")).await, 403);
        assert_eq!(status(eve.get("/drafts/x")).await, 400);
    }
    assert_eq!(status(eve.get("/drafts/2")).await, 200);
}

#[tokio::test]
async fn a_limit_counts_the_misses_of_the_level_that_states_it() {
    let house = House::new();
    let client = house.app().test();
    let ada = Caller(&client, "ada");
    assert_eq!(status(ada.get("/strict/7")).await, 404);
    assert_eq!(status(ada.get("/strict/7")).await, 404);
    assert_eq!(status(ada.get("/strict/1")).await, 429);
    for _ in 0..3 {
        assert_eq!(status(ada.get("/drafts/7")).await, 404);
    }
    assert_eq!(status(ada.get("/shared/1")).await, 429);
}

#[tokio::test]
async fn callers_without_a_login_count_by_address() {
    let house = House::new();
    let server = Running::start(house.app()).await;
    let from = async |address: &str, path: &str| {
        let mut connection = connect_from(&server, address).await;
        connection.send(request(&format!("GET {path}"), &[])).await;
        connection.response().await.status
    };
    for path in ["/shared/7", "/shared/1", "/shared/8"] {
        assert_eq!(from("127.0.0.2", path).await, 404, "{path}");
    }
    assert_eq!(from("127.0.0.2", "/shared/100").await, 429);
    assert_eq!(from("127.0.0.3", "/shared/100").await, 200);
}

#[tokio::test]
async fn a_user_is_another_caller_than_the_address_of_a_stranger() {
    let house = House::new();
    let client = house.app().test();
    for path in ["/shared/7", "/shared/1", "/shared/8"] {
        assert_eq!(status(client.get(path)).await, 404, "{path}");
    }
    assert_eq!(status(client.get("/shared/100")).await, 429);
    let ada = Caller(&client, "ada");
    assert_eq!(status(ada.get("/shared/1")).await, 200);
}

#[test]
fn a_manifest_states_the_limit_and_where_it_refuses() {
    let manifest = House::new().app().manifest();
    for (method, path, count, refuses) in [
        ("GET", "/drafts/{id}", 3, true),
        ("POST", "/drafts/{id}", 3, true),
        ("POST", "/copies", 3, true),
        ("GET", "/strict/{id}", 2, true),
        ("GET", "/plain", 3, false),
    ] {
        let route = manifest.route(method, path).unwrap();
        assert_eq!(route.limits.misses.map(|misses| misses.count), Some(count), "{path}");
        let outcomes = manifest.outcomes(route, method);
        assert_eq!(outcomes.refuse(429, Some("limit.misses")), refuses, "{path}");
    }
}

/// All requests are past the first look at the rate before the first miss is counted.
#[tokio::test]
async fn concurrent_requests_get_no_more_than_the_rate_allows() {
    let house = House::new();
    let client = house.app().test();
    let ada = Caller(&client, "ada");
    let hold = Arc::clone(&house.drafts.store).acquire_many_owned(STORE as u32).await.unwrap();
    let ids = [7, 8, 9, 10, 11, 1];
    let mut requests = Box::pin(join_all(ids.map(|id| ada.get(&format!("/drafts/{id}")).send())));
    assert!(requests.as_mut().now_or_never().is_none());
    assert_eq!(house.take_loads(), ids.len());
    drop(hold);
    let statuses: Vec<_> = requests.await.iter().map(|it| it.status().as_u16()).collect();
    assert_eq!(statuses, [404, 404, 404, 429, 429, 429]);
}
