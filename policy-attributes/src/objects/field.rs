//! The marks of fields, and what follows from each.

use policy_core::{Rule, object::FieldKind};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Field, Ident, LitStr, Token, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    diagnostics::Diagnostics,
    parse::{arguments_of, read_entries, report_repeated, set},
    type_names::{first_two_arguments, is_named, last_segment},
};

/// What a field is marked as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Key,
    Version,
    Rule(FieldKind),
}

pub(super) struct MarkedField<'a> {
    pub(super) name: &'a Ident,
    pub(super) ty: &'a Type,
    pub(super) mark: Mark,
    /// The mark, as it is written.
    pub(super) word: Ident,
    pub(super) column: Option<LitStr>,
    /// The table, its column with the key, and its column with the user.
    pub(super) relation: [Option<LitStr>; 3],
}

impl<'a> MarkedField<'a> {
    pub(super) fn read(field: &'a Field, diagnostics: &mut Diagnostics) -> Option<Self> {
        let name = field.ident.as_ref()?;
        let mut marks: Vec<(Ident, Mark)> = Vec::new();
        let mut column = None;
        let mut relation = [None, None, None];
        for tokens in arguments_of(&field.attrs, "object", diagnostics) {
            read_entries(tokens.clone(), diagnostics, |input, diagnostics| {
                let word = input.call(Ident::parse_any)?;
                let mark = match word.to_string().as_str() {
                    "key" => Mark::Key,
                    "version" => Mark::Version,
                    "owner" => Mark::Rule(FieldKind::Owner),
                    "tenant" => Mark::Rule(FieldKind::Tenant),
                    "members" => Mark::Rule(FieldKind::Members),
                    "flag" => Mark::Rule(FieldKind::Flag),
                    part => {
                        let place = match part {
                            "column" => &mut column,
                            "table" => &mut relation[0],
                            "object" => &mut relation[1],
                            "user" => &mut relation[2],
                            _ => {
                                diagnostics.unknown(
                                    &word,
                                    Rule::ObjectField,
                                    &word,
                                    Rule::ObjectField.help(),
                                );
                                return Ok(());
                            }
                        };
                        input.parse::<Token![=]>()?;
                        if !set(place, Some(input.parse()?)) {
                            report_repeated(&word, diagnostics);
                        }
                        return Ok(());
                    }
                };
                marks.push((word, mark));
                Ok(())
            });
        }
        for (word, _) in marks.iter().skip(1) {
            diagnostics.rule(word, Rule::ObjectField, &word.to_string());
        }
        let is_stated = |part: &Option<LitStr>| part.is_some();
        let has_relation = relation.iter().any(is_stated);
        let Some((word, mark)) = marks.into_iter().next() else {
            if has_relation || column.is_some() {
                diagnostics.rule(name, Rule::ObjectField, &name.to_string());
            }
            return None;
        };
        let is_of_members = mark == Mark::Rule(FieldKind::Members) && column.is_none();
        if has_relation && !(is_of_members && relation.iter().all(is_stated)) {
            let help =
                "write `table = \"..\", object = \"..\", user = \"..\"` at a field of members";
            diagnostics.error(&word, Rule::ObjectField, &word, help);
        }
        // A rule names a raw field without its `r#`.
        let text = name.unraw();
        if mark == Mark::Rule(FieldKind::Flag)
            && ["anyone", "authenticated", "engine", "owner"].iter().any(|known| text == known)
        {
            let help = format_args!("rename it: as a condition, `{text}` means something else");
            diagnostics.error(name, Rule::ObjectField, &text, help);
        }
        Some(Self { name, ty: &field.ty, mark, word, column, relation })
    }

    pub(super) fn kind(&self) -> Option<FieldKind> {
        match self.mark {
            Mark::Rule(kind) => Some(kind),
            Mark::Key | Mark::Version => None,
        }
    }

