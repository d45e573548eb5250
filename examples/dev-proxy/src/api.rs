//! A third-party API: it knows only its own address, and shares nothing with pages of other
//! origins.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{Path, WebSocketUpgrade, ws::Message},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};

pub(crate) fn router() -> Router {
    Router::new()
        .route("/orders", get(orders).post(create))
        .route("/orders/{id}", get(order))
        .route("/seen", get(client_headers))
        .route("/live", get(live))
}

/// Sets a cookie for all of its own paths.
async fn orders() -> impl IntoResponse {
    ([("set-cookie", "visited=orders; Path=/; HttpOnly")], Json(json!(["lamp", "chair"])))
}

/// Its `Location` is a path of its own.
async fn create() -> impl IntoResponse {
    (StatusCode::SEE_OTHER, [("location", "/orders/3")])
}

async fn order(Path(id): Path<u32>) -> Json<Value> {
    Json(json!({ "order": id, "item": "table" }))
}

/// What the API knows about the client.
async fn client_headers(headers: HeaderMap) -> Json<Value> {
    let field =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Json(json!({
        "host": field("host"),
        "forwarded": field("forwarded"),
        "cookie": field("cookie"),
    }))
}

/// Three messages.
async fn live(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        for count in 1..=3 {
            let message = Message::Text(format!("message {count}").into());
            if socket.send(message).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
}
