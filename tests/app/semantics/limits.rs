//! Limits: how large, how long, how often, and how many at once.

use std::net::{IpAddr, SocketAddr};

use policy_server::Request;
use tokio::{net::TcpSocket, sync::Semaphore};

use super::*;

const MIB: usize = 1 << 20;

/// What reaches a handler, counted as it reads.
#[derive(Clone, Default)]
struct Seen {
    bytes: Arc<AtomicUsize>,
    largest: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    gate: Gate,
}

/// Blocks handlers until the test lets one through.
#[derive(Clone)]
struct Gate {
    open: Arc<Semaphore>,
    /// One permit for each handler that has arrived.
    reached: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Waits until this many more have arrived.
    async fn reached(&self, count: u32) {
        soon(self.reached.acquire_many(count)).await.unwrap().forget();
    }
}

/// Reads a body frame by frame, like an upload that is written to a file.
#[post("/upload")]
#[limit(body = "64 KiB")]
#[auth(public)]
async fn upload(State(seen): State<Seen>, request: Request) -> Result<String, Problem> {
    seen.calls.fetch_add(1, Ordering::Relaxed);
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(data) =
            frame.map_err(|_cut| Problem::new(StatusCode::PAYLOAD_TOO_LARGE))?.into_data()
        else {
            continue;
        };
        seen.bytes.fetch_add(data.len(), Ordering::Relaxed);
        seen.largest.fetch_max(data.len(), Ordering::Relaxed);
    }
    Ok(seen.bytes.load(Ordering::Relaxed).to_string())
}

#[post("/json")]
#[limit(body = "10 B")]
#[auth(public)]
async fn json_body(Json(value): Json<Value>) -> Json<Value> {
    Json(value)
}

#[post("/bytes")]
#[limit(body = "10 B")]
#[auth(public)]
async fn bytes(bytes: Bytes) -> String {
    bytes.len().to_string()
}

#[post("/text")]
#[limit(body = "10 B")]
#[auth(public)]
async fn text(text: String) -> String {
    text
}

#[post("/form")]
#[limit(body = "10 B")]
#[auth(public)]
async fn form(Form(value): Form<Value>) -> Json<Value> {
    Json(value)
}

#[post("/large")]
#[limit(body = "3 MiB")]
#[auth(public)]
async fn large(bytes: Bytes) -> String {
    bytes.len().to_string()
}

/// Uses the limit of the app.
#[post("/default")]
#[auth(public)]
async fn default(bytes: Bytes) -> String {
    bytes.len().to_string()
}

fn bodies(seen: &Seen) -> App<Seen> {
    App::new(seen.clone())
        .cors(SHOP)
        .limits(Limits::NONE.body(20))
        .routes(routes![upload, json_body, bytes, text, form, large, default])
}

