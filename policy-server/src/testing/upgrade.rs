//! The opening handshake of a WebSocket, over an in-memory connection that the server can take over.

use axum_core::{body::Body, extract::Request, response::Response};
use hyper::{client, server, service::service_fn};
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::{handler::service::SharedService, pipeline::explain::RouteTrace};

/// The server's response to the handshake. A connection that it opens is closed again.
pub(super) async fn open(
    service: SharedService,
    request: Request,
    trace: &RouteTrace,
) -> Option<Response> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let trace = trace.clone();
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        service.clone().call(trace.put_into(request.map(Body::new)))
    });
    let connection = server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(far), service)
        .with_upgrades();
    tokio::spawn(connection);
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(near)).await.ok()?;
    tokio::spawn(connection);
    Some(sender.send_request(request).await.ok()?.map(Body::new))
}
