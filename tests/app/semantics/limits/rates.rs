//! How often a client may send requests.

use std::net::IpAddr;

use policy_tests::handlers::login_as;

use super::*;

#[get("/rated")]
#[limit(rate = "3/min")]
#[auth(public)]
async fn rated() -> &'static str {
    "rated"
}

#[put("/rated")]
#[limit(rate = "3/min")]
#[auth(public)]
async fn rated_put() -> &'static str {
    "rated"
}

#[get("/cached")]
#[limit(rate = "1/min")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn cached() -> (ETag, &'static str) {
    (ETag::version(1), "cached")
}

#[get("/one")]
#[auth(public)]
async fn one() -> &'static str {
    "one"
}

#[get("/two")]
#[auth(public)]
async fn two() -> &'static str {
    "two"
}

fn rates(clock: &Clock) -> App<()> {
    let app = App::new(()).policies(Policies::new().cors(SHOP)).clock(clock.clone());
    app.policies(Policies::new().limits(Limits::NONE.rate(Rate::per_minute(4))))
        .routes(routes![rated, rated_put, cached, one, two])
}

/// Connects from an address of 127.0.0.0/8, all of which belongs to this machine.
pub(super) async fn connect_from(server: &Running, address: &str) -> Connection {
    let address: IpAddr = address.parse().unwrap();
    Connection::open_from(address, server.address).await
}

async fn from(server: &Running, address: &str, line: &str) -> RawResponse {
    let mut connection = connect_from(server, address).await;
    connection.send(request(line, &[PAGE])).await;
    connection.response().await
}

#[tokio::test]
async fn a_429_says_when_to_retry() {
    let clock = Clock::at(START);
    let server = Running::start(rates(&clock)).await;
    for left in [2, 1, 0] {
        let response = ask(&server, "GET /rated", &[PAGE]).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=3;w=60"));
        let limit = response.header("ratelimit").unwrap();
        assert!(limit.starts_with(&format!("\"default\";r={left};t=")), "{limit}");
        assert_eq!(response.header("retry-after"), None);
    }
    let mut refused = 0;
    for _ in 0..10 {
        let response = ask(&server, "GET /rated", &[PAGE]).await;
        assert_eq!(code(&response), (429, "limit.rate".to_owned()));
        assert_eq!(response.sharing(), SHARED);
        let wait: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert_eq!(response.header("ratelimit"), Some(&*format!("\"default\";r=0;t={wait}")));
        assert!((1..=60).contains(&wait), "{wait}");
        refused = wait;
    }
    // Another route with the same rate has its own counter.
    assert_eq!(ask(&server, "PUT /rated", &[]).await.status, 200);
    // One second early is still refused, and refused requests were not counted.
    clock.advance(Duration::from_secs(refused - 1));
    assert_eq!(ask(&server, "GET /rated", &[]).await.status, 429);
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&server, "GET /rated", &[]).await.status, 200);
}

#[tokio::test]
async fn each_client_has_a_rate_of_its_own() {
    let server = Running::start(rates(&Clock::at(START))).await;
    for address in ["127.0.0.1", "127.0.0.2", "127.0.1.1"] {
        for _ in 0..3 {
            assert_eq!(from(&server, address, "GET /rated").await.status, 200, "{address}");
        }
        assert_eq!(from(&server, address, "GET /rated").await.status, 429, "{address}");
    }
    // Fields that name another address change nothing.
    for claim in ["x-forwarded-for: 10.0.0.9", "forwarded: for=10.0.0.9", "x-real-ip: 10.0.0.9"] {
        let status = ask(&server, "GET /rated", &[claim]).await.status;
        assert!(matches!(status, 421 | 429), "{claim}: {status}");
    }
}

#[tokio::test]
async fn preflights_and_unrouted_requests_are_not_counted() {
    let server = Running::start(rates(&Clock::at(START))).await;
    for _ in 0..20 {
        let asks = [PAGE, "access-control-request-method: PUT"];
        let response = ask(&server, "OPTIONS /rated", &asks).await;
        assert_eq!(response.status, 204);
        assert_eq!(response.header("ratelimit"), None);
    }
    // Neither for the announced method, nor for another one of the path.
    for line in ["GET /rated", "PUT /rated"] {
        for _ in 0..3 {
            assert_eq!(ask(&server, line, &[PAGE]).await.status, 200, "{line}");
        }
        assert_eq!(ask(&server, line, &[PAGE]).await.status, 429, "{line}");
    }
    assert_eq!(
        ask(&server, "OPTIONS /rated", &[PAGE, "access-control-request-method: PUT"]).await.status,
        204
    );
}

