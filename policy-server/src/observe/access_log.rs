//! The access log: one event for each completed response.

use std::{
    borrow::Cow,
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use axum_core::{body::Body, response::Response};
use http::{Method, Request, StatusCode, Version};
use http_body::Body as HttpBody;
use policy_core::Event;
use tracing::Level;

use crate::{
    base::{
        body::{BodyObserver, ObservedBody, Polled},
        log::{ACCESS, Refused, cut},
        problem,
    },
    observe::request_id::RequestId,
};

/// The entry of a response. It is written on drop: the response is then complete, or never will be.
#[derive(Debug)]
pub(crate) struct Line {
    begun: Instant,
    method: Method,
    path: Box<str>,
    version: Version,
    client: Option<IpAddr>,
    id: Option<RequestId>,
    route: Option<Arc<str>>,
    status: Option<StatusCode>,
    code: Option<Cow<'static, str>>,
    refused: Option<Refused>,
    bytes: u64,
    is_complete: bool,
}

impl Line {
    /// `None` if no subscriber is interested.
    pub(crate) fn begin<B>(
        request: &Request<B>,
        client: Option<IpAddr>,
        id: Option<RequestId>,
    ) -> Option<Self> {
        if !tracing::enabled!(target: ACCESS, Level::INFO) {
            return None;
        }
        Some(Self {
            begun: Instant::now(),
            method: request.method().clone(),
            path: cut(request.uri().path()).into(),
            version: request.version(),
            client,
            id,
            route: None,
            status: None,
            code: None,
            refused: None,
            bytes: 0,
            is_complete: false,
        })
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        self.route = Some(Arc::clone(path));
    }

    /// Records the response and follows its body to the end.
    pub(crate) fn answered(mut self, response: Response) -> Response {
        self.status = Some(response.status());
        self.refused = response.extensions().get().cloned();
        // A redirect to the login page shows no problem.
        let refused = self.refused.as_ref().map(|refused| refused.refusal.code().into());
        self.code = problem::code(&response).or(refused);
        response.map(|body| Body::new(ObservedBody::new(body, self)))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let refused = self.refused.as_ref();
        tracing::info!(
            target: ACCESS,
            method = %self.method,
            path = %self.path.escape_debug(),
            route = self.route.as_deref(),
            status = self.status.map(|status| status.as_u16()),
            code = self.code.as_deref(),
            cause = refused.and_then(|refused| refused.cause).map(Event::code),
            detail = refused.and_then(|refused| refused.detail.as_deref()),
            origin = refused.map(|refused| tracing::field::display(&refused.origin)),
            bytes = self.bytes,
            duration_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            client = self.client.map(tracing::field::display),
            protocol = ?self.version,
            request_id = self.id.as_ref().map(RequestId::as_str),
            is_complete = self.is_complete,
        );
    }
}

impl BodyObserver<Body> for Line {
    fn after(&mut self, polled: &mut Polled<Body>, _body: &Body, _context: &mut Context<'_>) {
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
