//! `public, max_age = 60, ..`

use proc_macro2::TokenStream;

use crate::{collect::Taken, diag::Findings};

/// What `#[cache]` says.
pub(crate) struct CacheArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
}

impl CacheArgs {
    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, _findings: &mut Findings) -> Option<Self> {
        Some(Self { place: taken.place })
    }
}
