//! Why the server ends a stream or WebSocket before its handler does.

use policy_core::Refusal;

/// Why the server ends a stream or a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The session or token that opened it is no longer valid.
    Credential,
    /// The caller no longer has a right to an object of the route, or that cannot be checked.
    Right,
    /// The server is stopping.
    Service,
    /// A message of the client is longer than the limit.
    Message,
    /// The client was silent for longer than the limit.
    Silence,
    /// The client reads too little of the data that it is sent.
    Unread,
}

impl StreamEnd {
    /// The status code of a Close frame (RFC 6455 7.4.1). A page that gets 1001 may connect again
    /// with the same credential.
    pub(crate) const fn close_code(self) -> u16 {
        match self {
            Self::Credential | Self::Right => 1008,
            Self::Service | Self::Silence | Self::Unread => 1001,
            Self::Message => 1009,
        }
    }

    /// The code of the reason, for a Close frame and the last event of a stream.
    pub(crate) const fn code(self) -> &'static str {
        let refusal = match self {
            Self::Credential => Refusal::CredentialEnded,
            Self::Right => Refusal::ObjectDenied,
            Self::Service => Refusal::ServerStopping,
            Self::Message => Refusal::MessageTooLarge,
            Self::Silence => Refusal::SocketSilent,
            Self::Unread => Refusal::SocketUnread,
        };
        refusal.code()
    }
}
