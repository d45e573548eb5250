//! The gates of a layer, compared with those of an app.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::routing::options;
use policy_server::{Fallback, Policies, extract::PeerAddr, testing::TestRequest};

use super::*;

/// Why a gate refuses a request, in the order of the gates.
const WRONGS: [(&str, &str); 8] = [
    ("wire", "wire.expectation-unknown"),
    ("host", "origin.host-unknown"),
    ("early", "wire.too-early"),
    ("isolation", "isolation.cross-site"),
    ("rate", "limit.rate"),
    ("length", "request.body-too-large"),
    ("csrf", "csrf.origin"),
    ("permit", "limit.concurrency"),
];

/// A router that counts what reaches it.
fn counting(ran: &Arc<AtomicUsize>) -> Router {
    let count = |ran: &Arc<AtomicUsize>| {
        let ran = Arc::clone(ran);
        move || {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (served, asked, hung, panicked) = (count(ran), count(ran), count(ran), count(ran));
    Router::new()
        .route("/served", post(async move || served()))
        .route("/slow", get(async || tokio::time::sleep(Duration::from_secs(60)).await))
        .route(
            "/asked",
            options(async move || {
                asked();
                [("allow", "GET, PUT")]
            }),
        )
        .route(
            "/hangs",
            options(async move || {
                hung();
                std::future::pending::<()>().await;
            }),
        )
        .route(
            "/panics",
            options(async move || {
                panicked();
                if true {
                    panic!("on purpose");
                }
            }),
        )
}

fn limits() -> Limits {
    Limits::NONE.body(4).timeout(Duration::from_secs(1)).concurrency(1).rate(Rate::per_day(2))
}

fn peer(of: &Extensions) -> Option<SocketAddr> {
    of.get::<PeerAddr>().map(|peer| peer.0)
}

/// The same policies as a layer and as an app.
fn both(ran: &Arc<AtomicUsize>) -> [TestClient; 2] {
    let policies = PolicyLayer::builder()
        .public_origin(OWN)
        .policies(
            Policies::new()
                .cors(READERS)
                .headers(HeadersPolicy::API)
                .cache(CachePolicy::no_store().build())
                .isolation(Isolation::SameOrigin)
                .limits(limits()),
        )
        .csrf(CsrfPolicy::Origin)
        .peer(peer);
    let app = App::new(())
        .public_origin(OWN)
        .policies(
            Policies::new()
                .cors(READERS)
                .headers(HeadersPolicy::API)
                .isolation(Isolation::SameOrigin)
                .limits(limits()),
        )
        .fallback(Fallback::new(counting(ran)).public().csrf(CsrfPolicy::Origin));
    let layer = policies.build().expect("right").layer(counting(ran));
    [TestClient::new(layer, "api.example"), app.test()]
}

const FIRST: &str = "192.0.2.1:1";
const OTHER: &str = "192.0.2.2:1";

fn from(request: TestRequest, address: &str) -> TestRequest {
    request.extension(PeerAddr(address.parse().expect("an address")))
}

/// A layer refuses the same requests as an app with the same policies, by the same gate.
#[tokio::test(start_paused = true)]
async fn a_layer_refuses_the_same_requests_as_an_app() {
    let mut refused = [0; WRONGS.len()];
    for wrongs in 0..1_u32 << WRONGS.len() {
        let is = |name: &str| {
            let at = WRONGS.iter().position(|(wrong, _)| *wrong == name).expect("one of them");
            wrongs & (1 << at) != 0
        };
        let ran = Arc::default();
        let mut codes = Vec::new();
        for client in both(&ran) {
            // Without a cookie and an `Origin`, the request counts as that of a program and passes.
            if is("rate") {
                for _ in 0..2 {
                    assert_eq!(from(client.post("/served"), FIRST).send().await.status(), 200);
                }
            }
            let mut request = from(client.post("/served"), FIRST);
            if is("wire") {
                request = request.header("expect", "a miracle");
            }
            if is("host") {
                request = request.header("host", "evil.example");
            }
            if is("early") {
                request = request.header("early-data", "1");
            }
            if is("isolation") {
                request =
                    request.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "cors");
            }
            if is("csrf") {
                // An old browser may send such a request.
                request = request.header("cookie", "sid=1");
            }
            if is("length") {
                request = request.header("content-length", "5").body("12345");
            }
            let slow = async {
                if is("permit") {
                    from(client.get("/slow"), OTHER).send().await;
                }
            };
            let before = ran.load(Ordering::Relaxed);
            let ((), response) = tokio::join!(slow, request.send());
            let has_run = ran.load(Ordering::Relaxed) > before;
            let status = response.status().as_u16();
            assert_eq!(has_run, status == 200, "{wrongs:b}");
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{wrongs:b}");
            assert!(response.header("strict-transport-security").is_some(), "{wrongs:b}");
            codes.push(if has_run { "served".to_owned() } else { code(&response) });
        }
        assert_eq!(codes[0], codes[1], "{wrongs:b}");
        if wrongs.count_ones() == 1 {
            let at = usize::try_from(wrongs.trailing_zeros()).expect("small");
            refused[at] += 1;
            assert_eq!(codes[0], WRONGS[at].1);
        }
    }
    assert_eq!(refused, [1; WRONGS.len()]);
}

/// Asserts that a response has the policy fields of [`both`].
fn assert_policy(response: &TestResponse, what: &str) {
    assert_eq!(response.header("cache-control"), Some("no-store"), "{what}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{what}");
    assert!(response.header("strict-transport-security").is_some(), "{what}");
    let vary = response.header_all("vary").join(",");
    assert!(vary.contains("origin") && vary.contains("sec-fetch-site"), "{what}: {vary}");
}

fn asking(client: &TestClient, path: &str, address: &str) -> TestRequest {
    let request = client.options(path).origin(ORIGIN);
    from(request.header("access-control-request-method", "PUT"), address)
}

/// A preflight that needs the service counts against the limits like any request.
#[tokio::test(start_paused = true)]
async fn a_preflight_reaches_the_service_through_the_gates_only() {
    let ran = Arc::default();
    let [layer, _] = both(&ran);
    let runs = || ran.load(Ordering::Relaxed);
    let foreign = asking(&layer, "/asked", FIRST).header("host", "evil.example").send().await;
    assert_eq!(
        (foreign.status().as_u16(), code(&foreign)),
        (421, "origin.host-unknown".to_owned())
    );
    assert_policy(&foreign, "foreign host");
    let odd = asking(&layer, "/asked", FIRST).header("expect", "a miracle").send().await;
    assert_eq!(code(&odd), "wire.expectation-unknown");
    assert_eq!(runs(), 0);

    let granted = asking(&layer, "/asked", FIRST).send().await;
    assert_eq!(granted.status(), 204);
    assert_eq!(granted.header("access-control-allow-methods"), Some("GET,PUT"));
    assert_eq!(asking(&layer, "/asked", FIRST).send().await.status(), 204);
    assert_eq!(runs(), 2);
    let third = asking(&layer, "/asked", FIRST).send().await;
    assert_eq!((third.status().as_u16(), code(&third)), (429, "limit.rate".to_owned()));
    assert_policy(&third, "rate");
    assert_eq!(from(layer.post("/served"), FIRST).send().await.status(), 429);
    assert_eq!(runs(), 2);

    let (hanging, second) = tokio::join!(
        asking(&layer, "/hangs", OTHER).send(),
        asking(&layer, "/asked", "192.0.2.3:1").send(),
    );
    assert_eq!((hanging.status().as_u16(), code(&hanging)), (503, "handler.timed-out".to_owned()));
    assert_policy(&hanging, "time-out");
    assert_eq!((second.status().as_u16(), code(&second)), (503, "limit.concurrency".to_owned()));
    assert_policy(&second, "permit");
    assert_eq!(runs(), 3);

    let panicking = asking(&layer, "/panics", "192.0.2.4:1").send().await;
    assert_eq!((panicking.status().as_u16(), code(&panicking)), (500, "handler.failed".to_owned()));
    assert_policy(&panicking, "panic");
    // Its permit is free again.
    assert_eq!(asking(&layer, "/asked", "192.0.2.5:1").send().await.status(), 204);
}

/// A preflight for a policy that names its methods does not reach the service, and counts against
/// no limit.
#[tokio::test]
async fn a_preflight_that_needs_no_service_takes_nothing_from_a_rate() {
    let limits = Limits::NONE.rate(Rate::per_day(1));
    let client = in_front(
        PolicyLayer::builder()
            .public_origin(OWN)
            .policies(Policies::new().cors(SHOP).limits(limits))
            .peer(peer),
    );
    for _ in 0..3 {
        assert_eq!(asking(&client, "/lamp", FIRST).send().await.status(), 204);
    }
    let foreign = asking(&client, "/lamp", FIRST).header("host", "evil.example").send().await;
    assert_eq!(foreign.status(), 421);
    assert_eq!(from(client.get("/lamp"), FIRST).send().await.status(), 200);
    assert_eq!(from(client.get("/lamp"), FIRST).send().await.status(), 429);
}

/// A preflight ends at gate 4, before the gates that refuse a page or count an address, whether a
/// layer shares with other origins or with none, as in an app.
#[tokio::test]
async fn a_refused_preflight_takes_nothing_from_a_rate() {
    for policies in [Policies::new().no_cors(), Policies::new().cors(READERS)] {
        let policies =
            policies.isolation(Isolation::SameOrigin).limits(Limits::NONE.rate(Rate::per_day(1)));
        let layer = PolicyLayer::builder().public_origin(OWN).policies(policies.clone()).peer(peer);
        let mount = Mount::new(router()).all_methods().strip_prefix().public();
        let app = App::new(()).public_origin(OWN).policies(policies).mount("/old", mount);
        for (client, path) in [(in_front(layer), "/lamp"), (app.test(), "/old/lamp")] {
            let refused = async || {
                let asked = client.options(path).origin("https://evil.example");
                let asked = asked.header("access-control-request-method", "PUT");
                let asked = asked.header("sec-fetch-site", "cross-site");
                let response = from(asked.header("sec-fetch-mode", "cors"), FIRST).send().await;
                assert_eq!(response.status(), 403);
                assert_eq!(code(&response), "cors.origin-not-granted");
                assert_eq!(response.header("ratelimit"), None);
            };
            refused().await;
            refused().await;
            assert_eq!(from(client.get(path), FIRST).send().await.status(), 200);
            assert_eq!(from(client.get(path), FIRST).send().await.status(), 429);
            refused().await;
        }
    }
}

/// The client address that an app resolved is used, not that of the server around the router.
#[tokio::test]
async fn a_layer_in_an_app_counts_the_client_that_the_app_knows() {
    let limits = Limits::NONE.rate(Rate::per_day(1));
    let peer = |_: &Extensions| FIRST.parse().ok();
    let layer = PolicyLayer::builder()
        .policies(Policies::new().limits(limits))
        .peer(peer)
        .build()
        .expect("right");
    let mount = Mount::new(layer.layer(router())).all_methods().strip_prefix().public();
    let client = App::new(()).mount("/old", mount).test();
    for (address, status) in
        [("192.0.2.8:1", 200), ("192.0.2.8:2", 429), ("192.0.2.9:1", 200), ("192.0.2.9:1", 429)]
    {
        let response = from(client.get("/old/lamp"), address).send().await;
        assert_eq!(response.status(), status, "{address}");
    }
}

/// RFC 6455 10.2: browsers let every page open a WebSocket.
#[tokio::test]
async fn a_layer_with_cors_or_csrf_protection_judges_the_page_of_an_upgrade() {
    let judging =
        in_front(PolicyLayer::builder().public_origin(OWN).policies(Policies::new().cors(READERS)));
    let protected = in_front(PolicyLayer::builder().public_origin(OWN).csrf(CsrfPolicy::Origin));
    let others = [
        in_front(PolicyLayer::builder().policies(Policies::new().cors(READERS))),
        in_front(PolicyLayer::builder().public_origin(OWN)),
    ];
    let upgrade = async |client: &TestClient, origin: Option<&str>| {
        let request = client.get("/lamp").header("connection", "upgrade");
        let request = request.header("upgrade", "websocket");
        let request = match origin {
            Some(origin) => request.origin(origin),
            None => request,
        };
        request.send().await
    };
    for origin in [None, Some(OWN), Some(ORIGIN)] {
        assert_eq!(upgrade(&judging, origin).await.status(), 200, "{origin:?}");
        let status = if origin == Some(ORIGIN) { 403 } else { 200 };
        assert_eq!(upgrade(&protected, origin).await.status(), status, "{origin:?}");
    }
    // A grant without credentials covers no cookies.
    for (origin, status) in [(OWN, 200), (ORIGIN, 403)] {
        let request = judging.get("/lamp").header("connection", "upgrade").origin(origin);
        let request = request.header("upgrade", "websocket").header("cookie", "sid=1");
        assert_eq!(request.send().await.status(), status, "{origin}");
    }
    for origin in ["https://evil.example", "null", "http://api.example"] {
        for client in [&judging, &protected] {
            let refused = upgrade(client, Some(origin)).await;
            assert_eq!(refused.status(), 403);
            assert_eq!(code(&refused), "cors.websocket-origin-not-granted");
        }
        for client in &others {
            assert_eq!(upgrade(client, Some(origin)).await.status(), 200);
        }
    }
}

/// If the list changes while the service is asked, the new list decides: the refusal carries the
/// policy and no CORS grant.
#[tokio::test]
async fn an_origin_removed_during_the_request_is_refused() {
    const PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
    let partners = policy_server::SharedOrigins::new();
    partners.replace(&[ORIGIN]).expect("right");
    let policies =
        PolicyLayer::builder().public_origin(OWN).origins("partners", &partners).policies(
            Policies::new()
                .headers(HeadersPolicy::API)
                .cache(CachePolicy::private().max_age(60).build())
                .cors(PARTNERS),
        );
    let service = Router::new().route(
        "/asked",
        options(async move || {
            partners.replace::<&str>(&[]).expect("right");
        }),
    );
    let client = TestClient::new(policies.build().expect("right").layer(service), "api.example");
    let response = asking(&client, "/asked", FIRST).send().await;
    assert_eq!(
        (response.status().as_u16(), code(&response)),
        (403, "cors.origin-not-granted".to_owned())
    );
    assert_eq!(cors_headers(&response), [""; 0]);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
}
