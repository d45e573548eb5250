//! The receiving direction of a stream, whose frames are inspected.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h3::{
    error::Code,
    quic::{self, StreamErrorIncoming, StreamId},
};
use quinn::ReadError;

use super::{
    StreamState, code,
    error::{Failure, code_of},
    id,
};
use crate::server::http3::frames::{Frames, Piece, Purpose, section_limit, varint};

/// The receiving direction of a stream.
pub(in crate::server::http3) struct Inbound {
    id: quinn::StreamId,
    /// `None` if it is read elsewhere.
    stream: Option<quinn::RecvStream>,
    guard: Guard,
    /// Data that was received but not inspected.
    unread: Bytes,
    /// The next bytes for the library.
    next: Option<Bytes>,
    state: Arc<StreamState>,
    is_over: bool,
}

/// The part of a stream that is inspected.
pub(super) enum Guard {
    /// Frames, with a [`Control`] if this is the control stream.
    Frames(Frames, Option<Control>),
    /// A unidirectional stream, with the bytes of its type so far (RFC 9114 6.2).
    Unknown(Vec<u8>, Control),
    /// Nothing: the library does not read on.
    Nothing,
}

/// The connection, which ends with its control stream, and the largest field section that its
/// client accepts.
pub(super) struct Control(pub(super) quinn::Connection, pub(super) Arc<AtomicU64>);

impl Inbound {
    pub(super) fn new(stream: quinn::RecvStream, guard: Guard, state: Arc<StreamState>) -> Self {
        let (id, stream) = (stream.id(), Some(stream));
        Self { id, stream, guard, unread: Bytes::new(), next: None, state, is_over: false }
    }

    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, Failure>> {
        loop {
            if let Some(next) = self.next.take() {
                return Poll::Ready(Ok(Some(next)));
            }
            match &mut self.guard {
                Guard::Frames(frames, control) => match frames.read(&mut self.unread) {
                    Ok(None) => (),
                    Ok(Some(Piece::Whole(piece))) => {
                        if let Some(Control(_, limit)) = control
                            && let Some(stated) = section_limit(&piece)
                        {
                            limit.store(stated, Relaxed);
                        }
                        return Poll::Ready(Ok(Some(piece)));
                    }
                    Ok(Some(Piece::Data(head, content))) => {
                        self.next = Some(content);
                        return Poll::Ready(Ok(Some(head)));
                    }
                    Err(fault) => {
                        if let Some(Control(connection, _)) = control.take() {
                            connection.close(code(code_of(fault)), b"the control stream");
                        }
                        self.stop_with(code_of(fault));
                        self.state.refuse(Code::H3_MESSAGE_ERROR);
                        return Poll::Ready(Err(Failure::Fault(fault)));
                    }
                },
                Guard::Unknown(kind, Control(connection, limit)) => {
                    let missing = kind.first().map_or(1, |first| 1_usize << (first >> 6));
                    let part = self.unread.split_to(self.unread.len().min(missing - kind.len()));
                    kind.extend_from_slice(&part);
                    if let Some(value) = varint(&mut &kind[..]) {
                        if value == PUSH_STREAM {
                            connection.close(code(Code::H3_STREAM_CREATION_ERROR), b"a push");
                        }
                        let kind = Bytes::from(std::mem::take(kind));
                        let connection = connection.clone();
                        let encoder = self.stream.take_if(|_| value == ENCODER_STREAM);
                        self.guard = if value == CONTROL_STREAM {
                            let control = Control(connection, Arc::clone(limit));
                            Guard::Frames(Frames::new(Purpose::Control, 0), Some(control))
                        } else {
                            if let Some(stream) = encoder {
                                let first = std::mem::take(&mut self.unread);
                                tokio::spawn(read_encoder(stream, first, connection));
                            }
                            Guard::Nothing
                        };
                        return Poll::Ready(Ok(Some(kind)));
                    }
                    if !self.unread.is_empty() {
                        continue;
                    }
                }
                Guard::Nothing if !self.unread.is_empty() => {
                    return Poll::Ready(Ok(Some(std::mem::take(&mut self.unread))));
                }
                Guard::Nothing => (),
            }
            let Some(stream) = &mut self.stream else { return Poll::Pending };
            // Dropping this future loses no data, since the state is in the stream.
            match ready!(pin!(stream.read_chunk(usize::MAX, true)).poll(context)) {
                Ok(Some(chunk)) => self.unread = chunk.bytes,
                Ok(None) => {
                    self.is_over = true;
                    let cut_off = match &mut self.guard {
                        Guard::Frames(frames, _) => frames.end(),
                        Guard::Unknown(..) | Guard::Nothing => None,
                    };
                    return Poll::Ready(Ok(cut_off));
                }
                Err(error) => {
                    self.is_over = true;
                    return Poll::Ready(Err(Failure::Stream(error)));
                }
            }
        }
    }

    pub(super) fn stop_with(&mut self, error: Code) {
        self.is_over = true;
        if let Some(stream) = &mut self.stream {
            let _ = stream.stop(code(error));
        }
    }
}

/// Reads the encoder stream of a client (RFC 9204 4.2), which the library does not. No dynamic table
/// is offered, so its only instruction is the capacity 0 (4.3.1), and it stays open with the
/// connection.
async fn read_encoder(
    mut stream: quinn::RecvStream,
    mut received: Bytes,
    connection: quinn::Connection,
) {
    const CAPACITY_0: u8 = 0b0010_0000;
    /// One is enough.
    const INSTRUCTIONS: usize = 1024;
    let mut count = 0;
    let error = loop {
        if received.iter().any(|byte| *byte != CAPACITY_0) {
            break Code::QPACK_ENCODER_STREAM_ERROR;
        }
        count += received.len();
        if count > INSTRUCTIONS {
            break Code::H3_EXCESSIVE_LOAD;
        }
        match stream.read_chunk(usize::MAX, true).await {
            Ok(Some(chunk)) => received = chunk.bytes,
            Ok(None) | Err(ReadError::Reset(_)) => break Code::H3_CLOSED_CRITICAL_STREAM,
            Err(_connection_lost) => return,
        }
    };
    connection.close(code(error), b"the encoder stream");
}

/// The control stream (RFC 9114 6.2.1).
const CONTROL_STREAM: u64 = 0x00;
/// The stream of the client's QPACK encoder (RFC 9204 4.2).
const ENCODER_STREAM: u64 = 0x02;
/// A push stream, which only a server may open (RFC 9114 6.2.2).
const PUSH_STREAM: u64 = 0x01;

impl quic::RecvStream for Inbound {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.poll_piece(context).map_err(Failure::into)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.stop_with(error_code.into());
    }

    fn recv_id(&self) -> StreamId {
        id(self.id)
    }
}

/// A response does not need the unread part of its request (RFC 9114 4.1).
impl Drop for Inbound {
    fn drop(&mut self) {
        if !self.is_over {
            self.stop_with(Code::H3_NO_ERROR);
        }
    }
}
