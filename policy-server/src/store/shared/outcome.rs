//! The outcomes of changes, as the functions and scripts of shared stores name them.

use policy_core::session::Handle;

use crate::store::{Cas, SessionCreated, StoreError};

/// The result of an insertion, which ended the sessions with these handles.
pub(in crate::store) fn created(
    outcome: &str,
    evicted: Vec<Handle>,
) -> Result<SessionCreated, StoreError> {
    Ok(match outcome {
        "done" => SessionCreated::Done { evicted },
        "taken" => SessionCreated::KeyTaken,
        "cut off" => SessionCreated::CutOff,
        "limit" => SessionCreated::LimitReached,
        other => return Err(unknown(other)),
    })
}

/// The result of a change of the session that has this version.
pub(in crate::store) fn cas(
    outcome: &str,
    expected: u64,
    evicted: Vec<Handle>,
) -> Result<Cas, StoreError> {
    Ok(match outcome {
        "done" => Cas::Done { version: expected.saturating_add(1), evicted },
        "conflict" => Cas::Conflict,
        "gone" => Cas::Gone,
        "cut off" => Cas::CutOff,
        "limit" => Cas::LimitReached,
        other => return Err(unknown(other)),
    })
}

pub(in crate::store) fn unknown(outcome: &str) -> StoreError {
    StoreError::new(format!("the store returned `{outcome}`"))
}
