//! Streaming responses end with the credential that opened them, and with nothing else.

mod ends;
pub(crate) mod rights;
mod sessions;
mod tickets;
mod tokens;

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    extract::WebSocketUpgrade,
    response::{Sse, sse::Event},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Connection, RawResponse, Running, soon, until};
use http_body::{Body, Frame, SizeHint};
use policy_server::session::minutes;
use policy_tests::{
    handlers::{cut_off, cut_off_all, elevate, revoke, revoke_all, revoke_others, ticket},
    websocket::{self, HANDSHAKE, assert_echo, echo},
};

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
#[object(none = "a test of something else")]
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

#[get("/socket")]
#[limit(silence = "20s")]
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
async fn family(tokens: Tokens) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(Identity::new("ada")).await
}

#[post("/family/end")]
#[auth(public)]
async fn end_family(tokens: Tokens, body: String) -> Result<String, Problem> {
    Ok(tokens.logout(&body).await?.to_string())
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
        revoke_others,
        revoke_all,
        elevate,
        logout_page,
        login_page,
    ]
    .into_iter()
    .chain(rights::routes())
    .collect()
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
        let fields = [&HANDSHAKE[..], &["origin: https://api.example", field]].concat();
        connection.send(raw(&format!("GET {path}"), &fields)).await;
        let head = connection.head().await;
        assert_eq!(head.status, 101, "{head:?}");
        assert_echo(&mut connection).await;
        connection
    }
}

/// Asserts that the stream was aborted, so that no client takes it for complete.
async fn assert_cut(mut connection: Connection) {
    let rest = soon(connection.rest()).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "an orderly end: {}", rest.escape_ascii());
}

/// Asserts that a stream of events says why it ends, and is complete.
async fn assert_ended(mut connection: Connection) {
    let last = connection.last_chunk().await;
    assert_eq!(
        String::from_utf8_lossy(&last),
        "event: end\ndata: {\"code\":\"auth.credential-ended\"}\n\n"
    );
}

/// Asserts that a WebSocket is closed with 1008 and the reason, and ends when its client has replied.
async fn assert_closed(mut connection: Connection) {
    websocket::assert_closed(&mut connection, 1008, "auth.credential-ended").await;
}
