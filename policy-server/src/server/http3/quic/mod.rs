//! A quinn connection as the HTTP/3 library needs it, which inspects the streams.

mod error;
mod inbound;
mod outbound;
mod response;

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use h3::{
    error::Code,
    quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf},
};
use quinn::{ConnectionError, StoppedError, VarInt};

use self::{
    error::{Failure, code_of, connection_error},
    inbound::{Control, Guard},
};
pub(super) use self::{inbound::Inbound, outbound::Outbound, response::ResponseStream};
use super::frames::{Fault, Frames, Purpose};
use crate::base::locks::lock;

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
    /// The largest field section that the client accepts (RFC 9114 4.2.2).
    pub(super) client_limit: Arc<AtomicU64>,
    /// Whether GOAWAY was sent, so that no further requests are accepted.
    is_closing: bool,
    /// The properties of the latest accepted stream that the library does not pass on.
    pub(super) accepted: Option<AcceptedStream>,
}

/// A stream that a client opened.
pub(super) struct AcceptedStream {
    pub(super) state: Arc<StreamState>,
    /// Whether it was opened before the handshake was complete (RFC 9001 4.6), so that it may be a
    /// replay.
    pub(super) is_early: bool,
    /// Completes when the client cancels the response or has received all of it.
    pub(super) stopped: StoppedFuture,
}

/// `None` when the client has received everything.
type StoppedFuture = Pin<Box<dyn Future<Output = Result<Option<VarInt>, StoppedError>> + Send>>;

/// State that both directions of a stream share.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    /// Filled when the library splits the stream.
    response: Mutex<Option<ResponseStream>>,
    /// The error code in place of the response. 0 if there is none.
    refused: AtomicU64,
}

impl StreamState {
    /// Takes the stream of the response. It can be taken once.
    pub(super) fn take_response(&self) -> Option<ResponseStream> {
        lock(&self.response).take()
    }

    /// Records an error after the head of the request: a response that is not completely sent is
    /// reset with this code.
    pub(super) fn refuse(&self, code: Code) {
        self.refused.store(code.value(), Relaxed);
    }

    pub(super) fn refusal_code(&self) -> Option<Code> {
        match self.refused.load(Relaxed) {
            0 => None,
            code => Some(code.into()),
        }
    }
}

impl Transport {
    pub(super) fn new(connection: quinn::Connection, header_limit: usize) -> Self {
        Self {
            requests: Box::pin(stream::unfold(connection.clone(), async |of| {
                Some((of.accept_bi().await, of))
            })),
            incoming: Box::pin(stream::unfold(connection.clone(), async |of| {
                Some((of.accept_uni().await, of))
            })),
            opening: Box::pin(stream::unfold(connection.clone(), async |of| {
                Some((of.open_uni().await, of))
            })),
            connection,
            header_limit,
            client_limit: Arc::new(AtomicU64::new(u64::MAX)),
            is_closing: false,
            accepted: None,
        }
    }

    /// Rejects every request from now on, so that a client may repeat it elsewhere (RFC 9114 5.2).
    pub(super) fn close_for_requests(&mut self) {
        self.is_closing = true;
    }
}

fn poll_stream<T>(
    opening: &mut Opening<T>,
    context: &mut Context<'_>,
) -> Poll<Result<T, ConnectionErrorIncoming>> {
    match ready!(opening.as_mut().poll_next(context)) {
        Some(Ok(stream)) => Poll::Ready(Ok(stream)),
        Some(Err(error)) => Poll::Ready(Err(connection_error(error))),
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
        let control = Control(self.connection.clone(), Arc::clone(&self.client_limit));
        let guard = Guard::Unknown(Vec::new(), control);
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
            self.accepted = Some(AcceptedStream {
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
            let stream = self.outbound.stream.as_mut();
            let head =
                stream.map(|stream| Pin::new(&mut stream.stream).poll_write(context, TOO_LARGE));
            if matches!(head, Some(Poll::Ready(Ok(written))) if written == TOO_LARGE.len()) {
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

    fn split(mut self) -> (Outbound, Inbound) {
        self.outbound.hand_over();
        (self.outbound, self.inbound)
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
