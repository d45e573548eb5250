//! A quinn connection as the HTTP/3 library needs it, which inspects the streams.

use std::{
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use futures_util::{Stream, stream};
use h3::{
    error::Code,
    quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf},
};
use quinn::{ConnectionError, ReadError, StoppedError, VarInt, WriteError};

use super::frames::{Fault, Frames, Piece, Purpose, varint};

/// The response to a head over the limit: `:status: 431`, as a HEADERS frame (RFC 9114 4.2.2, RFC
/// 6585 5).
const TOO_LARGE: &[u8] = b"\x01\x08\x00\x00\x5f\x09\x03431";

type Opening<T> = Pin<Box<dyn Stream<Item = Result<T, ConnectionError>> + Send>>;

/// A QUIC connection.
pub(super) struct Transport {
    connection: quinn::Connection,
    requests: Opening<(quinn::SendStream, quinn::RecvStream)>,
    incoming: Opening<quinn::RecvStream>,
    opening: Opening<quinn::SendStream>,
    header_limit: usize,
    /// No further requests are taken: GOAWAY was sent.
    is_closing: bool,
    /// The part of the stream accepted last that the library does not pass on.
    pub(super) accepted: Option<Accepted>,
}

/// A stream that a client opened.
pub(super) struct Accepted {
    pub(super) state: Arc<StreamState>,
    /// Whether it was opened before the handshake was complete (RFC 9001 4.6), so that it may be a
    /// replay.
    pub(super) is_early: bool,
    /// Completes when the client cancels the response or has received all of it.
    pub(super) stopped: Stopped,
}

/// `None` when the client has received everything.
type Stopped = Pin<Box<dyn Future<Output = Result<Option<VarInt>, StoppedError>> + Send>>;

/// State that both directions of a stream share.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    is_taken: AtomicBool,
    /// The error code in place of the response. 0 if there is none.
    refused: AtomicU64,
}

impl StreamState {
    /// The app responds from now on: a response that ends early must not look complete.
    pub(super) fn take(&self) {
        self.is_taken.store(true, Relaxed);
    }

    /// What follows the head is in error: the response, as far as it is not sent, is reset with
    /// this code.
    pub(super) fn refuse(&self, code: Code) {
        self.refused.store(code.value(), Relaxed);
    }

    pub(super) fn refused(&self) -> Option<Code> {
        match self.refused.load(Relaxed) {
            0 => None,
            code => Some(code.into()),
        }
    }
}

impl Transport {
    pub(super) fn new(connection: quinn::Connection, header_limit: usize) -> Self {
        Self {
            requests: each(&connection, |of| async move { of.accept_bi().await }),
            incoming: each(&connection, |of| async move { of.accept_uni().await }),
            opening: each(&connection, |of| async move { of.open_uni().await }),
            connection,
            header_limit,
            is_closing: false,
            accepted: None,
        }
    }

    /// Rejects every request from now on, so that a client may repeat it elsewhere (RFC 9114 5.2).
    pub(super) fn close_for_requests(&mut self) {
        self.is_closing = true;
    }
}

/// A stream of accepted streams.
fn each<T, F>(
    connection: &quinn::Connection,
    next: impl Fn(quinn::Connection) -> F + Copy + Send + 'static,
) -> Opening<T>
where
    F: Future<Output = Result<T, ConnectionError>> + Send,
{
    Box::pin(stream::unfold(connection.clone(), move |connection| async move {
        Some((next(connection.clone()).await, connection))
    }))
}

