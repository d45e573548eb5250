//! Revocations as rows, each with the name of its kind.

use policy_core::time::Timestamp;

use super::notification::{handle, hex};
use crate::store::{Revocation, StoreError};

/// The kind, the subject and the user of a revocation, and the second of a cut-off, or the
/// millisecond in which the row ends.
pub(in crate::store) fn parts(revocation: &Revocation) -> (&'static str, String, &str, u64) {
    match revocation {
        Revocation::Token { id, until } => ("token", id.to_string(), "", until.millis()),
        Revocation::Session { user, session, until } => {
            ("session", hex(*session), &**user, until.millis())
        }
        Revocation::User { user, before } => ("user", user.to_string(), &**user, *before),
        Revocation::Everyone { before } => ("everyone", String::new(), "", *before),
        Revocation::All { before } => ("all", String::new(), "", *before),
    }
}

/// Reads a revocation, which is a cut-off with this second or has a row that ends then.
pub(in crate::store) fn read(
    (kind, subject, user): (&str, &str, &str),
    before: u64,
    until: Timestamp,
) -> Result<Revocation, StoreError> {
    Ok(match kind {
        "token" => Revocation::Token { id: subject.into(), until },
        "session" => Revocation::Session {
            user: user.into(),
            session: handle(subject)
                .ok_or_else(|| StoreError::new("a revocation names no session"))?,
            until,
        },
        "user" => Revocation::User { user: subject.into(), before },
        "everyone" => Revocation::Everyone { before },
        "all" => Revocation::All { before },
        kind => return Err(StoreError::new(format!("a revocation is of kind `{kind}`"))),
    })
}
