//! The common parts of the expansions.

use std::time::Duration;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, Path, spanned::Spanned};

use crate::parse::{List, number_of, string_of, strip_groups};

/// The expansion of the attributes of one handler.
#[derive(Default)]
pub(crate) struct Expansion {
    /// Constants that the compiler evaluates, which checks them.
    pub(crate) items: TokenStream,
    /// The assignments to fields of its `Description`.
    pub(crate) declarations: TokenStream,
    /// The constant with the layers of the handler, if it has any.
    pub(crate) layer: TokenStream,
}

impl Expansion {
    /// States one field of the policy.
    pub(crate) fn state(&mut self, field: &str, value: &TokenStream) {
        let (description, field) = (description(), Ident::new(field, Span::call_site()));
        self.declarations.extend(quote!(#description.policy.#field = #value;));
    }

    /// States one field of the description beside the policy.
    pub(crate) fn describe(&mut self, field: &str, value: &impl ToTokens) {
        let (description, field) = (description(), Ident::new(field, Span::call_site()));
        self.declarations.extend(quote!(#description.#field = #value;));
    }

    /// States one facet that levels share: this policy.
    pub(crate) fn set(&mut self, field: &str, policy: &TokenStream) {
        self.state(field, &quote!(__policy::Facet::Set(#policy)));
    }

    /// Sets one facet that levels share to no policy, regardless of the outer levels.
    pub(crate) fn set_none(&mut self, field: &str) {
        self.state(field, &quote!(__policy::Facet::None));
    }
}

/// The name of the `Description` in generated code.
pub(crate) fn description() -> Ident {
    Ident::new("__policy_description", Span::mixed_site())
}

/// The path of the framework in generated code: `::policy_server`, unless `crate = ..` names
/// another.
pub(crate) struct CratePath(Option<Path>);

impl CratePath {
    pub(crate) fn new(path: Option<Path>) -> Self {
        Self(path)
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, out: &mut TokenStream) {
        match &self.0 {
            Some(path) => path.to_tokens(out),
            None => quote!(::policy_server).to_tokens(out),
        }
    }
}

pub(crate) fn some(value: &impl ToTokens) -> TokenStream {
    quote!(::core::option::Option::Some(#value))
}

/// The `Some` or `None` of generated code.
pub(crate) fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(|| quote!(::core::option::Option::None), |value| some(&value))
}

/// A list as a `'static` slice, which needs a constant if it is not literal.
pub(crate) fn list(list: &List) -> TokenStream {
    let expr = &list.expr;
    if list.literals().is_some() {
        return quote!(&#expr);
    }
    let borrowed = quote_spanned!(Span::mixed_site().located_at(expr.span())=> &#expr);
    constant(&quote!(&[&::core::primitive::str]), &borrowed)
}

/// A text, which needs a constant if it is not literal.
pub(crate) fn text(expr: &Expr) -> TokenStream {
    if string_of(expr).is_some() {
        return expr.to_token_stream();
    }
    constant(&quote!(&::core::primitive::str), &expr.to_token_stream())
}

/// A number of seconds, which needs a constant when it is not literal.
pub(crate) fn seconds(expr: &Expr) -> TokenStream {
    if number_of(expr).is_some() {
        return expr.to_token_stream();
    }
    constant(&quote!(::core::primitive::i64), &expr.to_token_stream())
}

/// A time, in milliseconds.
pub(crate) fn duration(time: Duration) -> TokenStream {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_millis(#millis))
}

/// A value in a separate constant, so that a type mismatch is reported at the value and names both
/// types.
fn constant(ty: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!({
        const __POLICY_VALUE: #ty = #value;
        __POLICY_VALUE
    })
}

/// A constant whose evaluation validates a spec, and fails with these tokens. Nothing refers to it,
/// so that one mistake gives one error.
pub(crate) fn const_assertion(
    name: &Ident,
    spec: &TokenStream,
    failure: &TokenStream,
) -> TokenStream {
    quote! {
        const #name: () = match #spec.first_error() {
            ::core::option::Option::None => (),
            ::core::option::Option::Some(__policy_violation) => #failure,
        };
    }
}

/// The arms of a `match` on the part and the index of a violation, for one part: a panic for each
/// of its visible entries, and one for everything else.
pub(crate) fn panic_arms(
    part: &TokenStream,
    list: Option<&List>,
    tokens_of: impl Fn(usize) -> TokenStream,
) -> TokenStream {
    let entries = list.and_then(List::entries).map_or(0, Iterator::count);
    let mut arms = TokenStream::new();
    for index in 0..entries {
        let panic = panic_at(&tokens_of(index));
        arms.extend(quote!((#part, #index) => #panic,));
    }
    let panic = panic_at(&tokens_of(entries));
    arms.extend(quote!((#part, _) => #panic,));
    arms
}

/// A panic with the words of the violation, spanned from the first to the last of these tokens.
/// (`Span::join` is unstable; the call of a macro spans from its path to its delimiter.)
pub(crate) fn panic_at(tokens: &TokenStream) -> TokenStream {
    let tokens = match syn::parse2::<Expr>(tokens.clone()) {
        Ok(expr) => strip_groups(&expr).to_token_stream(),
        Err(_) => tokens.clone(),
    };
    let mut spans = tokens.into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    let last = spans.last().unwrap_or(first);
    let mut arguments =
        Group::new(Delimiter::Parenthesis, quote!("{}", __policy_violation.text().as_str()));
    arguments.set_span(last);
    let panic = quote_spanned!(first=> ::core::panic!);
    quote!(#panic #arguments)
}
