//! The implementations that are derived.

use std::collections::BTreeMap;

use policy_core::object::Atom;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Field, ItemStruct, LitStr, Type, ext::IdentExt, spanned::Spanned};

use super::{
    field::{Mark, MarkedField},
    options::Options,
    rules::ObjectRule,
};
use crate::type_names::{PRIMITIVES, is_named};

pub(super) struct DerivedObject<'a> {
    pub(super) item: &'a ItemStruct,
    pub(super) options: Options,
    pub(super) fields: &'a [MarkedField<'a>],
    pub(super) key: &'a MarkedField<'a>,
    pub(super) rules: Vec<ObjectRule>,
}

impl DerivedObject<'_> {
    pub(super) fn emit(&self) -> TokenStream {
        let Self { item, options, fields, key, rules } = self;
        let ty = &item.ident;
        let name = options.name.as_ref().map_or_else(|| ty.unraw().to_string(), LitStr::value);
        let parent = options.parent.as_ref().map_or_else(|| quote!(()), ToTokens::to_token_stream);
        let (key_type, key_column) = (key.ty, key.column());
        let listed = fields.iter().filter_map(MarkedField::field);
        let texts: Vec<_> = rules.iter().map(|rule| rule.condition.to_string()).collect();
        let actions: Vec<_> = rules.iter().map(|rule| &rule.action).collect();
        let places = actions
            .iter()
            .map(|action| quote_spanned!(action.span()=> (::core::file!(), ::core::line!())));
        let names = fields.iter().filter_map(MarkedField::names_arm);
        let flags = fields.iter().filter_map(MarkedField::flag_arm);
        let functions = self.functions();
        let version = fields.iter().find(|field| field.mark == Mark::Version).map(|field| {
            let (name, ty) = (field.name, field.ty);
            quote_spanned! {ty.span()=>
                const IS_VERSIONED: bool = true;
                #[allow(clippy::useless_conversion, reason = "the field may be of any integer")]
                fn version(&self) -> ::core::option::Option<u64> {
                    u64::try_from(self.#name).ok()
                }
            }
        });
        let facts = self.facts();
        let sample = self.sample();
        let permits = rules.iter().zip(&texts).map(|(rule, text)| self.permits(rule, text));
        quote! {
            const _: () = ::core::assert!(
                __policy::names_differ(&[#(<#actions as __policy::Action>::NAME),*]),
                "two actions of one object have the same name, or one is no name of small letters",
            );
            #[automatically_derived]
            impl __policy::Object for #ty {
                type Key = #key_type;
                type Parent = #parent;
                const NAME: &'static str = #name;
                const KEY: &'static str = #key_column;
                const FIELDS: &'static [__policy::policy_core::object::Field] = &[#(#listed),*];
                const RULES: &'static [(&'static str, &'static str)] =
                    &[#((<#actions as __policy::Action>::NAME, #texts)),*];
                const PLACES: &'static [(&'static str, u32)] = &[#(#places),*];
                fn names(&self, __policy_field: &str, __policy_name: &str) -> bool {
                    match __policy_field { #(#names)* _ => false }
                }
                fn flag(&self, __policy_field: &str) -> bool {
                    match __policy_field { #(#flags)* _ => false }
                }
                fn decide(&self, __policy_function: &str, __policy_caller: &__policy::Principal) -> bool {
                    match __policy_function { #functions _ => false }
                }
                #version
                #facts
                fn sample(__policy_sample: __policy::Sample<'_>) -> ::core::option::Option<Self> {
                    #sample
                }
            }
            #(#permits)*
        }
    }

    /// The arms of the functions that rules name.
    fn functions(&self) -> TokenStream {
        let functions: BTreeMap<_, _> =
            self.rules.iter().flat_map(|rule| rule.functions.iter().cloned()).collect();
        let arms = functions.iter().map(|(name, call)| quote!(#name => #call,));
        arms.collect()
    }

    /// What an engine is told of the object, if a rule asks one.
    fn facts(&self) -> Option<TokenStream> {
        let (key, fields) = (self.key.name, self.fields.iter().filter_map(MarkedField::fact));
        self.rules.iter().any(|rule| rule.condition.asks_engine()).then(|| {
            quote_spanned! {self.key.ty.span()=>
                fn facts(&self) -> __policy::ObjectFacts {
                    __policy::ObjectFacts {
                        key: ::std::string::ToString::to_string(&self.#key),
                        fields: ::std::vec![#(#fields),*],
                    }
                }
            }
        })
    }

    /// The body that makes a sample: other fields have their default values, or those of the stated
    /// function.
    fn sample(&self) -> TokenStream {
        let stated: Vec<_> = self.fields.iter().filter_map(MarkedField::sample).collect();
        if let Some(function) = &self.options.sample {
            return quote! {
                let _ = &__policy_sample;
                ::core::option::Option::Some(Self { #(#stated)* ..#function() })
            };
        }
        if !self.fields.iter().all(MarkedField::has_sample) {
            return quote!(let _ = __policy_sample; ::core::option::Option::None);
        }
        let of_rules = |field: &&Field| {
            let name = field.ident.as_ref();
            !self.fields.iter().any(|marked| Some(marked.name) == name && marked.kind().is_some())
        };
        let others: Vec<_> = self.item.fields.iter().filter(of_rules).collect();
        if !others.iter().all(|field| has_default(&field.ty)) {
            return quote!(let _ = __policy_sample; ::core::option::Option::None);
        }
        let others = others.iter().map(|field| {
            let name = &field.ident;
            quote!(#name: ::core::default::Default::default(),)
        });
        quote! {
            let _ = &__policy_sample;
            ::core::option::Option::Some(Self { #(#stated)* #(#others)* })
        }
    }

    fn permits(&self, rule: &ObjectRule, text: &str) -> TokenStream {
        let (ty, action) = (&self.item.ident, &rule.action);
        let has_table = |name: &String| {
            let mut fields = self.fields.iter();
            fields.any(|field| field.text() == *name && field.relation.iter().all(Option::is_some))
        };
        let is_data = rule.condition.atoms().into_iter().all(|atom| match atom {
            Atom::With(_) | Atom::Engine => false,
            Atom::Member(field) => has_table(field),
            _ => true,
        });
        let by_data = is_data.then(|| {
            quote! {
                #[automatically_derived]
                impl __policy::PermitsByData<#action> for #ty {}
            }
        });
        let condition = format_ident!("CONDITION", span = Span::mixed_site());
        quote! {
            #[automatically_derived]
            impl __policy::Permits<#action> for #ty {
                fn condition() -> &'static __policy::policy_core::object::Condition {
                    static #condition: ::std::sync::LazyLock<
                        __policy::policy_core::object::Condition,
                    > = ::std::sync::LazyLock::new(|| __policy::condition(#text));
                    &#condition
                }
            }
            #by_data
        }
    }
}

/// Whether a type has a default value, judged by its name.
fn has_default(ty: &Type) -> bool {
    let known =
        ["String", "Option", "Vec", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "Duration"];
    is_named(ty, &PRIMITIVES) || is_named(ty, &known)
}
