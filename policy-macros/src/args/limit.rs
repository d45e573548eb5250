//! `body = "1 MiB", timeout = "5s", ..`

use proc_macro2::TokenStream;

use crate::{collect::Taken, diag::Findings};

/// What `#[limit]` says.
pub(crate) struct LimitArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
}

impl LimitArgs {
    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, _findings: &mut Findings) -> Option<Self> {
        Some(Self { place: taken.place })
    }
}
