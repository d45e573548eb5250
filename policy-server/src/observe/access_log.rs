//! The access log: one event for each completed response.

use std::{
    borrow::Cow,
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum_core::{body::Body, response::Response};
use http::{Method, Request, StatusCode, Version};
use http_body::Body as HttpBody;
use policy_core::{Event, trace::TraceContext};
use tracing::Level;

use crate::{
    base::{
        body::{BodyObserver, ObservedBody, PolledFrame},
        event::conventions::{error_type, method, protocol},
        log::{ACCESS, AccessLog, RefusalEntry, code_for_logs, cut},
    },
    observe::request_id::RequestId,
};

/// The entry of a response. It is written on drop: the response is then complete, or never will be.
#[derive(Debug)]
pub(crate) struct Line {
    log: AccessLog,
    begun: Instant,
    method: Method,
    path: Box<str>,
    version: Version,
    client: Option<IpAddr>,
    id: Option<RequestId>,
    route: Option<Arc<str>>,
    trace: Option<TraceContext>,
    status: Option<StatusCode>,
    error: Option<Cow<'static, str>>,
    code: Option<Cow<'static, str>>,
    refused: Option<RefusalEntry>,
    bytes: u64,
    is_complete: bool,
}

impl Line {
    /// `None` if no subscriber is interested.
    pub(crate) fn begin<B>(
        log: &AccessLog,
        request: &Request<B>,
        client: Option<IpAddr>,
        id: Option<RequestId>,
    ) -> Option<Self> {
        log.is_wanted().then(|| Self {
            log: log.clone(),
            begun: Instant::now(),
            method: request.method().clone(),
            path: cut(request.uri().path()).into(),
            version: request.version(),
            client,
            id,
            route: None,
            trace: None,
            status: None,
            error: None,
            code: None,
            refused: None,
            bytes: 0,
            is_complete: false,
        })
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        self.route = Some(Arc::clone(path));
    }

    pub(crate) fn traced(&mut self, trace: &TraceContext) {
        self.trace = Some(trace.clone());
    }

    /// Records the response and follows its body to the end.
    pub(crate) fn on_response(mut self, response: Response) -> Response {
        self.status = Some(response.status());
        self.error = error_type(&response);
        self.refused = response.extensions().get().cloned();
        self.code = code_for_logs(&response);
        response.map(|body| Body::new(ObservedBody::new(body, self)))
    }

    fn emit(&self, duration: Duration) {
        let refused = self.refused.as_ref();
        let (method, original) = method(&self.method);
        tracing::event!(target: ACCESS, Level::INFO, {
            http.request.method = method,
            http.request.method_original = original,
            url.path = %self.path.escape_debug(),
            http.route = self.route.as_deref(),
            http.response.status_code = self.status.map(|status| status.as_u16()),
            http.response.body.size = self.bytes,
            http.server.request.duration = duration.as_secs_f64(),
            "error.type" = self.error.as_deref(),
            client.address = self.client.map(tracing::field::display),
            network.protocol.version = protocol(self.version),
            trace_id = self.trace.as_ref().map(|trace| tracing::field::display(trace.trace_id_hex())),
            span_id = self.trace.as_ref().map(|trace| tracing::field::display(trace.span_id_hex())),
            policy.request_id = self.id.as_ref().map(RequestId::as_str),
            policy.code = self.code.as_deref(),
            policy.cause = refused.and_then(|refused| refused.cause).map(Event::code),
            policy.detail = refused.and_then(|refused| refused.detail.as_deref()),
            policy.origin = refused.map(|refused| tracing::field::display(&refused.origin)),
            policy.is_complete = self.is_complete,
        });
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let duration = self.begun.elapsed();
        self.log.write(|| self.emit(duration));
    }
}

impl BodyObserver<Body> for Line {
    fn after(&mut self, polled: &mut PolledFrame<Body>, _body: &Body, _context: &mut Context<'_>) {
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            Poll::Ready(None) => self.is_complete = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => (),
        }
    }

    fn dropped(&mut self, body: &Body) {
        // The sender may not poll again after the last frame.
        self.is_complete |= body.is_end_stream();
    }
}
