//! A page in Chromium over HTTP/2, and WebSockets as streams of its connection (RFC 8441).

use ::http::Version;
use axum::extract::{WebSocketUpgrade, ws::Message};
use serde_json::{Value, json};

use super::{
    webdriver::{Browser, Failure},
    *,
};

#[get("/page")]
#[auth(public)]
async fn page() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("content-type", "text/html; charset=utf-8")], "<!DOCTYPE html><title>A page</title>")
}

/// Sends the HTTP version over which it was opened, and then echoes.
#[get("/socket")]
#[auth(public)]
async fn socket(version: Version, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async move |mut socket| {
        // The page may be gone.
        let _ = socket.send(Message::Text(format!("{version:?}").into())).await;
        while let Some(Ok(message)) = socket.recv().await {
            if let Message::Text(_) = message {
                let _ = socket.send(message).await;
            }
        }
    })
}

/// The messages of two concurrent WebSockets.
const VISIT: &str = "
    const heard = words => new Promise(resolve => {
        const socket = new WebSocket(location.origin.replace('https:', 'wss:') + '/socket');
        const messages = [];
        socket.onmessage = message => {
            messages.push(message.data);
            if (messages.length === 1) socket.send(words);
            else { socket.close(); resolve(messages); }
        };
        socket.onerror = () => resolve('refused');
    });
    return {
        page: performance.getEntriesByType('navigation')[0].nextHopProtocol,
        sockets: await Promise.all([heard('one'), heard('x'.repeat(100000))]),
    };";

fn visit(server: SocketAddr, authority: &Authority) -> Result<Value, Failure> {
    let trust = format!("--ignore-certificate-errors-spki-list={}", authority.key_hash());
    let browser = Browser::with(&[trust], &json!({}))?;
    browser.goto(&format!("https://localhost:{}/page", server.port()))?;
    browser.run(VISIT, &Value::Null)
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
async fn chromium_opens_websockets_as_streams_of_http2() -> Result<(), Failure> {
    let (authority, folder) = (Authority::new(), folder("browser"));
    let mut issued = authority.issue(&["localhost"]);
    // Chromium is told the key of the authority, which it looks for in the chain.
    issued.certificate += &authority.pem();
    let (certificate, key) = issued.write(&folder);
    let app = app().routes(routes![page, socket]).tls(Tls::files(certificate, key));
    let server = Secure::start(app).await;
    let address = server.address;
    // The server runs on this thread.
    let visited = tokio::task::spawn_blocking(move || visit(address, &authority)).await??;
    let sockets = [["HTTP/2.0", "one"], ["HTTP/2.0", &*"x".repeat(100_000)]];
    assert_eq!(visited, json!({ "page": "h2", "sockets": sockets }));
    Ok(())
}
