//! `#[derive(Object)]`. On the struct: `#[rule(Action = condition)]` for each action, and
//! `#[object(name = "..", parent = Type, sample = path, crate = path)]`; on fields: `#[object(key)]`, or
//! `owner`, `tenant`, `members`, `flag`, `version`, with `column = ".."`, or
//! `table = "..", object = "..", user = ".."` for members.

mod derived;
mod field;
mod options;
mod rules;

use policy_core::Rule;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Fields, ItemStruct, spanned::Spanned};

use self::{
    derived::DerivedObject,
    field::{Mark, MarkedField},
    options::Options,
    rules::read_rules,
};
use crate::{diagnostics::Diagnostics, emit::CratePath};

/// Expands the derive on a struct.
pub fn expand(item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let item = match syn::parse2::<ItemStruct>(item) {
        Ok(item) if item.generics.params.is_empty() && matches!(item.fields, Fields::Named(_)) => {
            item
        }
        other => {
            let parameters = other.map(|item| item.generics.params.to_token_stream());
            let at = parameters.map_or_else(|_| Span::call_site(), |it| it.span());
            diagnostics.rule_at(at, Rule::ObjectStruct, "");
            return diagnostics.errors();
        }
    };
    let options = Options::read(&item.attrs, &mut diagnostics);
    let fields: Vec<_> =
        item.fields.iter().filter_map(|field| MarkedField::read(field, &mut diagnostics)).collect();
    let keys: Vec<_> = fields.iter().filter(|it| it.mark == Mark::Key).collect();
    let (Some(key), true) = (keys.first(), keys.len() == 1) else {
        match keys.get(1) {
            Some(second) => diagnostics.rule(&second.word, Rule::ObjectKey, ""),
            None => diagnostics.rule(&item.ident, Rule::ObjectKey, ""),
        }
        return diagnostics.errors();
    };
    let rules = read_rules(&item, &fields, &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return diagnostics.errors();
    }
    let krate = CratePath::new(options.krate.clone());
    let implementation = DerivedObject { item: &item, options, fields: &fields, key, rules }.emit();
    quote! {
        const _: () = {
            use #krate::codegen as __policy;
            #implementation
        };
    }
}
