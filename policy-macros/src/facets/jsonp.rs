//! Scripts, as `#[jsonp]` asks for them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{args::jsonp::JsonpArgs, diag::Findings, surroundings::Surroundings};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &JsonpArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let _ = (&args.place, around, findings);
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(_args: &JsonpArgs, _around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    (quote!(), quote!(::core::option::Option::None))
}
