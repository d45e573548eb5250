//! A shop as its operators see it: its OpenAPI document, its metrics for Prometheus, and its traces, which
//! go to a collector by OTLP, behind a proxy and in front of another service.
//!
//! Run `cargo run -p operate`, with a collector at `OTEL_EXPORTER_OTLP_ENDPOINT` (by default
//! `http://localhost:4318`). You are the proxy, and a stranger, with curl: it prints the commands.

mod export;

use example_look::{free, ports};
use policy_server::{
    Metrics, OpenApiSettings, ReverseProxy, TrustedProxies,
    http::HeaderMap,
    prelude::*,
    traces::{TraceContext, Tracing},
};
use schemars::JsonSchema;
use serde::Serialize;

/// The proxy in front of the shop, and the shop as the proxy of the warehouse.
const PROXY: &str = "127.0.0.1";

#[derive(JsonSchema, Serialize)]
struct Order {
    /// What was ordered.
    what: String,
}

/// The document has these, and the metrics count them by code.
#[derive(Debug, Problems)]
enum OrderError {
    #[problem(404, code = "orders.unknown", title = "There is no such order")]
    Unknown,
    /// The trace and the log have the error, and the client a 500.
    #[problem(internal, from)]
    Database(std::io::Error),
}

/// Shows an order.
#[get("/orders/{id}")]
#[auth(public)]
#[limit(rate = "100/min")]
async fn order(id: u64) -> Result<Json<Order>, OrderError> {
    match id {
        0 => Err(std::io::Error::other("the database is away"))?,
        // Events of handlers are in the span of the request.
        1 => {
            tracing::info!("an order was looked at");
            Ok(Json(Order { what: "a lamp".to_owned() }))
        }
        _ => Err(OrderError::Unknown),
    }
}

/// Shows the trace that a request to another service would continue.
#[get("/lamps")]
#[auth(public)]
async fn lamps(headers: HeaderMap) -> String {
    let context = TraceContext::read(&headers);
    context.map_or_else(|| "no trace\n".to_owned(), |context| format!("{context}\n"))
}

/// Everything below `/stock` is in the warehouse.
fn shop(warehouse: &str, metrics: Metrics) -> App<()> {
    App::new(())
        .metrics(metrics)
        .openapi_settings(OpenApiSettings::new("Shop", env!("CARGO_PKG_VERSION")))
        .mount("/docs", Mount::openapi().public())
        .behind(TrustedProxies::new([PROXY]).x_forwarded())
        .tracing(Tracing::new().queries(["page"]).tracer(export::tracer))
        .access_log()
        .proxy(ReverseProxy::new("/stock", warehouse).public().strip_prefix())
        .routes(routes![order])
}

/// Only the shop calls it, and so its traces are continued.
fn warehouse() -> App<()> {
    App::new(())
        .behind(TrustedProxies::new([PROXY]).forwarded())
        .tracing(Tracing::new().tracer(export::tracer))
        .routes(routes![lamps])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = export::start()?;
    let [shop_port, warehouse_port, metrics_port] =
        ports("POLICY_OPERATE_PORTS", [8080, 8081, 9464]);
    let warehouse = warehouse().bind(free(warehouse_port)?).await?;
    let upstream = format!("http://{}", warehouse.local_addr());
    let metrics = Metrics::new().listen(free(metrics_port)?);
    let shop = shop(&upstream, metrics).bind(free(shop_port)?).await?;
    introduce(shop.local_addr().port(), shop.metrics_addr().map_or(0, |address| address.port()));
    let served = tokio::try_join!(shop.run(), warehouse.run());
    // The last spans are sent.
    provider.shutdown()?;
    served?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example speaks to the person who started it")]
fn introduce(port: u16, metrics_port: u16) {
    println!(
        "
shop: http://127.0.0.1:{port}
document: http://127.0.0.1:{port}/docs
metrics: http://127.0.0.1:{metrics_port}

Prometheus reads the metrics:

  curl http://127.0.0.1:{metrics_port}/metrics

You are the proxy: your span is the parent of the shop's, and that is the parent of the
warehouse's.

  curl -H 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' http://127.0.0.1:{port}/stock/lamps

You are a stranger: the shop begins a trace of its own, with a link to yours, and decides itself
whether it is recorded.

  curl --interface 127.0.0.2 -H 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' http://127.0.0.1:{port}/stock/lamps

An error, of which the client sees nothing:

  curl 'http://127.0.0.1:{port}/orders/0?page=2'

Ctrl-C ends it.
"
    );
}

// `cargo test -p operate` runs these.
#[cfg(test)]
policy_server::policy_tests!(shop("http://127.0.0.1:8081", Metrics::new()));
