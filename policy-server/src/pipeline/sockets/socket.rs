//! An upgraded connection between its handler and the task that watches it.
//!
//! The handler's half reads and writes the transport itself: nothing is copied to another task, at most
//! one read is buffered, and no write is. Both sides parse the frames in each direction, so that the
//! server writes its control frames between two frames of the handler.

use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::BytesMut;
use hyper::{
    rt::{Read, ReadBuf, ReadBufCursor, Write},
    upgrade::Upgraded,
};

use super::frames::{Frames, Incoming, PING, TooLarge, close, close_of_client};
use crate::{
    base::{locks::lock, stream_end::StreamEnd},
    route::socket_limits::SocketLimits,
};

/// How much is read at once.
const READ: usize = 8 * 1024;

/// How much is written at once: hyper copies each write that an HTTP/2 stream waits to send, up to
/// four of them.
const WRITE: usize = 64 * 1024;

/// How much is read for a handler that does not read, to learn that its client is still there.
const READ_AHEAD: usize = 4 * 1024;

/// An upgraded connection.
#[derive(Debug)]
pub(super) struct Socket(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    transport: Transport,
    /// Whether frames of a WebSocket are sent. If not, the bytes are the handler's alone.
    is_websocket: bool,
    incoming: Incoming,
    /// The longest silence of the client.
    silence: Duration,
    outgoing: Frames,
    /// Whether the handler has sent a Close frame itself.
    has_closed: bool,
    /// What the handler reads next.
    to_handler: BytesMut,
    /// Control frames of the server.
    to_client: BytesMut,
    end: Option<StreamEnd>,
    /// Whether the handler's half was dropped.
    is_left: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    watcher: Option<Waker>,
    progress: Progress,
}

#[derive(Debug, Default)]
enum Transport {
    /// The response that upgrades the connection is not sent yet.
    #[default]
    Waiting,
    Open(Upgraded),
    Gone,
}

/// What moved, as the watching task has last seen it.
#[derive(Debug, Default)]
struct Progress {
    has_received: bool,
    /// Bytes that the transport took.
    written: u64,
    seen_written: u64,
    /// Whether the handler waits for its client to read.
    is_blocked: bool,
    was_blocked: bool,
    /// How much more the handler has read since then than the transport took.
    ahead: u64,
}

