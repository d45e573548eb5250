//! What a struct states beside its rules: `#[object(..)]`.

use policy_core::Rule;
use proc_macro2::TokenTree;
use syn::{Attribute, Ident, LitStr, Path, Token, Type, ext::IdentExt};

use crate::{
    diagnostics::Diagnostics,
    parse::{arguments_of, read_entries, report_repeated, set},
};

/// What the struct states beside its rules.
#[derive(Default)]
pub(super) struct Options {
    pub(super) name: Option<LitStr>,
    pub(super) parent: Option<Type>,
    pub(super) sample: Option<Path>,
    pub(super) krate: Option<Path>,
}

impl Options {
    pub(super) fn read(attrs: &[Attribute], diagnostics: &mut Diagnostics) -> Self {
        let mut options = Self::default();
        for tokens in arguments_of(attrs, "object", diagnostics) {
            read_entries(tokens.clone(), diagnostics, |input, diagnostics| {
                let word = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                let is_new = match word.to_string().as_str() {
                    "name" => set(&mut options.name, Some(input.parse()?)),
                    "parent" => set(&mut options.parent, Some(input.parse()?)),
                    "sample" => set(&mut options.sample, Some(input.parse()?)),
                    "crate" => set(&mut options.krate, Some(input.call(Path::parse_mod_style)?)),
                    _ => {
                        let possible =
                            "possible are `name = \"..\"`, `parent = Type` and `sample = function`";
                        diagnostics.unknown(&word, Rule::UnknownArgument, &word, possible);
                        input.parse::<TokenTree>()?;
                        true
                    }
                };
                if !is_new {
                    report_repeated(&word, diagnostics);
                }
                Ok(())
            });
        }
        options
    }
}
