//! WebSockets (RFC 6455) of clients that send and receive bytes, and handlers for them.

use std::sync::Arc;

use axum::{
    extract::{WebSocketUpgrade, ws::Message},
    response::Response,
};
use tokio::sync::Semaphore;

use crate::http::{Connection, soon};

/// The header lines of an opening handshake, with the key of RFC 6455 1.3.
pub const HANDSHAKE: [&str; 4] = [
    "upgrade: websocket",
    "connection: Upgrade",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version: 13",
];

/// A frame of a client, masked with zeros.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u64::try_from(payload.len()).expect("short");
    [&[first, 0xff][..], &length.to_be_bytes(), &[0; 4], payload].concat()
}

/// A text of a server.
pub fn text(text: &str) -> Vec<u8> {
    [&[0x81, u8::try_from(text.len()).expect("short")], text.as_bytes()].concat()
}

/// The Close frame of a server with this code and reason.
pub fn close(code: u16, reason: &str) -> Vec<u8> {
    let head = [0x88, u8::try_from(reason.len()).expect("short") + 2];
    [&head[..], &code.to_be_bytes(), reason.as_bytes()].concat()
}

/// Asserts that the client is sent exactly this Close frame, and that the connection ends with its reply.
pub async fn assert_closed(connection: &mut Connection, code: u16, reason: &str) {
    let close = close(code, reason);
    let sent = connection.exactly(close.len()).await;
    assert_eq!(sent.escape_ascii().to_string(), close.escape_ascii().to_string());
    connection.send(b"\x88\x80\0\0\0\0").await;
    assert_eq!(soon(connection.rest()).await, b"");
}

/// Sends `hi`, masked with zeros, and reads it back.
pub async fn assert_echo(connection: &mut Connection) {
    connection.send(b"\x81\x82\0\0\0\0hi").await;
    assert_eq!(connection.exactly(4).await, b"\x81\x02hi");
}

/// Sends every message back.
pub fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            if let Message::Text(_) | Message::Binary(_) = message {
                // The client may be gone.
                let _ = socket.send(message).await;
            }
        }
    })
}

/// Replies to each message with its kind and length, and counts the handlers that are told that a message
/// was too long.
pub fn reply_with_kinds(upgrade: WebSocketUpgrade, ends: Arc<Semaphore>) -> Response {
    upgrade.on_upgrade(async move |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            let text = match message {
                Message::Text(text) => format!("text {}", text.len()),
                Message::Binary(bytes) => format!("binary {}", bytes.len()),
                Message::Close(Some(frame)) if frame.reason == "limit.message" => {
                    ends.add_permits(1);
                    continue;
                }
                Message::Ping(_) | Message::Close(_) => continue,
                Message::Pong(_) => "pong".to_owned(),
            };
            if socket.send(Message::Text(text.into())).await.is_err() {
                return;
            }
        }
    })
}
