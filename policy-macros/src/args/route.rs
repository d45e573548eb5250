//! `"/path"`, `GET, POST, "/path"`, and `crate = path`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, LitStr, Path, Token, ext::IdentExt};

use super::{peek_assignment, read_entries, string_of, word_of};
use crate::{
    collect::{Directive, Taken},
    diag::Findings,
};

/// What a route attribute says.
pub(crate) struct RouteArgs {
    pub(crate) methods: Vec<Method>,
    pub(crate) path: Option<LitStr>,
    pub(crate) krate: Option<Path>,
}

/// A method, with the tokens that name it.
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) place: TokenStream,
}

impl RouteArgs {
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Self {
        let Taken { directive, place, args } = taken;
        let (mut values, mut krate) = (Vec::<Expr>::new(), None);
        read_entries(args, findings, |input, findings| {
            if !peek_assignment(input) {
                values.push(input.parse()?);
                return Ok(());
            }
            let key = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            if key == "crate" {
                krate = Some(input.call(Path::parse_mod_style)?);
            } else {
                input.parse::<Expr>()?;
                findings.error(
                    &key,
                    format_args!("unknown argument `{key}`"),
                    "besides the path there is `crate = path::to::policy_server` only; policies \
                     are attributes of their own",
                );
            }
            Ok(())
        });
        let (path, methods) = match directive.method() {
            Some(name) => {
                let mut values = values.into_iter();
                let path = values.next();
                for value in values {
                    findings.error(value, "a route attribute has one path", usage(directive));
                }
                (path, vec![Method { name, place: place.clone() }])
            }
            None => {
                let path = values.pop();
                if values.is_empty() && path.is_some() {
                    findings.error(&place, "a route needs a method", usage(directive));
                }
                let methods = values.iter().filter_map(|value| read_method(value, findings));
                (path, methods.collect())
            }
        };
        if path.is_none() {
            findings.error(&place, "a route needs a path", usage(directive));
        }
        let path = path.and_then(|path| {
            let literal = string_of(&path).cloned();
            if literal.is_none() {
                findings.error(&path, "a path is a string literal", usage(directive));
            }
            literal
        });
        Self { methods, path, krate }
    }
}

/// A word, upper case as the methods of the standard are, or a string for a method that is no
/// word or is not upper case: methods are case-sensitive (RFC 9110 9.1).
fn read_method(value: &Expr, findings: &mut Findings) -> Option<Method> {
    let place = value.to_token_stream();
    if let Some(literal) = string_of(value) {
        return Some(Method { name: literal.value(), place });
    }
    let Some(word) = word_of(value) else {
        findings.error(value, "a method is a word", usage(Directive::Route));
        return None;
    };
    let name = word.unraw().to_string();
    let upper = name.to_ascii_uppercase();
    if name != upper {
        findings.error(
            value,
            format_args!("methods are case-sensitive, and `{name}` is not `{upper}`"),
            format_args!("write `{upper}`, or `\"{name}\"` for a method of that name"),
        );
        return None;
    }
    Some(Method { name, place })
}

fn usage(directive: Directive) -> String {
    match directive {
        Directive::Route => "write `#[route(PURGE, \"/path\")]`: methods, then the path".to_owned(),
        verb => format!("write `#[{}(\"/path\")]`", verb.name()),
    }
}
