//! A body that is observed while it is read.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};

/// The result of polling a body for a frame.
pub(crate) type PolledFrame<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

/// Hooks that run while a body is read. By default, each does nothing.
pub(crate) trait BodyObserver<B: Body> {
    /// Called before the body is polled for a frame. An error is returned in place of the frame.
    fn before(&mut self, _body: &mut B, _context: &mut Context<'_>) -> Result<(), B::Error> {
        Ok(())
    }

    /// Called with the result of the body, which may be changed.
    fn after(&mut self, _polled: &mut PolledFrame<B>, _body: &B, _context: &mut Context<'_>) {}

    /// Called when the body is dropped, whether it is complete or not.
    fn dropped(&mut self, _body: &B) {}
}

/// A body with its observer. The observer may change frames.
#[derive(Debug)]
pub(crate) struct ObservedBody<B: Body, O: BodyObserver<B>> {
    body: B,
    observer: O,
}

impl<B: Body, O: BodyObserver<B>> ObservedBody<B, O> {
    pub(crate) fn new(body: B, observer: O) -> Self {
        Self { body, observer }
    }
}

impl<B: Body + Unpin, O: BodyObserver<B> + Unpin> Body for ObservedBody<B, O> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame<B> {
        let Self { body, observer } = &mut *self;
        if let Err(error) = observer.before(body, context) {
            return Poll::Ready(Some(Err(error)));
        }
        let mut polled = Pin::new(&mut *body).poll_frame(context);
        observer.after(&mut polled, body, context);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body, O: BodyObserver<B>> Drop for ObservedBody<B, O> {
    fn drop(&mut self) {
        self.observer.dropped(&self.body);
    }
}
