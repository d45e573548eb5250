//! `#[derive(Problems)]`. On a variant: `#[problem(404, code = "..", title = "..")]`, or `internal` or
//! `transparent` in place of the status, and `from`; on a field: `#[problem(member)]` or `member = ".."`;
//! on the enum: `#[problem(crate = path)]`.

use policy_core::{
    Rule,
    problem::{RESERVED_MEMBERS, check_code, check_status},
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, Expr, Field, Fields, Ident, ItemEnum, LitStr, Member, Path, Token, Type,
    ext::IdentExt, spanned::Spanned,
};

use crate::{
    diagnostics::Diagnostics,
    emit::{CratePath, option, panic_at},
    parse::{
        Inline, add_flag, arguments_of, number_of, peek_word, read_entries, read_part, read_string,
        report_repeated, set,
    },
};

/// Expands the derive on an enum.
pub fn expand(item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let item = match syn::parse2::<ItemEnum>(item) {
        Ok(item) if item.generics.params.is_empty() => item,
        other => {
            let parameters = other.map(|item| item.generics.params.to_token_stream());
            let at = parameters.map_or_else(|_| Span::call_site(), |it| it.span());
            diagnostics.rule_at(at, Rule::ProblemsEnum, "");
            return diagnostics.errors();
        }
    };
    let krate = CratePath::new(read_crate(&item.attrs, &mut diagnostics));
    let variants: Vec<_> =
        item.variants.iter().map(|variant| Variant::read(variant, &mut diagnostics)).collect();
    check_repeated(&variants, &mut diagnostics);
    let name = &item.ident;
    let conversions = variants.iter().map(|variant| variant.conversion(name));
    let body = if diagnostics.error_count() == 0 {
        implementation(name, &variants)
    } else {
        placeholder(name, &diagnostics.errors())
    };
    quote! {
        const _: () = {
            use #krate::codegen as __policy;
            #body
            #(#conversions)*
        };
    }
}

/// The path of the framework, if the enum names another.
fn read_crate(attrs: &[Attribute], diagnostics: &mut Diagnostics) -> Option<Path> {
    let mut krate = None;
    for tokens in arguments_of(attrs, "problem", diagnostics) {
        read_entries(tokens.clone(), diagnostics, |input, diagnostics| {
            if input.peek(Token![crate]) {
                let key = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                if !set(&mut krate, Some(input.call(Path::parse_mod_style)?)) {
                    report_repeated(&key, diagnostics);
                }
            } else {
                let entry: Expr = input.parse()?;
                let help = "the enum takes `crate = path::to::policy_server` only; each variant has \
                            a `#[problem(..)]` of its own";
                diagnostics.error(&entry, Rule::UnknownArgument, entry.to_token_stream(), help);
            }
            Ok(())
        });
    }
    krate
}

/// A variant, and the problem that it is sent as.
struct Variant<'a> {
    name: &'a Ident,
    fields: &'a Fields,
    args: Args,
    members: Vec<ShownField<'a>>,
}

/// A field that is a member of the problem.
struct ShownField<'a> {
    field: Member,
    ty: &'a Type,
    /// `member`, as it is written.
    word: Ident,
    name: String,
}

/// The arguments on a variant.
#[derive(Default)]
struct Args {
    status: Option<Status>,
    flags: Vec<Ident>,
    code: Option<LitStr>,
    title: Option<LitStr>,
}

/// A status, with its tokens.
struct Status {
    value: u16,
    tokens: TokenStream,
}

impl Inline for Args {
    const FLAGS: &'static [&'static str] = &["internal", "transparent", "from"];
    const PARTS: &'static [&'static str] = &["code", "title"];
    const POSSIBLE: &'static str = "possible are a status, `code = \"..\"` and `title = \"..\"`; `internal` or `transparent` instead of \
         them; and `from`";

    fn flag(&mut self, flag: Ident) -> bool {
        add_flag(&mut self.flags, flag)
    }

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let text = read_string(&value, &name, &Self::example(&name), diagnostics);
        set(if name == "code" { &mut self.code } else { &mut self.title }, text)
    }

    fn example(part: &str) -> String {
        match part {
            "code" => "write a code, such as `code = \"orders.sold-out\"`",
            _ => "write a text, such as `title = \"The order is sold out\"`",
        }
        .to_owned()
    }
}

