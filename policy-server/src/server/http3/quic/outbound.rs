//! The sending direction of a stream, until the app responds.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use h3::{
    error::Code,
    quic::{self, StreamErrorIncoming, StreamId, WriteBuf},
};

use super::{ResponseStream, StreamState, error::not_written, id};
use crate::base::locks::lock;

/// The sending direction of a stream.
pub(in crate::server::http3) struct Outbound {
    id: quinn::StreamId,
    /// `None` once it is handed over.
    pub(super) stream: Option<ResponseStream>,
    writing: Option<WriteBuf<Bytes>>,
    state: Arc<StreamState>,
    has_written: bool,
}

impl Outbound {
    pub(super) fn new(stream: quinn::SendStream, state: Arc<StreamState>) -> Self {
        let (id, stream) = (stream.id(), Some(ResponseStream::new(stream)));
        Self { id, stream, writing: None, state, has_written: false }
    }

    pub(super) fn finish(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.finish();
        }
    }

    pub(super) fn reset_with(&mut self, error: Code) {
        if let Some(stream) = &mut self.stream {
            stream.reset(error);
        }
    }

    /// The app responds from now on, without the library.
    pub(super) fn hand_over(&mut self) {
        *lock(&self.state.response) = self.stream.take();
    }
}

impl quic::SendStream<Bytes> for Outbound {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let (Some(data), Some(stream)) = (&mut self.writing, &mut self.stream) {
            while data.has_remaining() {
                let written = Pin::new(&mut stream.stream).poll_write(context, data.chunk());
                data.advance(ready!(written).map_err(not_written)?);
                self.has_written = true;
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.finish();
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, reset_code: u64) {
        self.reset_with(reset_code.into());
    }

    fn send_id(&self) -> StreamId {
        id(self.id)
    }
}

/// The library leaves its own 431 response open.
impl Drop for Outbound {
    fn drop(&mut self) {
        if self.has_written {
            self.finish();
        }
    }
}
