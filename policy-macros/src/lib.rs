//! The attributes of Policy, re-exported by `policy-server`, which is the crate to depend on and
//! where each of them is documented. `policy-attributes` reads, checks and expands them.
//!
//! With `POLICY_MACROS_DEBUG=1` in its environment, the compiler prints every expansion.
#![expect(missing_docs, reason = "they are documented where `policy-server` re-exports them")]

use policy_attributes::Directive;
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

policy_attributes::all_attributes!(attribute_macros);

#[proc_macro]
pub fn routes(input: TokenStream) -> TokenStream {
    print_if_debugging("routes", policy_attributes::routes(input.into()))
}

#[proc_macro_derive(Object, attributes(object, rule))]
pub fn objects(item: TokenStream) -> TokenStream {
    print_if_debugging("Object", policy_attributes::objects(item.into()))
}

#[proc_macro_derive(Problems, attributes(problem))]
pub fn problems(item: TokenStream) -> TokenStream {
    print_if_debugging("Problems", policy_attributes::problems(item.into()))
}

fn expand(directive: Directive, args: TokenStream, item: TokenStream) -> TokenStream {
    let expansion = policy_attributes::attribute(directive, args.into(), item.into());
    print_if_debugging(directive.name(), expansion)
}

/// Prints an expansion to stderr if `POLICY_MACROS_DEBUG=1` is set.
fn print_if_debugging(name: &str, expansion: proc_macro2::TokenStream) -> TokenStream {
    if std::env::var_os("POLICY_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("// {name}\n{expansion}\n");
    }
    expansion.into()
}
