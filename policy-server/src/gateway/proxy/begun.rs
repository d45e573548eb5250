//! The part of a response that the upstream has already sent.

use std::{
    future::poll_fn,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::yield_now;

use crate::base::body::longer;

/// The maximum number of frames that are read before the response is forwarded.
const FRAMES: usize = 2;

/// A body whose first frames were read.
pub(super) struct Begun<B> {
    frames: [Option<Frame<Bytes>>; FRAMES],
    rest: B,
}

impl<B: Body<Data = Bytes> + Unpin> Begun<B> {
    /// Reads the available frames without waiting for more, so that an error within the first bytes of
    /// a body is found before its head is sent to the client.
    pub(super) async fn read(body: B) -> Result<Self, B::Error> {
        let mut begun = Self { frames: Default::default(), rest: body };
        let mut has_yielded = false;
        while begun.has_room() && !begun.rest.is_end_stream() {
            match poll_fn(|context| Poll::Ready(begun.poll_rest(context))).await {
                Poll::Ready(Some(frame)) => begun.push(frame?),
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

    fn has_room(&self) -> bool {
        self.frames.iter().any(Option::is_none)
    }

    fn push(&mut self, frame: Frame<Bytes>) {
        if let Some(room) = self.frames.iter_mut().find(|room| room.is_none()) {
            *room = Some(frame);
        }
    }

    /// Takes the data of a body that is one frame and was read.
    pub(super) fn take_whole(&mut self) -> Option<Bytes> {
        match &mut self.frames {
            [Some(only), rest @ ..]
                if self.rest.is_end_stream() && rest.iter().all(Option::is_none) =>
            {
                only.data_mut().map(mem::take)
            }
            _ => None,
        }
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
        match self.frames.iter_mut().find_map(Option::take) {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => self.poll_rest(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.iter().all(Option::is_none) && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.frames.iter().flatten().filter_map(Frame::data_ref);
        let read = data.map(|data| data.len() as u64).sum();
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

    impl<B> Begun<B> {
        fn read_frames(&self) -> usize {
            self.frames.iter().flatten().count()
        }
    }

    #[tokio::test]
    async fn a_body_that_is_there_needs_no_more_reading() {
        let read =
            async |body: &'static str| Begun::read(Full::new(Bytes::from(body))).await.unwrap();
        assert_eq!(read("hello").await.take_whole().as_deref(), Some(&b"hello"[..]));
        assert_eq!(read("").await.take_whole(), None);
        let two = ["a", "b"].map(|data| Ok::<_, Infallible>(Frame::data(Bytes::from(data))));
        let mut two = Begun::read(StreamBody::new(stream::iter(two))).await.unwrap();
        assert_eq!(two.take_whole(), None);
        assert_eq!(two.collect().await.unwrap().to_bytes(), "ab");
    }

    #[tokio::test]
    async fn frames_that_were_read_are_returned_again() {
        let begun = Begun::read(Full::new(Bytes::from_static(b"hello"))).await.unwrap();
        assert_eq!((begun.read_frames(), begun.size_hint().exact()), (1, Some(5)));
        assert!(!begun.is_end_stream());
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "hello");

        let frames =
            ["a", "b", "c"].map(|data| Ok::<_, Infallible>(Frame::data(Bytes::from(data))));
        let begun = Begun::read(StreamBody::new(stream::iter(frames))).await.unwrap();
        assert_eq!(begun.read_frames(), FRAMES);
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "abc");
    }

    #[tokio::test]
    async fn only_an_immediate_break_is_an_error() {
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
        assert_eq!(begun.read_frames(), 0);
        sender.send("late").await.unwrap();
        drop(sender);
        assert_eq!(begun.collect().await.unwrap().to_bytes(), "late");
    }
}