impl Args {
    fn read(attrs: &[Attribute], diagnostics: &mut Diagnostics) -> Self {
        let mut args = Self::default();
        for tokens in arguments_of(attrs, "problem", diagnostics) {
            read_entries(tokens.clone(), diagnostics, |input, diagnostics| {
                if peek_word(input) {
                    let word = input.call(Ident::parse_any)?;
                    return read_part(&mut args, &word, input, diagnostics);
                }
                let value: Expr = input.parse()?;
                let Some(number) = number_of(&value) else {
                    let help = "write a status, such as `409`";
                    diagnostics.error(value, Rule::NumberExpected, "", help);
                    return Ok(());
                };
                let number = u16::try_from(number).unwrap_or_default();
                if let Err(rule) = check_status(number) {
                    diagnostics.rule(&value, rule, &value.to_token_stream().to_string());
                }
                let status = Status { value: number, tokens: value.to_token_stream() };
                if !set(&mut args.status, Some(status)) {
                    diagnostics.rule(value, Rule::ArgumentRepeated, "");
                }
                Ok(())
            });
        }
        args
    }

    fn flag_of(&self, names: &[&str]) -> Option<&Ident> {
        self.flags.iter().find(|flag| names.iter().any(|name| *flag == name))
    }

    /// The word that leaves the choice of the problem to something else.
    fn decided(&self) -> Option<&Ident> {
        self.flag_of(&["internal", "transparent"])
    }
}

impl<'a> Variant<'a> {
    fn read(variant: &'a syn::Variant, diagnostics: &mut Diagnostics) -> Self {
        let errors_before = diagnostics.error_count();
        let args = Args::read(&variant.attrs, diagnostics);
        let fields = variant.fields.iter().zip(variant.fields.members());
        let members = fields.filter_map(|(field, member)| shown_field(field, member, diagnostics));
        let members = members.collect();
        let read = Self { name: &variant.ident, fields: &variant.fields, args, members };
        if diagnostics.error_count() == errors_before {
            read.check(diagnostics);
        }
        read
    }

    fn check(&self, diagnostics: &mut Diagnostics) {
        let Args { status, code, title, flags } = &self.args;
        if let Some(decided) = self.args.decided() {
            let second = flags.iter().filter(|flag| *flag != decided && *flag != "from");
            let member_words = self.members.iter().map(|member| &member.word);
            let words = second.chain(member_words).map(ToTokens::to_token_stream);
            let status = status.iter().map(|status| status.tokens.clone());
            let texts = [code, title].into_iter().flatten().map(ToTokens::to_token_stream);
            for tokens in status.chain(texts).chain(words) {
                diagnostics.rule(tokens, Rule::ProblemDecided, "");
            }
        } else if status.is_none() {
            diagnostics.rule(self.name, Rule::ProblemMissing, &self.name.to_string());
        }
        if let Some(code) = code
            && let Err(rule) = check_code(&code.value())
        {
            diagnostics.rule(code, rule, &code.value());
        }
        if let Some(flag) = flags.first().filter(|_| self.fields.len() != 1) {
            diagnostics.rule(flag, Rule::ProblemField, &flag.to_string());
        }
        for (index, member) in self.members.iter().enumerate() {
            let is_taken = self.members.iter().take(index).any(|other| other.name == member.name);
            if is_taken || RESERVED_MEMBERS.contains(&&*member.name) {
                diagnostics.rule(&member.word, Rule::ProblemMember, &member.name);
            }
        }
    }

