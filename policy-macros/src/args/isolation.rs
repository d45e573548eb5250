//! `same_origin`, `same_site` or `none`.

use syn::Expr;

use super::{read_entries, word_of};
use crate::{collect::Taken, diag::Findings};

/// What `#[isolation]` says.
#[derive(Clone, Copy)]
pub(crate) enum IsolationArgs {
    SameOrigin,
    SameSite,
    /// Pages of everybody, whatever the outer levels say.
    Nothing,
}

const POSSIBLE: &str = "possible are `same_origin`, `same_site` and `none`";

impl IsolationArgs {
    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let errors_before = findings.error_count();
        let mut read = None;
        read_entries(args, findings, |input, findings| {
            let entry: Expr = input.parse()?;
            let args = match word_of(&entry) {
                Some(word) if word == "same_origin" => Self::SameOrigin,
                Some(word) if word == "same_site" => Self::SameSite,
                Some(word) if word == "none" => Self::Nothing,
                _ => {
                    findings.error(&entry, "this is no isolation", POSSIBLE);
                    return Ok(());
                }
            };
            if read.replace(args).is_some() {
                findings.error(&entry, "a route is isolated in one way", "remove all but one");
            }
            Ok(())
        });
        if read.is_none() && findings.error_count() == errors_before {
            findings.error(&place, "`#[isolation]` does not say from whom", POSSIBLE);
        }
        read
    }
}
