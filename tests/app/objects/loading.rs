//! What happens while an object is loaded.

use std::future::pending;

use policy_tests::http::StoppedTime;
use tower::util::MapRequestLayer;

use super::*;

/// Its key states how loading it ends.
#[derive(Debug, Object)]
#[rule(View = anyone)]
struct Fickle {
    #[object(key)]
    word: String,
}

impl Load for Fickle {
    type Source = Orders;

    async fn load(word: &String, _: &(), orders: &Orders) -> Result<Option<Self>, Problem> {
        orders.loaded.fetch_add(1, Ordering::Relaxed);
        match &**word {
            "broken" => Err(Problem::internal("the password of the database is hunter2")),
            "busy" => {
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE)
                    .retry_after(Duration::from_secs(7)))
            }
            "panics" => panic!("in load"),
            "hangs" => pending().await,
            word => Ok((word == "there").then(|| Self { word: word.to_owned() })),
        }
    }
}

#[get("/fickle/{word}")]
#[auth(scheme = CallerScheme)]
async fn fickle(word: Allowed<Fickle>) -> String {
    word.word.clone()
}

#[get("/timed/{word}")]
#[auth(scheme = CallerScheme)]
#[limit(timeout = "2s")]
async fn timed(word: Allowed<Fickle>) -> String {
    word.word.clone()
}

fn app() -> App<Orders> {
    App::new(Orders::sample()).scheme(CallerScheme).routes(routes![fickle, timed])
}

#[tokio::test]
async fn a_failure_is_what_the_client_gets() {
    let server = Running::start(app()).await;
    let there = send(&server, "GET /fickle/there", Some("ada"), &[]).await;
    assert_eq!(there.text(), "there");
    let gone = send(&server, "GET /fickle/gone", Some("ada"), &[]).await;
    assert_eq!(gone.problem(), (404, "object.not-found".to_owned()));
    let broken = send(&server, "GET /fickle/broken", Some("ada"), &[]).await;
    assert_eq!(broken.status, 500);
    assert!(!broken.text().contains("hunter2"));
    let busy = send(&server, "GET /fickle/busy", Some("ada"), &[]).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("7")));
}

#[tokio::test]
async fn a_panic_is_that_of_a_handler() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /fickle/panics", &["x-caller: ada"])).await;
    assert_eq!(connection.response().await.problem(), (500, "handler.failed".to_owned()));
    // The connection is still good.
    connection.send(request("GET /fickle/there", &["x-caller: ada"])).await;
    assert_eq!(connection.response().await.text(), "there");
}

#[tokio::test]
async fn the_timeout_of_a_route_covers_the_load() {
    let time = StoppedTime::begin();
    let server = Running::start(app()).await;
    let response = time.until(send(&server, "GET /timed/hangs", Some("ada"), &[])).await;
    assert_eq!(response.status, 503, "{response:?}");
}

/// Layers run before objects are loaded.
#[tokio::test]
async fn layers_see_the_request_before() {
    let orders = Orders::sample();
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let (layer_orders, noted) = (orders.clone(), Arc::clone(&seen));
    let layer = MapRequestLayer::new(move |request: Request| {
        noted.store(layer_orders.loads(), Ordering::Relaxed);
        request
    });
    let group = Group::new().layer(layer).routes(routes![fickle]);
    let server =
        Running::start(App::new(orders.clone()).scheme(CallerScheme).group("/a", group)).await;
    for word in ["there", "gone"] {
        orders.loaded.store(0, Ordering::Relaxed);
        seen.store(usize::MAX, Ordering::Relaxed);
        send(&server, &format!("GET /a/fickle/{word}"), Some("ada"), &[]).await;
        assert_eq!((seen.load(Ordering::Relaxed), orders.loads()), (0, 1), "{word}");
    }
}
