//! Streaming responses end with the credential that opened them, and with nothing else.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    extract::{WebSocketUpgrade, ws::Message},
    response::{Sse, sse::Event},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Connection, RawResponse, Running, soon};
use http_body::{Body, Frame, SizeHint};
use policy_server::session::minutes;

use super::*;
use crate::http;

type Events = Sse<Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>>>;

/// An event for each tick of the test.
fn ticks(shared: &All) -> Events {
    Sse::new(Box::pin(stream::unfold(shared.ticks.subscribe(), async |mut ticks| {
        ticks.changed().await.expect("a test");
        let event = Event::default().data(ticks.borrow_and_update().to_string());
        Some((Ok(event), ticks))
    })))
}

#[get("/events")]
#[auth(session | token)]
async fn events(State(shared): State<All>) -> Events {
    ticks(&shared)
}

#[get("/events/optional")]
#[auth(session | token, optional)]
async fn optional_events(State(shared): State<All>) -> Events {
    ticks(&shared)
}

#[get("/events/ticket")]
#[auth(ticket)]
async fn ticket_events(State(shared): State<All>) -> Events {
    ticks(&shared)
}

/// A body of known size that sends a piece for each tick.
struct Download {
    pieces: Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>,
    size: u64,
}

impl Body for Download {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.pieces.as_mut().poll_next(context)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size)
    }
}

#[get("/download/{size}")]
#[auth(session)]
async fn download(size: u64, State(shared): State<All>) -> policy_server::Body {
    let pieces = stream::unfold(shared.ticks.subscribe(), async |mut ticks| {
        ticks.changed().await.expect("a test");
        Some((Ok(Frame::data(Bytes::from_static(b"tick"))), ticks))
    });
    policy_server::Body::new(Download { pieces: Box::pin(pieces), size })
}

/// Only the argument shows that the handler uses a session.
#[get("/events/public")]
#[auth(public)]
async fn public_events(_session: Session, State(shared): State<All>) -> Events {
    ticks(&shared)
}

fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            if let Message::Text(text) = message {
                // The client may be gone.
                let _ = socket.send(Message::Text(text)).await;
            }
        }
    })
}

