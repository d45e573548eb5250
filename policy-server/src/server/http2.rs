//! The limits of HTTP/2, beyond those that every connection has.

use hyper::server::conn::http2::Builder;

use crate::app::settings::ServerSettings;

/// Requests at once: RFC 9113 6.5.2 asks for 100 at least, and browsers use no more.
const STREAMS: u32 = 200;

/// How much of a body may come before its handler asks for it. A connection keeps no more than
/// one window however many streams it has.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How much of an answer lies ready for a socket that is full. All streams of a connection
/// together keep less than 13 MiB from a client that opens its windows and reads nothing.
const SEND_BUFFER: usize = 64 * 1024;

/// The least that RFC 9113 4.2 allows: a longer frame makes others wait.
const FRAME: u32 = 16 * 1024;

/// Requests taken back before anybody looked at them: more are a rapid reset (CVE-2023-44487).
const EARLY_RESETS: usize = 20;

/// Streams that we had to reset, since each of them could be a request that has begun
/// (CVE-2025-8671). No proper client comes near, so it holds for the life of a connection.
const OWN_RESETS: usize = 200;

/// Sets what the parser bounds, and that WebSockets may come (RFC 8441). Its own limits stay for
/// empty and small DATA frames, for CONTINUATION frames, and for what a header block may unpack to
/// before it is given up.
///
/// No PINGs of ours keep a connection alive: what is idle ends by
/// [`ServerSettings::idle_timeout`], and phones sleep.
pub(super) fn limit<E>(builder: &mut Builder<E>, settings: &ServerSettings) {
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
