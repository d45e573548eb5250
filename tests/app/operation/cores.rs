//! One runtime for each core.

use std::{collections::BTreeSet, pin::pin};

use policy_server::testing::FaultyStore;
use policy_tests::handlers::{login, me};

use super::*;

fn per_core() -> ServerSettings {
    ServerSettings::default().per_core()
}

#[tokio::test]
async fn a_connection_and_its_tasks_stay_on_one_core() {
    let server = Running::start(app().settings(per_core())).await;
    let cores = thread::available_parallelism().expect("a count").get();
    let mut threads = BTreeSet::new();
    // The system distributes connections at random.
    for count in 0..200 {
        if count >= 20 && threads.len() > 1 {
            break;
        }
        let mut connection = server.connect().await;
        let mut own = BTreeSet::new();
        for _ in 0..3 {
            connection.send(get("/thread")).await;
            let response = connection.response().await;
            let (thread, of_child) = response.text().split_once(' ').expect("two names");
            assert_eq!(thread, of_child);
            assert!(thread.starts_with("policy-core-"), "{thread}");
            own.insert(thread.to_owned());
        }
        assert_eq!(own.len(), 1, "{own:?}");
        threads.extend(own);
    }
    assert!(threads.len() <= cores && (cores == 1 || threads.len() > 1), "{threads:?}");
    let (mut client, _ended) = http2::connect(&server).await;
    assert_eq!(get_h2(&mut client, "/hello").await.text(), "hello");
}

#[tokio::test]
async fn the_shutdown_of_the_cores_finishes_requests_in_flight() {
    let gate = gate();
    let server = Running::start(app_with(&gate).settings(per_core())).await;
    let address = server.address;
    let mut busy = Vec::new();
    for _ in 0..8 {
        let mut connection = server.connect().await;
        connection.send(get("/stream")).await;
        connection.head().await;
        assert_eq!(connection.chunk().await.as_deref(), Some(&b"begun"[..]));
        busy.push(connection);
    }
    let mut idle = server.connect().await;
    idle.send(get("/hello")).await;
    assert_eq!(idle.response().await.text(), "hello");
    let stopped = server.stop();
    idle.wait_for_close().await;
    // Each core learns of the stop separately.
    soon(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    gate.add_permits(busy.len());
    for connection in &mut busy {
        assert_eq!(connection.chunk().await.as_deref(), Some(&b"rest"[..]));
        assert_eq!(connection.chunk().await, None);
    }
    soon(stopped).await.expect("an end");
}

#[tokio::test]
async fn slow_requests_are_cut_off_at_shutdown() {
    let settings = per_core().shutdown_timeout(Duration::from_millis(50));
    let server = Running::start(app().settings(settings)).await;
    let mut waiting = server.connect().await;
    waiting.send(get("/wait")).await;
    let mut streaming = server.connect().await;
    streaming.send(get("/stream")).await;
    streaming.head().await;
    soon(server.stop()).await.expect("an end");
    waiting.wait_for_close().await;
    assert_eq!(streaming.chunk().await.as_deref(), Some(&b"begun"[..]));
    streaming.wait_for_close().await;
}

/// All cores share one limit, and none reserves a part of it that it does not use.
#[tokio::test]
async fn the_limit_of_connections_covers_all_cores() {
    let gate = gate();
    let settings = per_core().max_connections(1);
    let server = Running::start(app_with(&gate).settings(settings)).await;
    for _ in 0..20 {
        let mut first = server.connect().await;
        first.send(get("/hello")).await;
        assert_eq!(first.response().await.text(), "hello");
        let mut second = server.connect().await;
        second.send(get("/hello")).await;
        let early = tokio::time::timeout(Duration::from_millis(5), second.head()).await;
        assert!(early.is_err(), "served beyond the limit");
        drop(first);
        assert_eq!(second.response().await.text(), "hello");
    }
}

/// Sessions, revocations and the end of streams work across cores.
#[tokio::test]
async fn cores_share_sessions() {
    let app = App::new(()).sessions(Sessions::memory()).settings(per_core());
    let server = Running::start(app.routes(routes![login, me])).await;
    let login = server
        .response(request("POST /login", &["origin: http://localhost", "content-length: 0"]))
        .await;
    let cookie = login.header("set-cookie").and_then(|cookie| cookie.split(';').next());
    let cookie = format!("cookie: {}", cookie.expect("a cookie"));
    for _ in 0..20 {
        let response = server.response(request("GET /me", &[&cookie])).await;
        assert_eq!((response.status, response.text()), (200, "ada"));
    }
}

#[tokio::test]
async fn two_servers_share_a_port_only_if_both_say_so() {
    let shared = ServerSettings::default().shared_port();
    let first = Running::start(app().settings(shared.clone())).await;
    let address = first.address.to_string();
    let second = app().settings(shared).bind(&address).await.expect("a second server");
    assert_eq!(second.local_addr(), first.address);
    assert!(app().bind(&address).await.is_err(), "without a word it is a mistake");
}

#[tokio::test]
async fn a_server_takes_no_connections_of_a_shared_port_before_it_can_serve() {
    let shared = ServerSettings::default().shared_port();
    let first = Running::start(app().settings(shared.clone())).await;
    let store: FaultyStore = FaultyStore::default();
    store.hold();
    let next = app().settings(shared).sessions(Sessions::store(store.clone()));
    let mut starting = pin!(next.bind(first.address));
    tokio::select! {
        _ = &mut starting => panic!("its store did not respond yet"),
        () = store.is_held() => (),
    }
    // If both listened, each connection would be one of the other's with probability 1/2.
    for _ in 0..50 {
        assert_eq!(first.response(get("/hello")).await.text(), "hello");
    }
    store.release();
    let next = soon(starting).await.expect("a second server");
    assert_eq!(next.local_addr(), first.address);
}
