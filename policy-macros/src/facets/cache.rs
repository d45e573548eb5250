//! Caching, as `#[cache]` says it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{args::cache::CacheArgs, diag::Findings, surroundings::Surroundings};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &CacheArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let _ = (&args.place, around, findings);
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(_args: &CacheArgs, _around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    (quote!(), quote!(__policy::policy_core::route::Facet::Inherit))
}
