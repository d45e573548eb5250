//! What a handler takes, and with which problems of its own it responds.

use policy_core::outcome::ArgumentKind;
use serde::{Deserialize, Serialize};

use super::{facts, order};

facts! {
    /// What a handler takes from requests, and the problems with which it responds.
    HandlerFacts {
        /// What its arguments take from requests.
        takes: Vec<ArgumentKind> => order::shifting,
        /// The problems that its type of errors declares.
        problems: Vec<OwnProblem> => order::shifting,
        /// Whether it may respond with problems that it does not declare.
        open: bool => order::shifting,
    }
}

/// A problem that a handler declares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnProblem {
    /// The status code of the response.
    pub status: u16,
    /// Its code, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}
