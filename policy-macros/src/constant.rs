//! A CORS policy as a constant that the compiler checks while it evaluates it.

use policy_core::cors::Field;
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, spanned::Spanned};

use crate::args::{
    List,
    cors::{OriginsArg, Written, number_of},
    peeled,
};

/// The items that hold a policy, and the expression for it. Where everything was seen while the
/// macro ran, that is all. Otherwise the compiler evaluates the items, and so checks the policy by
/// the rules once more: this time also what is behind names.
///
/// What fails is a constant that nothing refers to, or the compiler would complain about every
/// place that does. Its name stands in the message.
pub(crate) fn written(written: &Written, name: &Ident) -> (TokenStream, TokenStream) {
    let cors = quote!(__policy::policy_core::cors);
    let facet = quote!(__policy::policy_core::route::Facet);
    let spec = spec(written, &cors);
    if Field::ALL.into_iter().all(|field| written.is_visible(field)) {
        return (TokenStream::new(), quote!(#facet::Set(#cors::CorsPolicy::expanded(#spec))));
    }
    let failure = failure(written);
    let items = quote! {
        const __POLICY_CORS: ::core::result::Result<#cors::CorsPolicy, #cors::Violation<'static>> =
            #cors::CorsPolicy::checked(#spec);
        const #name: () = match __POLICY_CORS {
            ::core::result::Result::Ok(_) => (),
            ::core::result::Result::Err(__policy_violation) => #failure,
        };
    };
    let value = quote! {
        match __POLICY_CORS {
            ::core::result::Result::Ok(__policy_checked) => #facet::Set(__policy_checked),
            ::core::result::Result::Err(_) => #facet::None,
        }
    };
    (items, value)
}

/// The same for the value of an expression, which is a policy already, and checked itself.
pub(crate) fn shared(expr: &Expr, name: &Ident) -> (TokenStream, TokenStream) {
    let items = quote!(const #name: __policy::policy_core::cors::CorsPolicy = #expr;);
    (items, quote!(__policy::policy_core::route::Facet::Set(#name)))
}

fn spec(written: &Written, cors: &TokenStream) -> TokenStream {
    let origins = origins(written.origins.as_ref());
    let spec = quote!(#cors::CorsSpec::new(#cors::Origins::#origins));
    let parts = parts(written);
    if parts.is_empty() { spec } else { quote!(#cors::CorsSpec { #(#parts,)* ..#spec }) }
}

fn origins(origins: Option<&OriginsArg>) -> TokenStream {
    match origins {
        Some(OriginsArg::Listed(origins)) => {
            let origins = list(origins);
            quote!(Listed(#origins))
        }
        Some(OriginsArg::AtRunTime { name, within, .. }) => {
            let within = match within {
                Some(within) => some(&list(within)),
                None => quote!(::core::option::Option::None),
            };
            quote!(AtRunTime { name: #name, within: #within })
        }
        Some(OriginsArg::Unreadable) | None => quote!(Listed(&[])),
    }
}

/// The fields of the spec that say something.
fn parts(written: &Written) -> Vec<TokenStream> {
    let methods = written.methods.as_ref().map(|methods| some(&list(methods)));
    let headers = written.headers.as_ref().map(list);
    let expose = written.expose.as_ref().map(list);
    let max_age = written.max_age.as_ref().map(|value| some(&seconds(value)));
    let flags = written.flags.iter().map(|flag| quote!(#flag: true));
    let values = [
        methods.map(|value| quote!(methods: #value)),
        headers.map(|value| quote!(headers: #value)),
        expose.map(|value| quote!(expose: #value)),
        max_age.map(|value| quote!(max_age: #value)),
    ];
    flags.chain(values.into_iter().flatten()).collect()
}

pub(crate) fn some(value: &TokenStream) -> TokenStream {
    quote!(::core::option::Option::Some(#value))
}

/// A list as a slice that lives forever, which needs a constant when it is not literal.
pub(crate) fn list(list: &List) -> TokenStream {
    let expr = &list.expr;
    if list.literals().is_some() {
        return quote!(&#expr);
    }
    let borrowed = quote_spanned!(Span::mixed_site().located_at(expr.span())=> &#expr);
    constant(&quote!(&[&::core::primitive::str]), &borrowed)
}

fn seconds(expr: &Expr) -> TokenStream {
    if number_of(expr).is_some() {
        return expr.to_token_stream();
    }
    constant(&quote!(::core::primitive::i64), &expr.to_token_stream())
}

/// A value in a constant of its own, so that another type is reported at the value, and in so
/// many words.
fn constant(ty: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!({
        const __POLICY_VALUE: #ty = #value;
        __POLICY_VALUE
    })
}

/// A constant whose evaluation asks the rules about a spec, and fails with these tokens. Nothing
/// refers to it, so that one mistake is one error.
pub(crate) fn asked(name: &Ident, spec: &TokenStream, failure: &TokenStream) -> TokenStream {
    quote! {
        const #name: () = match #spec.first_error() {
            ::core::option::Option::None => (),
            ::core::option::Option::Some(__policy_violation) => #failure,
        };
    }
}

/// One panic for each part that could not be seen while the macro ran, with the spans of that
/// part, so that the compiler underlines it. The parts that could be seen have no violations.
fn failure(written: &Written) -> TokenStream {
    let otherwise = panic_at(&written.place);
    let mut arms = TokenStream::new();
    for field in Field::ALL.into_iter().filter(|field| !written.is_visible(*field)) {
        let variant = format_ident!("{}", variant(field));
        let field_path = quote!(__policy::policy_core::cors::Field::#variant);
        let entries = written.list(field).and_then(List::entries).map_or(0, Iterator::count);
        for index in 0..entries {
            let panic = panic_at(&written.place_of(field, index));
            arms.extend(quote!((#field_path, #index) => #panic,));
        }
        let panic = panic_at(&written.place_of(field, entries));
        arms.extend(quote!((#field_path, _) => #panic,));
    }
    if arms.is_empty() {
        return otherwise;
    }
    quote! {
        match (__policy_violation.field, __policy_violation.index) {
            #arms
            _ => #otherwise,
        }
    }
}

fn variant(field: Field) -> &'static str {
    match field {
        Field::Origins => "Origins",
        Field::Within => "Within",
        Field::Methods => "Methods",
        Field::Headers => "Headers",
        Field::Expose => "Expose",
        Field::MaxAge => "MaxAge",
    }
}

/// A panic with the words of the violation, spanned from the first to the last of these tokens.
/// (`Span::join` is unstable; the call of a macro spans from its path to its delimiter.)
pub(crate) fn panic_at(place: &TokenStream) -> TokenStream {
    let place = match syn::parse2::<Expr>(place.clone()) {
        Ok(expr) => peeled(&expr).to_token_stream(),
        Err(_) => place.clone(),
    };
    let mut spans = place.into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    let last = spans.last().unwrap_or(first);
    let mut arguments =
        Group::new(Delimiter::Parenthesis, quote!("{}", __policy_violation.text().as_str()));
    arguments.set_span(last);
    let panic = quote_spanned!(first=> ::core::panic!);
    quote!(#panic #arguments)
}
