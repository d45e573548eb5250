//! Limits: how large, how long, how often, and how many at once.

mod bodies;
mod concurrency;
mod misses;
mod rates;

use policy_server::Request;
use tokio::sync::Semaphore;

use super::*;

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
async fn a_timeout_ends_when_the_response_begins() {
    let seen = Seen::default();
    let server = Running::start(App::new(seen.clone()).routes(routes![slow_stream])).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /slow-stream", &[])).await;
    assert_eq!(connection.head().await.status, 200);
    tokio::time::sleep(Duration::from_millis(80)).await;
    seen.gate.open.add_permits(1);
    assert_eq!(connection.chunk().await.unwrap(), b"at last");
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
    let mount = Mount::new(service(gate.clone()))
        .public()
        .methods([Method::GET, Method::POST])
        .policies(Policies::new().cors(SHOP));
    let app = App::new(())
        .clock(Clock::at(START))
        .policies(Policies::new().cors(SHOP).limits(Limits::NONE.body(9).rate(Rate::per_minute(2))))
        .mount("/mount", mount.policies(Policies::new().limits(limits)))
        .fallback(
            Fallback::handler(async |request: Request| {
                let body =
                    request.into_body().collect().await.map_err(|_cut| Problem::bad_request())?;
                Ok::<_, Problem>(body.to_bytes().len().to_string())
            })
            .public(),
        );
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
