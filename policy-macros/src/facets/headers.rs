//! Security fields, as `#[headers]` says them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{args::headers::HeadersArgs, diag::Findings, surroundings::Surroundings};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &HeadersArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let _ = (&args.place, around, findings);
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(
    _args: &HeadersArgs,
    _around: &Surroundings<'_>,
) -> (TokenStream, TokenStream) {
    (quote!(), quote!(__policy::policy_core::route::Facet::Inherit))
}
