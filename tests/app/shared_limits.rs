//! Rates and permits that two instances of an app count together.
//!
//! Covers: rates x addresses, principals, routes, groups, mounts; x CORS, authentication and
//! preflights; blocks x two instances; permits x waiting handlers, streams, clients that go away; both
//! x a store that fails, that is slow, that is back; the settings x stores that cannot share.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use policy_core::secret::SecretKey;
use policy_server::{
    AppService, RateLimiter, SharedLimits,
    extract::PeerAddr,
    store::MemoryStore,
    testing::{FaultyStore, TestRequest},
};
use policy_tests::{folder::Folder, http::until};

use super::*;

#[get("/by-address")]
#[limit(rate = "3/h")]
#[cors(origins = ["https://route.example"])]
#[auth(public)]
async fn by_address() {}

#[get("/by-address-too")]
#[limit(rate = "3/h")]
#[auth(public)]
async fn by_address_too() {}

#[get("/by-principal")]
#[limit(rate = "3/h per principal")]
#[auth(token)]
async fn by_principal() {}

#[get("/guarded")]
#[limit(rate = "3/h")]
#[auth(token)]
async fn guarded() {}

#[get("/many")]
#[limit(rate = "1000/h")]
#[auth(public)]
async fn many() {}

#[post("/login/{user}")]
#[auth(public)]
async fn login(
    user: String,
    tokens: Tokens,
) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(user.as_str()).await
}

#[get("/two/{how}")]
#[limit(concurrency = 2)]
#[auth(public)]
async fn two(how: String) -> Body {
    match &*how {
        "waits" => std::future::pending().await,
        "streams" => Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()),
        _ => Body::empty(),
    }
}

#[get("/first/{how}")]
#[auth(public)]
async fn first(how: String) -> Body {
    two(how).await
}

#[get("/second/{how}")]
#[auth(public)]
async fn second(how: String) -> Body {
    two(how).await
}

#[post("/codes/{number}")]
#[auth(public)]
async fn code(number: String, State(sent): State<Arc<RateLimiter>>) -> Result<(), Problem> {
    sent.take_shared(&number).await?;
    Ok(())
}

type Store = FaultyStore<MemoryStore>;

struct Instance {
    client: TestClient,
    service: AppService,
}

impl std::ops::Deref for Instance {
    type Target = TestClient;

    fn deref(&self) -> &TestClient {
        &self.client
    }
}

async fn instance(store: &Store) -> Instance {
    start(store, SharedLimits::store(store.clone())).await
}

async fn start(store: &Store, limits: SharedLimits) -> Instance {
    let keys = Tokens::hs256([("k1", SecretKey::from_bytes([1; 32]))]).unwrap();
    let slow = Mount::new(service_fn(async |_: Request| Ok::<_, Infallible>(().into_response())))
        .public()
        .policies(Policies::new().limits(Limits::NONE.rate(Rate::per_hour(3))));
    let group = Group::new()
        .policies(Policies::new().limits(Limits::NONE.rate(Rate::per_hour(3))))
        .routes(routes![closed, plain]);
    let app = App::new(())
        .public_origin("https://api.example")
        .tokens(keys.store(store.inner().clone()))
        .shared_limits(limits)
        .routes(routes![by_address, by_address_too, by_principal, guarded, many, login, two])
        .mount("/mount", slow)
        .group("/group", group);
    let service = app.open().await.unwrap();
    Instance { client: TestClient::new(service.clone(), "api.example"), service }
}

async fn both() -> (Store, [Instance; 2]) {
    let store = Store::default();
    let instances = [instance(&store).await, instance(&store).await];
    (store, instances)
}

async fn status(request: TestRequest) -> u16 {
    request.send().await.status().as_u16()
}

/// Asks both instances in turn.
async fn in_turn(instances: &[Instance; 2], path: &str, times: usize) -> Vec<u16> {
    let mut all = Vec::new();
    for turn in 0..times {
        all.push(status(instances[turn % 2].get(path)).await);
    }
    all
}

async fn token(client: &TestClient, user: &str) -> String {
    let issued: serde_json::Value = client.post(&format!("/login/{user}")).send().await.json();
    format!("Bearer {}", issued["access_token"].as_str().unwrap())
}

