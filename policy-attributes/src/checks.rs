//! Requirements stated at the types of a signature, so that the compiler reports each of them
//! there, with the message for that type: see `policy-server/src/handler/checks.rs`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericArgument, Ident, PathArguments, PathSegment, ReturnType, Type, spanned::Spanned};

use crate::{
    signature::{Arguments, Extractor},
    type_names::{KnownExtractor, first_two_arguments, is_named, last_segment, words},
};

/// The type of an extractor in the one call. An extractor that does not depend on the state of an app
/// is checked here; any other can be checked only in the list of routes.
pub(crate) struct ExtractorType<'a>(pub(crate) &'a Extractor<'a>);

impl ToTokens for ExtractorType<'_> {
    fn to_tokens(&self, out: &mut TokenStream) {
        let Self(Extractor { ty, known }) = self;
        let of = match known {
            None | Some(KnownExtractor::State(_)) => return ty.to_tokens(out),
            Some(KnownExtractor::Body) => "OfBody",
            Some(KnownExtractor::Head) => "OfHead",
        };
        let of = Ident::new(of, ty.span());
        quote_spanned!(ty.span()=> <#ty as __policy::#of<__PolicyState>>::Argument).to_tokens(out);
    }
}

/// Statements that have the same requirements as the one call into the library.
pub(crate) fn statements(arguments: &Arguments<'_>, output: &ReturnType) -> TokenStream {
    let mut statements = TokenStream::new();
    let mut state = |name: &str, ty: &Type| {
        let name = Ident::new(name, ty.span());
        statements.extend(quote_spanned!(ty.span()=> let _: __policy::#name<#ty>;));
    };
    for parameter in &arguments.parameters {
        // For an object, the implementation has a bound.
        if !parameter.is_object && !is_parsed(parameter.ty) {
            state("Parameter", parameter.ty);
        }
    }
    for extractor in &arguments.extractors {
        if let Some(KnownExtractor::State(part)) = extractor.known {
            state("OfState", part);
        }
    }
    let ReturnType::Type(_, ty) = output else { return statements };
    if is_opaque(ty) {
        return statements;
    }
    let result = last_segment(ty).filter(|segment| segment.ident == "Result");
    let (value, error) = result.map_or((Some(&**ty), None), first_two_arguments);
    for part in [value, error].into_iter().flatten() {
        if is_named(part, &["Json"]) {
            state("ReturnedJson", part);
        } else if result.is_some() && fallible(output).is_none() && !is_response(part) {
            state("ReturnedValue", part);
        }
    }
    statements
}

/// The return type of a handler, if it can be written elsewhere; otherwise it is inferred.
pub(crate) fn output(output: &ReturnType) -> TokenStream {
    named_output(output).unwrap_or_else(|| quote!(_))
}

/// The return type of a handler, if it can be written elsewhere.
pub(crate) fn named_output(output: &ReturnType) -> Option<TokenStream> {
    match output {
        ReturnType::Default => Some(quote!(())),
        ReturnType::Type(_, ty) => (!is_opaque(ty)).then(|| ty.to_token_stream()),
    }
}

/// The return type of a handler, if it states the form of the response. A stream of events states it,
/// whatever the type of the events.
pub(crate) fn described_output(output: &ReturnType) -> Option<TokenStream> {
    named_output(output).or_else(|| {
        let mut output = output.clone();
        if let ReturnType::Type(_, ty) = &mut output {
            name_events(ty);
        }
        named_output(&output)
    })
}

/// Gives a name to the type in `Sse<impl Stream<..>>`.
fn name_events(ty: &mut Type) {
    let Type::Path(path) = ty else { return };
    let Some(PathSegment { ident, arguments }) = path.path.segments.last_mut() else { return };
    let PathArguments::AngleBracketed(arguments) = arguments else { return };
    for argument in &mut arguments.args {
        match argument {
            GenericArgument::Type(ty) if ident == "Sse" && is_opaque(ty) => {
                *ty = Type::Verbatim(quote!(()));
            }
            GenericArgument::Type(ty) => name_events(ty),
            _ => (),
        }
    }
}

/// The value and the error of a `Result`, at which the compiler reports what it lacks, unless the
/// error is known to be a response. An alias of `Result` is recognised by its name.
pub(crate) fn fallible(output: &ReturnType) -> Option<(&Type, &Type)> {
    let ReturnType::Type(_, ty) = output else { return None };
    let segment = last_segment(ty)?;
    let (value, error) = first_two_arguments(segment);
    let is_known = segment.ident == "Result" && error.is_some_and(is_response);
    let is_result = segment.ident.to_string().ends_with("Result") && !is_known;
    is_result.then(|| (value.unwrap_or(ty), error.unwrap_or(ty)))
}

/// Whether a type is a response, judged by its name. A type without one is no error type of an app.
fn is_response(ty: &Type) -> bool {
    // `ErrorResponse` is one as the error of a `Result`.
    let known = ["ErrorResponse", "Json", "Problem", "Response", "StatusCode", "String"];
    last_segment(ty).is_none() || is_named(ty, &known)
}

fn is_opaque(ty: &Type) -> bool {
    words(ty).iter().any(|word| word == "impl")
}

/// The types of most parameters, which need no requirement.
fn is_parsed(ty: &Type) -> bool {
    let known = ["String", "bool", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "Uuid"];
    is_named(ty, &known)
}