fn poll_stream<T>(
    opening: &mut Opening<T>,
    context: &mut Context<'_>,
) -> Poll<Result<T, ConnectionErrorIncoming>> {
    match ready!(opening.as_mut().poll_next(context)) {
        Some(Ok(stream)) => Poll::Ready(Ok(stream)),
        Some(Err(error)) => Poll::Ready(Err(lost(error))),
        None => Poll::Ready(Err(ConnectionErrorIncoming::InternalError("no more".to_owned()))),
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Inbound;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Inbound, ConnectionErrorIncoming>> {
        let stream = ready!(poll_stream(&mut self.incoming, context))?;
        let guard = Guard::Unknown(Vec::new(), self.connection.clone());
        Poll::Ready(Ok(Inbound::new(stream, guard, Arc::default())))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Exchange, ConnectionErrorIncoming>> {
        loop {
            let (mut send, mut receive) = ready!(poll_stream(&mut self.requests, context))?;
            if self.is_closing {
                let _ = send.reset(code(Code::H3_REQUEST_REJECTED));
                let _ = receive.stop(code(Code::H3_REQUEST_REJECTED));
                continue;
            }
            let state = Arc::<StreamState>::default();
            self.accepted = Some(Accepted {
                state: Arc::clone(&state),
                is_early: receive.is_0rtt(),
                stopped: Box::pin(send.stopped()),
            });
            let guard = Guard::Frames(Frames::new(Purpose::Request, self.header_limit), None);
            let inbound = Inbound::new(receive, guard, Arc::clone(&state));
            return Poll::Ready(Ok(Exchange { outbound: Outbound::new(send, state), inbound }));
        }
    }

    fn opener(&self) -> Self {
        Self::new(self.connection.clone(), self.header_limit)
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = Exchange;
    type SendStream = Outbound;

    fn poll_open_bidi(
        &mut self,
        _context: &mut Context<'_>,
    ) -> Poll<Result<Exchange, StreamErrorIncoming>> {
        // Servers never open one (RFC 9114 6.1).
        Poll::Ready(Err(StreamErrorIncoming::Unknown("a server sends no requests".into())))
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Outbound, StreamErrorIncoming>> {
        let stream = ready!(poll_stream(&mut self.opening, context)).map_err(|error| {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error: error }
        })?;
        Poll::Ready(Ok(Outbound::new(stream, Arc::default())))
    }

    fn close(&mut self, error: Code, reason: &[u8]) {
        self.connection.close(code(error), reason);
    }
}

/// Both directions of a request stream.
pub(super) struct Exchange {
    outbound: Outbound,
    inbound: Inbound,
}

impl Exchange {
    /// Ends a request that cannot reach the app.
    fn end(&mut self, fault: Fault, context: &mut Context<'_>) {
        if fault == Fault::TooLarge {
            // A new stream has room for a few bytes, unless the client has cancelled it.
            let head = Pin::new(&mut self.outbound.stream).poll_write(context, TOO_LARGE);
            if matches!(head, Poll::Ready(Ok(written)) if written == TOO_LARGE.len()) {
                self.outbound.finish();
                return;
            }
        }
        self.outbound.reset_with(code_of(fault));
        self.inbound.stop_with(code_of(fault));
    }
}

impl quic::RecvStream for Exchange {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let data = ready!(self.inbound.poll_piece(context));
        if let Err(Failure::Fault(fault)) = &data {
            self.end(*fault, context);
        }
        Poll::Ready(data.map_err(Failure::into))
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.inbound.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.inbound.recv_id()
    }
}

impl quic::SendStream<Bytes> for Exchange {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.outbound.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.outbound.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.outbound.poll_finish(context)
    }

    fn reset(&mut self, reset_code: u64) {
        self.outbound.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.outbound.send_id()
    }
}

impl quic::BidiStream<Bytes> for Exchange {
    type SendStream = Outbound;
    type RecvStream = Inbound;

    fn split(self) -> (Outbound, Inbound) {
        (self.outbound, self.inbound)
    }
}

/// The receiving direction of a stream.
pub(super) struct Inbound {
    id: quinn::StreamId,
    /// `None` if it is read elsewhere.
    stream: Option<quinn::RecvStream>,
    guard: Guard,
    /// Data that was received but not inspected.
    unread: Bytes,
    /// What the library is given next.
    next: Option<Bytes>,
    state: Arc<StreamState>,
    is_over: bool,
}

/// What is inspected on a stream.
enum Guard {
    /// Frames, and for the control stream the connection that ends with it.
    Frames(Frames, Option<quinn::Connection>),
    /// A unidirectional stream, with the bytes of its type so far (RFC 9114 6.2).
    Unknown(Vec<u8>, quinn::Connection),
    /// Nothing: the library does not read on.
    Nothing,
}

impl Inbound {
    fn new(stream: quinn::RecvStream, guard: Guard, state: Arc<StreamState>) -> Self {
        let (id, stream) = (stream.id(), Some(stream));
        Self { id, stream, guard, unread: Bytes::new(), next: None, state, is_over: false }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Failure>> {
        loop {
            if let Some(next) = self.next.take() {
                return Poll::Ready(Ok(Some(next)));
            }
            match &mut self.guard {
                Guard::Frames(frames, control) => match frames.read(&mut self.unread) {
                    Ok(None) => (),
                    Ok(Some(Piece::Whole(piece))) => return Poll::Ready(Ok(Some(piece))),
                    Ok(Some(Piece::Data(head, content))) => {
                        self.next = Some(content);
                        return Poll::Ready(Ok(Some(head)));
                    }
                    Err(fault) => {
                        if let Some(connection) = control.take() {
                            connection.close(code(code_of(fault)), b"the control stream");
                        }
                        self.stop_with(code_of(fault));
                        self.state.refuse(Code::H3_MESSAGE_ERROR);
                        return Poll::Ready(Err(Failure::Fault(fault)));
                    }
                },
                Guard::Unknown(kind, connection) => {
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
                            Guard::Frames(Frames::new(Purpose::Control, 0), Some(connection))
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

    fn stop_with(&mut self, error: Code) {
        self.stop(code(error));
    }

    fn stop(&mut self, error: VarInt) {
        self.is_over = true;
        if let Some(stream) = &mut self.stream {
            let _ = stream.stop(error);
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
        self.stop(VarInt::from_u64(error_code).unwrap_or(VarInt::MAX));
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

/// The sending direction of a stream.
pub(super) struct Outbound {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    state: Arc<StreamState>,
    has_written: bool,
    is_over: bool,
}

impl Outbound {
    fn new(stream: quinn::SendStream, state: Arc<StreamState>) -> Self {
        Self { stream, writing: None, state, has_written: false, is_over: false }
    }

    fn finish(&mut self) {
        self.is_over = true;
        let _ = self.stream.finish();
    }

    fn reset_with(&mut self, error: Code) {
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

/// Why a stream is no longer read.
enum Failure {
    Fault(Fault),
    Stream(ReadError),
}

impl From<Failure> for StreamErrorIncoming {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Fault(fault) => Self::Unknown(fault.into()),
            Failure::Stream(ReadError::Reset(code)) => {
                Self::StreamTerminated { error_code: code.into_inner() }
            }
            Failure::Stream(ReadError::ConnectionLost(error)) => {
                Self::ConnectionErrorIncoming { connection_error: lost(error) }
            }
            Failure::Stream(error) => Self::Unknown(error.into()),
        }
    }
}

impl From<Fault> for Box<dyn std::error::Error + Send + Sync> {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => "the request is malformed",
            Fault::TooLarge => "a field section is over the limit",
            Fault::Excessive => "too many unknown frames",
            Fault::PushId => "the maximum push id decreases",
        }
        .into()
    }
}

fn not_written(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
        }
        error => StreamErrorIncoming::Unknown(error.into()),
    }
}

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn code_of(fault: Fault) -> Code {
    match fault {
        Fault::Malformed => Code::H3_MESSAGE_ERROR,
        Fault::TooLarge | Fault::Excessive => Code::H3_EXCESSIVE_LOAD,
        Fault::PushId => Code::H3_ID_ERROR,
    }
}

/// An error code as a QUIC integer.
pub(super) fn code(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}

#[expect(clippy::expect_used, reason = "QUIC numbers streams so")]
fn id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("a number of 62 bits")
}