#[tokio::test]
async fn a_rate_of_addresses_holds_for_all_instances_together() {
    let (_, instances) = both().await;
    assert_eq!(in_turn(&instances, "/by-address", 5).await, [200, 200, 200, 429, 429]);
    // The key of a rate names a route, a group or a mount, not an instance.
    assert_eq!(in_turn(&instances, "/by-address-too", 4).await, [200, 200, 200, 429]);
    assert_eq!(in_turn(&instances, "/mount/a", 4).await, [200, 200, 200, 429]);
    let of_group = [
        in_turn(&instances, "/group/closed", 2).await,
        in_turn(&instances, "/group/plain", 2).await,
    ];
    assert_eq!(of_group.concat(), [200, 200, 200, 429]);
    // Another address is counted separately.
    let peer = PeerAddr("203.0.113.9:1".parse().unwrap());
    assert_eq!(status(instances[0].get("/by-address").extension(peer)).await, 200);
}

#[tokio::test]
async fn a_refusal_says_how_long_to_wait_and_carries_the_policy_of_its_route() {
    let (store, [one, two]) = both().await;
    for left in ["2", "1", "0"] {
        let response = one.get("/by-address").send().await;
        assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=3;w=3600"));
        let limit = response.header("ratelimit").unwrap();
        assert!(limit.starts_with(&format!("\"default\";r={left};t=")), "{limit}");
    }
    store.take_calls();
    let refused = two.get("/by-address").origin("https://route.example").send().await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.json::<serde_json::Value>()["code"], "limit.rate");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3600).contains(&wait), "{wait}");
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://route.example"));
    assert!(refused.header("cache-control").unwrap().contains("no-store"), "{refused:?}");
    // A refused client is refused again without a call of the store; a preflight is not counted.
    assert_eq!(store.take_calls(), ["take_rate"]);
    assert_eq!(status(two.get("/by-address")).await, 429);
    let preflight = two.options("/by-address").origin("https://route.example");
    let preflight = preflight.header("access-control-request-method", "GET");
    assert_eq!(status(preflight).await, 204);
    assert_eq!(store.take_calls(), [""; 0]);
}

#[tokio::test]
async fn a_rate_of_principals_holds_for_all_instances_together() {
    let (_, instances) = both().await;
    let (ada, eve) = (token(&instances[0], "ada").await, token(&instances[1], "eve").await);
    for (user, turn, expected) in [
        (&ada, 0, 200),
        (&ada, 1, 200),
        (&ada, 0, 200),
        (&ada, 1, 429),
        (&ada, 0, 429),
        (&eve, 0, 200),
    ] {
        let request = instances[turn].get("/by-principal").header("authorization", user);
        // The address does not matter.
        let peer = PeerAddr(format!("203.0.113.{turn}:1").parse().unwrap());
        assert_eq!(status(request.extension(peer)).await, expected);
    }
    // An anonymous request is not counted for a principal.
    assert_eq!(status(instances[0].get("/by-principal")).await, 401);
}

/// Otherwise credentials could be guessed as often as there are instances.
#[tokio::test]
async fn a_rate_of_addresses_counts_requests_with_wrong_credentials() {
    let (_, instances) = both().await;
    let ada = token(&instances[0], "ada").await;
    for (turn, expected) in [401, 401, 401, 429, 429].into_iter().enumerate() {
        let request = instances[turn % 2].get("/guarded").header("authorization", "Bearer no");
        assert_eq!(status(request).await, expected);
    }
    assert_eq!(status(instances[0].get("/guarded").header("authorization", &ada)).await, 429);
    let peer = PeerAddr("203.0.113.9:1".parse().unwrap());
    let elsewhere = instances[1].get("/guarded").header("authorization", &ada).extension(peer);
    assert_eq!(status(elsewhere).await, 200);
}

