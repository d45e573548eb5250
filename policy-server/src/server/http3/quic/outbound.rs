//! The sending direction of a stream.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use h3::{
    error::Code,
    quic::{self, StreamErrorIncoming, StreamId, WriteBuf},
};
use quinn::VarInt;

use super::{StreamState, code, error::not_written, id};

/// The sending direction of a stream.
pub(in crate::server::http3) struct Outbound {
    pub(super) stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    state: Arc<StreamState>,
    has_written: bool,
    is_over: bool,
}

impl Outbound {
    pub(super) fn new(stream: quinn::SendStream, state: Arc<StreamState>) -> Self {
        Self { stream, writing: None, state, has_written: false, is_over: false }
    }

    pub(super) fn finish(&mut self) {
        self.is_over = true;
        let _ = self.stream.finish();
    }

    pub(super) fn reset_with(&mut self, error: Code) {
        self.is_over = true;
        let _ = self.stream.reset(code(error));
    }
}

impl quic::SendStream<Bytes> for Outbound {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let written = Pin::new(&mut self.stream).poll_write(context, data.chunk());
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
        self.is_over = true;
        let _ = self.stream.reset(VarInt::from_u64(reset_code).unwrap_or(VarInt::MAX));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

/// An unfinished response must not look complete. The library leaves its own 431 response open.
impl Drop for Outbound {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.has_written && !self.state.is_taken.load(Relaxed) {
            self.finish();
        } else {
            self.reset_with(Code::H3_REQUEST_CANCELLED);
        }
    }
}
