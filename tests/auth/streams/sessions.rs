//! Streams that a session opened end with it.

use policy_tests::{handlers::change_tenant, http2};

use super::*;

#[tokio::test]
async fn a_logout_ends_only_streams_of_its_session() {
    let site = Site::new().await;
    let (ada, phone, eve) =
        (site.login("ada").await, site.login("ada").await, site.login("eve").await);
    let (events, sockets) =
        (site.events("/events", &ada[0]).await, site.socket("/socket", &ada[0]).await);
    let optional = site.events("/events/optional", &ada[0]).await;
    let mut other_events = site.events("/events", &phone[0]).await;
    let mut other_socket = site.socket("/socket", &eve[0]).await;
    let mut anonymous = site.events("/events/optional", "x-a: b").await;
    site.post("/logout", &ada, "").await;
    assert_ended(events).await;
    assert_ended(optional).await;
    assert_closed(sockets).await;
    site.assert_ticks(&mut other_events).await;
    site.assert_ticks(&mut anonymous).await;
    assert_echo(&mut other_socket).await;

    // A revocation from another device.
    let third = site.login("ada").await;
    site.post("/revoke-others", &third, "").await;
    assert_ended(other_events).await;
    assert_echo(&mut other_socket).await;
}

#[tokio::test]
async fn a_long_response_of_known_size_ends_with_its_session() {
    const MEBIBYTE: u64 = 1024 * 1024;
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let mut connections = Vec::new();
    for size in [MEBIBYTE, MEBIBYTE + 1] {
        let mut connection = site.server.connect().await;
        connection.send(raw(&format!("GET /download/{size}"), &[&ada[0]])).await;
        let head = connection.head().await;
        assert_eq!((head.status, head.header("content-length")), (200, Some(&*size.to_string())));
        connections.push(connection);
    }
    let tick = || site.shared.ticks.send_modify(|ticks| *ticks += 1);
    tick();
    for connection in &mut connections {
        assert_eq!(connection.exactly(4).await, b"tick");
    }
    site.post("/logout", &ada, "").await;
    let mut long = connections.pop().unwrap();
    assert_eq!(soon(long.rest()).await, b"", "it breaks off");
    tick();
    // A body that is likely to be sent at once is not watched.
    assert_eq!(connections[0].exactly(4).await, b"tick");
}

/// Requests in flight are completed, with a credential as without one.
#[tokio::test]
async fn a_download_goes_on_when_the_server_stops() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let mut used = site.server.connect().await;
    used.send(raw("GET /csrf", &[&ada[0]])).await;
    assert_eq!(used.response().await.status, 200);
    let mut download = site.server.connect().await;
    download.send(raw("GET /download/2000000", &[&ada[0]])).await;
    assert_eq!(download.head().await.status, 200);
    let _stopped = site.server.stop();
    // The server has told its streams of the stop.
    used.wait_for_close().await;
    site.shared.ticks.send_modify(|ticks| *ticks += 1);
    assert_eq!(download.exactly(4).await, b"tick");
}

/// A public route whose handler takes a session.
#[tokio::test]
async fn streams_on_a_public_route_end_with_their_session() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let events = site.events("/events/public", &ada[0]).await;
    let socket = site.socket("/socket/public", &ada[0]).await;
    let mut anonymous = site.events("/events/public", "x-a: b").await;
    site.post("/logout", &ada, "").await;
    assert_ended(events).await;
    assert_closed(socket).await;
    site.assert_ticks(&mut anonymous).await;
}

/// The router knows nothing of the session that its mount requires.
#[tokio::test]
async fn streams_behind_a_mount_end_with_their_session() {
    let endless = || {
        let first = stream::once(async { Ok::<_, Infallible>("first") });
        policy_server::Body::from_stream(first.chain(stream::pending()))
    };
    let router =
        axum::Router::new().route("/app/endless", axum::routing::get(async move || endless()));
    let mount = Mount::new(router).auth(AuthRequirement::session());
    let site = Site::with(|app| app.mount("/app", mount)).await;
    let ada = site.login("ada").await;
    let mut connection = site.server.connect().await;
    connection.send(raw("GET /app/endless", &[&ada[0]])).await;
    assert_eq!(connection.head().await.status, 200);
    assert_eq!(connection.chunk().await.expect("a chunk"), b"first");
    site.post("/logout", &ada, "").await;
    assert_cut(connection).await;
}

#[get("/events/late")]
#[auth(session)]
async fn late_events(State(shared): State<All>) -> Events {
    shared.wait().await;
    ticks(&shared)
}

/// The response begins too late for the notification.
#[tokio::test]
async fn a_stream_of_a_request_that_saw_other_rights_ends() {
    let site = Site::with(|app| app.routes(routes![late_events, change_tenant])).await;
    let ada = site.login("ada").await;
    let mut events = site.server.connect().await;
    events.send(raw("GET /events/late", &[&ada[0]])).await;
    site.shared.waiting.pass().await;
    site.post("/rights", &ada, "").await;
    site.shared.gate.open();
    assert_eq!(events.head().await.status, 200);
    assert_ended(events).await;
}

