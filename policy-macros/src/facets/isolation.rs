//! Resource isolation, as `#[isolation]` says it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{args::isolation::IsolationArgs, diag::Findings, surroundings::Surroundings};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &IsolationArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let _ = (&args.place, around, findings);
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(
    _args: &IsolationArgs,
    _around: &Surroundings<'_>,
) -> (TokenStream, TokenStream) {
    (quote!(), quote!(__policy::policy_core::route::Facet::Inherit))
}
