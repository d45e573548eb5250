//! `callback = "cb", dotted`, or a shared policy.

use proc_macro2::TokenStream;
use syn::{Expr, ExprPath, Ident, LitStr, Result, Token, ext::IdentExt, parse::ParseStream};

use super::{
    is_constant, peek_word, peeled, read_entries, read_value, refuse_company, repeated, set,
    string_of,
};
use crate::{collect::Taken, diag::Findings};

/// What `#[jsonp]` says.
pub(crate) struct JsonpArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
    pub(crate) policy: Policy,
}

pub(crate) enum Policy {
    /// A policy of this route alone.
    Written(Written),
    /// The value of a constant.
    Shared(ExprPath),
}

/// A policy, part by part.
pub(crate) struct Written {
    pub(crate) callback: Option<LitStr>,
    pub(crate) dotted: bool,
    /// An error about the attribute has been found already, so what is not there need not be
    /// missing.
    pub(crate) is_broken: bool,
}

const POSSIBLE: &str =
    "possible are `callback = \"callback\"` and `dotted`; or the name of a `JsonpPolicy`";

impl JsonpArgs {
    /// Reads the arguments; `None` after an error that leaves no policy.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let mut written = Written { callback: None, dotted: false, is_broken: false };
        let mut wholes = Vec::<ExprPath>::new();
        let mut count = 0;
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| {
            count += 1;
            if !peek_word(input) {
                let value: Expr = input.parse()?;
                match peeled(&value) {
                    Expr::Path(path) => wholes.push(path.clone()),
                    other => findings.error(other, "this names no policy", POSSIBLE),
                }
                return Ok(());
            }
            let word = input.call(Ident::parse_any)?;
            if is_constant(&word) && !input.peek(Token![=]) {
                wholes.push(syn::parse_quote!(#word));
                return Ok(());
            }
            written.read_part(&word, input, findings)
        });
        written.is_broken = findings.error_count() > errors_before;
        if count > 1 {
            refuse_company(&wholes, findings);
        }
        let policy = match wholes.pop() {
            None => Policy::Written(written),
            Some(whole) if count == 1 => Policy::Shared(whole),
            Some(_) => return None,
        };
        Some(Self { place, policy })
    }
}

impl Written {
    fn read_part(
        &mut self,
        key: &Ident,
        input: ParseStream<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let (assigned, value) = read_value(input)?;
        match (key.to_string().as_str(), value) {
            ("dotted", _) if assigned => {
                findings.error(
                    key,
                    "`dotted` has no value",
                    "write `dotted` alone, or leave it out",
                );
            }
            ("dotted", _) => {
                if std::mem::replace(&mut self.dotted, true) {
                    repeated(key, findings);
                }
            }
            ("callback", None) => findings.error(key, "`callback` needs a value", EXAMPLE),
            ("callback", Some(value)) => {
                if !set(&mut self.callback, read_name(&value, findings)) {
                    repeated(key, findings);
                }
            }
            _ => {
                let kind = if assigned { "argument" } else { "word" };
                findings.error(key, format_args!("unknown {kind} `{key}`"), POSSIBLE);
            }
        }
        Ok(())
    }
}

const EXAMPLE: &str = "write the name of a parameter, such as `callback = \"callback\"`";

fn read_name(value: &Expr, findings: &mut Findings) -> Option<LitStr> {
    let name = string_of(value).cloned();
    if name.is_none() {
        findings.error(value, "`callback` is a string literal", EXAMPLE);
    }
    name
}
