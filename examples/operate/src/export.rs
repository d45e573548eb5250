//! Traces by OpenTelemetry: sent to a collector, and connected with the spans of requests.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TracerProvider},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, hyper::HyperClient};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::trace::SdkTracerProvider;
use policy_server::traces::{RemoteTrace, TraceContext};
use tokio::runtime::Handle;
use tracing::{Span, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};

/// Sends spans in batches to the collector of `OTEL_EXPORTER_OTLP_ENDPOINT`. The other variables of
/// OpenTelemetry apply, too: `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`.
pub(crate) fn start() -> Result<SdkTracerProvider, Box<dyn Error>> {
    let exporter = SpanExporter::builder().with_http().with_http_client(Client::new()).build()?;
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("operate"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(LevelFilter::INFO).with(spans).with(lines).try_init()?;
    Ok(provider)
}

/// Connects the span of a request with the span of its caller, and returns the context of the new
/// span for the requests that it makes.
pub(crate) fn tracer(span: &Span, remote: Option<&RemoteTrace>) -> Option<TraceContext> {
    match remote {
        Some(RemoteTrace::Parent(parent)) => {
            span.set_parent(Context::new().with_remote_span_context(remote_span(parent))).ok()?;
        }
        Some(RemoteTrace::Link(stranger)) => span.add_link(remote_span(stranger)),
        _ => (),
    }
    let context = span.context();
    let own = context.span().span_context().clone();
    let (trace, span) = (own.trace_id().to_bytes(), own.span_id().to_bytes());
    let context = TraceContext::new(trace, span, own.trace_flags().to_u8())?;
    Some(context.with_state(&own.trace_state().header()))
}

fn remote_span(context: &TraceContext) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(context.trace_id()),
        SpanId::from_bytes(context.span_id()),
        TraceFlags::new(context.flags()),
        true,
        context.state().parse().unwrap_or_default(),
    )
}

/// A client on the runtime of the server, since the thread that sends batches has none.
#[derive(Clone, Debug)]
struct Client {
    client: HyperClient,
    runtime: Handle,
}

impl Client {
    fn new() -> Self {
        let client = HyperClient::with_default_connector(Duration::from_secs(10), None);
        Self { client, runtime: Handle::current() }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}
