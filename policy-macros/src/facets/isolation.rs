//! Resource isolation, as `#[isolation]` says it. No rule is about it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::args::isolation::IsolationArgs;

/// The expression for the policy.
pub(crate) fn stated(args: IsolationArgs) -> TokenStream {
    let facet = quote!(__policy::policy_core::route::Facet);
    let isolation = quote!(__policy::policy_core::isolation::Isolation);
    match args {
        IsolationArgs::SameOrigin => quote!(#facet::Set(#isolation::SameOrigin)),
        IsolationArgs::SameSite => quote!(#facet::Set(#isolation::SameSite)),
        IsolationArgs::Nothing => quote!(#facet::None),
    }
}
