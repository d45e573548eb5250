//! The refusals that a request can meet: those of the arguments of its handler, and those that no
//! route can rule out.

use serde::{Deserialize, Serialize};

use crate::catalogue::Refusal;

/// What a handler takes from a request, if that can refuse the request.
///
/// ```
/// use policy_core::{Refusal, outcome::ArgumentKind};
///
/// assert!(ArgumentKind::Json.refusals().contains(&Refusal::JsonMismatch));
/// assert!(!ArgumentKind::Query.refusals().contains(&Refusal::JsonMismatch));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArgumentKind {
    /// A path parameter whose type does not accept every text.
    Parameter,
    /// The query.
    Query,
    /// A body of JSON.
    Json,
    /// A form in the body; with GET and HEAD, in the query.
    Form,
    /// A body of any media type.
    Body,
    /// A form with files.
    Multipart,
    /// A body whose content coding is decoded.
    Decoded,
    /// A value that is checked by rules of the app.
    Valid,
    /// A user of this app.
    User,
    /// The session, which can change.
    Session,
    /// The sessions of the user, with logins.
    Sessions,
    /// A CSRF token for the page.
    CsrfToken,
    /// The media types that the client accepts.
    Accept,
    /// Conditions on the state that the request changes.
    Preconditions,
    /// The version of the object that the request changes, which its conditions name.
    Version,
    /// Conditions of a reader on the state that the response names.
    ReadConditions,
    /// A range of bytes.
    Range,
    /// A WebSocket.
    WebSocket,
    /// What an extractor of another crate takes.
    Other,
}

impl ArgumentKind {
    /// The refusals if it cannot be taken from a request.
    pub const fn refusals(self) -> &'static [Refusal] {
        match self {
            Self::Parameter => &[Refusal::ParameterInvalid],
            Self::Query => &[Refusal::QueryInvalid],
            Self::Json => &[
                Refusal::MediaType,
                Refusal::ContentCoding,
                Refusal::JsonMalformed,
                Refusal::JsonMismatch,
                Refusal::BodyTooLarge,
                Refusal::BodyTimedOut,
                Refusal::BodyIncomplete,
            ],
            Self::Form => &[
                Refusal::MediaType,
                Refusal::ContentCoding,
                Refusal::FormInvalid,
                Refusal::BodyTooLarge,
                Refusal::BodyTimedOut,
                Refusal::BodyIncomplete,
            ],
            Self::Body => &[Refusal::BodyTooLarge, Refusal::BodyTimedOut, Refusal::Rejected],
            Self::Multipart => &[Refusal::Rejected, Refusal::BodyTooLarge, Refusal::BodyTimedOut],
            Self::Decoded => &[Refusal::ContentCoding, Refusal::ContentCodingMalformed],
            Self::Valid => &[Refusal::RequestInvalid],
            Self::User => &[Refusal::CallerForeign],
            Self::Session => &[Refusal::SessionStore, Refusal::SessionBusy, Refusal::SessionEnded],
            Self::Sessions => &[
                Refusal::SessionStore,
                Refusal::SessionBusy,
                Refusal::SessionEnded,
                Refusal::SessionLimit,
            ],
            Self::CsrfToken => &[Refusal::SessionStore, Refusal::SessionBusy],
            Self::Accept => &[Refusal::NotAcceptable],
            Self::Preconditions => &[Refusal::PreconditionFailed, Refusal::PreconditionRequired],
            Self::Version | Self::ReadConditions => &[Refusal::PreconditionFailed],
            Self::Range => &[Refusal::RangeNotSatisfiable],
            Self::WebSocket => &[
                Refusal::WebSocketOrigin,
                Refusal::SocketsExceeded,
                Refusal::CallerSocketsExceeded,
                Refusal::Rejected,
            ],
            Self::Other => &[Refusal::Rejected],
        }
    }

    /// Whether it is read from the body of the request.
    pub const fn is_body(self) -> bool {
        matches!(self, Self::Json | Self::Form | Self::Body | Self::Multipart)
    }
}

/// The refusals that a request to any route can meet: by its syntax, its host, its transport, and by
/// what no client sends on purpose. No route lists them.
pub const EVERY_REQUEST: &[Refusal] = &[
    Refusal::HostMissing,
    Refusal::HostRepeated,
    Refusal::HostMalformed,
    Refusal::TargetForm,
    Refusal::SchemeUnknown,
    Refusal::SchemeMismatch,
    Refusal::PathEncoding,
    Refusal::PathDotSegment,
    Refusal::PathEmptySegment,
    Refusal::PathEncodedSlash,
    Refusal::ConnectionField,
    Refusal::ContentLengthMalformed,
    Refusal::TransferEncodingMalformed,
    Refusal::TransferCoding,
    Refusal::ExpectationUnknown,
    Refusal::HostUnknown,
    Refusal::HostNotLoopback,
    Refusal::ForwardedInDevelopment,
    Refusal::PlainHttp,
    Refusal::ForwardedMalformed,
    Refusal::TooEarly,
    // Requests that would open a WebSocket, on a route that opens none.
    Refusal::WebSocketOrigin,
    Refusal::CsrfOrigin,
    Refusal::ProtocolUnknown,
    Refusal::ProtocolNotServed,
    // Bodies that nothing reads.
    Refusal::BodyTooLarge,
    Refusal::BodyIncomplete,
    Refusal::BodyTimedOut,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_a_limit_and_a_deadline() {
        for taken in
            [ArgumentKind::Json, ArgumentKind::Form, ArgumentKind::Body, ArgumentKind::Multipart]
        {
            assert!(taken.is_body());
            for refusal in [Refusal::BodyTooLarge, Refusal::BodyTimedOut] {
                assert!(taken.refusals().contains(&refusal), "{taken:?}");
            }
        }
        assert!(!ArgumentKind::Query.is_body());
    }
}