#[tokio::test]
async fn a_body_over_its_limit_by_its_length_is_refused_unread() {
    let seen = Seen::default();
    let server = Running::start(bodies(&seen)).await;
    for (path, over) in [
        ("/upload", 64 * 1024 + 1),
        ("/upload", usize::MAX >> 1),
        ("/json", 11),
        ("/bytes", 11),
        ("/text", 11),
        ("/form", 11),
        ("/default", 21),
        ("/large", 3 * MIB + 1),
    ] {
        // The refusal comes without `100 Continue` and before any byte of the body.
        let length = format!("content-length: {over}");
        let fields = [PAGE, &length, "expect: 100-continue", "content-type: application/json"];
        let mut connection = server.connect().await;
        connection.send(request(&format!("POST {path}"), &fields)).await;
        let response = connection.response().await;
        assert_eq!(code(&response), (413, "request.body-too-large".to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
    }
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_body_at_its_limit_is_taken() {
    let server = Running::start(bodies(&Seen::default())).await;
    for (path, length) in [("/bytes", 10), ("/text", 10), ("/default", 20), ("/large", 3 * MIB)] {
        let response =
            ask_with(&server, &format!("POST {path}"), &[PAGE], &"x".repeat(length)).await;
        assert_eq!(response.status, 200, "{path} {response:?}");
    }
    let fields = [PAGE, "content-type: application/json"];
    assert_eq!(ask_with(&server, "POST /json", &fields, "[1,2,3,456]").await.status, 413);
    assert_eq!(ask_with(&server, "POST /json", &fields, "[1,2,3,45]").await.status, 200);
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_at_its_limit() {
    let seen = Seen::default();
    let server = Running::start(bodies(&seen)).await;
    for (path, media_type) in [
        ("/json", "application/json"),
        ("/bytes", "application/octet-stream"),
        ("/text", "text/plain"),
        ("/form", "application/x-www-form-urlencoded"),
        ("/default", "application/octet-stream"),
    ] {
        let media_type = format!("content-type: {media_type}");
        let fields = [PAGE, "transfer-encoding: chunked", &media_type];
        // The body never ends, so a server that waits for all of it would time out.
        let mut connection = server.connect().await;
        connection.send(request(&format!("POST {path}"), &fields)).await;
        for _ in 0..3 {
            connection.try_send("8\r\n01234567\r\n").await;
        }
        let response = connection.response().await;
        assert_eq!(code(&response), (413, "request.body-too-large".to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARED, "{path}");
    }
}

/// What exceeds the limit is not buffered either: the sender runs into a closed window or
/// connection long before it has sent everything.
#[tokio::test]
async fn no_more_than_the_limit_reaches_a_handler_that_streams() {
    const LIMIT: usize = 64 * 1024;
    for chunk in [1, 1000, 8 * 1024, MIB] {
        let seen = Seen::default();
        let server = Running::start(bodies(&seen)).await;
        let mut connection = server.connect().await;
        let fields = [PAGE, "transfer-encoding: chunked"];
        connection.send(request("POST /upload", &fields)).await;
        let part = format!("{chunk:x}\r\n{}\r\n", "x".repeat(chunk)).repeat((4096 / chunk).max(1));
        let mut sent = 0;
        while sent < 2 * MIB && connection.try_send(&part).await {
            sent += part.len();
        }
        let response = connection.response().await;
        assert_eq!(response.status, 413, "{chunk}");
        assert_eq!(response.sharing(), SHARED, "{chunk}");
        let read = seen.bytes.load(Ordering::Relaxed);
        assert!(read <= LIMIT, "{read} bytes by chunks of {chunk}");
        // It was read as it arrived, up to the frame that exceeds the limit.
        let largest = seen.largest.load(Ordering::Relaxed).max(chunk.min(LIMIT));
        assert!(read + largest >= LIMIT.min(sent), "{read} bytes by chunks of {chunk}");
    }
}

#[get("/slow")]
#[limit(timeout = "50ms")]
#[auth(public)]
async fn slow() -> &'static str {
    pending().await
}

#[post("/slow-body")]
#[limit(timeout = "50ms")]
#[auth(public)]
async fn slow_body(bytes: Bytes) -> String {
    bytes.len().to_string()
}

/// The response begins in time; only its body takes longer.
#[get("/slow-stream")]
#[limit(timeout = "50ms")]
#[auth(public)]
async fn slow_stream(State(gate): State<Gate>) -> Body {
    Body::from_stream(stream::once(async move {
        gate.pass().await;
        Ok::<_, Infallible>("at last")
    }))
}

impl FromRef<Seen> for Gate {
    fn from_ref(seen: &Seen) -> Self {
        seen.gate.clone()
    }
}

#[tokio::test]
async fn who_takes_too_long_is_told_whose_fault_it_is() {
    let seen = Seen::default();
    let app = App::new(seen.clone()).cors(SHOP).routes(routes![slow, slow_body, slow_stream]);
    let server = Running::start(app).await;
    let response = ask(&server, "GET /slow", &[PAGE]).await;
    assert_eq!(code(&response), (503, "handler.timed-out".to_owned()));
    assert_eq!(response.sharing(), SHARED);
    // A cache that stored it would prolong the failure.
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let mut connection = server.connect().await;
    connection.send(request("POST /slow-body", &[PAGE, "content-length: 2"]) + "1").await;
    let response = connection.response().await;
    assert_eq!(code(&response), (408, "request.timed-out".to_owned()));
    assert_eq!(response.sharing(), SHARED);
    let mut connection = server.connect().await;
    connection.send(request("GET /slow-stream", &[PAGE])).await;
    assert_eq!(connection.head().await.status, 200);
    tokio::time::sleep(Duration::from_millis(80)).await;
    seen.gate.open.add_permits(1);
    assert_eq!(connection.chunk().await.unwrap(), b"at last");
}

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
    let app = App::new(()).cors(SHOP).clock(clock.clone());
    app.limits(Limits::NONE.rate(Rate::per_minute(4)))
        .routes(routes![rated, rated_put, cached, one, two])
}

/// Connects from an address of 127.0.0.0/8, all of which belongs to this machine.
async fn connect_from(server: &Running, address: &str) -> Connection {
    let address: IpAddr = address.parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(address, 0)).unwrap();
    Connection::over(soon(socket.connect(server.address)).await.unwrap())
}

async fn from(server: &Running, address: &str, line: &str) -> RawResponse {
    let mut connection = connect_from(server, address).await;
    connection.send(request(line, &[PAGE])).await;
    connection.response().await
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let clock = Clock::at(START);
    let server = Running::start(rates(&clock)).await;
    for left in [2, 1, 0] {
        let response = ask(&server, "GET /rated", &[PAGE]).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=3;w=60"));
        let said = response.header("ratelimit").unwrap();
        assert!(said.starts_with(&format!("\"default\";r={left};t=")), "{said}");
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

/// Whatever a client does, no window of a minute has more requests than the rate allows.
#[tokio::test]
async fn no_window_has_more_than_the_rate_over_a_socket() {
    let clock = Clock::at(START);
    let server = Running::start(rates(&clock)).await;
    let mut random = Random(9);
    let (mut now, mut granted) = (0_u64, Vec::new());
    let mut connection = server.connect().await;
    for _ in 0..300 {
        let step = *random.of(&[0, 0, 1, 5, 19, 20, 21, 61]);
        clock.advance(Duration::from_secs(step));
        now += step;
        connection.send(request("GET /rated", &[])).await;
        if connection.response().await.status == 200 {
            granted.push(now);
        }
    }
    assert!(granted.len() > 60, "{}", granted.len());
    for window in granted.windows(4) {
        assert!(window[3] - window[0] >= 60, "{window:?}");
    }
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
async fn preflights_and_what_no_route_serves_are_not_counted() {
    let server = Running::start(rates(&Clock::at(START))).await;
    for _ in 0..20 {
        let asks = [PAGE, "access-control-request-method: PUT"];
        let response = ask(&server, "OPTIONS /rated", &asks).await;
        assert_eq!(response.status, 204);
        assert_eq!(response.header("ratelimit"), None);
    }
    for _ in 0..3 {
        assert_eq!(ask(&server, "PUT /rated", &[PAGE]).await.status, 200);
    }
    assert_eq!(ask(&server, "PUT /rated", &[PAGE]).await.status, 429);
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
        let said = response.header("ratelimit").unwrap();
        assert!(said.starts_with(&format!("\"default\";r={left};")), "{path}: {said}");
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

#[tokio::test]
async fn a_refusal_is_kept_by_nobody_and_is_no_304() {
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

#[post("/login/{user}")]
#[auth(public)]
async fn login(user: String, sessions: Sessions) -> Result<String, Problem> {
    sessions.login(user.as_str()).await?;
    Ok(user)
}

const OWN: &str = "https://api.example";

#[tokio::test]
async fn a_rate_per_principal_is_that_of_a_person_wherever_they_are() {
    let clock = Clock::at(START);
    let app = App::new(())
        .public_origin(OWN)
        .cors(SHOP)
        .clock(clock.clone())
        .sessions(Sessions::memory())
        .routes(routes![mine, anybody, login]);
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

#[get("/wait")]
#[limit(concurrency = 2)]
#[auth(public)]
async fn wait(State(gate): State<Gate>, request: Request) -> &'static str {
    if request.uri().query() != Some("now") {
        gate.pass().await;
    }
    "waited"
}

#[get("/streamed")]
#[limit(concurrency = 2)]
#[auth(public)]
async fn streamed(State(gate): State<Gate>) -> Body {
    let chunks = stream::unfold(gate, async |gate| {
        gate.pass().await;
        Some((Ok::<_, Infallible>("tick"), gate))
    });
    Body::from_stream(chunks)
}

#[get("/fails")]
#[limit(concurrency = 1)]
#[auth(public)]
async fn fails() {
    panic!("a panic on purpose");
}

#[get("/hangs")]
#[limit(concurrency = 1, timeout = "30ms")]
#[auth(public)]
async fn hangs() {
    pending::<()>().await;
}

/// Repeats a request until its response has this status: permits are released on another task.
async fn until(server: &Running, line: &str, status: u16) {
    soon(async {
        loop {
            let mut connection = server.connect().await;
            connection.send(request(line, &[])).await;
            if connection.head().await.status == status {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn places_are_taken_while_something_is_at_work_and_no_longer() {
    let seen = Seen::default();
    let routes = routes![wait, streamed, fails, hangs];
    let app = App::new(seen.clone()).cors(SHOP).routes(routes);
    let server = Running::start(app).await;
    // One handler that waits, and one whose client goes away.
    let mut waiting = server.connect().await;
    waiting.send(request("GET /wait", &[])).await;
    let mut leaving = server.connect().await;
    leaving.send(request("GET /wait", &[])).await;
    seen.gate.reached(2).await;
    let refused = ask(&server, "GET /wait?now", &[PAGE]).await;
    assert_eq!(code(&refused), (503, "limit.concurrency".to_owned()));
    assert_eq!(refused.sharing(), SHARED);
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert!(refused.header("retry-after").is_some());
    drop(leaving);
    until(&server, "GET /wait?now", 200).await;
    seen.gate.open.add_permits(1);
    assert_eq!(waiting.response().await.text(), "waited");
    // Streams hold their permits until they end, which here is when the client goes away.
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut connection = server.connect().await;
        connection.send(request("GET /streamed", &[])).await;
        assert_eq!(connection.head().await.status, 200);
        streams.push(connection);
    }
    for _ in 0..5 {
        assert_eq!(ask(&server, "GET /streamed", &[]).await.status, 503);
    }
    seen.gate.open.add_permits(1);
    drop(streams.pop());
    until(&server, "HEAD /streamed", 200).await;
    // HEAD of a stream holds no permit.
    for _ in 0..5 {
        assert_eq!(ask(&server, "HEAD /streamed", &[]).await.status, 200);
    }
    // Nor does a stream that failed or was cut off.
    for _ in 0..3 {
        assert_eq!(ask(&server, "GET /fails", &[]).await.status, 500);
        assert_eq!(code(&ask(&server, "GET /hangs", &[]).await).1, "handler.timed-out");
    }
}

#[post("/guarded")]
#[isolation(same_origin)]
#[limit(rate = "1/min", body = "1 KiB")]
#[auth(public)]
async fn guarded(bytes: Bytes) -> String {
    bytes.len().to_string()
}

#[get("/smuggled")]
#[auth(public)]
async fn smuggled(State(seen): State<Seen>) {
    seen.calls.fetch_add(1, Ordering::Relaxed);
}

/// The body of a request that is refused unread is never parsed as the next request.
#[tokio::test]
async fn what_is_refused_unread_is_not_read_as_a_request() {
    let seen = Seen::default();
    let app = bodies(&seen).routes(routes![guarded, smuggled, slow]);
    let server = Running::start(app).await;
    let inner = request("GET /smuggled", &[]);
    let body = inner.repeat(9);
    assert_eq!(ask(&server, "POST /guarded", &[]).await.status, 200);
    for (line, fields, status) in [
        ("POST /bytes", &[][..], 413),
        ("POST /guarded", &[], 429),
        ("POST /guarded", &["sec-fetch-site: cross-site"], 403),
        ("PUT /bytes", &[], 405),
        ("BREW /bytes", &[], 501),
        ("POST /nowhere", &[], 404),
        ("POST /%", &[], 400),
        ("GET /smuggled/", &[], 404),
        ("OPTIONS /bytes", &[], 204),
    ] {
        let length = format!("content-length: {}", body.len());
        for framing in [&*length, "transfer-encoding: chunked"] {
            let sent = match framing.starts_with('t') {
                true => format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
                false => body.clone(),
            };
            let mut connection = server.connect().await;
            connection.send(request(line, &[fields, &[framing]].concat()) + &sent).await;
            let response = connection.response().await;
            assert!(response.status == status || framing != length, "{line} {response:?}");
            // The connection may stay open or not: what comes next, if anything, is the response to
            // this.
            connection.try_send(request("GET /nowhere", &["connection: close"])).await;
            let rest = String::from_utf8(connection.rest().await).unwrap();
            let responses = rest.matches("HTTP/1.1 ").count();
            assert!(
                responses == rest.matches("HTTP/1.1 404").count() && responses <= 1,
                "{line} {rest}"
            );
        }
    }
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}

/// Mounts and fallbacks have the limits of their level.
#[tokio::test]
async fn services_and_the_fallback_are_limited_where_they_are_mounted() {
    let service = |gate: Gate| {
        tower::service_fn(move |request: Request| {
            let gate = gate.clone();
            async move {
                if request.uri().path().ends_with("wait") {
                    gate.pass().await;
                }
                let body = request.into_body().collect().await.map_err(|_cut| "cut")?;
                Ok::<_, &str>(body.to_bytes().len().to_string().into_response())
            }
        })
    };
    let gate = Gate::default();
    let limits = Limits::NONE.body(8).rate(Rate::per_minute(4)).concurrency(1);
    let mount =
        Mount::new(service(gate.clone())).public().methods([Method::GET, Method::POST]).cors(SHOP);
    let app = App::new(())
        .clock(Clock::at(START))
        .cors(SHOP)
        .mount("/mount", mount.limits(limits))
        .fallback(
            Fallback::handler(async |request: Request| {
                let body =
                    request.into_body().collect().await.map_err(|_cut| Problem::bad_request())?;
                Ok::<_, Problem>(body.to_bytes().len().to_string())
            })
            .public(),
        )
        .limits(Limits::NONE.body(9).rate(Rate::per_minute(2)));
    let server = Running::start(app).await;
    let mut waiting = server.connect().await;
    waiting.send(request("GET /mount/wait", &[])).await;
    gate.reached(1).await;
    assert_eq!(ask(&server, "GET /mount/x", &[]).await.status, 503);
    gate.open.add_permits(1);
    assert_eq!(waiting.response().await.text(), "0");
    for (path, body, status) in [
        ("/mount/x", "012345678", 413),
        ("/mount/x", "01234567", 200),
        ("/mount/y", "0", 429),
        ("/lost", "0123456789", 413),
        ("/lost", "012345678", 200),
        ("/found", "", 429),
    ] {
        let response = ask_with(&server, &format!("POST {path}"), &[PAGE], body).await;
        assert_eq!(response.status, status, "{path} {body} {response:?}");
        assert_eq!(response.sharing(), SHARED);
    }
}

/// A group counts its own routes, apart from the app and its other groups.
#[tokio::test]
async fn a_limit_is_counted_where_it_is_stated() {
    let group = || Group::new().routes(routes![one, two]);
    let limited = |rate| group().limits(Limits::NONE.rate(rate));
    let app = App::new(())
        .clock(Clock::at(START))
        .limits(Limits::NONE.rate(Rate::per_minute(2)))
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
async fn places_of_the_app_are_for_all_routes_that_take_them_over() {
    #[get("/wait")]
    #[auth(public)]
    async fn waits(State(gate): State<Gate>) -> &'static str {
        gate.pass().await;
        "waited"
    }

    #[get("/quick")]
    #[auth(public)]
    async fn quick() -> &'static str {
        "quick"
    }

    #[get("/own")]
    #[limit(concurrency = 1)]
    #[auth(public)]
    async fn own() -> &'static str {
        "own"
    }

    let gate = Gate::default();
    let app = App::new(gate.clone()).cors(SHOP).limits(Limits::NONE.concurrency(1));
    let server = Running::start(app.routes(routes![waits, quick, own])).await;
    let mut waiting = server.connect().await;
    waiting.send(request("GET /wait", &[])).await;
    gate.reached(1).await;
    for (line, status) in [
        ("GET /quick", 503),
        ("HEAD /quick", 503),
        ("GET /own", 200),
        // Responses without a handler take no permit.
        ("GET /nowhere", 404),
        ("PUT /quick", 405),
        ("OPTIONS /quick", 204),
    ] {
        assert_eq!(ask(&server, line, &[]).await.status, status, "{line}");
    }
    gate.open.add_permits(1);
    assert_eq!(waiting.response().await.text(), "waited");
    assert_eq!(ask(&server, "GET /quick", &[]).await.status, 200);
}
