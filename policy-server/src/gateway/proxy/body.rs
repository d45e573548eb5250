//! Bodies that are forwarded frame by frame.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use axum_core::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use policy_core::{Refusal, reverse_proxy::keep_trailers};
use tokio::time::{Instant, Sleep, sleep};

use super::{begun::Begun, connection::StreamCount};
use crate::base::{
    body::{BodyObserver, ObservedBody, PolledFrame, is_too_long},
    event::log,
    locks::lock,
    timers,
};

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
        *lock(&self.0)
    }

    fn note(&self, polled: &PolledFrame<Body>) {
        let mut state = lock(&self.0);
        match polled {
            Poll::Pending if state.waits_for_client => (),
            Poll::Pending => (state.waits_for_client, state.since) = (true, Instant::now()),
            Poll::Ready(frame) => {
                (state.waits_for_client, state.since) = (false, Instant::now());
                if let Some(Err(error)) = frame {
                    state.failure = Some(match is_too_long(error) {
                        true => Refusal::BodyTooLarge,
                        false => Refusal::BodyIncomplete,
                    });
                }
            }
        }
    }
}

/// The body of a request on its way to the upstream. A frame is requested from the client only
/// after the upstream has taken the previous one.
pub(super) type RequestBody = ObservedBody<Body, RequestObserver>;

/// Notes the progress of a request body, if there is one.
#[derive(Default)]
pub(super) struct RequestObserver {
    progress: Option<Arc<Progress>>,
    /// The names of the headers. An upstream that merges trailers into them would take a value of the
    /// client for one that this server or its layers have added, such as the user.
    names: Box<[HeaderName]>,
}

/// The body of a request with these headers. It notes its progress, if there is one.
pub(super) fn request_body(
    body: Body,
    headers: &HeaderMap,
) -> (RequestBody, Option<Arc<Progress>>) {
    if body.is_end_stream() {
        return (ObservedBody::new(body, RequestObserver::default()), None);
    }
    let progress = Some(Arc::new(Progress::new()));
    let names = headers.keys().cloned().collect();
    let observer = RequestObserver { progress: progress.clone(), names };
    (ObservedBody::new(body, observer), progress)
}

pub(super) fn no_request_body() -> RequestBody {
    ObservedBody::new(Body::empty(), RequestObserver::default())
}

impl BodyObserver<Body> for RequestObserver {
    fn after(&mut self, polled: &mut PolledFrame<Body>, _body: &Body, _context: &mut Context<'_>) {
        if let Some(progress) = &self.progress {
            progress.note(polled);
        }
        filter_trailers::<Body>(polled, &self.names);
    }
}

/// The body of a response on its way to the client.
pub(super) fn response_body(
    mut body: Begun<Incoming>,
    idle: Duration,
    stream: Option<StreamCount>,
) -> Body {
    if let Some(data) = body.take_whole() {
        return Body::from(data);
    }
    let observer = ResponseObserver { idle, deadline: None, is_waiting: false, _stream: stream };
    Body::new(ObservedBody::new(body.map_err(BrokenOff::Upstream), observer))
}

struct ResponseObserver {
    idle: Duration,
    /// Set when the upstream is first waited for, since most responses are complete by then.
    deadline: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    _stream: Option<StreamCount>,
}

impl ResponseObserver {
    /// Ready when the upstream has been silent for too long. Time during which the client does not
    /// read is not counted, since the body is then not polled.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let idle = self.idle;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(idle)));
        if !self.is_waiting {
            self.is_waiting = true;
            deadline.as_mut().reset(timers::deadline(Instant::now(), idle));
        }
        deadline.as_mut().poll(context)
    }
}

impl<B: HttpBody<Data = Bytes, Error = BrokenOff>> BodyObserver<B> for ResponseObserver {
    fn after(&mut self, polled: &mut PolledFrame<B>, _body: &B, context: &mut Context<'_>) {
        if polled.is_ready() {
            self.is_waiting = false;
            filter_trailers::<B>(polled, &[]);
        } else if self.poll_deadline(context).is_ready() {
            *polled = Poll::Ready(Some(Err(BrokenOff::TimedOut)));
        }
        if let Poll::Ready(Some(Err(error))) = polled {
            log!(UpstreamBrokeOff, %error);
        }
    }
}

/// Removes the trailers that are not forwarded, those with one of these names among them.
fn filter_trailers<B: HttpBody>(polled: &mut PolledFrame<B>, names: &[HeaderName]) {
    if let Poll::Ready(Some(Ok(frame))) = polled
        && let Some(trailers) = frame.trailers_mut()
    {
        keep_trailers(trailers);
        for name in names {
            trailers.remove(name);
        }
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