/// An instance takes a hundredth of the rate at once.
#[tokio::test]
async fn a_large_rate_costs_a_call_for_each_block_and_is_off_by_a_block_for_each_instance() {
    let (store, instances) = both().await;
    for _ in 0..100 {
        assert_eq!(status(instances[0].get("/many")).await, 200);
    }
    assert_eq!(store.take_calls(), ["take_rate"; 10]);
    let response = instances[0].get("/many").send().await;
    let limit = response.header("ratelimit").unwrap().to_owned();
    assert!(limit.starts_with("\"default\";r=899;t="), "{limit}");
    // Concurrent requests of one client do not take a block twice.
    let statuses =
        futures_util::future::join_all((0..5).map(|_| status(instances[1].get("/many"))));
    assert_eq!(statuses.await, [200; 5]);
    store.take_calls();
    let granted = in_turn(&instances, "/many", 1000).await;
    let granted = 106 + granted.iter().filter(|status| **status == 200).count();
    assert!((990..=1000).contains(&granted), "{granted}");
    assert!(store.take_calls().len() < 110);
}

#[tokio::test]
async fn each_instance_counts_for_itself_while_the_store_is_away() {
    let (store, instances) = both().await;
    assert_eq!(in_turn(&instances, "/by-address", 2).await, [200, 200]);
    store.fail();
    // Each instance has granted one, so each grants two more.
    assert_eq!(in_turn(&instances, "/by-address", 6).await, [200, 200, 200, 200, 429, 429]);
    assert_eq!(in_turn(&instances, "/two/done", 2).await, [200, 200]);
    let waiting: Vec<_> =
        (0..2).map(|_| Box::pin(status(instances[0].get("/two/waits")))).collect();
    let mut waiting = futures_util::future::join_all(waiting);
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(status(instances[0].get("/two/done")).await, 503);
    assert_eq!(status(instances[1].get("/two/done")).await, 200);
    drop(waiting);
    store.recover();
    // One of the three is left.
    assert_eq!(in_turn(&instances, "/by-address", 3).await, [200, 429, 429]);
}

/// Waits until other instances can use the permits that one gave back.
async fn until_free(client: &TestClient) {
    until(async || status(client.get("/two/done")).await == 200).await;
}

#[tokio::test]
async fn permits_are_shared_by_instances_and_returned() {
    for how in ["waits", "streams"] {
        let (_, [one, two]) = both().await;
        let begin = |instance: &Instance| {
            let service = instance.service.clone();
            let path = format!("/two/{how}");
            let request = policy_server::http::Request::get(path)
                .header("host", "api.example")
                .body(Body::empty())
                .unwrap();
            let mut response = Box::pin(service.oneshot(request));
            let polled = (&mut response).now_or_never();
            (response, polled)
        };
        let (first, second) = (begin(&one), begin(&two));
        assert_eq!(status(one.get("/two/done")).await, 503, "{how}");
        assert_eq!(status(two.get("/two/done")).await, 503, "{how}");
        // The client of the first disconnects: both instances can use its permit again.
        drop(first);
        assert_eq!(status(one.get("/two/done")).await, 200, "{how}");
        until_free(&two).await;
        drop(second);
        until_free(&one).await;
    }
}

#[tokio::test]
async fn an_instance_returns_unused_permits() {
    let (store, [one, two]) = both().await;
    let waiting = Box::pin(status(one.get("/two/waits")));
    let mut waiting = waiting;
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(store.take_calls(), ["lease_permits"]);
    // The second permit alternates between the instances.
    for _ in 0..3 {
        until_free(&two).await;
        until_free(&one).await;
    }
    assert!((&mut waiting).now_or_never().is_none());
    store.take_calls();
    // A permit that is used again at once costs no call.
    for _ in 0..10 {
        assert_eq!(status(one.get("/two/done")).await, 200);
    }
    assert!(store.take_calls().len() <= 5);
}

