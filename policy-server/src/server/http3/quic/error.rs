//! The errors of streams and connections, as they are reported to the HTTP/3 library and the client.

use std::sync::Arc;

use h3::{
    error::Code,
    quic::{ConnectionErrorIncoming, StreamErrorIncoming},
};
use quinn::{ConnectionError, ReadError, WriteError};

use crate::server::http3::frames::Fault;

/// Why a stream is no longer read.
pub(super) enum Failure {
    Fault(Fault),
    Stream(ReadError),
}

impl From<Failure> for StreamErrorIncoming {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Fault(fault) => Self::Unknown(fault.into()),
            Failure::Stream(ReadError::Reset(code)) => {
                Self::StreamTerminated { error_code: code.into_inner() }
            }
            Failure::Stream(ReadError::ConnectionLost(error)) => {
                Self::ConnectionErrorIncoming { connection_error: connection_error(error) }
            }
            Failure::Stream(error) => Self::Unknown(error.into()),
        }
    }
}

impl From<Fault> for Box<dyn std::error::Error + Send + Sync> {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => "the request is malformed",
            Fault::TooLarge => "a field section is over the limit",
            Fault::Excessive => "too many unknown frames",
            Fault::PushId => "the maximum push id decreases",
        }
        .into()
    }
}

pub(super) fn not_written(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: connection_error(error),
        },
        error => StreamErrorIncoming::Unknown(error.into()),
    }
}

pub(super) fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

pub(super) fn code_of(fault: Fault) -> Code {
    match fault {
        Fault::Malformed => Code::H3_MESSAGE_ERROR,
        Fault::TooLarge | Fault::Excessive => Code::H3_EXCESSIVE_LOAD,
        Fault::PushId => Code::H3_ID_ERROR,
    }
}
