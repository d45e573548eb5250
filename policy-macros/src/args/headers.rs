//! `csp = .., frame = .., ..`

use proc_macro2::TokenStream;

use crate::{collect::Taken, diag::Findings};

/// What `#[headers]` says.
pub(crate) struct HeadersArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
}

impl HeadersArgs {
    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, _findings: &mut Findings) -> Option<Self> {
        Some(Self { place: taken.place })
    }
}
