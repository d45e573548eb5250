//! One family of refresh tokens.

use std::sync::Mutex;

use policy_core::time::Timestamp;

use crate::store::{Family, TokenHash};

/// A family, and how far its tokens got. Every token of it leads here.
pub(super) struct FamilyRow {
    pub(super) family: Family,
    pub(super) chain: Mutex<Chain>,
}

/// Each token follows from the one before, so at most one is unused. Any other that leads here
/// was used, and that is all there is to know of it.
pub(super) struct Chain {
    pub(super) is_ended: bool,
    pub(super) unused: TokenHash,
    /// The token that `unused` was given for, and when.
    pub(super) before: Option<(TokenHash, Timestamp)>,
}

impl FamilyRow {
    pub(super) fn new(family: Family, token: TokenHash) -> Self {
        let chain = Chain { is_ended: false, unused: token, before: None };
        Self { family, chain: Mutex::new(chain) }
    }
}
