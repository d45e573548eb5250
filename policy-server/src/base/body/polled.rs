//! A body that is polled before it is sent.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use axum_core::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::{PolledFrame, longer};

/// A body with the result of its first poll, if it was polled.
pub(crate) struct PolledBody<B: HttpBody = Body> {
    /// The result, until it is passed on.
    first: Option<Box<First<B>>>,
    rest: B,
}

type First<B> = Option<Result<Frame<<B as HttpBody>::Data>, <B as HttpBody>::Error>>;

impl<B: HttpBody<Data = Bytes> + Unpin> PolledBody<B> {
    /// Polls a body once.
    pub(crate) fn new(mut rest: B) -> Self {
        let first = poll_once(&mut rest);
        Self::with_first(first, rest)
    }

    fn with_first(first: Poll<First<B>>, rest: B) -> Self {
        let first = match first {
            Poll::Ready(first) => Some(Box::new(first)),
            Poll::Pending => None,
        };
        Self { first, rest }
    }

    /// Leaves the first poll to the sender.
    pub(crate) fn unpolled(rest: B) -> Self {
        Self { first: None, rest }
    }
}

impl PolledBody {
    /// The body in one piece if everything is there at the first poll. A stated length does not tell:
    /// files and upstreams state one, too.
    pub(crate) fn into_whole(mut body: Body) -> Result<Body, Self> {
        match poll_once(&mut body) {
            Poll::Ready(None) => Ok(body),
            Poll::Ready(Some(Ok(frame))) if body.is_end_stream() => match frame.into_data() {
                Ok(data) => Ok(Body::from(data)),
                Err(trailers) => Err(Self::with_first(Poll::Ready(Some(Ok(trailers))), body)),
            },
            first => Err(Self::with_first(first, body)),
        }
    }
}

/// The sender polls the body again, so that nobody has to be woken.
fn poll_once<B: HttpBody<Data = Bytes> + Unpin>(body: &mut B) -> Poll<First<B>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for PolledBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame<B> {
        match self.first.take() {
            Some(first) => Poll::Ready(*first),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        !matches!(self.first.as_deref(), Some(Some(_))) && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let data = match self.first.as_deref() {
            Some(Some(Ok(frame))) => frame.data_ref(),
            _ => None,
        };
        longer(self.rest.size_hint(), data.map_or(0, Bytes::len) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    /// A stream of these pieces, which waits for more behind them unless it ends.
    fn streamed(pieces: Vec<io::Result<&'static str>>, ends: bool) -> Body {
        let pieces = stream::iter(pieces);
        match ends {
            true => Body::from_stream(pieces),
            false => Body::from_stream(pieces.chain(stream::pending())),
        }
    }

    #[tokio::test]
    async fn a_body_is_whole_if_nothing_is_waited_for() {
        for (body, text) in
            [(Body::empty(), ""), (Body::from("all"), "all"), (streamed(vec![], true), "")]
        {
            let Ok(whole) = PolledBody::into_whole(body) else { panic!("no whole body: {text}") };
            assert_eq!(whole.collect().await.unwrap().to_bytes(), text);
        }
        for pieces in [vec![], vec![Ok("a part")], vec![Err(io::ErrorKind::TimedOut.into())]] {
            assert!(PolledBody::into_whole(streamed(pieces, false)).is_err());
        }
    }

    #[tokio::test]
    async fn the_first_poll_changes_nothing_for_the_sender() {
        for whole in ["", "all"] {
            let body = PolledBody::new(Body::from(whole));
            assert_eq!(body.size_hint().exact(), Some(whole.len() as u64));
            assert_eq!(body.is_end_stream(), whole.is_empty());
            assert_eq!(body.collect().await.unwrap().to_bytes(), whole);
        }
        let body = PolledBody::new(streamed(vec![Ok("a"), Ok("b")], true));
        assert_eq!(body.size_hint().exact(), None);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "ab");
        let broken = streamed(vec![Err(io::ErrorKind::TimedOut.into())], true);
        assert!(PolledBody::new(broken).collect().await.is_err());
    }
}
