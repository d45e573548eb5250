//! The attributes of Policy, re-exported by `policy-server`, which is the crate to depend on and
//! where each of them is documented.
//!
//! A handler is an ordinary `async fn`; attributes state which requests it takes and which policies
//! apply, in any order. They become constant data next to the function, which itself stays
//! unchanged: it can be called, and tested, like any other.
//!
//! The macros contain no rules of their own. Literals are checked by the validators of
//! `policy-core` while the macro runs: all mistakes are reported at once, each on its own token;
//! values of named constants are checked by the same validators when the compiler evaluates
//! constants. Rules that only warn give a compiler warning, which `#[allow(deprecated)]` on the
//! handler silences.
//!
//! With `POLICY_MACROS_DEBUG=1` in its environment, the compiler prints every expansion.
#![expect(missing_docs, reason = "they are documented where `policy-server` re-exports them")]

mod attributes;
mod checks;
mod collect;
mod diagnostics;
mod directive;
mod emit;
mod endpoint;
mod expand;
#[cfg(test)]
mod golden;
mod item;
mod nearest;
mod parse;
mod routes;
mod signature;
mod type_names;

use directive::Directive;
use proc_macro::TokenStream;

macro_rules! attribute_macros {
    (
        routes: { $($route:ident $Route:ident,)* }
        policies: { $($policy:ident $Policy:ident,)* }
    ) => {
        $(
            #[proc_macro_attribute]
            pub fn $route(args: TokenStream, item: TokenStream) -> TokenStream {
                expand(Directive::$Route, args, item)
            }
        )*
        $(
            #[proc_macro_attribute]
            pub fn $policy(args: TokenStream, item: TokenStream) -> TokenStream {
                expand(Directive::$Policy, args, item)
            }
        )*
    };
}

directive::all_attributes!(attribute_macros);

#[proc_macro]
pub fn routes(input: TokenStream) -> TokenStream {
    print_if_debugging("routes", routes::expand(input.into()))
}

fn expand(directive: Directive, args: TokenStream, item: TokenStream) -> TokenStream {
    print_if_debugging(directive.name(), expand::attribute(directive, args.into(), item.into()))
}

/// Prints an expansion to stderr if `POLICY_MACROS_DEBUG=1` is set.
fn print_if_debugging(name: &str, expansion: proc_macro2::TokenStream) -> TokenStream {
    if std::env::var_os("POLICY_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("// {name}\n{expansion}\n");
    }
    expansion.into()
}
