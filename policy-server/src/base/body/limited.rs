//! A body that ends with an error at its limit.

use std::{
    error::Error,
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use axum_core::{BoxError, body::Body};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::MapErr};

use super::{BodyObserver, ObservedBody, PolledFrame};
use crate::base::error::causes;

/// How a reader is informed that a body is over its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Excess {
    /// An error instead of the frame that exceeds the limit.
    Cut,
    /// One byte over the limit, and an error after it. axum's extractors enforce the same limit
    /// themselves, and recognise its error only if few or no errors wrap it.
    Shown,
}

impl Excess {
    /// The form for a handler. axum's `Multipart`, the only extractor of a multipart body, recognises
    /// only the error of axum's own limit, and responds to any other error with 500.
    pub(crate) fn for_handler(headers: &HeaderMap) -> Self {
        let media_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let kind = media_type.and_then(|media_type| media_type.get(..b"multipart/".len()));
        match kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"multipart/")) {
            true => Self::Shown,
            false => Self::Cut,
        }
    }
}

/// A body with a limit.
pub(crate) type LimitedBody<B> =
    ObservedBody<Pin<Box<MapErr<B, fn(<B as HttpBody>::Error) -> BoxError>>>, Limit>;

pub(crate) fn limited<B>(body: B, limit: u64, excess: Excess) -> LimitedBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>>,
{
    let body: MapErr<_, fn(_) -> BoxError> = body.map_err(Into::into);
    ObservedBody::new(Box::pin(body), Limit { left: limit, excess, is_over: false })
}

/// Limits a body once more, unless it is empty, since layers may have changed it.
pub(crate) fn limit_again(body: &mut Body, limit: u64, excess: Excess) {
    if !body.is_end_stream() {
        *body = Body::new(limited(mem::take(body), limit, excess));
    }
}

/// Whether the error is that of a body limit.
pub(crate) fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(<dyn Error>::is::<LengthLimitError>)
}

/// Counts the bytes of a body.
#[derive(Debug)]
pub(crate) struct Limit {
    left: u64,
    excess: Excess,
    is_over: bool,
}

impl Limit {
    /// Counts a frame. One that exceeds the limit becomes an error, or is cut to one byte over the
    /// limit.
    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BoxError> {
        let Some(data) = frame.data_ref() else { return Ok(frame) };
        if let Some(left) = self.left.checked_sub(data.len() as u64) {
            self.left = left;
            return Ok(frame);
        }
        self.is_over = true;
        let length = match self.excess {
            // The remaining length is less than that of the frame.
            Excess::Shown => usize::try_from(self.left).ok().and_then(|left| left.checked_add(1)),
            Excess::Cut => None,
        };
        match (length, frame.into_data()) {
            (Some(length), Ok(mut data)) => {
                data.truncate(length);
                Ok(Frame::data(data))
            }
            _ => Err(too_long()),
        }
    }
}

impl<B> BodyObserver<B> for Limit
where
    B: HttpBody<Data = Bytes, Error = BoxError>,
{
    fn before(&mut self, _body: &mut B, _context: &mut Context<'_>) -> Result<(), BoxError> {
        if self.is_over { Err(too_long()) } else { Ok(()) }
    }

    fn after(&mut self, polled: &mut PolledFrame<B>, _body: &B, _context: &mut Context<'_>) {
        if let Poll::Ready(Some(frame)) = polled {
            let counted = match mem::replace(frame, Ok(Frame::data(Bytes::new()))) {
                Ok(frame) => self.count(frame),
                // An error of a limit inside of a layer that changed the body. Readers may not
                // recognise it if it is nested.
                Err(error) if is_too_long(&*error) => Err(too_long()),
                Err(error) => Err(error),
            };
            *frame = counted;
        }
    }
}

/// The error by which readers of other crates recognise a limit. Only its crate can create it.
#[cold]
fn too_long() -> BoxError {
    let mut body = Limited::new(Full::new(Bytes::from_static(b"x")), 0);
    let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
    match polled {
        Poll::Ready(Some(Err(error))) => error,
        _ => "length limit exceeded".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum_core::{RequestExt, extract::DefaultBodyLimit};
    use futures_util::stream;

    use super::*;

    /// The data that a reader gets of a body with these chunks, and whether it sees the limit's error.
    async fn read(limit: u64, excess: Excess, pieces: &[&'static str]) -> (String, bool) {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, io::Error>(*piece)).collect();
        let mut body = limited(Body::from_stream(stream::iter(pieces)), limit, excess);
        let mut got = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => got.extend_from_slice(&frame.into_data().unwrap()),
                Err(error) => return (String::from_utf8(got).unwrap(), is_too_long(&*error)),
            }
        }
        (String::from_utf8(got).unwrap(), false)
    }

    #[tokio::test]
    async fn a_body_is_cut_behind_its_limit() {
        for (limit, excess, pieces, got, is_cut) in [
            (4, Excess::Cut, &["ab", "cd"][..], "abcd", false),
            (3, Excess::Cut, &["ab", "cd"], "ab", true),
            (3, Excess::Shown, &["ab", "cdef", "g"], "abcd", true),
            (4, Excess::Shown, &["ab", "cd"], "abcd", false),
            (0, Excess::Cut, &["a"], "", true),
            (0, Excess::Shown, &["ab"], "a", true),
            (u64::MAX, Excess::Shown, &["ab", "cd"], "abcd", false),
        ] {
            let expected = (got.to_owned(), is_cut);
            assert_eq!(
                read(limit, excess, pieces).await,
                expected,
                "{limit} {excess:?} {pieces:?}"
            );
        }
    }

    /// axum's extractors recognise the error of a limit, however deeply layers have nested it.
    #[tokio::test]
    async fn an_outer_limit_recognizes_the_error_of_an_inner_one() {
        use axum_core::extract::FromRequest;

        let inside = Body::new(limited(Body::from("abcd"), 3, Excess::Cut));
        let changed = inside.map_err(|error| io::Error::other(Box::new(error)));
        let mut body = Body::new(changed);
        limit_again(&mut body, 100, Excess::Cut);
        let mut request = http::Request::new(body);
        DefaultBodyLimit::max(100).apply(&mut request);
        let rejection = Bytes::from_request(request, &()).await.unwrap_err();
        assert_eq!(rejection.status(), 413);
        let mut nothing = Body::empty();
        limit_again(&mut nothing, 0, Excess::Cut);
        assert!(http::Request::new(nothing).into_limited_body().is_end_stream());
    }

    #[test]
    fn only_multipart_forms_see_an_excess() {
        for (media_type, excess) in [
            (None, Excess::Cut),
            (Some("multipart/form-data; boundary=x"), Excess::Shown),
            (Some("Multipart/Form-Data; boundary=x"), Excess::Shown),
            (Some("multipart"), Excess::Cut),
            (Some("application/json"), Excess::Cut),
        ] {
            let value = media_type.map(|media_type| media_type.parse().unwrap());
            let headers = value.into_iter().map(|value| (CONTENT_TYPE, value)).collect();
            assert_eq!(Excess::for_handler(&headers), excess, "{media_type:?}");
        }
    }
}
