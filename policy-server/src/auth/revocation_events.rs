//! Revocation events, for streams and connections that outlive their request.

use policy_core::{session::Handle, token::TokenCutOff};
use tokio::sync::broadcast;

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
    /// All credentials: the server stops.
    Service,
}

/// Notifies open streams of this process of ended credentials.
#[derive(Clone, Debug)]
pub(crate) struct RevocationBus(broadcast::Sender<RevocationEvent>);

impl RevocationBus {
    pub(crate) fn publish(&self, ended: RevocationEvent) {
        // Sending fails only without a receiver.
        let _ = self.0.send(ended);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RevocationEvent> {
        self.0.subscribe()
    }

    /// Completes when the server stops.
    pub(crate) fn end_of_service(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut news = self.subscribe();
        async move {
            // If the receiver lags, the final `Service` event is still buffered.
            while !matches!(
                news.recv().await,
                Ok(RevocationEvent::Service) | Err(broadcast::error::RecvError::Closed)
            ) {}
        }
    }
}

impl Default for RevocationBus {
    fn default() -> Self {
        Self(broadcast::Sender::new(1024))
    }
}
