//! Where generated code finds the framework.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

/// Where generated code finds the framework: `::policy_server`, unless `crate = ..` says
/// otherwise.
pub(crate) struct CratePath(Option<Path>);

impl CratePath {
    pub(crate) fn new(path: Option<Path>) -> Self {
        Self(path)
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, out: &mut TokenStream) {
        match &self.0 {
            Some(path) => path.to_tokens(out),
            None => quote!(::policy_server).to_tokens(out),
        }
    }
}
