//! What a connection is doing, noted without a clock: the timer looks at it once in a while.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    task::Context,
};

use futures_util::task::AtomicWaker;

/// Shared by the socket, the service and the timer of one connection, which are one task: the
/// atomics are never contended.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Requests that wait for a handler, or for the source of a body.
    open: AtomicU32,
    /// Grows with what a request moves.
    moved: AtomicU32,
    /// The bytes that went out, less those that came in and asked for no more than an answer
    /// of their own length.
    balance: AtomicI64,
    /// Bytes came in since the last request began or ended.
    head_begun: AtomicBool,
    /// The client does not take what is written.
    write_blocked: AtomicBool,
    /// What ends an upgraded connection from outside.
    cut: Cut,
}

/// A connection that is no longer HTTP can be ended only by its socket.
#[derive(Debug, Default)]
struct Cut {
    is_upgraded: AtomicBool,
    is_cut: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// The side of a socket that waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Read,
    Write,
}

impl Activity {
    /// A request's head is complete, or its body goes on; it is open until the guard is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> OpenRequest {
        self.open.fetch_add(1, Relaxed);
        self.moved.fetch_add(1, Relaxed);
        self.head_begun.store(false, Relaxed);
        OpenRequest(Arc::clone(self))
    }

    /// Bytes came in. Without a request in flight they are no progress: the timer of heads
    /// watches them in HTTP/1.1, and in HTTP/2 a frame now and then would hold a connection.
    pub(super) fn read(&self) {
        if self.open.load(Relaxed) > 0 {
            self.moved.fetch_add(1, Relaxed);
        }
        self.head_begun.store(true, Relaxed);
    }

    /// Bytes came in that belong to no request, and that may be answered all the same.
    pub(super) fn owes(&self, bytes: u32) {
        if bytes > 0 {
            self.balance.fetch_sub(i64::from(bytes), Relaxed);
        }
    }

    /// So many bytes went out.
    pub(super) fn wrote(&self, bytes: usize) {
        self.balance.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX), Relaxed);
        // A head that came in while an answer is written is late by no fault of the client's.
        self.head_begun.store(false, Relaxed);
        self.write_blocked.store(false, Relaxed);
    }

    /// The client does not take what is to go out.
    pub(super) fn waits_to_write(&self) {
        self.write_blocked.store(true, Relaxed);
    }

    /// The connection is about to become something else than HTTP.
    pub(super) fn upgrade(&self) {
        self.cut.is_upgraded.store(true, Relaxed);
    }

    /// Ends an upgraded connection: its socket fails from now on.
    pub(super) fn cut(&self) {
        self.cut.is_cut.store(true, Relaxed);
        self.cut.reader.wake();
        self.cut.writer.wake();
    }

    /// Whether the socket is to fail; if not, whoever waits is woken when it is.
    pub(super) fn is_cut(&self, side: Side, context: &Context<'_>) -> bool {
        if !self.cut.is_upgraded.load(Relaxed) {
            return false;
        }
        match side {
            Side::Read => self.cut.reader.register(context.waker()),
            Side::Write => self.cut.writer.register(context.waker()),
        }
        self.cut.is_cut.load(Relaxed)
    }

    /// Whether a part of a head is there, and nothing else is going on.
    pub(super) fn is_reading_head(&self) -> bool {
        self.head_begun.load(Relaxed)
            && self.open.load(Relaxed) == 0
            && !self.write_blocked.load(Relaxed)
    }

    /// Whether the connection waits for its client, and not for a handler.
    pub(super) fn waits_for_client(&self) -> bool {
        self.open.load(Relaxed) == 0 || self.write_blocked.load(Relaxed)
    }

    /// Differs from an earlier value if something of a request came in in between.
    pub(super) fn moved(&self) -> u32 {
        self.moved.load(Relaxed)
    }

    /// Is more than ever before if something of an answer went out in between.
    pub(super) fn balance(&self) -> i64 {
        self.balance.load(Relaxed)
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Activity>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.0.head_begun.store(false, Relaxed);
    }
}
