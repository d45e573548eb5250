//! Gate 11 for the body itself: the limit wraps it from the start, since gate 8 may read a form. A
//! declared length is checked with the head.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use crate::{
    base::body::{BodyObserver, Excess, ObservedBody, PolledFrame, limited},
    pipeline::compiled_app::Target,
};
use axum_core::{BoxError, body::Body};
use bytes::Bytes;
use http::HeaderMap;
use http_body::Body as HttpBody;

/// Whether the request body was read to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyProgress(Option<Arc<AtomicBool>>);

impl BodyProgress {
    /// Whether the handler may still be waiting for the client.
    pub(crate) fn is_pending(&self) -> bool {
        self.0.as_ref().is_some_and(|done| !done.load(Ordering::Relaxed))
    }
}

/// Limits a body: a reader gets an error at the first byte over the limit. A request without a body
/// allocates nothing.
pub(crate) fn limit<B>(body: B, limit: u64, excess: impl FnOnce() -> Excess) -> (Body, BodyProgress)
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if body.is_end_stream() {
        return (Body::empty(), BodyProgress(None));
    }
    let done = Arc::new(AtomicBool::new(false));
    let is_within = body.size_hint().exact().is_some_and(|length| length <= limit);
    let excess = if is_within { Excess::Cut } else { excess() };
    let body = ObservedBody::new(limited(body, limit, excess), NoteEnd(Arc::clone(&done)));
    (Body::new(body), BodyProgress(Some(done)))
}

/// How a target learns that a body is over its limit.
pub(crate) fn excess(target: &Target, headers: &HeaderMap) -> Excess {
    match target {
        Target::Handler(_) => Excess::for_handler(headers),
        // It may have layers inside.
        Target::Service(_) => Excess::Shown,
        #[cfg(feature = "gateway")]
        Target::Proxy(_) | Target::Tunnel(_) => Excess::Cut,
    }
}

/// Notes that a body was read to its end.
struct NoteEnd(Arc<AtomicBool>);

impl<B: HttpBody> BodyObserver<B> for NoteEnd {
    fn after(&mut self, polled: &mut PolledFrame<B>, body: &B, _context: &mut Context<'_>) {
        let is_end = match polled {
            Poll::Pending => false,
            Poll::Ready(Some(Ok(_))) => body.is_end_stream(),
            Poll::Ready(Some(Err(_)) | None) => true,
        };
        if is_end {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
