//! What the setters of each level change, seen in responses.

use policy_server::{
    CachePolicy, Fallback, HeadersPolicy, Isolation, Limits, PolicyLayer, Rate, RateCapacity,
    ReverseProxy, extract::PeerAddr,
};
use tower::Layer;

use super::*;

/// What a response shows of the four policies that a level can take back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shown {
    is_shared: bool,
    is_cached: bool,
    is_framed: bool,
    is_isolated: bool,
}

const ALL: Shown = Shown { is_shared: true, is_cached: true, is_framed: true, is_isolated: true };

const CACHED: CachePolicy = CachePolicy::public().max_age(60).stale_if_error(30).build();
const FRAMED: HeadersPolicy =
    HeadersPolicy::builder().referrer("same-origin").every_response().build();

async fn observe(client: &TestClient, path: &str) -> Shown {
    let of_page = client.get(path).origin("https://app.example").send().await;
    let image = client.get(path).header("sec-fetch-site", "cross-site").send().await;
    // Isolation never refuses a program without `Origin` and Fetch Metadata.
    let response = client.get(path).send().await;
    let has = |name: &str, value: &str| response.header(name) == Some(value);
    Shown {
        is_shared: of_page.header("access-control-allow-origin") == Some("https://app.example"),
        is_cached: has("cache-control", "public, max-age=60, stale-if-error=30"),
        is_framed: has("referrer-policy", "same-origin"),
        is_isolated: image.status() == 403,
    }
}

/// States all four on a level, or takes each of them back.
macro_rules! stating {
    ($level:expr) => {
        $level.policies(
            Policies::new()
                .cors(APP)
                .cache(CACHED)
                .headers(FRAMED)
                .isolation(Isolation::SameOrigin),
        )
    };
}

/// The level as it is, and without each policy in turn. A later call replaces one policy of the
/// level and keeps the others.
macro_rules! each_taken_back {
    ($level:expr) => {
        [
            ($level, ALL),
            ($level.policies(Policies::new().no_cors()), Shown { is_shared: false, ..ALL }),
            ($level.policies(Policies::new().no_cache()), Shown { is_cached: false, ..ALL }),
            ($level.policies(Policies::new().no_headers()), Shown { is_framed: false, ..ALL }),
            ($level.policies(Policies::new().no_isolation()), Shown { is_isolated: false, ..ALL }),
        ]
    };
}

#[tokio::test]
async fn every_level_sets_and_removes_policies() {
    // A level below the app inherits what the app states, or takes it back.
    let app = || stating!(App::new(()));
    for (app, expected) in each_taken_back!(app().routes(routes![plain])) {
        assert_eq!(observe(&app.test(), "/plain").await, expected, "app");
    }
    for (group, expected) in each_taken_back!(Group::new().routes(routes![plain])) {
        assert_eq!(observe(&app().group("/g", group).test(), "/g/plain").await, expected, "group");
    }
    let echo =
        || Mount::new(service_fn(async |_: Request| Ok::<_, Infallible>("echo".into_response())));
    for (mount, expected) in each_taken_back!(echo().public()) {
        assert_eq!(observe(&app().mount("/m", mount).test(), "/m/x").await, expected, "mount");
    }
    for (fallback, expected) in each_taken_back!(Fallback::handler(async |_| "page").public()) {
        let client = app().fallback(fallback).test();
        assert_eq!(observe(&client, "/nowhere").await, expected, "fallback");
    }
    // Nothing listens there: the responses are the proxy's own, which no cache stores.
    for (proxy, expected) in
        each_taken_back!(ReverseProxy::new("/p", "http://127.0.0.1:9").public())
    {
        let expected = Shown { is_cached: false, ..expected };
        assert_eq!(observe(&app().proxy(proxy).test(), "/p/x").await, expected, "proxy");
    }
    for (layer, expected) in each_taken_back!(stating!(PolicyLayer::builder())) {
        // The policy of the layer holds, whatever the router shares.
        let shared = async || [("access-control-allow-origin", "https://app.example")];
        let router = Router::new().route("/plain", routing::get(shared));
        let service = layer.build().expect("policies without problems").layer(router);
        let client = TestClient::new(service, "api.example");
        assert_eq!(observe(&client, "/plain").await, expected, "layer");
    }
}

/// A waiting time is rounded up to seconds, so that no client retries too early.
#[test]
fn a_problem_says_when_to_come_back() {
    for (wait, seconds) in [
        (Duration::ZERO, "0"),
        (Duration::from_nanos(1), "1"),
        (Duration::from_secs(2), "2"),
        (Duration::from_millis(2_001), "3"),
        (Duration::MAX, "18446744073709551615"),
    ] {
        let response = Problem::too_many_requests().retry_after(wait).into_response();
        assert_eq!(response.headers()["retry-after"], seconds, "{wait:?}");
    }
}

/// The tables of an app have its capacity: they bound the clients of one /48 network that are
/// served.
#[tokio::test]
async fn an_app_states_how_many_clients_its_rates_serve() {
    let served = async |capacity: RateCapacity| {
        let client = App::new(())
            .policies(Policies::new().limits(Limits::NONE.rate(Rate::per_hour(1))))
            .rate_capacity(capacity)
            .routes(routes![plain])
            .test();
        let mut served = 0;
        for site in 1..=64 {
            let address = format!("[2001:db8:0:{site:x}::1]:443").parse().expect("an address");
            let response = client.get("/plain").extension(PeerAddr(address)).send().await;
            served += usize::from(response.status() == 200);
        }
        served
    };
    assert_eq!(served(RateCapacity::DEFAULT).await, 64);
    let few = served(RateCapacity::DEFAULT.clients_per_network(16)).await;
    assert!((8..=16).contains(&few), "{few} of 64 were served");
}
