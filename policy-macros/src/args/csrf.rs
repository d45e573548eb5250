//! `token`, `origin`, or `exempt = "reason"`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, LitStr, Token, ext::IdentExt};

use super::{read_entries, string_of};
use crate::{collect::Taken, diag::Findings};

/// What `#[csrf]` says.
pub(crate) struct CsrfArgs {
    /// The tokens to underline.
    pub(crate) place: TokenStream,
    pub(crate) protection: Protection,
}

/// What protects a route.
pub(crate) enum Protection {
    Token,
    Origin,
    Exempt(LitStr),
}

const POSSIBLE: &str = "possible are `token`, `origin` and `exempt = \"why\"`";

impl CsrfArgs {
    /// The reason of an exemption.
    pub(crate) fn reason(&self) -> Option<&LitStr> {
        match &self.protection {
            Protection::Exempt(reason) => Some(reason),
            Protection::Token | Protection::Origin => None,
        }
    }

    /// Reads the arguments; `None` after an error.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let errors_before = findings.error_count();
        let mut protections = Vec::new();
        read_entries(args, findings, |input, findings| {
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
                ("origin", None) => Protection::Origin,
                ("token" | "origin", Some(_)) => {
                    let help = format_args!("write `{word}` alone");
                    findings.error(&word, format_args!("`{word}` has no value"), help);
                    return Ok(());
                }
                ("exempt", value) => match value {
                    None => Protection::Exempt(LitStr::new("", word.span())),
                    Some(value) => {
                        let Some(reason) = string_of(value) else {
                            let help = "write why, such as `exempt = \"state checked\"`";
                            findings.error(value, "a reason is a string literal", help);
                            return Ok(());
                        };
                        Protection::Exempt(reason.clone())
                    }
                },
                _ => {
                    findings.error(&word, format_args!("unknown word `{word}`"), POSSIBLE);
                    return Ok(());
                }
            };
            protections.push((word, protection));
            Ok(())
        });
        for (word, _) in protections.iter().skip(1) {
            findings.error(word, "a route is protected in one way", "remove all but one");
        }
        let first = protections.into_iter().next();
        if first.is_none() && findings.error_count() == errors_before {
            findings.error(&place, "`#[csrf]` does not say what protects the route", POSSIBLE);
        }
        first.map(|(word, protection)| {
            let place = match &protection {
                Protection::Exempt(reason) => reason.to_token_stream(),
                _ => word.to_token_stream(),
            };
            Self { place, protection }
        })
    }
}
