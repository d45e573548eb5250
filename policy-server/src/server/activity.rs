//! The activity of a connection. It is recorded without reading a clock; a timer checks it
//! periodically.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering::Relaxed},
    },
};

use super::unsent::{Unsent, UnsentBudget};
use crate::base::{
    event::count::{Count, count},
    kept_timer::KeptTimer,
    locks::lock,
};

/// A connection with this many more cancelled than completed requests is closed. The number of
/// concurrent requests is limited by the streams; this limits how fast they come and go: each may
/// have begun a request to an upstream, which continues (HTTP/2's rapid reset, CVE-2023-44487).
#[cfg(feature = "http2")]
const MOST_GIVEN_UP: i32 = 500;

/// Shared by the socket, the service and the timer of one connection. They are one task, so the
/// atomics are never contended.
#[derive(Debug)]
pub(super) struct Activity {
    /// Requests that wait for a handler or for the source of a body.
    open: AtomicU32,
    /// Responses that wait for the client to take what there is of them.
    unread: AtomicU32,
    /// Increases with the data of requests.
    moved: AtomicU32,
    /// Bytes written, minus those read that demand only a reply of their own length.
    balance: AtomicI64,
    /// Bytes were read since the last request began or ended.
    head_begun: AtomicBool,
    /// The client does not read what is written.
    write_blocked: AtomicBool,
    /// The newest request has a body, of which something may be unread.
    has_body: AtomicBool,
    /// The connection is being shut down.
    is_ending: AtomicBool,
    /// How many more requests the client cancelled than completed.
    given_up: AtomicI32,
    unsent: Arc<Unsent>,
    /// The timer of the last request that waited.
    timer: Mutex<KeptTimer>,
}

impl Activity {
    /// A connection on which nothing has moved.
    pub(super) fn new(unsent: &Arc<UnsentBudget>) -> Self {
        Self {
            open: AtomicU32::new(0),
            unread: AtomicU32::new(0),
            moved: AtomicU32::new(0),
            balance: AtomicI64::new(0),
            head_begun: AtomicBool::new(false),
            write_blocked: AtomicBool::new(false),
            has_body: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            given_up: AtomicI32::new(0),
            unsent: Unsent::new(unsent),
            timer: Mutex::default(),
        }
    }

    /// Exchanges the timer that is kept for another one.
    pub(super) fn swap_timer(&self, timer: &mut KeptTimer) {
        mem::swap(timer, &mut lock(&self.timer));
    }

    /// The responses that the client has not read yet.
    pub(super) fn unsent(&self) -> &Arc<Unsent> {
        &self.unsent
    }

    /// A request head is complete, or its body continues. The request is open until the guard is
    /// dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> OpenRequest {
        self.open.fetch_add(1, Relaxed);
        self.moved.fetch_add(1, Relaxed);
        self.head_begun.store(false, Relaxed);
        OpenRequest(Arc::clone(self))
    }

    /// A response is there for the client. It is unread until the guard is dropped.
    pub(super) fn begin_response(self: &Arc<Self>) -> UnreadResponse {
        self.unread.fetch_add(1, Relaxed);
        UnreadResponse(Arc::clone(self))
    }

    /// Records bytes that were read. Without a request in flight they are no progress: in HTTP/1.1
    /// the header timer covers them, and in HTTP/2 an occasional frame could otherwise hold a
    /// connection open.
    pub(super) fn read(&self) {
        if self.open.load(Relaxed) > 0 {
            self.moved.fetch_add(1, Relaxed);
        }
        self.head_begun.store(true, Relaxed);
    }

    /// Records bytes that belong to no request but may need a reply.
    #[cfg(feature = "http2")]
    pub(super) fn owes(&self, bytes: u32) {
        if bytes > 0 {
            self.balance.fetch_sub(i64::from(bytes), Relaxed);
        }
    }

    /// Records written bytes.
    pub(super) fn wrote(&self, bytes: usize) {
        self.balance.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX), Relaxed);
        // A head that arrives while a response is written is not late by the client's fault.
        self.head_begun.store(false, Relaxed);
        self.write_blocked.store(false, Relaxed);
    }

    /// The client does not read pending output.
    pub(super) fn waits_to_write(&self) {
        self.write_blocked.store(true, Relaxed);
    }

    /// Records whether a request of HTTP/1.1 has a body.
    pub(super) fn has_body(&self, has_body: bool) {
        self.has_body.store(has_body, Relaxed);
    }

    /// Nothing more will be written.
    pub(super) fn ends(&self) {
        self.is_ending.store(true, Relaxed);
    }

    /// Whether an HTTP/1.1 connection is between two requests: the latest one was read and its
    /// response written completely. `holders` is the number of strong references to this without a
    /// request.
    pub(super) fn is_between_requests(self: &Arc<Self>, holders: usize) -> bool {
        // Requests, responses and their bodies hold it as well.
        Arc::strong_count(self) == holders
            && !self.is_unused()
            && ![&self.has_body, &self.head_begun, &self.write_blocked, &self.is_ending]
                .iter()
                .any(|is_set| is_set.load(Relaxed))
    }

    /// The client cancelled a request.
    pub(super) fn gave_up(&self) {
        count(Count::Abandoned);
        self.given_up.fetch_add(1, Relaxed);
    }

    /// A request was completed.
    pub(super) fn completed(&self) {
        if self.given_up.load(Relaxed) > 0 {
            self.given_up.fetch_sub(1, Relaxed);
        }
    }

    /// Whether the client cancelled enough requests for its connection to be closed.
    #[cfg(feature = "http2")]
    pub(super) fn gives_up_too_much(&self) -> bool {
        self.given_up.load(Relaxed) > MOST_GIVEN_UP
    }

    /// Whether only a part of a head was received and no request is in flight.
    pub(super) fn is_reading_head(&self) -> bool {
        self.head_begun.load(Relaxed)
            && self.open.load(Relaxed) == 0
            && !self.write_blocked.load(Relaxed)
    }

    /// Whether nothing was received on an HTTP/1.1 connection.
    pub(super) fn is_unused(&self) -> bool {
        self.moved.load(Relaxed) == 0 && !self.head_begun.load(Relaxed)
    }

    /// Whether the connection waits for its client and not for a handler.
    pub(super) fn waits_for_client(&self) -> bool {
        self.open.load(Relaxed) == 0 || self.has_to_read()
    }

    /// Whether the client keeps bytes of responses waiting: in the socket, in memory, or by a stream
    /// that it gives no room.
    pub(super) fn has_to_read(&self) -> bool {
        self.write_blocked.load(Relaxed)
            || self.unsent.is_waiting()
            || self.unread.load(Relaxed) > 0
    }

    /// A number that changes whenever data of a request was received.
    pub(super) fn progress(&self) -> u32 {
        self.moved.load(Relaxed)
    }

    /// Exceeds all earlier values when data of a response was sent.
    pub(super) fn balance(&self) -> i64 {
        self.balance.load(Relaxed)
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Activity>);

impl OpenRequest {
    pub(super) fn begin_response(&self) -> UnreadResponse {
        self.0.begin_response()
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.0.head_begun.store(false, Relaxed);
    }
}

/// A response that waits for its client.
#[derive(Debug)]
pub(super) struct UnreadResponse(Arc<Activity>);

impl UnreadResponse {
    pub(super) fn reopen_request(&self) -> OpenRequest {
        self.0.begin_request()
    }
}

impl Drop for UnreadResponse {
    fn drop(&mut self) {
        self.0.unread.fetch_sub(1, Relaxed);
    }
}
