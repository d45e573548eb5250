//! Bodies that are forwarded frame by frame.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum_core::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::LengthLimitError;
use hyper::body::Incoming;
use policy_core::{Refusal, forwarding::keep_trailers};
use tokio::time::{Instant, Sleep, sleep};

use crate::base::event::log;

/// The progress of a request body.
#[derive(Debug)]
pub(super) struct Progress(Mutex<State>);

#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// When it last changed.
    pub(super) since: Instant,
    /// Whether the next frame is awaited from the client, rather than accepted by the upstream.
    pub(super) waits_for_client: bool,
    /// Why the body is invalid.
    pub(super) failure: Option<Refusal>,
}

impl Progress {
    fn new() -> Self {
        let state = State { since: Instant::now(), waits_for_client: false, failure: None };
        Self(Mutex::new(state))
    }

    pub(super) fn state(&self) -> State {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, frame: &Poll<Option<Result<Frame<Bytes>, axum_core::Error>>>) {
        let mut state = self.lock();
        match frame {
            Poll::Pending if state.waits_for_client => (),
            Poll::Pending => (state.waits_for_client, state.since) = (true, Instant::now()),
            Poll::Ready(frame) => {
                (state.waits_for_client, state.since) = (false, Instant::now());
                if let Some(Err(error)) = frame {
                    state.failure = Some(refusal_of(error));
                }
            }
        }
    }
}

fn refusal_of(error: &axum_core::Error) -> Refusal {
    let mut current: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = current {
        if error.is::<LengthLimitError>() {
            return Refusal::BodyTooLarge;
        }
        current = error.source();
    }
    Refusal::BodyIncomplete
}

/// The body of a request on its way to the upstream. A frame is requested from the client only
/// after the upstream has taken the previous one.
pub(super) struct RequestBody {
    inner: Body,
    /// `None` without a body.
    progress: Option<Arc<Progress>>,
}

impl RequestBody {
    pub(super) fn new(inner: Body) -> (Self, Option<Arc<Progress>>) {
        let progress = (!inner.is_end_stream()).then(|| Arc::new(Progress::new()));
        (Self { inner, progress: progress.clone() }, progress)
    }

    pub(super) fn empty() -> Self {
        Self { inner: Body::empty(), progress: None }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum_core::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum_core::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if let Some(progress) = &self.progress {
            progress.note(&frame);
        }
        frame.map(|frame| frame.map(|frame| frame.map(with_trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response on its way to the client.
pub(super) struct AnswerBody {
    inner: Incoming,
    /// Whether this is a response to HEAD, whose headers describe a body that is not sent (RFC 9110
    /// 9.3.2).
    is_of_head: bool,
    idle: Duration,
    /// Set when the upstream is first waited for, since most responses are complete by then.
    deadline: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

impl AnswerBody {
    pub(super) fn new(inner: Incoming, is_of_head: bool, idle: Duration) -> Self {
        Self { inner, is_of_head, idle, deadline: None, is_waiting: false }
    }

    /// Ready when the upstream has been silent for too long. Time during which the client does not
    /// read is not counted, since the body is then not polled.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let idle = self.idle;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(idle)));
        if !self.is_waiting {
            self.is_waiting = true;
            deadline.as_mut().reset(Instant::now() + idle);
        }
        deadline.as_mut().poll(context)
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(frame) => {
                this.is_waiting = false;
                frame.map(|frame| frame.map(with_trailers).map_err(BrokenOff::Upstream))
            }
            Poll::Pending => match this.poll_deadline(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => Some(Err(BrokenOff::TimedOut)),
            },
        };
        if let Some(Err(error)) = &frame {
            log!(UpstreamBrokeOff, %error);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_of_head { SizeHint::default() } else { self.inner.size_hint() }
    }
}

fn with_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            keep_trailers(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// Why a response was cut off.
#[derive(Debug)]
pub(super) enum BrokenOff {
    Upstream(hyper::Error),
    TimedOut,
}

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upstream(error) => write!(f, "the upstream broke off: {error}"),
            Self::TimedOut => f.write_str("the upstream sends nothing more"),
        }
    }
}

impl Error for BrokenOff {}
