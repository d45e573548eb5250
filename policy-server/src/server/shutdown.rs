//! The end of a server, as its connections learn of it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::sync::Notify;

/// Tells all connections of a server to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    phase: AtomicU8,
    changed: Notify,
}

/// How urgently a connection should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Phase {
    Serve,
    /// Finish the requests in flight.
    Finish,
    /// Close now.
    Cut,
}

impl Shutdown {
    pub(super) fn begin(&self) {
        self.enter(Phase::Finish);
    }

    pub(super) fn cut(&self) {
        self.enter(Phase::Cut);
    }

    fn enter(&self, phase: Phase) {
        self.0.phase.store(phase as u8, Ordering::Release);
        self.0.changed.notify_waiters();
    }

    /// One load: cheap enough to be asked at every turn of a connection.
    pub(super) fn phase(&self) -> Phase {
        match self.0.phase.load(Ordering::Acquire) {
            0 => Phase::Serve,
            1 => Phase::Finish,
            _ => Phase::Cut,
        }
    }

    /// Done when the phase is not `seen` any more.
    pub(super) async fn left(&self, seen: Phase) {
        loop {
            let changed = self.0.changed.notified();
            if self.phase() != seen {
                return;
            }
            changed.await;
        }
    }
}

/// Done at ctrl-c or SIGTERM.
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => (),
                _ = terminate.recv() => (),
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
