//! The beginning of a response, as far as the upstream has sent it.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::yield_now;

use crate::base::body::longer;

/// How many frames are read before the response is forwarded.
const FRAMES: usize = 2;

/// A body whose first frames were read.
pub(super) struct Begun<B> {
    frames: VecDeque<Frame<Bytes>>,
    rest: B,
}

impl<B: Body<Data = Bytes> + Unpin> Begun<B> {
    /// Reads what is there, without waiting for more: a body that is broken within its first bytes is
    /// found before the client is sent a head that promises it.
    ///
    /// # Errors
    ///
    /// That of the body.
    pub(super) async fn read(body: B) -> Result<Self, B::Error> {
        let mut begun = Self { frames: VecDeque::new(), rest: body };
        let mut has_yielded = false;
        while begun.frames.len() < FRAMES && !begun.rest.is_end_stream() {
            match poll_fn(|context| Poll::Ready(begun.poll_rest(context))).await {
                Poll::Ready(Some(frame)) => begun.frames.push_back(frame?),
                Poll::Ready(None) => break,
                // The connection has its own task, which may be about to pass on what it has read.
                Poll::Pending if !has_yielded => {
                    has_yielded = true;
                    yield_now().await;
                }
                Poll::Pending => break,
            }
        }
        Ok(begun)
    }

    fn poll_rest(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.rest).poll_frame(context)
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Begun<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.frames.pop_front() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => self.poll_rest(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let read =
            self.frames.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum();
        longer(self.rest.size_hint(), read)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::{BodyExt, Full, StreamBody};
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn what_is_there_is_read_and_given_again() {
        let begun = Begun::read(Full::new(Bytes::from_static(b"hello"))).await.unwrap();
        assert_eq!((begun.frames.len(), begun.size_hint().exact()), (1, Some(5)));
        assert!(!begun.is_end_stream());
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "hello");

        let frames =
            ["a", "b", "c"].map(|data| Ok::<_, Infallible>(Frame::data(Bytes::from(data))));
        let begun = Begun::read(StreamBody::new(stream::iter(frames))).await.unwrap();
        assert_eq!(begun.frames.len(), FRAMES);
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "abc");
    }

    #[tokio::test]
    async fn what_breaks_at_once_is_an_error_and_what_breaks_later_is_not() {
        for (good, is_found) in [(0, true), (1, true), (2, false)] {
            let frames = (0..good).map(|_| Ok(Frame::data(Bytes::from_static(b"x"))));
            let all = frames.chain([Err("broken")]);
            let begun = Begun::read(StreamBody::new(stream::iter(all))).await;
            assert_eq!(begun.is_err(), is_found, "{good}");
        }
    }

    #[tokio::test]
    async fn nothing_is_waited_for() {
        let (sender, receiver) = mpsc::channel::<&'static str>(1);
        let later = stream::unfold(receiver, |mut receiver| async {
            let data = Bytes::from(receiver.recv().await?);
            Some((Ok::<_, Infallible>(Frame::data(data)), receiver))
        });
        let begun = Begun::read(StreamBody::new(Box::pin(later))).await.unwrap();
        assert!(begun.frames.is_empty());
        sender.send("late").await.unwrap();
        drop(sender);
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "late");
    }
}