#[tokio::test]
async fn groups_and_mounts_of_one_prefix_share_no_limit() {
    let store = Store::default();
    let start = async || {
        let counted = || Policies::new().limits(Limits::NONE.rate(Rate::per_hour(1)));
        let alone = || Policies::new().limits(Limits::NONE.concurrency(1));
        let mount = |method: Method| {
            let service = service_fn(async |_: Request| Ok::<_, Infallible>(().into_response()));
            Mount::new(service).methods([method]).public().policies(counted())
        };
        let app = App::new(())
            .public_origin("https://api.example")
            .shared_limits(SharedLimits::store(store.clone()))
            .group("/counted", Group::new().policies(counted()).routes(routes![plain]))
            .group("/counted", Group::new().policies(counted()).routes(routes![closed]))
            .group("/alone", Group::new().policies(alone()).routes(routes![first]))
            .group("/alone", Group::new().policies(alone()).routes(routes![second]))
            .mount("/mount", mount(Method::GET))
            .mount("/mount", mount(Method::DELETE));
        TestClient::new(app.open().await.unwrap(), "api.example")
    };
    let [one, two] = [start().await, start().await];
    for (client, method, path, expected) in [
        (&one, Method::GET, "/counted/plain", 200),
        (&two, Method::GET, "/counted/plain", 429),
        (&two, Method::GET, "/counted/closed", 200),
        (&one, Method::GET, "/counted/closed", 429),
        (&one, Method::GET, "/mount/a", 200),
        (&two, Method::GET, "/mount/a", 429),
        (&two, Method::DELETE, "/mount/a", 200),
        (&one, Method::DELETE, "/mount/a", 429),
    ] {
        assert_eq!(status(client.request(method, path)).await, expected, "{path}");
    }
    let mut waiting = Box::pin(status(one.get("/alone/first/waits")));
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(status(two.get("/alone/first/done")).await, 503);
    assert_eq!(status(two.get("/alone/second/done")).await, 200);
}

#[tokio::test]
async fn rates_only_leaves_the_requests_in_flight_to_each_instance() {
    let store = Store::default();
    let limits = SharedLimits::store(store.clone()).rates_only();
    let instances = [start(&store, limits.clone()).await, start(&store, limits).await];
    store.take_calls();
    assert_eq!(in_turn(&instances, "/two/done", 4).await, [200; 4]);
    assert_eq!(store.take_calls(), [""; 0]);
    assert_eq!(in_turn(&instances, "/by-address", 4).await, [200, 200, 200, 429]);
}

#[tokio::test]
async fn a_limiter_of_handlers_counts_the_keys_of_all_instances() {
    let store = Store::default();
    let start = async || {
        let sent = Arc::new(RateLimiter::new(Rate::per_hour(2)).unwrap());
        let limits = SharedLimits::store(store.clone()).limiter("codes", Arc::clone(&sent));
        let app = App::new(sent).shared_limits(limits).routes(routes![code]);
        let service = app.open().await.unwrap();
        TestClient::new(service, "localhost")
    };
    let instances = [start().await, start().await];
    let send = async |turn: usize, number: &str| {
        status(instances[turn % 2].post(&format!("/codes/{number}"))).await
    };
    for (turn, number, expected) in
        [(0, "1", 200), (1, "1", 200), (0, "1", 429), (1, "1", 429), (0, "2", 200)]
    {
        assert_eq!(send(turn, number).await, expected, "{turn} {number}");
    }
    store.fail();
    let own = [send(0, "2").await, send(0, "2").await, send(1, "2").await, send(1, "2").await];
    assert_eq!(own, [200, 429, 200, 200], "each for itself");
}

/// A slow store is waited for no longer than the time-out of the route.
#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_store_ends_with_its_time_out() {
    let (store, [one, _]) = both().await;
    store.hold();
    let response = one.get("/by-address").send().await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.json::<serde_json::Value>()["code"], "handler.timed-out");
}

#[tokio::test]
async fn shared_limits_need_a_shared_store() {
    let limits = || App::new(()).routes(routes![root]).shared_limits(SharedLimits::with_sessions());
    let own = Sessions::store(Store::default());
    let folder = Folder::new().expect("a folder");
    let in_file = Sessions::embedded(folder.path().join("sessions"));
    for (app, starts) in [
        (limits(), false),
        (limits().sessions(own), false),
        (limits().sessions(in_file), false),
        (limits().sessions(Sessions::memory()), true),
    ] {
        let opened = app.open().await;
        let text = opened.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), starts, "{text}");
        assert!(starts || text.contains("limit.store-missing"), "{text}");
    }
    let store = Store::default();
    store.fail();
    let failing = App::new(()).routes(routes![root]).shared_limits(SharedLimits::store(store));
    let text = failing.open().await.unwrap_err().to_string();
    assert!(text.contains("app.store") && text.contains("shared limits"), "{text}");
}
