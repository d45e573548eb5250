//! `callback = "cb"`

use proc_macro2::TokenStream;

use crate::{collect::Taken, diag::Findings};

/// What `#[jsonp]` says.
pub(crate) struct JsonpArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
}

impl JsonpArgs {
    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, _findings: &mut Findings) -> Option<Self> {
        Some(Self { place: taken.place })
    }
}
