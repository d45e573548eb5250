//! `#[isolation]`: `same_origin`, `same_site` or `none`. It has no rules.

use policy_core::Rule;
use quote::quote;
use syn::Expr;

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::Expansion,
    parse::{read_entries, word_of},
};

/// The argument of `#[isolation]`.
#[derive(Clone, Copy)]
pub(crate) enum Args {
    SameOrigin,
    SameSite,
    /// Every page, regardless of the outer levels.
    None,
}

const POSSIBLE: &str = "possible are `same_origin`, `same_site` and `none`";

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let ParsedAttribute { tokens, args, .. } = parsed;
        let errors_before = diagnostics.error_count();
        let mut read = None;
        read_entries(args, diagnostics, |input, diagnostics| {
            let entry: Expr = input.parse()?;
            let args = match word_of(&entry) {
                Some(word) if word == "same_origin" => Self::SameOrigin,
                Some(word) if word == "same_site" => Self::SameSite,
                Some(word) if word == "none" => Self::None,
                _ => {
                    diagnostics.unknown(&entry, Rule::UnknownWord, quote!(#entry), POSSIBLE);
                    return Ok(());
                }
            };
            if read.replace(args).is_some() {
                diagnostics.rule(&entry, Rule::OneWordExpected, "");
            }
            Ok(())
        });
        if read.is_none() && diagnostics.error_count() == errors_before {
            diagnostics.error(&tokens, Rule::AttributeEmpty, "#[isolation]", POSSIBLE);
        }
        read
    }

    fn emit(&self, _: &Context<'_>, expansion: &mut Expansion) {
        let isolation = quote!(__policy::policy_core::isolation::Isolation);
        match self {
            Self::SameOrigin => expansion.set("isolation", &quote!(#isolation::SameOrigin)),
            Self::SameSite => expansion.set("isolation", &quote!(#isolation::SameSite)),
            Self::None => expansion.set_none("isolation"),
        }
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        to.route.isolation = match self {
            Self::SameOrigin => Some(policy_core::isolation::Isolation::SameOrigin),
            Self::SameSite => Some(policy_core::isolation::Isolation::SameSite),
            Self::None => None,
        };
        Ok(())
    }
}
