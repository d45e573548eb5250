//! Why a call failed, and what to do about it.

use std::{error::Error, fmt};

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::{DEADLINE, url::Host};

/// Why a call failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The circuit is open.
    IsAway,
    NoAnswer,
    Connect(Host, String),
    Redis(RedisError),
    /// The change was made, but too few replicas confirmed it.
    NotCopied(String),
    /// The deadline passed before the server answered `WAIT`: it is away, or other changes wait for slow
    /// replicas.
    NotConfirmed,
    /// The server is a replica, which cannot write.
    Replica,
    /// No server has the keys and can write.
    Several(Vec<(Host, Failure)>),
    /// No sentinel named the primary.
    Sentinels(Vec<(Host, Failure)>),
    /// The sentinel named no address of the primary.
    NoAddress,
    /// The sentinel monitors only these primaries.
    UnknownPrimary {
        name: String,
        known: Vec<String>,
    },
}

impl Failure {
    /// Whether the user of the URL lacks a right.
    pub(super) fn is_of_rights(&self) -> bool {
        let denied = ErrorKind::Server(ServerErrorKind::NoPerm);
        matches!(self, Self::Redis(error) if error.kind() == denied)
    }

    /// Whether the server failed, independently of the call.
    pub(super) fn is_of_the_server(&self) -> bool {
        match self {
            Self::IsAway | Self::NotCopied(_) | Self::NotConfirmed => false,
            Self::Redis(error) => match error.kind() {
                ErrorKind::Server(kind) => matches!(
                    kind,
                    ServerErrorKind::BusyLoading
                        | ServerErrorKind::Moved
                        | ServerErrorKind::Ask
                        | ServerErrorKind::TryAgain
                        | ServerErrorKind::ClusterDown
                        | ServerErrorKind::MasterDown
                        | ServerErrorKind::ReadOnly
                ),
                // A script runs for too long, or the server cannot write to the disk. A server with too
                // few replicas (NOREPLICAS) still reads.
                ErrorKind::Extension => matches!(error.code(), Some("BUSY" | "MISCONF")),
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether the server did nothing and a retry may succeed: the keys are at another server, or are moving
    /// to it.
    ///
    /// `ASK` is one of these errors. While keys move, each server has a part of them, so a script can run on
    /// neither.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Redis(error) => matches!(
                error.kind(),
                ErrorKind::Server(
                    ServerErrorKind::Moved
                        | ServerErrorKind::Ask
                        | ServerErrorKind::TryAgain
                        | ServerErrorKind::ClusterDown
                        | ServerErrorKind::ReadOnly
                )
            ),
            Self::Several(all) => all.iter().any(|(_, failure)| failure.is_passing()),
            _ => false,
        }
    }

    /// Whether another server may have become the primary. An old primary that did not notice still
    /// responds, but no replica confirms its changes.
    pub(super) fn is_of_another_primary(&self) -> bool {
        self.is_passing() || self.is_without_replicas()
    }

    /// Whether too few replicas confirmed a change, which may be made nevertheless.
    pub(super) fn is_without_replicas(&self) -> bool {
        matches!(self, Self::NotCopied(_) | Self::NotConfirmed)
    }

    /// Whether the keys are moving from this server to another.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Ask))
    }

    /// Whether the connection has to be dropped: it may still be busy, for example with `WAIT`, or its server
    /// is no longer the primary.
    pub(super) fn spoils_the_connection(&self) -> bool {
        match self {
            Self::Redis(error) => match error.kind() {
                ErrorKind::Server(kind) => matches!(
                    kind,
                    ServerErrorKind::ReadOnly
                        | ServerErrorKind::Moved
                        | ServerErrorKind::ClusterDown
                ),
                ErrorKind::Extension => false,
                _ => true,
            },
            _ => true,
        }
    }

    /// The server to which this one redirects permanently (`MOVED`).
    pub(super) fn moved_to(&self, from: &Host) -> Option<Host> {
        match self {
            Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Moved) => {
                Host::redirected(error.redirect_node()?.0, from)
            }
            _ => None,
        }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsAway => f.write_str("the server did not respond of late"),
            Self::NoAnswer => write!(f, "the server did not respond within {DEADLINE:?}"),
            Self::Connect(host, error) => write!(f, "{host}: {error}"),
            Self::Redis(error) => write!(f, "{error}"),
            Self::NotCopied(why) => write!(f, "the change was made and is not confirmed: {why}"),
            Self::NotConfirmed => {
                write!(f, "no replica confirmed the change within {DEADLINE:?}")
            }
            Self::Replica => f.write_str("the server is a replica, which cannot write"),
            Self::Several(all) => write_all(f, all),
            Self::Sentinels(all) => {
                f.write_str("no sentinel says which server is the primary: ")?;
                write_all(f, all)
            }
            Self::NoAddress => f.write_str("it says no address of the primary"),
            Self::UnknownPrimary { name, known } if known.is_empty() => {
                write!(f, "it watches no `{name}`, and nothing else")
            }
            Self::UnknownPrimary { name, known } => {
                write!(f, "it watches no `{name}`, but `{}`", known.join("`, `"))
            }
        }
    }
}

fn write_all(f: &mut fmt::Formatter<'_>, all: &[(Host, Failure)]) -> fmt::Result {
    for (at, (host, failure)) in all.iter().enumerate() {
        let comma = if at == 0 { "" } else { "; " };
        match failure {
            Failure::Connect(..) => write!(f, "{comma}{failure}")?,
            _ => write!(f, "{comma}{host}: {failure}")?,
        }
    }
    Ok(())
}

impl Error for Failure {}
