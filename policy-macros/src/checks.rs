//! Requirements stated at the types of a signature, so that the compiler reports each of them
//! there, with the message for that type: see `policy-server/src/handler/checks.rs`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{ReturnType, Type, spanned::Spanned};

use crate::{
    signature::Arguments,
    type_names::{Known, first_two_arguments, known_extractor, last_segment, mentions},
};

/// The type of an extractor. An extractor that does not depend on the state of an app is checked
/// here; any other can be checked only in the list of routes.
pub(crate) fn extractor(ty: &Type) -> TokenStream {
    let of = match known_extractor(ty) {
        None => return ty.to_token_stream(),
        Some(Known::Body) => quote!(OfBody),
        Some(Known::Head) => quote!(OfHead),
    };
    quote_spanned!(ty.span()=> <#ty as __policy::#of<__PolicyState>>::Argument)
}

/// Statements that have the same requirements as the one call into the library.
pub(crate) fn statements(arguments: &Arguments<'_>, output: &ReturnType) -> TokenStream {
    let mut statements = TokenStream::new();
    let mut state = |name: TokenStream, ty: &Type| {
        statements.extend(quote_spanned! {ty.span()=>
            #[allow(clippy::type_complexity, reason = "the type is that of the signature")]
            let _: ::core::option::Option<__policy::#name<#ty>> = ::core::option::Option::None;
        });
    };
    for ty in arguments.parameters.iter().filter(|ty| !is_parsed(ty)) {
        state(quote!(Parameter), ty);
    }
    if let ReturnType::Type(_, ty) = output {
        for part in returned_types(ty) {
            let segment = last_segment(part);
            match segment.map(|segment| segment.ident.to_string()).as_deref() {
                Some("Json") => state(quote!(ReturnedJson), part),
                // All of these are responses; `ErrorResponse` is one only as half of a `Result`.
                Some("Problem" | "String" | "StatusCode" | "Response" | "ErrorResponse") => (),
                // The call as a whole checks a type that is not a `Result`.
                Some(_) if !std::ptr::eq(part, &**ty) => state(quote!(Returned), part),
                _ => (),
            }
        }
    }
    statements
}

/// The return type of a handler, if it can be written elsewhere; otherwise it is inferred.
pub(crate) fn output(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) if is_opaque(ty) => quote!(_),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

fn is_opaque(ty: &Type) -> bool {
    mentions(ty.to_token_stream(), &|word| word == "impl")
}

/// Both halves of a `Result`, or the type itself.
fn returned_types(ty: &Type) -> Vec<&Type> {
    if is_opaque(ty) {
        return Vec::new();
    }
    let is_result = last_segment(ty).filter(|segment| segment.ident == "Result");
    match is_result.map(first_two_arguments) {
        Some((Some(good), Some(bad))) => [returned_types(good), returned_types(bad)].concat(),
        Some((Some(good), None)) => returned_types(good),
        _ => vec![ty],
    }
}

/// The types of most parameters, which need no requirement.
fn is_parsed(ty: &Type) -> bool {
    let known = ["String", "bool", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "Uuid"];
    last_segment(ty).is_some_and(|segment| known.iter().any(|known| segment.ident == known))
}
