//! A refresh token family.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use policy_core::time::Timestamp;

use crate::store::{Family, TokenHash};

/// A family and the state of its tokens. Every token of the family refers to it.
pub(super) struct FamilyRow {
    pub(super) family: Family,
    pub(super) chain: Mutex<Chain>,
}

/// Each token follows from the previous one, so at most one is unused. Every other token of the
/// family was used, and nothing more is stored about it once its grace is over.
pub(super) struct Chain {
    pub(super) is_ended: bool,
    pub(super) unused: TokenHash,
    /// The tokens that were used within the grace, and when, in the order of use.
    used: VecDeque<(TokenHash, Timestamp)>,
    /// How often it was refreshed.
    pub(super) refreshes: u32,
}

impl FamilyRow {
    pub(super) fn new(family: Family, token: TokenHash) -> Self {
        let chain = Chain { is_ended: false, unused: token, used: VecDeque::new(), refreshes: 0 };
        Self { family, chain: Mutex::new(chain) }
    }

    /// Whether the family is no longer needed. Its chain may be locked by a call that waits for the
    /// tokens, so this does not wait for the chain.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.family.expires || self.chain.try_lock().is_ok_and(|chain| chain.is_ended)
    }
}

impl Chain {
    /// Uses the unused token, which `successor` replaces.
    pub(super) fn step(&mut self, successor: TokenHash, grace: Duration, now: Timestamp) {
        while self.used.front().is_some_and(|(_, used)| now.since(*used) >= grace) {
            self.used.pop_front();
        }
        self.used.push_back((self.unused, now));
        self.unused = successor;
        self.refreshes += 1;
    }

    /// How many tokens after `token` the unused one is, if `token` was used within the grace.
    pub(super) fn steps(&self, token: TokenHash, grace: Duration, now: Timestamp) -> Option<u32> {
        let mut steps = 0;
        let found = self.used.iter().rev().find(|(used, _)| {
            steps += 1;
            *used == token
        });
        found.filter(|(_, at)| now.since(*at) < grace).map(|_| steps)
    }
}
