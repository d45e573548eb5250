//! A refresh token family.

use std::sync::Mutex;

use policy_core::time::Timestamp;

use crate::store::{Family, TokenHash};

/// A family and the state of its tokens. Every token of the family refers to it.
pub(super) struct FamilyRow {
    pub(super) family: Family,
    pub(super) chain: Mutex<Chain>,
}

/// Each token follows from the previous one, so at most one is unused. Every other token of the
/// family was used, and nothing more is stored about it.
pub(super) struct Chain {
    pub(super) is_ended: bool,
    pub(super) unused: TokenHash,
    /// The token for which `unused` was issued, and when.
    pub(super) before: Option<(TokenHash, Timestamp)>,
    /// How often it was refreshed.
    pub(super) refreshes: u32,
}

impl FamilyRow {
    pub(super) fn new(family: Family, token: TokenHash) -> Self {
        let chain = Chain { is_ended: false, unused: token, before: None, refreshes: 0 };
        Self { family, chain: Mutex::new(chain) }
    }

    /// Whether it is of no use any more. Its chain may be locked by whoever waits for the tokens, so
    /// this does not wait for the chain.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.family.expires || self.chain.try_lock().is_ok_and(|chain| chain.is_ended)
    }
}