    pub(super) fn text(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The column, which has the name of the field unless another is stated.
    pub(super) fn column(&self) -> String {
        self.column.as_ref().map_or_else(|| self.text(), LitStr::value)
    }

    /// The type of one value, inside of an `Option` or a list.
    fn value(&self) -> (&Type, Option<String>) {
        let Some(segment) = last_segment(self.ty) else { return (self.ty, None) };
        let around = segment.ident.to_string();
        match (first_two_arguments(segment), around.as_str()) {
            ((Some(inner), None), "Option" | "Vec" | "BTreeSet" | "HashSet") => {
                (inner, Some(around))
            }
            _ => (self.ty, None),
        }
    }

    /// As [`Field`](policy_core::object::Field).
    pub(super) fn field(&self) -> Option<TokenStream> {
        let kind = match self.kind()? {
            FieldKind::Owner => quote!(Owner),
            FieldKind::Tenant => quote!(Tenant),
            FieldKind::Members => quote!(Members),
            FieldKind::Flag => quote!(Flag),
        };
        let (name, column) = (self.text(), self.column());
        let number = ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
        let is_number = is_named(self.value().0, &number);
        let is_optional = self.value().1.as_deref() == Some("Option");
        let relation = match &self.relation {
            [Some(table), Some(object), Some(user)] => quote! {
                ::core::option::Option::Some(__policy::policy_core::object::Relation {
                    table: #table, object: #object, user: #user,
                })
            },
            _ => quote!(::core::option::Option::None),
        };
        Some(quote! {
            __policy::policy_core::object::Field {
                name: #name,
                kind: __policy::policy_core::object::FieldKind::#kind,
                column: #column,
                is_number: #is_number,
                is_optional: #is_optional,
                relation: #relation,
            }
        })
    }

    /// The match arm that decides whether it names a user or tenant.
    pub(super) fn names_arm(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        let is_string = is_named(self.value().0, &["String"]);
        let is_text = |value: TokenStream| match is_string {
            true => quote_spanned!(self.ty.span()=> *#value == *__policy_name),
            false => quote_spanned!(self.ty.span()=> __policy::is_text_of(#value, __policy_name)),
        };
        let is_named = match (self.kind()?, self.value().1.as_deref()) {
            (FieldKind::Flag, _) => return None,
            (FieldKind::Members, _) => {
                let one = is_text(quote!(__policy_one));
                quote_spanned!(self.ty.span()=> self.#name.iter().any(|__policy_one| #one))
            }
            (_, Some("Option")) => {
                let one = is_text(quote!(__policy_one));
                quote_spanned!(self.ty.span()=> self.#name.as_ref().is_some_and(|__policy_one| #one))
            }
            _ => is_text(quote!(&self.#name)),
        };
        Some(quote!(#text => #is_named,))
    }

    pub(super) fn flag_arm(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        (self.kind()? == FieldKind::Flag)
            .then(|| quote_spanned!(self.ty.span()=> #text => self.#name,))
    }

    /// What an engine is told of it.
    pub(super) fn fact(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        let one = match self.value().1.as_deref() {
            Some("Option") => quote_spanned! {self.ty.span()=>
                self.#name.as_ref().map(::std::string::ToString::to_string)
            },
            _ => quote_spanned! {self.ty.span()=>
                ::core::option::Option::Some(::std::string::ToString::to_string(&self.#name))
            },
        };
        let value = match self.kind()? {
            FieldKind::Owner => quote!(User(#one)),
            FieldKind::Tenant => quote!(Tenant(#one)),
            FieldKind::Members => quote_spanned! {self.ty.span()=>
                Users(self.#name.iter().map(::std::string::ToString::to_string).collect())
            },
            FieldKind::Flag => quote!(Flag(self.#name)),
        };
        Some(quote!((#text, __policy::FieldValue::#value)))
    }

    /// Whether its type, judged by its name, can have the value of a sample.
    pub(super) fn has_sample(&self) -> bool {
        let known = [
            "String", "Uuid", "i16", "i32", "i64", "isize", "u16", "u32", "u64", "usize", "i128",
            "u128",
        ];
        match (self.kind(), self.value()) {
            (None | Some(FieldKind::Flag), _) => true,
            (Some(FieldKind::Members), (_, around)) if around.is_none() => false,
            (_, (ty, _)) => is_named(ty, &known),
        }
    }

    /// Its value in a sample.
    pub(super) fn sample(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        let parsed = quote!((__policy_sample.name)(#text).parse().ok()?);
        let value = match (self.kind()?, self.value().1.as_deref()) {
            (FieldKind::Flag, _) => quote!((__policy_sample.flag)(#text)),
            (FieldKind::Members, _) => quote!(::core::iter::once(#parsed).collect()),
            (_, Some("Option")) => quote!(::core::option::Option::Some(#parsed)),
            _ => parsed,
        };
        Some(quote!(#name: #value,))
    }
}