#[tokio::test]
async fn a_limit_of_the_app_counts_all_routes_that_take_it_over() {
    let server = Running::start(rates(&Clock::at(START))).await;
    for (path, left) in [("/one", 3), ("/two", 2), ("/one", 1), ("/two", 0)] {
        let response = ask(&server, &format!("GET {path}"), &[]).await;
        assert_eq!(response.status, 200, "{path}");
        let limit = response.header("ratelimit").unwrap();
        assert!(limit.starts_with(&format!("\"default\";r={left};")), "{path}: {limit}");
    }
    for path in ["/one", "/two"] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[]).await.status, 429, "{path}");
    }
    // HEAD counts like GET.
    assert_eq!(ask(&server, "HEAD /one", &[]).await.status, 429);
    // A limit that a route declares has its own counter.
    for path in ["/rated", "/rated", "/rated", "/cached"] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[]).await.status, 200, "{path}");
    }
}

/// A group counts its own routes, apart from the app and its other groups.
#[tokio::test]
async fn a_limit_is_counted_where_it_is_stated() {
    let group = || Group::new().routes(routes![one, two]);
    let limited = |rate| group().policies(Policies::new().limits(Limits::NONE.rate(rate)));
    let app = App::new(())
        .clock(Clock::at(START))
        .policies(Policies::new().limits(Limits::NONE.rate(Rate::per_minute(2))))
        .routes(routes![one])
        .group("/a", limited(Rate::per_minute(3)))
        .group("/b", limited(Rate::per_minute(3)))
        .group("/c", group());
    let server = Running::start(app).await;
    for (path, status) in [
        ("/a/one", 200),
        ("/a/two", 200),
        ("/a/one", 200),
        ("/a/two", 429),
        ("/b/one", 200),
        ("/b/two", 200),
        ("/b/two", 200),
        ("/b/one", 429),
        ("/one", 200),
        ("/c/two", 200),
        ("/c/one", 429),
        ("/one", 429),
    ] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_refusal_is_not_cached_and_never_304() {
    let server = Running::start(rates(&Clock::at(START))).await;
    let first = ask(&server, "GET /cached", &[]).await;
    assert_eq!(first.header("cache-control"), Some("public, max-age=60"));
    assert_eq!(first.header("ratelimit"), Some("\"default\";r=0;t=60"));
    for fields in [&[][..], &["if-none-match: *"], &["if-none-match: \"1\""]] {
        let response = ask(&server, "GET /cached", fields).await;
        assert_eq!((response.status, response.header("cache-control")), (429, Some("no-store")));
        assert_eq!(response.header("retry-after"), Some("60"));
        assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=1;w=60"));
    }
}

#[get("/mine")]
#[limit(rate = "2/min per principal")]
#[auth(session)]
async fn mine(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/anybody")]
#[limit(rate = "2/min per principal")]
#[auth(session, optional)]
async fn anybody() -> &'static str {
    "anybody"
}

const OWN: &str = "https://api.shop.example";

#[tokio::test]
async fn a_rate_per_principal_follows_the_user_across_addresses() {
    let clock = Clock::at(START);
    let app = App::new(())
        .public_origin(OWN)
        .policies(Policies::new().cors(SHOP))
        .clock(clock.clone())
        .sessions(Sessions::memory())
        .routes(routes![mine, anybody, login_as]);
    let client = app.test();
    let mut cookies = Vec::new();
    for user in ["ada", "ada", "bob"] {
        let response = client.post(&format!("/login/{user}")).origin(OWN).send().await;
        let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        cookies.push(cookie);
    }
    let get = |path: &str, who: usize| client.get(path).header("cookie", &cookies[who]);
    // Two sessions of one user count together.
    assert_eq!(get("/mine", 0).send().await.status(), 200);
    assert_eq!(get("/mine", 1).send().await.status(), 200);
    let refused = get("/mine", 0).origin("https://shop.example").send().await;
    assert_eq!(refused.status(), 429);
    assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://shop.example"));
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert_eq!(get("/mine", 1).send().await.status(), 429);
    assert_eq!(get("/mine", 2).send().await.text(), "bob");
    // Anonymous clients are counted by address, apart from users.
    for status in [200, 200, 429] {
        assert_eq!(client.get("/anybody").send().await.status(), status);
    }
    assert_eq!(get("/anybody", 0).send().await.status(), 200);
    // Requests that a gate refused are not counted.
    for _ in 0..5 {
        assert_eq!(client.get("/mine").send().await.status(), 401);
    }
    clock.advance(Duration::from_secs(60));
    assert_eq!(get("/mine", 0).send().await.status(), 200);
}
