//! Graceful shutdown, as connections observe it.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use crate::base::{locks::lock, task, timers};

/// How long a connection that has received nothing stays open when the server stops: its client
/// may have sent a request that has not arrived.
pub(super) const FIRST_BYTES: Duration = Duration::from_secs(1);

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
    /// Complete the requests in flight.
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

    /// A single atomic load: cheap enough for every poll of a connection.
    pub(super) fn phase(&self) -> Phase {
        match self.0.phase.load(Ordering::Acquire) {
            0 => Phase::Serve,
            1 => Phase::Finish,
            _ => Phase::Cut,
        }
    }

    /// Completes when the phase is no longer `seen`.
    pub(super) async fn wait_while(&self, seen: Phase) {
        loop {
            let changed = self.0.changed.notified();
            if self.phase() != seen {
                return;
            }
            changed.await;
        }
    }

    /// Completes [`FIRST_BYTES`] after the server has stopped, or earlier if all connections are
    /// closed now.
    pub(super) async fn ends_unused(&self) {
        self.wait_while(Phase::Serve).await;
        tokio::select! {
            () = sleep(FIRST_BYTES) => (),
            () = self.wait_while(Phase::Finish) => (),
        }
    }
}

/// Why a server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-c.
    Interrupt,
    /// SIGTERM, or the future that the program passed.
    Terminate,
}

/// Completes when ctrl-c or SIGTERM was received after the first call of this.
///
/// The signal is recorded once per process, by a thread that belongs to no server, so a server that
/// starts to wait after the signal sees it too.
pub(super) fn requested() -> io::Result<impl Future<Output = Signal>> {
    static REQUESTED: Mutex<Option<watch::Receiver<Option<Signal>>>> = Mutex::new(None);
    let mut known = lock(&REQUESTED);
    let mut requested = match &*known {
        Some(requested) => requested.clone(),
        None => known.insert(note_signals()?).clone(),
    };
    Ok(async move {
        // The sender sends a signal before it is dropped, so there is no error.
        let received = requested.wait_for(Option::is_some).await.ok();
        received.and_then(|signal| *signal).unwrap_or(Signal::Terminate)
    })
}

/// Receives the first signal. The signals are caught when this returns.
fn note_signals() -> io::Result<watch::Receiver<Option<Signal>>> {
    let runtime = timers::runtime().as_ref();
    let runtime = runtime.map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let (request, requested) = watch::channel(None);
    let _entered = runtime.enter();
    let signal = signal()?;
    task::spawn(runtime, async move {
        request.send_replace(Some(signal.await));
    });
    Ok(requested)
}

/// Completes at ctrl-c or SIGTERM.
fn signal() -> io::Result<impl Future<Output = Signal>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => Signal::Interrupt,
                _ = terminate.recv() => Signal::Terminate,
            }
        })
    }
    #[cfg(windows)]
    {
        let mut interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(async move {
            let _ = interrupt.recv().await;
            Signal::Interrupt
        })
    }
}