#[get("/socket")]
#[auth(session | token)]
async fn socket(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/socket/ticket")]
#[auth(ticket)]
async fn ticket_socket(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/socket/public")]
#[auth(public)]
async fn public_socket(_session: Session, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

#[post("/family")]
#[auth(public)]
async fn family(tokens: Tokens) -> Result<policy_server::tokens::Issued, Problem> {
    tokens.login(Identity::new("ada")).await
}

#[post("/family/end")]
#[auth(public)]
async fn end_family(tokens: Tokens, body: String) -> Result<String, Problem> {
    Ok(tokens.logout(&body).await?.to_string())
}

#[post("/revoke")]
#[auth(token)]
async fn revoke(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.revoke().await?.to_string())
}

#[post("/cut-off")]
#[auth(public)]
async fn cut_off(tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke_user("ada").await.map(drop)
}

#[post("/cut-off-all")]
#[auth(public)]
async fn cut_off_all(tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke_all().await
}

#[post("/ticket")]
#[auth(session | token)]
async fn ticket(tokens: Tokens) -> Result<String, Problem> {
    tokens.ticket().await
}

#[get("/by-ticket")]
#[auth(ticket)]
async fn by_ticket(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/revoke-others")]
#[auth(session)]
async fn revoke_others(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_others().await?;
    Ok(())
}

#[post("/revoke-all")]
#[auth(session)]
async fn revoke_all(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_all().await?;
    Ok(())
}

/// Logs out and sends its page piece by piece.
#[post("/logout/page")]
#[auth(session)]
async fn logout_page(session: Session) -> policy_server::Body {
    session.logout();
    page()
}

#[post("/public/login/{user}")]
#[auth(public)]
async fn login_page(user: String, sessions: Sessions) -> Result<policy_server::Body, Problem> {
    sessions.login(user.as_str()).await?;
    Ok(page())
}

fn page() -> policy_server::Body {
    policy_server::Body::from_stream(stream::iter(["a ", "page"].map(Ok::<_, Infallible>)))
}

#[post("/elevate")]
#[auth(session)]
async fn elevate(session: Session) -> Result<(), Problem> {
    Ok(session.elevate()?)
}

fn all() -> Vec<Route<All>> {
    routes![
        events,
        download,
        optional_events,
        ticket_events,
        public_events,
        socket,
        ticket_socket,
        public_socket,
        issue,
        family,
        end_family,
        revoke,
        cut_off,
        cut_off_all,
        ticket,
        by_ticket,
        revoke_others,
        revoke_all,
        elevate,
        logout_page,
        login_page,
    ]
}

/// A server and the state that it shares with its test.
struct Site {
    server: Running,
    clock: Clock,
    store: FaultyStore,
    shared: All,
}

impl Site {
    async fn new() -> Self {
        Self::with(|app| app).await
    }

    async fn with(change: impl FnOnce(App<All>) -> App<All>) -> Self {
        let clock = Clock::at(START);
        let store = FaultyStore::default();
        let (app, shared) = app(&store, &clock, all());
        Self { server: Running::start(change(app)).await, clock, store, shared }
    }

    async fn send(&self, what: &str, fields: &[&str]) -> RawResponse {
        self.server.response(raw(what, fields)).await
    }

    /// Logs in and returns the header lines that the user's pages send.
    async fn login(&self, user: &str) -> [String; 2] {
        let own = ["origin: https://api.example", "content-length: 0"];
        let response = self.send(&format!("POST /login/{user}"), &own).await;
        let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        self.fields(&cookie).await
    }

    async fn fields(&self, cookie: &str) -> [String; 2] {
        let cookie = format!("cookie: {cookie}");
        let token = self.send("GET /csrf", &[&cookie]).await;
        let token: Value = serde_json::from_str(token.text()).unwrap();
        [cookie, format!("x-csrf-token: {}", token["token"].as_str().unwrap())]
    }

    /// A POST as from a page of the app.
    async fn post(&self, path: &str, fields: &[String], body: &str) -> RawResponse {
        let length = format!("content-length: {}", body.len());
        let mut all = vec!["origin: https://api.example", &*length];
        all.extend(fields.iter().map(String::as_str));
        let response = self.server.response(raw(&format!("POST {path}"), &all) + body).await;
        assert_eq!(response.status, 200, "{path} {response:?}");
        response
    }

    async fn token(&self) -> String {
        let response = self.post("/issue", &[], "").await;
        format!("authorization: Bearer {}", response.text())
    }

    /// A stream of events that has begun and sends ticks.
    async fn events(&self, path: &str, field: &str) -> Connection {
        let mut connection = self.server.connect().await;
        connection.send(raw(&format!("GET {path}"), &[field])).await;
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{head:?}");
        self.assert_ticks(&mut connection).await;
        connection
    }

    /// Sends a tick and waits until it arrives.
    async fn assert_ticks(&self, connection: &mut Connection) {
        self.shared.ticks.send_modify(|ticks| *ticks += 1);
        let last = format!("data: {}\n\n", *self.shared.ticks.borrow());
        while connection.chunk().await.expect("an event") != last.as_bytes() {}
    }

    /// A WebSocket that has opened and sends back what it receives.
    async fn socket(&self, path: &str, field: &str) -> Connection {
        let mut connection = self.server.connect().await;
        let fields = [
            "upgrade: websocket",
            "connection: Upgrade",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-version: 13",
            "origin: https://api.example",
            field,
        ];
        connection.send(raw(&format!("GET {path}"), &fields)).await;
        let head = connection.head().await;
        assert_eq!(head.status, 101, "{head:?}");
        assert_echo(&mut connection).await;
        connection
    }
}

fn raw(what: &str, fields: &[&str]) -> String {
    http::request(what, fields).replacen("host: localhost", "host: api.example", 1)
}

async fn assert_echo(connection: &mut Connection) {
    connection.send(b"\x81\x82\0\0\0\0hi").await;
    assert_eq!(connection.exactly(4).await, b"\x81\x02hi");
}

/// Asserts that the stream was aborted, so that no client takes it for complete.
async fn assert_cut(mut connection: Connection) {
    let rest = soon(connection.rest()).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "an orderly end: {}", rest.escape_ascii());
}

async fn assert_closed(mut connection: Connection) {
    // Perhaps after a close frame.
    soon(connection.rest()).await;
}

#[tokio::test]
async fn a_logout_ends_what_its_session_opened_and_nothing_else() {
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
    assert_cut(events).await;
    assert_cut(optional).await;
    assert_closed(sockets).await;
    site.assert_ticks(&mut other_events).await;
    site.assert_ticks(&mut anonymous).await;
    assert_echo(&mut other_socket).await;

    // A revocation from another device.
    let third = site.login("ada").await;
    site.post("/revoke-others", &third, "").await;
    assert_cut(other_events).await;
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
    // One that is likely to be sent at once is not looked after.
    assert_eq!(connections[0].exactly(4).await, b"tick");
}

/// A public route whose handler takes a session.
#[tokio::test]
async fn what_a_session_opened_on_a_public_route_ends_with_it_too() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let events = site.events("/events/public", &ada[0]).await;
    let socket = site.socket("/socket/public", &ada[0]).await;
    let mut anonymous = site.events("/events/public", "x-a: b").await;
    site.post("/logout", &ada, "").await;
    assert_cut(events).await;
    assert_closed(socket).await;
    site.assert_ticks(&mut anonymous).await;
}

/// The router knows nothing of the session that its mount requires.
#[tokio::test]
async fn what_a_session_opened_behind_a_mount_ends_with_it_too() {
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

#[tokio::test]
async fn a_change_of_the_id_ends_nothing() {
    let site = Site::with(|app| app.sessions(Sessions::memory().renewal(minutes(5)))).await;
    let ada = site.login("ada").await;
    let mut events = site.events("/events", &ada[0]).await;
    let mut socket = site.socket("/socket", &ada[0]).await;
    site.clock.advance(minutes(5));
    let renewed = site.send("GET /me", &[&ada[0]]).await;
    let cookie = renewed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    site.clock.advance(minutes(1));
    site.assert_ticks(&mut events).await;
    assert_echo(&mut socket).await;

    let ada = site.fields(&cookie).await;
    let elevated = site.post("/elevate", &ada, "").await;
    let cookie = elevated.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    site.clock.advance(minutes(1));
    site.assert_ticks(&mut events).await;
    assert_echo(&mut socket).await;

    // Logging in again as the same user does not log out.
    let ada = site.fields(&cookie).await;
    let again = site.post("/login/ada", &ada, "").await;
    let cookie = again.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    site.clock.advance(minutes(1));
    site.assert_ticks(&mut events).await;
    assert_echo(&mut socket).await;

    // Logging in as another user does.
    let ada = site.fields(&cookie).await;
    site.post("/login/eve", &ada, "").await;
    assert_cut(events).await;
    assert_closed(socket).await;
}

#[tokio::test]
async fn a_session_that_expires_ends_what_it_opened() {
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
    assert_cut(events).await;
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
        // Looked at every 20 seconds.
        site.clock.advance(Duration::from_secs(20));
        site.assert_ticks(&mut events).await;
        assert_echo(&mut socket).await;
    }
    site.store.fail();
    site.clock.advance(Duration::from_secs(61));
    assert_cut(events).await;
    assert_closed(socket).await;
    site.assert_ticks(&mut anonymous).await;
}

#[tokio::test]
async fn a_stream_of_a_token_ends_a_minute_after_revocations_could_last_be_read() {
    let site = Site::new().await;
    let token = site.token().await;
    let mut events = site.events("/events", &token).await;
    site.store.fail();
    for _ in 0..2 {
        site.clock.advance(Duration::from_secs(20));
        site.assert_ticks(&mut events).await;
    }
    site.clock.advance(Duration::from_secs(21));
    assert_cut(events).await;
}

/// Whoever asked for it wants it, and a stream that ends can be opened again.
#[tokio::test]
async fn a_logout_that_is_refused_ends_what_its_session_opened() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let eve = site.login("eve").await;
    let of_ada = site.events("/events", &ada[0]).await;
    let mut of_eve = site.events("/events", &eve[0]).await;
    site.store.fail_to_write();
    let own = ["origin: https://api.example", "content-length: 0", &ada[0], &ada[1]];
    assert_eq!(site.send("POST /logout", &own).await.status, 503);
    assert_cut(of_ada).await;
    site.assert_ticks(&mut of_eve).await;
    let own = ["origin: https://api.example", "content-length: 0", &eve[0], &eve[1]];
    let phone = site.events("/events", &eve[0]).await;
    assert_eq!(site.send("POST /revoke-all", &own).await.status, 503);
    assert_cut(of_eve).await;
    assert_cut(phone).await;
}

