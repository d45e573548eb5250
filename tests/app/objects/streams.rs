//! Streams about an object: it is checked before they begin.

use axum::{
    extract::WebSocketUpgrade,
    response::{Sse, sse::Event},
};
use futures_util::{Stream, stream};
use policy_tests::websocket::{HANDSHAKE, assert_echo, echo};

use super::*;

#[get("/orders/{id}/events")]
#[auth(scheme = Named)]
async fn events(order: Allowed<Order>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let note = order.note.clone();
    Sse::new(stream::once(async move { Ok(Event::default().data(note)) }))
}

#[get("/orders/{id}/socket")]
#[auth(scheme = Named)]
async fn socket(_order: Allowed<Order, Edit>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[tokio::test]
async fn streams_are_for_those_who_may_have_the_object() {
    let app = App::new(Orders::stored()).scheme(Named).routes(routes![events, socket]);
    let server = Running::start(app).await;
    let stream = sent(&server, "GET /orders/1/events", Some("ada"), &[]).await;
    assert_eq!(stream.text(), "data: lamp\n\n");
    let mut connection = server.connect().await;
    let fields = [&HANDSHAKE[..], &["x-caller: ada"]].concat();
    connection.send(request("GET /orders/1/socket", &fields)).await;
    assert_eq!(connection.head().await.status, 101);
    assert_echo(&mut connection).await;
    for (caller, status) in [("rita", 403), ("eve", 404)] {
        let response = sent(&server, "GET /orders/1/socket", Some(caller), &HANDSHAKE).await;
        assert_eq!(response.status, status, "{caller}");
    }
    let unseen = sent(&server, "GET /orders/1/events", Some("eve"), &[]).await;
    let none = sent(&server, "GET /orders/99/events", Some("eve"), &[]).await;
    assert_eq!((unseen.status, unseen.lines(), &unseen.body), (404, none.lines(), &none.body));
}