impl Socket {
    pub(super) fn new(limits: &SocketLimits) -> Arc<Self> {
        let (incoming, silence) = (Incoming::new(limits.message), limits.silence);
        Arc::new(Self(Mutex::new(State { incoming, silence, ..State::default() })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// The response makes this a WebSocket. Nothing has been read yet.
    pub(super) fn parse_frames(&self) {
        self.state().is_websocket = true;
    }

    pub(super) fn silence(&self) -> Duration {
        self.state().silence
    }

    /// Takes over the silence limit of a socket within this one.
    pub(super) fn ask_for(&self, inner: &Self) {
        let silence = std::mem::replace(&mut inner.state().silence, Duration::MAX);
        let mut state = self.state();
        state.silence = state.silence.min(silence);
    }

    /// Gives the socket its transport.
    pub(super) fn open(&self, transport: Upgraded) {
        let mut state = self.state();
        if !state.is_left {
            state.transport = Transport::Open(transport);
        }
        state.wake();
    }

    /// Closes the transport, whatever was sent.
    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.transport = Transport::Gone;
        state.wake();
    }

    /// Completes when the socket is being ended, or the handler has left it.
    pub(super) fn poll_ended(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.end.is_some() || state.is_left {
            return Poll::Ready(());
        }
        state.watcher = Some(context.waker().clone());
        Poll::Pending
    }
}

impl State {
    fn wake(&mut self) {
        let wakers = [self.reader.take(), self.writer.take(), self.watcher.take()];
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Begins to end the connection: the client is sent a Close frame after the frame that the
    /// handler is writing, and the handler reads one after the frame that it has read.
    pub(super) fn end(&mut self, end: StreamEnd) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(end);
        if self.is_websocket {
            if !self.has_closed {
                self.to_client.extend_from_slice(&close(end.close_code(), end.code()));
            }
            if self.incoming.refuse() {
                let close = close_of_client(end.close_code(), end.code());
                self.to_handler.extend_from_slice(&close);
            }
        }
        tracing::debug!(code = end.code(), "an upgraded connection ends");
        self.wake();
    }

    /// Reads from the transport what the handler may read. `false` at its end.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Transport::Open(transport) = &mut self.transport else { return Poll::Pending };
        let mut buffer = [const { MaybeUninit::uninit() }; READ];
        let mut buffer = ReadBuf::uninit(&mut buffer);
        ready!(Pin::new(transport).poll_read(context, buffer.unfilled()))?;
        let read = buffer.filled();
        if read.is_empty() {
            return Poll::Ready(Ok(false));
        }
        self.progress.has_received = true;
        if !self.is_websocket {
            self.to_handler.extend_from_slice(read);
        } else if let Err(TooLarge) = self.incoming.pass(read, &mut self.to_handler) {
            self.end(StreamEnd::Message);
        }
        Poll::Ready(Ok(true))
    }

    /// Writes control frames of the server, between two frames of the handler.
    fn poll_control(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.to_client.is_empty() && self.outgoing.is_between() {
            let Transport::Open(transport) = &mut self.transport else { return Poll::Pending };
            let written = ready!(Pin::new(&mut *transport).poll_write(context, &self.to_client))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            drop(self.to_client.split_to(written));
            if self.to_client.is_empty() {
                self.to_client = BytesMut::new();
                // The next write flushes the rest.
                let _ = Pin::new(transport).poll_flush(context)?;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.progress.is_blocked {
            self.progress.ahead = 0;
        } else if self.is_websocket && self.end.is_none() && self.is_ahead() {
            // Libraries buffer a pong to each ping that they read.
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        loop {
            if !self.to_handler.is_empty() {
                let len = self.to_handler.len().min(buffer.remaining());
                self.progress.ahead += len as u64;
                buffer.put_slice(&self.to_handler.split_to(len));
                if self.to_handler.is_empty() {
                    self.to_handler = BytesMut::new();
                }
                return Poll::Ready(Ok(()));
            }
            if self.end.is_some() || matches!(self.transport, Transport::Gone) {
                return Poll::Ready(Ok(()));
            }
            match self.poll_fill(context) {
                Poll::Ready(Ok(true)) => (),
                Poll::Ready(Ok(false)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.reader = Some(context.waker().clone());
                    return Poll::Pending;
                }
            }
            self.reader = None;
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = self.try_write(context, bytes);
        self.progress.is_blocked = polled.is_pending();
        if let Poll::Ready(Ok(written)) = polled {
            let was_ahead = self.is_ahead();
            self.progress.ahead = self.progress.ahead.saturating_sub(written as u64);
            if was_ahead && let Some(reader) = self.reader.take() {
                reader.wake();
            }
        }
        self.writer = polled.is_pending().then(|| context.waker().clone());
        polled
    }

    fn try_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Transport::Gone = self.transport {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let bytes = match self.end {
            None => {
                ready!(self.poll_control(context))?;
                bytes
            }
            // Nothing follows the Close frame. A handler that could still write would do so until
            // the connection is closed, and block all other tasks on its thread.
            Some(_) if !self.is_websocket || self.outgoing.is_between() => return Poll::Pending,
            Some(_) => bytes.get(..self.outgoing.rest_of_frame(bytes)).unwrap_or(bytes),
        };
        let bytes = bytes.get(..WRITE).unwrap_or(bytes);
        let Transport::Open(transport) = &mut self.transport else { return Poll::Pending };
        let written = ready!(Pin::new(transport).poll_write(context, bytes))?;
        self.progress.written += written as u64;
        if self.is_websocket {
            self.has_closed |= self.outgoing.pass(bytes.get(..written).unwrap_or_default());
            if self.end.is_some()
                && self.outgoing.is_between()
                && let Some(watcher) = self.watcher.take()
            {
                watcher.wake();
            }
        }
        Poll::Ready(Ok(written))
    }

    /// Completes when both sides have sent a Close frame, or there is nothing more to send. An
    /// upgraded connection that is not a WebSocket is closed at once.
    pub(super) fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // A frame that its handler will not complete leaves no place for another one.
        let is_stuck = self.is_left && !self.outgoing.is_between();
        if !self.is_websocket || is_stuck || !matches!(self.transport, Transport::Open(_)) {
            return Poll::Ready(());
        }
        self.watcher = Some(context.waker().clone());
        if !self.outgoing.is_between() {
            return Poll::Pending;
        }
        if ready!(self.poll_control(context)).is_err() {
            return Poll::Ready(());
        }
        let Transport::Open(transport) = &mut self.transport else { return Poll::Ready(()) };
        if ready!(Pin::new(transport).poll_flush(context)).is_err() {
            return Poll::Ready(());
        }
        // Closing a connection with unread bytes would reset it, and the Close frame could be lost
        // (RFC 6455 7.1.1).
        while !self.incoming.has_closed && matches!(ready!(self.poll_fill(context)), Ok(true)) {}
        let Transport::Open(transport) = &mut self.transport else { return Poll::Ready(()) };
        Pin::new(transport).poll_shutdown(context).map(drop)
    }

    /// Checks what moved since the last check, and pings a silent client. `least` is the number of
    /// bytes that a client reads in that time while bytes wait for it.
    pub(super) fn look(&mut self, least: u64, context: &mut Context<'_>) {
        if self.reader.is_none() && self.to_handler.len() < READ_AHEAD {
            // The handler finds an error or the end itself.
            let _ = self.poll_fill(context);
        }
        let Progress { has_received, written, seen_written, is_blocked, was_blocked, .. } =
            self.progress;
        let has_read = written.saturating_sub(seen_written) >= least.max(1);
        if is_blocked && was_blocked && !has_read {
            return self.end(StreamEnd::Unread);
        }
        let has_moved = has_received || (!self.is_websocket && has_read);
        self.progress = Progress {
            has_received: false,
            seen_written: written,
            was_blocked: is_blocked,
            ..self.progress
        };
        if has_moved {
            self.incoming.awaits_pong = false;
        } else if self.incoming.awaits_pong {
            self.end(StreamEnd::Silence);
        } else if self.to_handler.len() < READ_AHEAD {
            self.incoming.awaits_pong = true;
            self.ping(context);
        }
    }

    /// Whether the handler is a whole message ahead of what its client has taken.
    fn is_ahead(&self) -> bool {
        self.progress.ahead >= self.incoming.limit
    }

    fn ping(&mut self, context: &mut Context<'_>) {
        if !self.is_websocket || self.has_closed || !self.to_client.is_empty() {
            return;
        }
        self.to_client.extend_from_slice(PING);
        if self.poll_control(context).is_pending()
            && let Some(writer) = self.writer.take()
        {
            // The transport wakes only the task that asked last.
            writer.wake();
        }
    }
}

/// The handler's side of a socket: a transport for hyper, which first reads the handshake from it.
#[derive(Debug)]
pub(super) struct Half {
    socket: Arc<Socket>,
    handshake: Handshake,
}

/// The request that hyper must read before it hands over its connection, and the response to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    Asks,
    Answers,
    Done,
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: _\r\nconnection: upgrade\r\nupgrade: _\r\n\r\n";

impl Half {
    pub(super) fn new(socket: &Arc<Socket>) -> Self {
        Self { socket: Arc::clone(socket), handshake: Handshake::Asks }
    }
}

impl Read for Half {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.handshake {
            Handshake::Asks => {
                buffer.put_slice(REQUEST);
                self.handshake = Handshake::Answers;
                Poll::Ready(Ok(()))
            }
            Handshake::Answers => Poll::Pending,
            Handshake::Done => self.socket.state().poll_read(context, buffer),
        }
    }
}

impl Write for Half {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.handshake == Handshake::Done {
            return self.socket.state().poll_write(context, bytes);
        }
        if bytes.ends_with(b"\r\n\r\n") {
            self.handshake = Handshake::Done;
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket.state().transport {
            Transport::Open(transport) => Pin::new(transport).poll_flush(context),
            Transport::Waiting | Transport::Gone => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.socket.state();
        let is_ending = state.end.is_some();
        match &mut state.transport {
            Transport::Open(transport) if !is_ending => Pin::new(transport).poll_shutdown(context),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        let mut state = self.socket.state();
        state.is_left = true;
        // Otherwise the watching task completes what it has begun.
        if state.end.is_none() {
            state.transport = Transport::Gone;
        }
        state.wake();
    }
}
