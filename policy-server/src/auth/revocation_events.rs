//! News of credentials that ended, for what lasts longer than a request.

use policy_core::session::Handle;
use tokio::sync::broadcast::{self, error::RecvError};

/// A credential, or a group of them, that holds no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RevocationEvent {
    /// One session.
    Session(Handle),
    /// All sessions of a user but one.
    SessionsOf { user: Box<str>, keep: Option<Handle> },
    /// The token of this `jti`.
    Token(Box<str>),
    /// Tokens of a user whose `iat` is before this second.
    TokensOf { user: Box<str>, before: u64 },
    /// Tokens whose `iat` is before this second.
    AllTokens { before: u64 },
    /// Everything: the server stops.
    Service,
}

/// Tells open streams of this process which credentials ended.
#[derive(Clone, Debug)]
pub(crate) struct RevocationBus(broadcast::Sender<RevocationEvent>);

impl RevocationBus {
    pub(crate) fn publish(&self, ended: RevocationEvent) {
        // Without a stream nobody listens.
        let _ = self.0.send(ended);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<RevocationEvent> {
        self.0.subscribe()
    }

    /// Done when the server stops, from now on.
    pub(crate) fn end_of_service(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut news = self.subscribe();
        async move {
            // Of more news than are kept, the last one is among those that are.
            while !matches!(
                news.recv().await,
                Ok(RevocationEvent::Service) | Err(RecvError::Closed)
            ) {}
        }
    }
}

impl Default for RevocationBus {
    fn default() -> Self {
        Self(broadcast::Sender::new(1024))
    }
}
