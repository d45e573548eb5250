//! `#[derive(Object)]`. On the struct: `#[rule(Action = condition)]` for each action, and
//! `#[object(name = "..", parent = Type, sample = path, crate = path)]`; on fields: `#[object(key)]`, or
//! `owner`, `tenant`, `members`, `flag`, `version`, with `column = ".."`, or
//! `table = "..", object = "..", user = ".."` for members.

use std::collections::BTreeMap;

use policy_core::{
    Rule,
    object::{Atom, Condition, ConditionToken, FieldKind},
};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, Field, Fields, Ident, ItemStruct, LitStr, Path, Token, Type, ext::IdentExt,
    parse::Parser, spanned::Spanned,
};

use crate::{
    diagnostics::Diagnostics,
    emit::CratePath,
    parse::{arguments_of, read_entries, report_repeated, set},
    type_names::{first_two_arguments, last_segment},
};

/// Expands the derive on a struct.
pub fn expand(item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let item = match syn::parse2::<ItemStruct>(item) {
        Ok(item) if item.generics.params.is_empty() && matches!(item.fields, Fields::Named(_)) => {
            item
        }
        other => {
            let rule = Rule::ObjectStruct;
            let parameters = other.map(|item| item.generics.params.to_token_stream());
            let at = parameters.map_or_else(|_| Span::call_site(), |it| it.span());
            diagnostics.error_at(at, rule, "", rule.help());
            return diagnostics.errors();
        }
    };
    let options = Options::read(&item.attrs, &mut diagnostics);
    let fields: Vec<_> =
        item.fields.iter().filter_map(|field| Marked::read(field, &mut diagnostics)).collect();
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
    let implementation = Derived { item: &item, options, fields: &fields, key, rules }.emit();
    quote! {
        const _: () = {
            use #krate::codegen as __policy;
            #implementation
        };
    }
}

/// What the struct states beside its rules.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    parent: Option<Type>,
    sample: Option<Path>,
    krate: Option<Path>,
}

impl Options {
    fn read(attrs: &[Attribute], diagnostics: &mut Diagnostics) -> Self {
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

/// What a field is marked as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Key,
    Version,
    Rule(FieldKind),
}

struct Marked<'a> {
    name: &'a Ident,
    ty: &'a Type,
    mark: Mark,
    /// The mark, as it is written.
    word: Ident,
    column: Option<LitStr>,
    /// The table, its column with the key, and its column with the user.
    relation: [Option<LitStr>; 3],
}

impl<'a> Marked<'a> {
    fn read(field: &'a Field, diagnostics: &mut Diagnostics) -> Option<Self> {
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
        if mark == Mark::Rule(FieldKind::Flag)
            && ["anyone", "authenticated", "engine", "owner"].iter().any(|known| name == known)
        {
            let help = format_args!("rename it: as a condition, `{name}` means something else");
            diagnostics.error(name, Rule::ObjectField, name, help);
        }
        Some(Self { name, ty: &field.ty, mark, word, column, relation })
    }

    fn kind(&self) -> Option<FieldKind> {
        match self.mark {
            Mark::Rule(kind) => Some(kind),
            Mark::Key | Mark::Version => None,
        }
    }