#[tokio::test]
async fn a_change_of_the_id_ends_nothing() {
    let site = Site::with(|app| {
        app.sessions(Sessions::memory().same_site(SameSite::None).renewal(minutes(5)))
    })
    .await;
    let mut ada = site.login("ada").await;
    let mut events = site.events("/events", &ada[0]).await;
    let mut socket = site.socket("/socket", &ada[0]).await;
    site.clock.advance(minutes(5));
    // A renewal, and a login as the same user, who is not logged out by it.
    for path in ["/me", "/elevate", "/login/ada"] {
        let response = match path {
            "/me" => site.send("GET /me", &[&ada[0]]).await,
            path => site.post(path, &ada, "").await,
        };
        let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap();
        site.clock.advance(minutes(1));
        site.assert_ticks(&mut events).await;
        assert_echo(&mut socket).await;
        ada = site.fields(cookie).await;
    }
    // Logging in as another user logs out.
    site.post("/login/eve", &ada, "").await;
    assert_ended(events).await;
    assert_closed(socket).await;
}

#[tokio::test]
async fn an_expired_session_ends_its_streams() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let mut events = site.events("/events", &ada[0]).await;
    let mut socket = site.socket("/socket", &ada[0]).await;
    // The session is used meanwhile.
    for _ in 0..3 {
        site.clock.advance(minutes(14));
        assert_eq!(site.send("GET /me", &[&ada[0]]).await.status, 200);
        site.assert_ticks(&mut events).await;
        assert_echo(&mut socket).await;
    }
    site.clock.advance(minutes(15));
    assert_ended(events).await;
    assert_closed(socket).await;
}

/// A store that fails for a moment ends nothing.
#[tokio::test]
async fn a_stream_ends_a_minute_after_its_credential_could_last_be_checked() {
    let site = Site::with(|app| app.tokens(tokens_on(&FaultyStore::default()))).await;
    let ada = site.login("ada").await;
    let mut events = site.events("/events", &ada[0]).await;
    let mut socket = site.socket("/socket", &ada[0]).await;
    let mut anonymous = site.events("/events/optional", "x-a: b").await;
    for _ in 0..2 {
        site.store.fail();
        for _ in 0..2 {
            site.clock.advance(Duration::from_secs(20));
            site.assert_ticks(&mut events).await;
            assert_echo(&mut socket).await;
        }
        site.store.recover();
        site.clock.advance(Duration::from_secs(19));
        site.assert_ticks(&mut events).await;
        assert_echo(&mut socket).await;
        // Checked every 20 seconds.
        site.clock.advance(Duration::from_secs(20));
        site.assert_ticks(&mut events).await;
        assert_echo(&mut socket).await;
    }
    site.store.fail();
    site.clock.advance(Duration::from_secs(61));
    assert_ended(events).await;
    assert_closed(socket).await;
    site.assert_ticks(&mut anonymous).await;
}

/// The user asked for the logout, and a stream that ends can be opened again.
#[tokio::test]
async fn a_refused_logout_ends_the_streams_of_its_session() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let eve = site.login("eve").await;
    let of_ada = site.events("/events", &ada[0]).await;
    let mut of_eve = site.events("/events", &eve[0]).await;
    site.store.fail_to_write();
    let own = ["origin: https://api.example", "content-length: 0", &ada[0], &ada[1]];
    assert_eq!(site.send("POST /logout", &own).await.status, 503);
    assert_ended(of_ada).await;
    site.assert_ticks(&mut of_eve).await;
    let own = ["origin: https://api.example", "content-length: 0", &eve[0], &eve[1]];
    let phone = site.events("/events", &eve[0]).await;
    assert_eq!(site.send("POST /revoke-all", &own).await.status, 503);
    assert_ended(of_eve).await;
    assert_ended(phone).await;
}

/// The response that reports the end of a session is not cut off by it.
#[tokio::test]
async fn the_page_that_says_goodbye_is_whole() {
    let site = Site::new().await;
    let (ada, eve) = (site.login("ada").await, site.login("eve").await);
    assert_eq!(site.post("/logout/page", &ada, "").await.text(), "a page");
    assert_eq!(site.post("/public/login/ada", &eve, "").await.text(), "a page");
    assert_eq!(site.send("GET /me", &[&eve[0]]).await.status, 401);
}

/// Over HTTP/2 the connection goes on.
#[tokio::test]
async fn a_stream_of_http_2_ends_too() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let (mut client, _ended) = http2::connect(&site.server).await;
    let mut open = async |path: &str| {
        let cookie = ada[0].strip_prefix("cookie: ").unwrap();
        let url = format!("http://api.example{path}");
        let request = http2::request("GET", &url, &[("cookie", cookie)]);
        let (response, _) = client.send_request(request, true).unwrap();
        soon(response).await.unwrap()
    };
    let mut events = open("/events").await.into_body();
    assert_eq!(open("/me").await.status(), 200);
    site.shared.ticks.send_modify(|ticks| *ticks += 1);
    assert!(soon(events.data()).await.unwrap().is_ok());
    site.post("/logout", &ada, "").await;
    let last = soon(events.data()).await.expect("a last event").expect("an orderly end");
    assert_eq!(&*last, b"event: end\ndata: {\"code\":\"auth.credential-ended\"}\n\n");
    assert!(soon(events.data()).await.is_none());
    assert_eq!(open("/me").await.status(), 401);
}
