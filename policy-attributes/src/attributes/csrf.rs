//! `#[csrf]`: `token`, `origin_else_token`, `origin`, or `exempt = "reason"`. Its rules are checked
//! together with those of `#[auth]`, because they are about the same credentials.

use policy_core::Rule;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, Ident, LitStr, Token, ext::IdentExt};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, some},
    parse::{read_entries, string_of},
};

/// The arguments of `#[csrf]`.
pub(crate) struct Args {
    /// The tokens to underline.
    pub(crate) tokens: TokenStream,
    protection: Protection,
}

/// The protection of a route.
enum Protection {
    Token,
    OriginElseToken,
    Origin,
    Exempt(LitStr),
}

const POSSIBLE: &str = "possible are `token`, `origin_else_token`, `origin` and `exempt = \"why\"`";

impl Args {
    /// The reason of an exemption.
    pub(crate) fn reason(&self) -> Option<&LitStr> {
        match &self.protection {
            Protection::Exempt(reason) => Some(reason),
            _ => None,
        }
    }

    /// The policy, as an expression.
    pub(crate) fn policy(&self) -> TokenStream {
        let protection = match &self.protection {
            Protection::Token => quote!(Token),
            Protection::OriginElseToken => quote!(OriginElseToken),
            Protection::Origin => quote!(Origin),
            Protection::Exempt(reason) => quote!(Exempt(#reason)),
        };
        quote!(__policy::policy_core::csrf::CsrfPolicy::#protection)
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let ParsedAttribute { tokens, args, .. } = parsed;
        let errors_before = diagnostics.error_count();
        let mut protections = Vec::new();
        read_entries(args, diagnostics, |input, diagnostics| {
            if !input.peek(Ident::peek_any) {
                return Err(input.error(format_args!("expected a word\nhelp: {POSSIBLE}")));
            }
            let word = input.call(Ident::parse_any)?;
            let value = match input.parse::<Option<Token![=]>>()? {
                Some(_) => Some(input.parse::<Expr>()?),
                None => None,
            };
            let protection = match (word.to_string().as_str(), &value) {
                ("token", None) => Protection::Token,
                ("origin_else_token", None) => Protection::OriginElseToken,
                ("origin", None) => Protection::Origin,
                ("token" | "origin_else_token" | "origin", Some(_)) => {
                    let help = format_args!("write `{word}` alone");
                    diagnostics.error(&word, Rule::ValueUnwanted, &word, help);
                    return Ok(());
                }
                ("exempt", None) => Protection::Exempt(LitStr::new("", word.span())),
                ("exempt", Some(value)) => {
                    let Some(reason) = string_of(value) else {
                        let help = "write the reason, such as `exempt = \"state checked\"`";
                        diagnostics.error(value, Rule::StringExpected, &word, help);
                        return Ok(());
                    };
                    Protection::Exempt(reason.clone())
                }
                _ => {
                    diagnostics.unknown(&word, Rule::UnknownWord, &word, POSSIBLE);
                    return Ok(());
                }
            };
            protections.push((word, protection));
            Ok(())
        });
        for (word, _) in protections.iter().skip(1) {
            diagnostics.rule(word, Rule::OneWordExpected, "");
        }
        let first = protections.into_iter().next();
        if first.is_none() && diagnostics.error_count() == errors_before {
            diagnostics.error(&tokens, Rule::AttributeEmpty, "#[csrf]", POSSIBLE);
        }
        first.map(|(word, protection)| {
            let tokens = match &protection {
                Protection::Exempt(reason) => reason.to_token_stream(),
                _ => word.to_token_stream(),
            };
            Self { tokens, protection }
        })
    }

    fn emit(&self, _: &Context<'_>, expansion: &mut Expansion) {
        expansion.state("csrf", &some(&self.policy()));
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        to.route.csrf = match &self.protection {
            Protection::Token => policy_manifest::Csrf::Token,
            Protection::OriginElseToken => policy_manifest::Csrf::OriginElseToken,
            Protection::Origin => policy_manifest::Csrf::Origin,
            Protection::Exempt(reason) => policy_manifest::Csrf::Exempt(reason.value()),
        };
        Ok(())
    }
}