    fn text(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The column, which has the name of the field unless another is stated.
    fn column(&self) -> String {
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
    fn field(&self) -> Option<TokenStream> {
        let kind = match self.kind()? {
            FieldKind::Owner => quote!(Owner),
            FieldKind::Tenant => quote!(Tenant),
            FieldKind::Members => quote!(Members),
            FieldKind::Flag => quote!(Flag),
        };
        let (name, column) = (self.text(), self.column());
        let number = ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
        let is_number = last_segment(self.value().0)
            .is_some_and(|it| number.iter().any(|name| it.ident == name));
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
    fn names_arm(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        let is_string = last_segment(self.value().0).is_some_and(|it| it.ident == "String");
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

    fn flag_arm(&self) -> Option<TokenStream> {
        let (name, text) = (self.name, self.text());
        (self.kind()? == FieldKind::Flag)
            .then(|| quote_spanned!(self.ty.span()=> #text => self.#name,))
    }

    /// What an engine is told of it.
    fn fact(&self) -> Option<TokenStream> {
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
    fn has_sample(&self) -> bool {
        let known = [
            "String", "Uuid", "i16", "i32", "i64", "isize", "u16", "u32", "u64", "usize", "i128",
            "u128",
        ];
        let is_known =
            |ty| last_segment(ty).is_some_and(|it| known.iter().any(|name| it.ident == name));
        match (self.kind(), self.value()) {
            (None | Some(FieldKind::Flag), _) => true,
            (Some(FieldKind::Members), (_, around)) if around.is_none() => false,
            (_, (ty, _)) => is_known(ty),
        }
    }

    /// Its value in a sample.
    fn sample(&self) -> Option<TokenStream> {
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

/// A rule, with the tokens of its action.
struct ObjectRule {
    action: Path,
    condition: Condition,
    /// The functions that it names, as texts and as the tokens of their calls.
    functions: Vec<(String, TokenStream)>,
}

fn read_rules(
    item: &ItemStruct,
    fields: &[Marked<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<ObjectRule> {
    let kinds: Vec<_> =
        fields.iter().filter_map(|field| Some((field.text(), field.kind()?))).collect();
    let mut rules: Vec<ObjectRule> = Vec::new();
    for tokens in arguments_of(&item.attrs, "rule", diagnostics) {
        let parsed = Parser::parse2(
            |input: syn::parse::ParseStream<'_>| {
                let action = input.call(Path::parse_mod_style)?;
                input.parse::<Token![=]>()?;
                Ok((action, input.parse::<TokenStream>()?))
            },
            tokens.clone(),
        );
        let (action, condition) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                diagnostics.syntax(error);
                continue;
            }
        };
        let name = action.to_token_stream().to_string();
        if rules.iter().any(|rule| rule.action.to_token_stream().to_string() == name) {
            diagnostics.rule(&action, Rule::ObjectRuleTwice, &name);
            continue;
        }
        let (mut read, mut spans) = (Vec::new(), Vec::new());
        condition_tokens(condition, &mut read, &mut spans);
        match Condition::parse(&read, Some(&kinds)) {
            Ok(condition) => {
                let functions = functions(&condition, &read, &spans, diagnostics);
                rules.push(ObjectRule { action, condition, functions });
            }
            Err(error) => {
                let at = spans.get(error.at).or(spans.last()).copied();
                let at = at.unwrap_or_else(|| action.span());
                diagnostics.error_at(at, error.rule, error.value, error.help);
            }
        }
    }
    let is_view =
        |rule: &ObjectRule| rule.action.segments.last().is_some_and(|it| it.ident == "View");
    if diagnostics.error_count() == 0 && !rules.iter().any(is_view) {
        diagnostics.rule(&item.ident, Rule::ObjectView, "");
    }
    rules
}

/// The tokens of a condition, each with its span.
fn condition_tokens(tokens: TokenStream, read: &mut Vec<ConditionToken>, spans: &mut Vec<Span>) {
    for token in tokens {
        let span = token.span();
        let token = match token {
            TokenTree::Group(group) => {
                let signs = match group.delimiter() {
                    Delimiter::Parenthesis => Some(['(', ')']),
                    Delimiter::Brace => Some(['{', '}']),
                    Delimiter::Bracket => Some(['[', ']']),
                    Delimiter::None => None,
                };
                if let Some([open, _]) = signs {
                    read.push(ConditionToken::Sign(open));
                    spans.push(group.span_open());
                }
                condition_tokens(group.stream(), read, spans);
                if let Some([_, close]) = signs {
                    read.push(ConditionToken::Sign(close));
                    spans.push(group.span_close());
                }
                continue;
            }
            TokenTree::Ident(word) => ConditionToken::Word(word.unraw().to_string()),
            TokenTree::Punct(sign) => ConditionToken::Sign(sign.as_char()),
            TokenTree::Literal(literal) => match syn::parse2::<LitStr>(literal.to_token_stream()) {
                Ok(text) => ConditionToken::Text(text.value()),
                Err(_) => ConditionToken::Sign('#'),
            },
        };
        read.push(token);
        spans.push(span);
    }
}

/// The functions of a condition, each with its call. Errors of the call are reported at `with`.
fn functions(
    condition: &Condition,
    read: &[ConditionToken],
    spans: &[Span],
    diagnostics: &mut Diagnostics,
) -> Vec<(String, TokenStream)> {
    let names = condition.atoms().into_iter().filter_map(|atom| match atom {
        Atom::With(path) => Some(path),
        _ => None,
    });
    let is_with = |token: &ConditionToken| *token == ConditionToken::Word("with".to_owned());
    let at = read.iter().position(is_with).and_then(|at| spans.get(at)).copied();
    let at = Span::call_site().located_at(at.unwrap_or_else(Span::call_site));
    let call = |name: &String| {
        let Ok(path) = syn::parse_str::<Path>(name) else {
            let help = "write the name of a function `fn(&Self, &Principal) -> bool`";
            diagnostics.error_at(at, Rule::ConditionMalformed, name, help);
            return None;
        };
        let call = quote_spanned!(at=> #path(self, __policy_caller));
        let spanned = call.into_iter().map(|mut token| {
            token.set_span(at);
            token
        });
        Some((name.clone(), spanned.collect()))
    };
    names.filter_map(call).collect()
}

struct Derived<'a> {
    item: &'a ItemStruct,
    options: Options,
    fields: &'a [Marked<'a>],
    key: &'a Marked<'a>,
    rules: Vec<ObjectRule>,
}

impl Derived<'_> {
    fn emit(&self) -> TokenStream {
        let Self { item, options, fields, key, rules } = self;
        let ty = &item.ident;
        let name = options.name.as_ref().map_or_else(|| ty.unraw().to_string(), LitStr::value);
        let parent = options.parent.as_ref().map_or_else(|| quote!(()), ToTokens::to_token_stream);
        let (key_type, key_column) = (key.ty, key.column());
        let listed = fields.iter().filter_map(Marked::field);
        let texts: Vec<_> = rules.iter().map(|rule| rule.condition.to_string()).collect();
        let actions: Vec<_> = rules.iter().map(|rule| &rule.action).collect();
        let places = actions
            .iter()
            .map(|action| quote_spanned!(action.span()=> (::core::file!(), ::core::line!())));
        let names = fields.iter().filter_map(Marked::names_arm);
        let flags = fields.iter().filter_map(Marked::flag_arm);
        let functions = self.functions();
        let version = fields.iter().find(|field| field.mark == Mark::Version).map(|field| {
            let (name, ty) = (field.name, field.ty);
            quote_spanned! {ty.span()=>
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
        let (key, fields) = (self.key.name, self.fields.iter().filter_map(Marked::fact));
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
        let stated: Vec<_> = self.fields.iter().filter_map(Marked::sample).collect();
        if let Some(function) = &self.options.sample {
            return quote! {
                let _ = &__policy_sample;
                ::core::option::Option::Some(Self { #(#stated)* ..#function() })
            };
        }
        if !self.fields.iter().all(Marked::has_sample) {
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
    let known = [
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16",
        "u32", "u64", "u128", "usize", "String", "Option", "Vec", "BTreeMap", "BTreeSet",
        "HashMap", "HashSet", "Duration",
    ];
    last_segment(ty).is_some_and(|segment| known.iter().any(|name| segment.ident == name))
}
