//! Streams about an object: it is checked before they begin, and while they last.

use std::{sync::Mutex, time::Duration};

use axum::{
    extract::WebSocketUpgrade,
    response::{Sse, sse::Event},
};
use futures_util::{Stream, StreamExt as _, stream};
use policy_server::{
    Clock,
    object::{EngineDecision, ObjectEngine, ObjectSchema, Question},
};
use policy_tests::{
    http::{Connection, until},
    websocket::{HANDSHAKE, assert_closed, assert_echo, echo},
};

use super::*;

#[get("/orders/{id}/events")]
#[auth(scheme = CallerScheme)]
async fn events(order: Allowed<Order>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let note = order.note.clone();
    Sse::new(stream::once(async move { Ok(Event::default().data(note)) }))
}

#[get("/orders/{id}/socket")]
#[auth(scheme = CallerScheme)]
async fn socket(_order: Allowed<Order, Edit>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[tokio::test]
async fn streams_are_for_those_who_may_have_the_object() {
    let app = App::new(Orders::sample()).scheme(CallerScheme).routes(routes![events, socket]);
    let server = Running::start(app).await;
    let stream = send(&server, "GET /orders/1/events", Some("ada"), &[]).await;
    assert_eq!(stream.text(), "data: lamp\n\n");
    let mut connection = server.connect().await;
    let fields = [&HANDSHAKE[..], &["x-caller: ada"]].concat();
    connection.send(request("GET /orders/1/socket", &fields)).await;
    assert_eq!(connection.head().await.status, 101);
    assert_echo(&mut connection).await;
    for (caller, status) in [("rita", 403), ("eve", 404)] {
        let response = send(&server, "GET /orders/1/socket", Some(caller), &HANDSHAKE).await;
        assert_eq!(response.status, status, "{caller}");
    }
    let unseen = send(&server, "GET /orders/1/events", Some("eve"), &[]).await;
    let none = send(&server, "GET /orders/99/events", Some("eve"), &[]).await;
    assert_eq!((unseen.status, unseen.lines(), &unseen.body), (404, none.lines(), &none.body));
}

/// An engine whose answer changes; `None` if it cannot decide.
#[derive(Clone, Default)]
struct Duty(Arc<Mutex<Option<bool>>>, Arc<AtomicUsize>);

impl Duty {
    fn answer(&self, answer: Option<bool>) {
        *self.0.lock().expect("an answer") = answer;
    }

    fn question_count(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl ObjectEngine for Duty {
    fn name(&self) -> &'static str {
        "duty"
    }

    fn digest(&self) -> String {
        "1".to_owned()
    }

    fn validate(&self, _: &[ObjectSchema]) -> Vec<String> {
        Vec::new()
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> EngineDecision<'a> {
        Box::pin(async {
            // It is asked over the network.
            tokio::task::yield_now().await;
            let answer = *self.0.lock().expect("an answer");
            self.1.fetch_add(1, Ordering::Relaxed);
            answer.ok_or_else(|| "the desk is closed".into())
        })
    }
}

#[derive(Object)]
#[rule(View = engine)]
struct Room {
    #[object(key)]
    id: u64,
}

impl Load for Room {
    type Source = ();

    async fn load(id: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok(Some(Self { id: *id }))
    }
}

#[get("/rooms/{id}/events")]
#[auth(scheme = CallerScheme)]
async fn room_events(room: Allowed<Room>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = Event::default().data(room.id.to_string());
    Sse::new(stream::once(async { Ok(first) }).chain(stream::pending()))
}

#[get("/rooms/{id}/socket")]
#[auth(scheme = CallerScheme)]
async fn room_socket(_room: Allowed<Room>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

/// Two streams of one caller, whose objects are checked again each minute.
struct Streams {
    duty: Duty,
    clock: Clock,
    events: Connection,
    socket: Connection,
    _server: Running,
}

impl Streams {
    async fn open() -> Self {
        let (duty, clock) = (Duty::default(), Clock::at(1_800_000_000));
        duty.answer(Some(true));
        let app = App::new(()).scheme(CallerScheme).engine(duty.clone()).clock(clock.clone());
        let server = Running::start(app.routes(routes![room_events, room_socket])).await;
        let [mut events, mut socket] = [server.connect().await, server.connect().await];
        events.send(request("GET /rooms/7/events", &["x-caller: ada"])).await;
        assert_eq!(events.head().await.status, 200);
        assert_eq!(events.chunk().await.expect("an event"), b"data: 7\n\n");
        let fields = [&HANDSHAKE[..], &["x-caller: ada"]].concat();
        socket.send(request("GET /rooms/7/socket", &fields)).await;
        assert_eq!(socket.head().await.status, 101);
        assert_echo(&mut socket).await;
        Self { duty, clock, events, socket, _server: server }
    }

    /// A minute later, the engine is asked about each of them again.
    async fn recheck(&self, answer: Option<bool>) {
        self.duty.answer(answer);
        let before = self.duty.question_count();
        self.clock.advance(Duration::from_secs(60));
        until(async || self.duty.question_count() >= before + 2).await;
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_engine_does_not_permit_it_any_more() {
    for answer in [Some(false), None] {
        let mut streams = Streams::open().await;
        for _ in 0..2 {
            streams.recheck(Some(true)).await;
            assert_echo(&mut streams.socket).await;
        }
        streams.recheck(answer).await;
        assert_closed(&mut streams.socket, 1008, "object.denied").await;
        let last = streams.events.last_chunk().await;
        let end = "event: end\ndata: {\"code\":\"object.denied\"}\n\n";
        assert_eq!(String::from_utf8_lossy(&last), end, "{answer:?}");
    }
}
