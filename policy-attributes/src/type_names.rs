//! The facts that the name of a type reveals. A macro sees only the name: a type with the name of
//! an extractor is treated as that extractor.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Ident, PathArguments, PathSegment, Type, ext::IdentExt};

/// An extractor of this crate or of axum, whose type says what it extracts.
#[derive(Clone, Copy)]
pub(crate) enum KnownExtractor<'a> {
    /// From the body.
    Body,
    /// From the head.
    Head,
    /// This part of the app's state.
    State(&'a Type),
}

/// The extractors that are recognised by name, so that the compiler says what exactly they lack.
pub(crate) fn known_extractor(ty: &Type) -> Option<KnownExtractor<'_>> {
    if let Some(segment) = last_segment(ty).filter(|segment| segment.ident == "State") {
        return first_argument(segment).map(KnownExtractor::State);
    }
    match word_inside(ty)?.to_string().as_str() {
        "Json" | "Form" => Some(KnownExtractor::Body),
        "Query" => Some(KnownExtractor::Head),
        _ => None,
    }
}

/// Whether an extractor reads the body, judged by its name.
pub(crate) fn reads_body(ty: &Type) -> bool {
    let bodies = ["Json", "Form", "Bytes", "String", "Multipart", "Request"];
    word_inside(ty).is_some_and(|word| bodies.contains(&word.to_string().as_str()))
}

/// The types of numbers, characters and truth values.
pub(crate) const PRIMITIVES: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
    "u64", "u128", "usize",
];

/// Whether an argument is the object that a parameter of the path names.
pub(crate) fn is_object(ty: &Type) -> bool {
    is_named(ty, &["Allowed", "Locked"])
}

/// Whether a type has one of these names.
pub(crate) fn is_named(ty: &Type, names: &[&str]) -> bool {
    last_segment(ty).is_some_and(|segment| names.iter().any(|name| segment.ident == name))
}

/// The name of an extractor, also inside of `Option`, `Result`, `Valid` and `Decoded`.
pub(crate) fn word_inside(ty: &Type) -> Option<&Ident> {
    let last = last_segment(ty)?;
    match (last.ident.unraw().to_string().as_str(), first_argument(last)) {
        ("Option" | "Result" | "Valid" | "Decoded", Some(inner)) => word_inside(inner),
        _ => Some(&last.ident),
    }
}

/// The last segment of the path of a type.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The extractors that an argument combines: the members of its tuple, or its type.
pub(crate) fn members(ty: &Type) -> Vec<&Type> {
    match ty {
        Type::Group(group) => members(&group.elem),
        Type::Paren(paren) => members(&paren.elem),
        Type::Tuple(tuple) => tuple.elems.iter().flat_map(members).collect(),
        _ => vec![ty],
    }
}

/// The first type in the angle brackets.
fn first_argument(segment: &PathSegment) -> Option<&Type> {
    first_two_arguments(segment).0
}

/// The first two types in the angle brackets.
pub(crate) fn first_two_arguments(segment: &PathSegment) -> (Option<&Type>, Option<&Type>) {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return (None, None) };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    (types.next(), types.next())
}

/// A type as written, without the spaces between tokens.
pub(crate) fn type_text(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "").replace(',', ", ")
}

/// The words of a type as texts, which are compared faster than identifiers of the compiler.
pub(crate) fn words(ty: &Type) -> Vec<String> {
    fn add(tokens: TokenStream, words: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => words.push(word.to_string()),
                TokenTree::Group(group) => add(group.stream(), words),
                _ => (),
            }
        }
    }
    let mut words = Vec::new();
    add(ty.to_token_stream(), &mut words);
    words
}

/// Extractors that compile but find nothing: they read private values that axum's router adds to a
/// request. Also inside `Option` and `Result`.
pub(crate) fn useless_extractor(ty: &Type) -> Option<(String, &'static str)> {
    let last = last_segment(ty)?;
    let name = last.ident.unraw().to_string();
    match (name.as_str(), first_argument(last)) {
        ("Option" | "Result", Some(inner)) => useless_extractor(inner),
        ("Path", Some(_)) => Some((
            "Path<..>".to_owned(),
            "name each parameter as an argument, such as `id: u64` for `{id}`",
        )),
        ("RawPathParams", None) => {
            Some((name, "name each parameter as an argument, such as `id: String` for `{id}`"))
        }
        ("MatchedPath" | "NestedPath", None) => Some((name, "take `MatchedRoute`")),
        _ => None,
    }
}
