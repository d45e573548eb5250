//! A request to the upstream, which may be sent twice, and why there is no response to it.

use std::{
    error::Error,
    fmt,
    pin::{Pin, pin},
    sync::Arc,
};

use axum_core::body::Body;
use http::{HeaderMap, Method, Request, Uri};
use hyper::body::Incoming;
use policy_core::{Refusal, method};
use tokio::{
    select,
    time::{Instant, Sleep, timeout_at},
};

use super::{
    Gateway,
    body::{Progress, RequestBody, no_request_body, request_body},
    connection::{StreamCount, Usage},
    pool::{Lease, Pool, SendError},
};
use crate::base::{
    error::{Causes, causes, is_timeout},
    event::terminal::emit,
    timers,
};

/// A request as it is sent to the upstream.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) target: Uri,
    pub(super) fields: HeaderMap,
}

/// Why there is no response.
pub(super) struct Failure {
    pub(super) refusal: Refusal,
    fate: Fate,
}

/// What is known about a request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The upstream may have processed it.
    Unknown,
    /// It was sent on a pooled connection that had ended, so that an idempotent one may be repeated
    /// (RFC 9110 9.2.2).
    ConnectionDead,
    /// The upstream says that it has not processed it (RFC 9113 8.7).
    Refused,
}

impl Outgoing {
    pub(super) async fn send(
        self,
        gateway: &Gateway,
        pool: &Arc<Pool>,
        body: Body,
        has_upgrade: bool,
    ) -> Result<(http::Response<Incoming>, Option<StreamCount>), Refusal> {
        let (body, progress) = request_body(body, &self.fields);
        let is_idempotent = method::is_idempotent(self.method.as_str());
        // A body cannot be sent twice.
        let may_repeat = progress.is_none() && !has_upgrade;
        let again = may_repeat.then(|| self.clone());
        let progress = progress.as_deref();
        let first = gateway.exchange(pool, self.request(body), progress).await;
        match (first, again) {
            (Ok(response), _) => Ok(response),
            (Err(Failure { fate, .. }), Some(again))
                if fate == Fate::Refused || (fate == Fate::ConnectionDead && is_idempotent) =>
            {
                let again = again.request(no_request_body());
                let second = gateway.exchange(pool, again, None).await;
                second.map_err(|failure| failure.refusal)
            }
            (Err(failure), _) => Err(failure.refusal),
        }
    }

    fn request(self, body: RequestBody) -> Request<RequestBody> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.target;
        *request.headers_mut() = self.fields;
        request
    }
}

impl Gateway {
    /// Sends a request, and waits for the head of the response.
    async fn exchange(
        &self,
        pool: &Arc<Pool>,
        mut request: Request<RequestBody>,
        progress: Option<&Progress>,
    ) -> Result<(http::Response<Incoming>, Option<StreamCount>), Failure> {
        let begun = Instant::now();
        loop {
            let lease = match pool.waiting(begun) {
                Some(lease) => lease,
                None => {
                    // Boxed: a handshake inside would make each request's future a kilobyte larger.
                    let open = Box::pin(pool.open());
                    let deadline = timers::deadline(begun, self.timeouts.response);
                    match timeout_at(deadline, open).await {
                        Ok(opened) => opened.map_err(|error| self.judge(&error, progress))?,
                        Err(_elapsed) => return Err(self.late(false)),
                    }
                }
            };
            pool.address(&mut request, &lease);
            let Lease { sender, usage, is_reused, mut timer, stream } = lease;
            let (response, sender) = sender.send(request);
            if sender.is_none() {
                pool.forget_closed();
            }
            match self.in_time(pin!(response), timer.as_mut(), begun, progress).await? {
                Ok(response) => {
                    usage.note_response();
                    if let Some(sender) = sender {
                        pool.keep(Lease { sender, usage, is_reused, timer, stream: None });
                    }
                    return Ok((response, stream));
                }
                // The upstream closed it before it was used again.
                Err(mut error) => match error.take_message().filter(|_| is_reused) {
                    Some(unsent) => request = unsent,
                    None => {
                        let error = SendError::on(usage, error.into_error());
                        return Err(self.judge(&error, progress));
                    }
                },
            }
        }
    }

    /// Waits for a response until its deadline.
    async fn in_time<T>(
        &self,
        mut response: Pin<&mut impl Future<Output = T>>,
        mut timer: Pin<&mut Sleep>,
        begun: Instant,
        progress: Option<&Progress>,
    ) -> Result<T, Failure> {
        let mut passed = None;
        loop {
            let state = progress.map(Progress::state);
            let waits_for_client = state.is_some_and(|state| state.waits_for_client);
            let patience =
                if waits_for_client { self.timeouts.idle } else { self.timeouts.response };
            let deadline = timers::deadline(state.map_or(begun, |state| state.since), patience);
            // A body that moved meanwhile has moved the deadline.
            if passed == Some(deadline) {
                return Err(self.late(waits_for_client));
            }
            timer.as_mut().reset(deadline);
            select! {
                biased;
                response = &mut response => return Ok(response),
                () = &mut timer => passed = Some(deadline),
            }
        }
    }

    /// There was no response in time.
    fn late(&self, waits_for_client: bool) -> Failure {
        let refusal = match waits_for_client {
            true => Refusal::BodyTimedOut,
            false => Refusal::UpstreamTimedOut,
        };
        self.failed(refusal, &"no response in time", Fate::Unknown)
    }

    fn judge(&self, error: &SendError, progress: Option<&Progress>) -> Failure {
        if let Some(refusal) = progress.and_then(|progress| progress.state().failure) {
            let cause = "the body of the request is incomplete";
            return self.failed(refusal, &cause, Fate::Unknown);
        }
        let cause: &(dyn Error + 'static) = &*error.cause;
        let refusal = match error.is_unreachable {
            true if is_timeout(cause) => Refusal::UpstreamTimedOut,
            true => Refusal::UpstreamUnreachable,
            false => Refusal::UpstreamAnswer,
        };
        let was_dead = error.usage.as_ref().is_some_and(Usage::was_dead);
        // Unless the connection simply ended, there is an HTTP/2 error of the stream or of it.
        let http2_error = causes(cause).find_map(|error| error.downcast_ref::<h2::Error>());
        let fate = match http2_error {
            Some(error) if is_refused(error) => Fate::Refused,
            None if was_dead => Fate::ConnectionDead,
            _ => Fate::Unknown,
        };
        self.failed(refusal, &Causes(cause), fate)
    }

    pub(super) fn failed(&self, refusal: Refusal, cause: &dyn fmt::Display, fate: Fate) -> Failure {
        let cause = cause.to_string();
        emit(|| {
            tracing::warn!(
                code = refusal.code(),
                upstream = %self.mapping.upstream().authority(),
                cause = %cause.escape_debug(),
                "{}",
                refusal.title()
            );
        });
        Failure { refusal, fate }
    }
}

/// Whether the upstream says that it has not processed the request: REFUSED_STREAM, or GOAWAY with
/// an earlier stream as the last one. h2 ends only the later streams with the error of a GOAWAY.
fn is_refused(error: &h2::Error) -> bool {
    let is_stream_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (is_stream_refused || error.is_go_away())
}
