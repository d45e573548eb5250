//! Policies that live in constants.

use super::spec::CacheSpec;

/// A caching policy that passed every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePolicy(CacheSpec<'static>);

impl CachePolicy {
    /// What the policy says.
    pub const fn spec(&self) -> &CacheSpec<'static> {
        &self.0
    }
}
