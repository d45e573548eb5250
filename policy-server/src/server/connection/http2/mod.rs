//! An HTTP/2 connection, with limits in addition to those of every connection.

mod executor;
mod frames;
mod waiting;

use std::{pin::Pin, task::Context};

use hyper::server::conn::http2::{self, Builder};
use hyper_util::rt::{TokioIo, TokioTimer};

pub(in crate::server) use self::frames::Frames;
use self::{
    executor::{StreamExecutor, WithStreams},
    waiting::StreamService,
};
use super::{Graceful, service::ConnectionService};
use crate::{app::settings::ServerSettings, server::monitor::MonitoredIo};

/// Concurrent requests: RFC 9113 6.5.2 recommends at least 100, and browsers use no more.
const STREAMS: u32 = 200;

/// The maximum number of bytes of a body that may arrive before its handler reads them. The window
/// of the connection is the same, so a connection buffers no more, however many streams it has.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The number of bytes of a response that are buffered for a full socket. All streams of a connection
/// together buffer less than 13 MiB for a client that opens its windows and reads nothing.
const SEND_BUFFER: usize = 64 * 1024;

/// The minimum of RFC 9113 4.2: a longer frame would block others.
const FRAME: u32 = 16 * 1024;

/// Requests reset before they were processed; more are a rapid reset attack (CVE-2023-44487).
const EARLY_RESETS: usize = 20;

/// Streams that we had to reset, each of which may be a request that has begun (CVE-2025-8671).
/// Well-behaved clients stay far below this, so it applies to the whole life of a connection.
const OWN_RESETS: usize = 200;

/// Unlike an HTTP/1.1 connection, it keeps its state while idle (HPACK, flow control), and can
/// receive on any stream.
type Http2 = Pin<Box<WithStreams<Connection>>>;

type Connection = http2::Connection<TokioIo<MonitoredIo>, StreamService, StreamExecutor>;

/// `#[inline]` for the same reason as [`Http1`](super::http1::Http1).
#[inline]
pub(super) fn serve(io: MonitoredIo, service: ConnectionService) -> impl Graceful + Unpin {
    Box::pin(WithStreams::new(|executor| {
        let mut builder = Builder::new(executor);
        builder.timer(TokioTimer::new());
        limit(&mut builder, &service.app.app().settings);
        builder.serve_connection(TokioIo::new(io), StreamService::new(service))
    }))
}

impl Graceful for Http2 {
    const TELLS: bool = true;

    #[inline]
    fn end(self: Pin<&mut Self>) {
        self.get_mut().as_mut().connection().graceful_shutdown();
    }

    #[inline]
    fn rest(self: Pin<&mut Self>, _context: &mut Context<'_>) {}
}

/// Configures the limits of the parser, and permits WebSockets (RFC 8441). The parser's own limits
/// for empty and small DATA frames, for CONTINUATION frames and for the size of decoded header
/// blocks are kept.
///
/// We send no PING to keep a connection alive: idle ones are closed by [`ServerSettings::idle_timeout`],
/// and a PING would wake phones.
fn limit<E>(builder: &mut Builder<E>, settings: &ServerSettings) {
    builder
        .enable_connect_protocol()
        .max_header_list_size(u32::try_from(settings.header_limit).unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_frame_size(FRAME)
        .max_pending_accept_reset_streams(EARLY_RESETS)
        .max_local_error_reset_streams(OWN_RESETS);
}