#[tokio::test]
async fn a_token_that_expires_or_is_revoked_ends_what_it_opened() {
    let site = Site::new().await;
    for end in ["/revoke", "/cut-off", "/cut-off-all", ""] {
        let (one, other) = (site.token().await, site.token().await);
        let events = site.events("/events", &one).await;
        let socket = site.socket("/socket", &one).await;
        let mut other_events = site.events("/events", &other).await;
        match end {
            "" => site.clock.advance(minutes(6)),
            end => drop(site.post(end, std::slice::from_ref(&one), "").await),
        }
        assert_cut(events).await;
        assert_closed(socket).await;
        if end == "/revoke" {
            site.assert_ticks(&mut other_events).await;
        } else {
            assert_cut(other_events).await;
        }
        site.clock.advance(Duration::from_secs(2));
    }
}

#[tokio::test]
async fn the_end_of_a_family_ends_what_its_access_tokens_opened() {
    let site = Site::new().await;
    let pair: Value = serde_json::from_str(site.post("/family", &[], "").await.text()).unwrap();
    let field = format!("authorization: Bearer {}", pair["access_token"].as_str().unwrap());
    let events = site.events("/events", &field).await;
    let made = site.post("/ticket", std::slice::from_ref(&field), "").await;
    let by_ticket = site.socket(&format!("/socket/ticket?ticket={}", made.text()), "x-a: b").await;
    site.post("/family/end", &[], pair["refresh_token"].as_str().unwrap()).await;
    assert_cut(events).await;
    assert_closed(by_ticket).await;
}

