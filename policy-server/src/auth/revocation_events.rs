//! Revocation events, for streams and connections that outlive their request.

use policy_core::{session::Handle, token::TokenCutOff};
use tokio::sync::{broadcast, watch};

/// A credential, or a group of them, that is no longer valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RevocationEvent {
    /// One session.
    Session(Handle),
    /// All sessions of a user, except one.
    SessionsOf { user: Box<str>, keep: Option<Handle> },
    /// The sessions of all users.
    AllSessions,
    /// The token of this `jti`.
    Token(Box<str>),
    /// Tokens of a user that this cut-off covers.
    TokensOf { user: Box<str>, cut: TokenCutOff },
    /// Tokens that this cut-off covers.
    AllTokens { cut: TokenCutOff },
    /// A notification of a store. Any client of the store's channel can forge one, so the store is
    /// queried.
    Hint(Box<RevocationEvent>),
    /// Some events may have been lost.
    Missed,
}

/// Notifies open streams of this process of ended credentials, and of the stop of the server.
#[derive(Clone, Debug)]
pub(crate) struct RevocationBus {
    events: broadcast::Sender<RevocationEvent>,
    /// A state and no event, so that a stream that opens after the stop learns of it, too.
    is_stopping: watch::Sender<bool>,
}

impl RevocationBus {
    pub(crate) fn publish(&self, ended: RevocationEvent) {
        // Sending fails only without a receiver.
        let _ = self.events.send(ended);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RevocationEvent> {
        self.events.subscribe()
    }

    /// Ends all event streams, upgraded connections and tunnels: the server stops.
    pub(crate) fn end_service(&self) {
        self.is_stopping.send_replace(true);
    }

    /// Completes when the server stops, and at once if it has stopped.
    pub(crate) fn end_of_service(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_stopping = self.is_stopping.subscribe();
        async move {
            // Without a sender, there is no server either.
            let _ = is_stopping.wait_for(|is_stopping| *is_stopping).await;
        }
    }
}

impl Default for RevocationBus {
    fn default() -> Self {
        Self { events: broadcast::Sender::new(1024), is_stopping: watch::Sender::new(false) }
    }
}
