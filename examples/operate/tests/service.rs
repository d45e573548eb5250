//! The traces of the example, as a collector receives them; its document and its metrics.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::any_value::Value,
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use policy_server::{OrInternal, prelude::*};
use policy_tests::{
    example::Example,
    http::{Connection, Running, request},
};
use prost::Message;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

type Spans = Arc<Mutex<Vec<Span>>>;

/// The receiver of OTLP over HTTP, in its binary form.
#[post("/v1/traces")]
#[auth(public)]
async fn receive(State(spans): State<Spans>, body: Bytes) -> Result<(), Problem> {
    let request = ExportTraceServiceRequest::decode(body).or_internal()?;
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    let mut kept = spans.lock().expect("spans");
    kept.extend(scopes.flat_map(|scope| scope.spans));
    Ok(())
}

/// An attribute as text.
fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{key} is {other:?}"),
    })
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn answer(connection: &mut Connection, target: &str, fields: &[&str]) -> (u16, String) {
    connection.send(request(&format!("GET {target}"), fields)).await;
    let response = connection.response().await;
    (response.status, response.text().to_owned())
}

/// The trace and the span that the warehouse shows, and would send to services that it calls.
fn ids_in(trace: &str) -> (&str, &str) {
    let mut fields = trace.trim_end().split('-').skip(1);
    fields.next().zip(fields.next()).unwrap_or_else(|| panic!("no trace: {trace}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_traces_of_requests() {
    let spans = Spans::default();
    let collector =
        Running::start(App::new(Arc::clone(&spans)).routes(routes![receive])).await.address;
    let mut command = Example::command(env!("CARGO_BIN_EXE_operate"));
    command
        .env("POLICY_OPERATE_PORTS", "0,0,0")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"))
        // Spans are sent when it stops.
        .env("OTEL_BSP_SCHEDULE_DELAY", "3600000");
    let example = Example::start(&mut command, &["shop"]).expect("an example that starts");

    let sampled = format!("traceparent: 00-{TRACE}-{CALLER}-01");
    let hidden = format!("traceparent: 00-{TRACE}-{CALLER}-00");
    let fields = [&*sampled, "tracestate: front=1", "baggage: user=7"];
    let mut proxy = Connection::open(example.address("shop")).await;
    // No proxy.
    let mut stranger = Connection::open_from([127, 0, 0, 2], example.address("shop")).await;
    let (status, of_proxy) = answer(&mut proxy, "/stock/lamps", &fields).await;
    assert_eq!((status, ids_in(&of_proxy).0), (200, TRACE));
    let fields =
        [&*hidden, "tracestate: front=1", "authorization: Bearer s3cr3t", "cookie: a=s3cr3t"];
    let (status, of_stranger) = answer(&mut stranger, "/stock/lamps?ticket=s3cr3t", &fields).await;
    assert_eq!(status, 200);
    assert_eq!(answer(&mut stranger, "/orders/1", &[]).await.0, 200);
    let failing = "/orders/0?token=s3cr3t&page=2&s3cr3t";
    assert_eq!(answer(&mut stranger, failing, &[]).await.0, 500);
    assert_eq!(answer(&mut stranger, "/nowhere?page=3", &[]).await.0, 404);
    stranger.send("BREW /pots HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(stranger.response().await.status, 501);
    tokio::task::spawn_blocking(move || example.stop()).await.expect("a thread").expect("an end");

    let spans = spans.lock().expect("spans").clone();
    let named = |name: &str, parent: Option<&str>| {
        let mut found = spans.iter().filter(|span| {
            span.name == name && parent.is_none_or(|parent| hex(&span.parent_span_id) == parent)
        });
        let only = (found.next(), found.next());
        let (Some(span), None) = only else { panic!("{name} of {parent:?}: {spans:#?}") };
        span
    };
    assert_eq!(spans.len(), 8, "{spans:#?}");
    assert!(spans.iter().all(|span| span.kind() == SpanKind::Server), "{spans:#?}");
    assert!(!format!("{spans:?}").contains("s3cr3t"), "{spans:#?}");

    // The proxy's span is the parent of the shop's, and that is the warehouse's.
    let shop = named("GET /stock/{*path}", Some(CALLER));
    assert_eq!((hex(&shop.trace_id).as_str(), &*shop.trace_state), (TRACE, "front=1"));
    let warehouse = named("GET /lamps", Some(&hex(&shop.span_id)));
    assert_eq!((&warehouse.trace_id, &*warehouse.trace_state), (&shop.trace_id, "front=1"));
    assert_eq!(ids_in(&of_proxy), (TRACE, &*hex(&warehouse.span_id)));
    assert!(shop.links.is_empty() && warehouse.links.is_empty());

    // The stranger's is linked, and decides neither the trace nor whether it is recorded.
    let shop = named("GET /stock/{*path}", Some(""));
    assert_ne!(hex(&shop.trace_id), TRACE);
    let [link] = &*shop.links else { panic!("{shop:#?}") };
    assert_eq!((hex(&link.trace_id), hex(&link.span_id)), (TRACE.to_owned(), CALLER.to_owned()));
    let warehouse = named("GET /lamps", Some(&hex(&shop.span_id)));
    assert_eq!((&warehouse.trace_id, &*warehouse.trace_state), (&shop.trace_id, ""));
    assert_eq!(ids_in(&of_stranger), (&*hex(&shop.trace_id), &*hex(&warehouse.span_id)));

    for (name, status, code, attributes) in [
        (
            "GET /orders/{id}",
            "200",
            StatusCode::Unset,
            &[("http.request.method", Some("GET")), ("error.type", None), ("url.query", None)][..],
        ),
        (
            "GET /orders/{id}",
            "500",
            StatusCode::Error,
            &[
                ("error.type", Some("handler.failed")),
                ("url.query", Some("page=2")),
                ("url.path", Some("/orders/0")),
                ("url.scheme", Some("http")),
                ("http.route", Some("/orders/{id}")),
                ("network.protocol.version", Some("1.1")),
                ("client.address", Some("127.0.0.2")),
            ],
        ),
        (
            "GET",
            "404",
            StatusCode::Unset,
            &[
                ("policy.code", Some("route.not-found")),
                ("url.query", Some("page=3")),
                ("http.route", None),
                ("error.type", None),
            ],
        ),
        (
            "HTTP",
            "501",
            StatusCode::Error,
            &[
                ("http.request.method", Some("_OTHER")),
                ("http.request.method_original", Some("BREW")),
                ("error.type", Some("route.method-unknown")),
            ],
        ),
    ] {
        let is_it = |span: &&Span| {
            span.name == name
                && attribute(span, "http.response.status_code").as_deref() == Some(status)
        };
        let span =
            spans.iter().find(is_it).unwrap_or_else(|| panic!("{name} {status}: {spans:#?}"));
        assert_eq!(span.status.clone().unwrap_or_default().code(), code, "{span:#?}");
        for (key, value) in attributes {
            assert_eq!(attribute(span, key).as_deref(), *value, "{key} of {span:#?}");
        }
    }
    let looked = spans.iter().flat_map(|span| &span.events);
    assert!(looked.into_iter().any(|event| event.name == "an order was looked at"), "{spans:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_lists_what_the_metrics_count() {
    let mut command = Example::command(env!("CARGO_BIN_EXE_operate"));
    command.env("POLICY_OPERATE_PORTS", "0,0,0");
    let example =
        Example::start(&mut command, &["shop", "metrics"]).expect("an example that starts");
    let mut shop = Connection::open(example.address("shop")).await;
    assert_eq!(answer(&mut shop, "/orders/9", &[]).await.0, 404);
    let (status, document) = answer(&mut shop, "/docs/openapi.json", &[]).await;
    assert!(status == 200 && document.contains("404_orders.unknown"), "{document}");
    let mut metrics = Connection::open(example.address("metrics")).await;
    let (status, text) = answer(&mut metrics, "/metrics", &[]).await;
    let count = "http_server_request_duration_seconds_count{http_request_method=\"GET\",\
                 http_response_status_code=\"404\",http_route=\"/orders/{id}\"";
    assert!(status == 200 && text.contains(count), "{text}");
    tokio::task::spawn_blocking(move || example.stop()).await.expect("a thread").expect("an end");
}
