//! One attribute, expanded: the function as it was, its marker, and its endpoint.

use std::env;

use policy_core::Rule;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Visibility;

use crate::{
    collect::{self, CollectedAttributes},
    diagnostics::Diagnostics,
    directive::{Directive, ParsedAttribute},
    endpoint::Endpoint,
    item::{Function, Handler},
    signature::Arguments,
};

/// Expands one attribute of Policy on an item.
pub fn attribute(directive: Directive, args: TokenStream, item: TokenStream) -> TokenStream {
    if collect::is_use_marker(&args, &item) {
        return TokenStream::new();
    }
    if directive.is_route() {
        let tokens = Ident::new(directive.name(), Span::call_site()).into_token_stream();
        route(ParsedAttribute { directive, tokens, args }, item)
    } else {
        collect::requeue(directive, &args, item)
    }
}

fn route(first: ParsedAttribute, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let name = first.directive.name();
    let Ok(Handler { attrs, rest, function }) = Handler::read(item.clone()) else { return item };
    let mut collected = CollectedAttributes::take(first, attrs, &mut diagnostics);
    let others = &collected.others;
    let item = quote!(#(#others)* #rest);
    let function = match function {
        Ok(function) if function.sig.receiver().is_none() => function,
        Ok(function) => {
            // Inside an `impl` only the function and the errors can be emitted.
            Arguments::fit(&function.sig, &[], &mut diagnostics);
            let errors = diagnostics.errors();
            return quote!(#item #errors);
        }
        Err(_) => {
            let value = format_args!("#[{name}]");
            diagnostics.rule_at(Span::call_site(), Rule::HandlerFunction, value);
            let errors = diagnostics.errors();
            return quote!(#item #errors);
        }
    };
    let endpoint = Endpoint::read(&mut collected, &function, &mut diagnostics);
    let conditions = collected.conditions();
    let conditions = quote!(#(#conditions)*);
    let use_markers = &collected.use_markers;
    let marker = marker(&function);
    let warnings = diagnostics.warnings(&collected.conditions_and_allows());
    let endpoint = if diagnostics.error_count() == 0 {
        endpoint.implementation()
    } else {
        endpoint.placeholder(&diagnostics.errors())
    };
    quote! {
        #item
        #conditions
        #marker
        #(#conditions #use_markers)*
        #warnings
        #conditions
        const _: () = { #endpoint };
    }
}

/// The type for the handler in `routes![..]`. With braces it is only in the type namespace, so that
/// the function stays callable. It is always emitted: a wrong attribute must not cause a second
/// error in the list.
///
/// It has the span of the handler, so the compiler's warning about types that are never constructed
/// points at a handler that no list names, even if other code calls it. No other crate can name a
/// handler of a program, so `pub` must not silence the warning there.
fn marker(Function { vis, sig }: &Function) -> TokenStream {
    let name = &sig.ident;
    let vis = match vis {
        Visibility::Public(public) if is_program() => quote_spanned!(public.span=> pub(crate)),
        other => other.to_token_stream(),
    };
    let item = quote_spanned!(name.span()=> struct #name {});
    quote! {
        #[doc(hidden)]
        #[allow(
            non_camel_case_types,
            missing_copy_implementations,
            missing_debug_implementations,
            unreachable_pub,
            clippy::empty_structs_with_brackets,
            clippy::exhaustive_structs
        )]
        #vis #item
    }
}

/// Whether cargo builds a program and not a library; `false` for tools that do not state it.
fn is_program() -> bool {
    env::var_os("CARGO_BIN_NAME").is_some()
}