    /// The one field of a variant that has exactly one.
    fn field(&self) -> Option<(Member, &'a Type)> {
        let field = self.fields.iter().next().filter(|_| self.fields.len() == 1)?;
        Some((self.fields.members().next()?, &field.ty))
    }

    /// The type of an error that chooses its own problem.
    fn transparent(&self) -> Option<&'a Type> {
        self.args.flag_of(&["transparent"])?;
        self.field().map(|(_, ty)| ty)
    }

    /// The problem that its type declares for it, unless another type does.
    fn declared(&self) -> Option<TokenStream> {
        if let Some(decided) = self.args.decided() {
            let internal = quote!(__policy::policy_core::Refusal::Internal);
            return (decided == "internal")
                .then(|| quote!(__policy::DeclaredProblem::from_refusal(#internal)));
        }
        let (status, code) = (self.args.status.as_ref()?.value, option(self.args.code.as_ref()));
        let title = option(self.args.title.as_ref());
        Some(quote!(__policy::DeclaredProblem::new(#status, #code, #title)))
    }

    /// The arm that makes it a problem.
    fn arm(&self, of: &Ident) -> TokenStream {
        let name = self.name;
        if let Some(decided) = self.args.decided()
            && let Some((member, ty)) = self.field()
        {
            let into = match decided {
                word if word == "internal" => quote!(__policy::Problem::internal),
                _ => quote!(__policy::into_problem),
            };
            let problem = quote_spanned!(ty.span()=> #into(__policy_error));
            return quote!(#of::#name { #member: __policy_error } => #problem,);
        }
        let (declared, members) = (self.declared(), &self.members);
        let fields = members.iter().map(|member| &member.field);
        // Bound, so that the compiler does not call it unused: `from` is its use.
        let source = self.field().filter(|_| members.is_empty() && self.is_from());
        let source = source.map(|(member, _)| quote!(#member: __policy_error,));
        let bindings: Vec<_> =
            (0..members.len()).map(|index| format_ident!("__policy_{index}")).collect();
        let calls = members.iter().zip(&bindings).map(|(ShownField { ty, name, .. }, binding)| {
            quote_spanned!(ty.span()=> .with(#name, #binding))
        });
        let problem = quote!(__policy::Problem::from(#declared) #(#calls)*);
        quote!(#of::#name { #(#fields: #bindings,)* #source .. } => #problem,)
    }

    /// Whether `?` converts its one field to this variant.
    fn is_from(&self) -> bool {
        self.args.flag_of(&["from"]).is_some()
    }

    /// The conversion of its one field, if it has `from`.
    fn conversion(&self, of: &Ident) -> Option<TokenStream> {
        let ((member, ty), name) = (self.field().filter(|_| self.is_from())?, self.name);
        let value = match self.fields {
            Fields::Named(_) => quote!({ #member: __policy_error }),
            _ => quote!((__policy_error)),
        };
        Some(quote_spanned! {ty.span()=>
            #[automatically_derived]
            impl ::core::convert::From<#ty> for #of {
                fn from(__policy_error: #ty) -> Self {
                    Self::#name #value
                }
            }
        })
    }
}

/// The field as a member of the problem, if it is marked as one.
fn shown_field<'a>(
    field: &'a Field,
    member: Member,
    diagnostics: &mut Diagnostics,
) -> Option<ShownField<'a>> {
    let mut entry: Option<(Ident, Option<String>)> = None;
    for tokens in arguments_of(&field.attrs, "problem", diagnostics) {
        read_entries(tokens.clone(), diagnostics, |input, diagnostics| {
            let word = input.call(Ident::parse_any)?;
            if word != "member" {
                let possible = "possible are `member` and `member = \"name\"`";
                diagnostics.unknown(&word, Rule::UnknownWord, &word, possible);
                // Skips what follows it.
                return input.parse::<TokenStream>().map(drop);
            }
            let mut name = field.ident.as_ref().map(|name| name.unraw().to_string());
            if input.parse::<Option<Token![=]>>()?.is_some() {
                let help = "write a name, such as `member = \"order\"`";
                let value = input.parse()?;
                name = Some(
                    read_string(&value, "member", help, diagnostics)
                        .map_or_else(String::new, |it| it.value()),
                );
            }
            if entry.is_some() {
                report_repeated(&word, diagnostics);
            }
            entry = Some((word, name));
            Ok(())
        });
    }
    let (word, name) = entry?;
    if name.is_none() {
        diagnostics.rule(&word, Rule::ProblemMember, "");
    }
    Some(ShownField { field: member, ty: &field.ty, word, name: name.unwrap_or_default() })
}

/// Refuses a code that stands for two problems.
fn check_repeated(variants: &[Variant<'_>], diagnostics: &mut Diagnostics) {
    let meaning = |args: &Args| {
        let status = args.status.as_ref().map(|status| status.value);
        (status, args.title.as_ref().map(LitStr::value))
    };
    for (index, variant) in variants.iter().enumerate() {
        let Some(code) = &variant.args.code else { continue };
        let others = variants.iter().take(index).map(|other| &other.args);
        let is_same = |other: &&Args| other.code.as_ref().map(LitStr::value) == Some(code.value());
        let mut others = others.filter(is_same);
        if others.any(|other| meaning(other) != meaning(&variant.args)) {
            diagnostics.rule(code, Rule::ProblemCodeRepeated, &code.value());
        }
    }
}

fn implementation(name: &Ident, variants: &[Variant<'_>]) -> TokenStream {
    let arms = variants.iter().map(|variant| variant.arm(name));
    let declared = variants.iter().filter_map(Variant::declared);
    let transparent: Vec<_> = variants.iter().filter_map(Variant::transparent).collect();
    let lists: Vec<_> = transparent
        .iter()
        .map(|ty| quote_spanned!(ty.span()=> <#ty as __policy::Problems>::PROBLEMS))
        .collect();
    let assertions = transparent.iter().zip(&lists).map(|(ty, list)| {
        let panic = panic_at(&ty.to_token_stream());
        quote! {
            const _: () = match __POLICY_PROBLEMS.contradiction(#list) {
                ::core::option::Option::None => (),
                ::core::option::Option::Some(__policy_violation) => #panic,
            };
        }
    });
    let is_open = (!transparent.is_empty()).then(|| {
        let each = transparent.iter();
        let each = each.map(|ty| quote_spanned!(ty.span()=> <#ty as __policy::Problems>::IS_OPEN));
        quote!(const IS_OPEN: ::core::primitive::bool = #(#each)||*;)
    });
    quote! {
        const __POLICY_LISTS: &[&[__policy::DeclaredProblem]] = &[&[#(#declared),*], #(#lists),*];
        const __POLICY_PROBLEMS: &__policy::JoinedProblems<
            { __policy::JoinedProblems::<0>::total(__POLICY_LISTS) }
        > = &__policy::JoinedProblems::new(__POLICY_LISTS);
        #(#assertions)*
        #[automatically_derived]
        impl ::core::convert::From<#name> for __policy::Problem {
            fn from(__policy_error: #name) -> Self {
                match __policy_error { #(#arms)* }
            }
        }
        #[automatically_derived]
        impl __policy::Problems for #name {
            const PROBLEMS: &'static [__policy::DeclaredProblem] = __POLICY_PROBLEMS.as_slice();
            #is_open
        }
    }
}

/// The errors, and implementations that are never used, so that the compiler does not also report
/// missing ones.
fn placeholder(name: &Ident, errors: &TokenStream) -> TokenStream {
    quote! {
        #errors
        #[automatically_derived]
        impl ::core::convert::From<#name> for __policy::Problem {
            fn from(_: #name) -> Self {
                ::core::unreachable!()
            }
        }
        #[automatically_derived]
        impl __policy::Problems for #name {
            const PROBLEMS: &'static [__policy::DeclaredProblem] = &[];
        }
    }
}
