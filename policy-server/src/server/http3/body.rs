//! HTTP/3 request bodies.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use axum_core::BoxError;
use bytes::{Buf, Bytes};
use h3::{
    error::{Code, StreamError},
    server::RequestStream,
};
use http::{HeaderMap, header::CONTENT_LENGTH};
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::quic::{Inbound, StreamState};

/// Content and trailers of a request, as the client sends them. Data is read from the client only
/// when the body is polled.
pub(super) struct RequestBody {
    stream: RequestStream<Inbound, Bytes>,
    /// The data that was received together with the head.
    first: Option<Part>,
    /// The remaining length according to the head (RFC 9114 4.1.2).
    missing: Option<u64>,
    within: Within,
    state: Arc<StreamState>,
}

type Part = Result<Frame<Bytes>, BoxError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Content,
    Trailers,
    End,
}

impl RequestBody {
    /// Creates the body of a request with this head, and determines whether there is one at all.
    pub(super) fn new(
        stream: RequestStream<Inbound, Bytes>,
        headers: &HeaderMap,
        state: Arc<StreamState>,
    ) -> Self {
        let missing = headers.get(CONTENT_LENGTH).and_then(|length| {
            // A gate refuses an invalid length.
            length.to_str().ok()?.parse().ok()
        });
        let mut body = Self { stream, first: None, missing, within: Within::Content, state };
        // A body that is not there yet is polled again by its reader.
        if let Poll::Ready(first) = body.poll_part(&mut Context::from_waker(Waker::noop())) {
            body.first = first;
        }
        body
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Part>> {
        if self.within == Within::Content {
            let data = ready!(self.stream.poll_recv_data(context));
            let data = data.map(|data| data.map(|mut data| data.copy_to_bytes(data.remaining())));
            match data {
                Ok(Some(data)) => return Poll::Ready(Some(self.count(data))),
                Ok(None) if self.missing.is_some_and(|missing| missing > 0) => {
                    return Poll::Ready(Some(Err(self.malformed())));
                }
                Ok(None) => self.within = Within::Trailers,
                Err(error) => return Poll::Ready(Some(Err(self.failed(error)))),
            }
        }
        if self.within == Within::End {
            return Poll::Ready(None);
        }
        let trailers = ready!(self.stream.poll_recv_trailers(context));
        self.within = Within::End;
        Poll::Ready(match trailers {
            Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
            Err(error) => Some(Err(self.failed(error))),
        })
    }

    fn count(&mut self, data: Bytes) -> Part {
        if let Some(missing) = &mut self.missing {
            match missing.checked_sub(data.len() as u64) {
                Some(rest) => *missing = rest,
                None => return Err(self.malformed()),
            }
        }
        Ok(Frame::data(data))
    }

    /// More or less content than the head declares.
    fn malformed(&mut self) -> BoxError {
        self.within = Within::End;
        self.state.refuse(Code::H3_MESSAGE_ERROR);
        self.stream.stop_sending(Code::H3_MESSAGE_ERROR);
        "the content has not the length that the head says".into()
    }

    fn failed(&mut self, error: StreamError) -> BoxError {
        self.within = Within::End;
        match error {
            // Trailers with an invalid name or value.
            StreamError::StreamError { .. } => self.state.refuse(Code::H3_MESSAGE_ERROR),
            // The connection is closed next, and a response could arrive before that is known.
            StreamError::ConnectionError { .. } => self.state.refuse(Code::H3_REQUEST_CANCELLED),
            _ => (),
        }
        error.into()
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Part>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.poll_part(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.within == Within::End
    }

    fn size_hint(&self) -> SizeHint {
        let first = match &self.first {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) | None => 0,
        };
        match (self.within, self.missing) {
            (Within::End, _) => SizeHint::with_exact(first),
            (_, Some(missing)) => SizeHint::with_exact(first + missing),
            (_, None) => SizeHint::default(),
        }
    }
}
