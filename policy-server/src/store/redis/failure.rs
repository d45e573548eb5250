//! Why a call failed, and what to do about it.

use std::{error::Error, fmt};

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::{DEADLINE, url::Host};

/// Why a call failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Another call is made later: the server was away a moment ago.
    IsAway,
    NoAnswer,
    Connect(Host, String),
    Redis(RedisError),
    /// The change is made, and too few replicas have it.
    NotCopied(String),
    /// A server that cannot write.
    Replica,
    /// None of several servers has the keys and can write.
    Several(Vec<(Host, Failure)>),
    /// No sentinel says which server is the primary.
    Sentinels(Vec<(Host, Failure)>),
    /// The sentinel does not say where the primary is.
    NoAddress,
    /// The sentinel knows only these primaries.
    UnknownPrimary {
        name: String,
        known: Vec<String>,
    },
}

impl Failure {
    /// Whether the user of the URL may not do this.
    pub(super) fn is_of_rights(&self) -> bool {
        let denied = ErrorKind::Server(ServerErrorKind::NoPerm);
        matches!(self, Self::Redis(error) if error.kind() == denied)
    }

    /// Whether the server did not do its work, whatever the call was.
    pub(super) fn is_of_the_server(&self) -> bool {
        match self {
            Self::IsAway | Self::NotCopied(_) => false,
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
                // It works on something else, or cannot write to the disk. One that has too few
                // replicas still reads.
                ErrorKind::Extension => matches!(error.code(), Some("BUSY" | "MISCONF")),
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether the server did nothing, and the same call may succeed a moment later: the keys are
    /// at another server, or on their way to it.
    ///
    /// `ASK` is one of these. A script finds half of the keys on either server while they move, so
    /// it runs on neither.
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

    /// Whether another server may have become the primary. One that did not notice keeps answering, and no
    /// replica confirms its changes.
    pub(super) fn is_of_another_primary(&self) -> bool {
        self.is_passing() || matches!(self, Self::NotCopied(_))
    }

    /// Whether the keys are on their way from this server to another.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Ask))
    }

    /// Whether the connection may still be busy, as one that waits for replicas, or leads to a server that
    /// is the wrong one by now.
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

    /// The server to which this one sends its client for good.
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