#[tokio::test]
async fn what_a_ticket_opened_ends_with_what_it_was_made_with() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let token = site.token().await;
    let open = async |fields: &[String]| {
        let first = site.post("/ticket", fields, "").await.text().to_owned();
        let second = site.post("/ticket", fields, "").await.text().to_owned();
        (
            site.events(&format!("/events/ticket?ticket={first}"), "x-a: b").await,
            site.socket(&format!("/socket/ticket?ticket={second}"), "x-a: b").await,
        )
    };
    let of_session = open(&ada).await;
    let mut of_token = open(std::slice::from_ref(&token)).await;
    // The expiry of the ticket itself ends nothing.
    site.clock.advance(minutes(2));
    site.post("/logout", &ada, "").await;
    assert_cut(of_session.0).await;
    assert_closed(of_session.1).await;
    site.assert_ticks(&mut of_token.0).await;
    site.post("/revoke", &[token], "").await;
    assert_cut(of_token.0).await;
    assert_closed(of_token.1).await;
}

/// A program sends none of the fields by which browsers state a page, and they cannot leave them out.
#[tokio::test]
async fn a_ticket_opens_the_websocket_of_a_program_and_of_an_own_page_but_of_no_other() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    for (fields, status) in [
        (&[][..], 101),
        (&["origin: https://api.example"], 101),
        (&["origin: https://api.example", "sec-fetch-site: same-origin"], 101),
        (&["origin: https://evil.example"], 403),
        (&["origin: null"], 403),
        (&["sec-fetch-site: cross-site"], 403),
    ] {
        let ticket = site.post("/ticket", &ada, "").await.text().to_owned();
        let mut all = vec![
            "upgrade: websocket",
            "connection: Upgrade",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-version: 13",
        ];
        all.extend(fields);
        let mut connection = site.server.connect().await;
        connection.send(raw(&format!("GET /socket/ticket?ticket={ticket}"), &all)).await;
        let head = connection.head().await;
        assert_eq!(head.status, status, "{fields:?} {head:?}");
        if status == 101 {
            assert_echo(&mut connection).await;
        }
    }
}

/// A ticket that was issued before the end of its session and is used after it.
#[tokio::test]
async fn a_ticket_ends_with_the_session_that_it_was_made_in() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let ticket = site.post("/ticket", &ada, "").await.text().to_owned();
    let other = site.post("/ticket", &ada, "").await.text().to_owned();
    assert_eq!(site.send(&format!("GET /by-ticket?ticket={other}"), &[]).await.text(), "ada");
    site.post("/logout", &ada, "").await;
    let response = site.send(&format!("GET /by-ticket?ticket={ticket}"), &[]).await;
    assert_eq!(response.problem(), (401, "auth.ticket-invalid".to_owned()));
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

/// Over HTTP/2 the stream is reset, and the connection goes on.
#[tokio::test]
async fn a_stream_of_http_2_ends_too() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let stream = soon(tokio::net::TcpStream::connect(site.server.address)).await.unwrap();
    let (mut client, connection) = soon(h2::client::handshake(stream)).await.unwrap();
    let _connection = tokio::spawn(connection);
    let mut open = async |path: &str| {
        let cookie = ada[0].strip_prefix("cookie: ").unwrap();
        let request = policy_server::http::Request::get(format!("http://api.example{path}"));
        let request = request.header("cookie", cookie).body(()).unwrap();
        let (response, _) = client.send_request(request, true).unwrap();
        soon(response).await.unwrap()
    };
    let mut events = open("/events").await.into_body();
    assert_eq!(open("/me").await.status(), 200);
    site.shared.ticks.send_modify(|ticks| *ticks += 1);
    assert!(soon(events.data()).await.unwrap().is_ok());
    site.post("/logout", &ada, "").await;
    assert!(soon(events.data()).await.is_some_and(|end| end.is_err()), "it ends in order");
    assert_eq!(open("/me").await.status(), 401);
}
