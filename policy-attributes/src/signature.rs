//! The requirements for the signature of a handler, and the source of each argument.

use std::ptr;

use policy_core::{
    Rule,
    route::{MAX_EXTRACTORS, MAX_PARAMETERS},
};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    FnArg, Ident, LitStr, Pat, PatType, ReturnType, Safety, Signature, Type, ext::IdentExt,
    spanned::Spanned,
};

use crate::{
    attributes::route,
    diagnostics::Diagnostics,
    type_names::{
        KnownExtractor, PRIMITIVES, is_named, is_object, known_extractor, members, reads_body,
        type_text, useless_extractor, word_inside, words,
    },
};

/// The arguments of a handler, grouped by source.
#[derive(Default)]
pub(crate) struct Arguments<'a> {
    /// The path parameters, in the order of the path.
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// All other arguments, in the order of the handler.
    pub(crate) extractors: Vec<Extractor<'a>>,
    /// Every argument, in the order of the handler.
    pub(crate) order: Vec<Source>,
    /// The type of an extractor that is a `Principal` or a `Caller`, alone or in a tuple.
    pub(crate) principal: Option<&'a Type>,
    /// The type of an extractor that is or contains a `Principal`.
    pub(crate) user: Option<&'a Type>,
    /// Whether an extractor is or contains a `Session`, `Sessions` or a `CsrfToken`, which belongs
    /// to a session.
    pub(crate) takes_session: bool,
}

/// An argument that is extracted from a request.
pub(crate) struct Extractor<'a> {
    pub(crate) ty: &'a Type,
    /// What its name reveals.
    pub(crate) known: Option<KnownExtractor<'a>>,
}

/// A parameter of the path, with the type of the argument that takes it.
pub(crate) struct Parameter<'a> {
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
    /// Whether the argument is the object that it names.
    pub(crate) is_object: bool,
    /// The type of the object before it.
    pub(crate) previous: Option<&'a Type>,
}

impl Parameter<'_> {
    /// The type that is parsed from the path.
    pub(crate) fn text_type(&self) -> TokenStream {
        let ty = self.ty;
        if !self.is_object {
            return ty.to_token_stream();
        }
        let object = self.object();
        quote_spanned!(ty.span()=> <#ty as #object>::Key)
    }

    /// The type of the object before it, or `()`.
    pub(crate) fn previous(&self) -> TokenStream {
        self.previous.map_or_else(|| quote!(()), ToTokens::to_token_stream)
    }

    /// The trait of an object after `previous`. A bound that ends with it is reported at the whole
    /// type.
    pub(crate) fn object(&self) -> TokenStream {
        let previous = self.previous();
        let last = self.ty.to_token_stream().into_iter().last();
        let end = last.map_or_else(|| self.ty.span(), |token| token.span());
        quote_spanned!(end=> __policy::ObjectArgument<#previous>)
    }
}

/// The source of one argument.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// This parameter of the path.
    Parameter(usize),
    /// The extractor of this position.
    Extractor(usize),
}

impl<'a> Arguments<'a> {
    /// Fits the arguments of a function to the paths of its routes.
    pub(crate) fn fit(sig: &'a Signature, paths: &[LitStr], diagnostics: &mut Diagnostics) -> Self {
        check_shape(sig, diagnostics);
        check_tuple(&sig.output, diagnostics);
        let arguments: Vec<Argument<'a>> = sig
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Typed(typed) => Some(Argument::new(typed)),
                FnArg::Receiver(_) => None,
            })
            .collect();
        let errors_before = diagnostics.error_count();
        let names = parameters(paths, &arguments, diagnostics);
        let is_path_read = diagnostics.error_count() == errors_before;
        let mut fitted = Self::default();
        let takers = takers(&names, &arguments);
        // The parameter of the path that an argument takes.
        let parameter_of = |argument: &Argument<'_>| {
            takers.iter().position(|taker| taker.is_some_and(|it| ptr::eq(it, argument)))
        };
        let is_free =
            |argument: &&Argument<'_>| parameter_of(argument).is_none() && argument.is_parsed();
        let mut misnamed = arguments.iter().filter(is_free);
        let mut is_misnamed = false;
        for (name, taker) in names.iter().zip(&takers) {
            match taker {
                Some(argument) => fitted.parameters.push(Parameter {
                    name: name.clone(),
                    ty: argument.ty,
                    is_object: is_object(argument.ty),
                    previous: fitted.parameters.iter().rfind(|it| it.is_object).map(|it| it.ty),
                }),
                None => {
                    let argument = misnamed.next();
                    is_misnamed |= argument.is_some();
                    missing_argument(name, argument, sig, paths, diagnostics);
                }
            }
        }
        if let (Some(path), true) = (paths.first(), names.len() > MAX_PARAMETERS) {
            let count = names.len();
            diagnostics.error(
                path,
                Rule::ParametersTooMany,
                "",
                format_args!(
                    "write {MAX_PARAMETERS} of the {count} parameters, or take the rest of the \
                     path as `{{*rest}}` and split it in the handler"
                ),
            );
        }
        for argument in &arguments {
            let words = words(argument.ty);
            check_type(argument, &words, diagnostics);
            if let Some(position) = parameter_of(argument) {
                fitted.order.push(Source::Parameter(position));
                continue;
            }
            if is_path_read && is_object(argument.ty) {
                diagnostics.rule(argument.ty, Rule::ObjectWithoutParameter, "");
            }
            if is_path_read && !is_misnamed {
                check_parsed(argument, paths, diagnostics);
            }
            if fitted.extractors.len() == MAX_EXTRACTORS {
                diagnostics.error(
                    argument.tokens,
                    Rule::ArgumentsTooMany,
                    "",
                    format_args!(
                        "write {MAX_EXTRACTORS} beside path parameters, and put several \
                         extractors into one tuple argument, such as \
                         `(method, headers): (Method, HeaderMap)`"
                    ),
                );
            }
            fitted.order.push(Source::Extractor(fitted.extractors.len()));
            fitted.add_extractor(argument.ty, &words);
        }
        fitted.check_bodies(diagnostics);
        fitted
    }

    fn add_extractor(&mut self, ty: &'a Type, words: &[String]) {
        let mentions = |name: &str| words.iter().any(|word| word == name);
        self.extractors.push(Extractor { ty, known: known_extractor(ty) });
        self.principal = self.principal.or_else(|| principal_in(ty));
        self.user = self.user.or_else(|| mentions("Principal").then_some(ty));
        self.takes_session |= ["Session", "Sessions", "CsrfToken"].into_iter().any(mentions);
    }

    /// Only the last argument can have the body.
    fn check_bodies(&self, diagnostics: &mut Diagnostics) {
        let Some((Extractor { ty: last, .. }, before)) = self.extractors.split_last() else {
            return;
        };
        for Extractor { ty, .. } in before.iter().filter(|extractor| reads_body(extractor.ty)) {
            if reads_body(last) {
                let help = format_args!(
                    "take `{}` or `{}`, with all fields in one type",
                    type_text(ty),
                    type_text(last)
                );
                diagnostics.error(ty, Rule::BodyTwice, type_text(ty), help);
            } else {
                let help = format_args!("move it behind `{}`", type_text(last));
                diagnostics.error(ty, Rule::BodyNotLast, type_text(ty), help);
            }
        }
    }

    /// The type of the first parameter that is taken without an object.
    pub(crate) fn plain(&self) -> Option<&'a Type> {
        self.parameters.iter().find(|it| !it.is_object).map(|it| it.ty)
    }

    /// Whether a path parameter is an object.
    pub(crate) fn takes_objects(&self) -> bool {
        self.parameters.iter().any(|it| it.is_object)
    }

    /// Whether an argument is read from the fields of a body or a query.
    pub(crate) fn takes_fields(&self) -> bool {
        let is_read = |ty: &Type| {
            matches!(known_extractor(ty), Some(KnownExtractor::Body | KnownExtractor::Head))
        };
        self.extractors.iter().flat_map(|it| members(it.ty)).any(is_read)
    }

    /// The type of an argument that reads nothing but the body. (A form is read from the query of a
    /// GET.)
    pub(crate) fn body(&self) -> Option<&'a Type> {
        let is_body =
            |word: &Ident| ["Json", "Bytes", "String", "Multipart"].iter().any(|it| word == it);
        let last = members(self.extractors.last()?.ty);
        last.into_iter().find(|ty| word_inside(ty).is_some_and(is_body))
    }
}

struct Argument<'a> {
    tokens: &'a PatType,
    /// Its name, unless it is a pattern.
    name: Option<String>,
    ty: &'a Type,
}

impl<'a> Argument<'a> {
    fn new(tokens: &'a PatType) -> Self {
        let name = match &*tokens.pat {
            Pat::Ident(pattern) => Some(pattern.ident.unraw().to_string()),
            _ => None,
        };
        Self { tokens, name, ty: &tokens.ty }
    }

    /// Whether its type is one that only a path has.
    fn is_parsed(&self) -> bool {
        word_inside(self.ty).is_some_and(|word| PRIMITIVES.contains(&word.to_string().as_str()))
    }

    /// The argument that takes a parameter of the path: the one with its name, or with its name
    /// after an underscore, as for unused arguments in Rust.
    fn taking<'s>(name: &str, arguments: &'s [Self]) -> Option<&'s Self> {
        let names = [name.to_owned(), format!("_{name}")];
        let find = |name: &String| arguments.iter().find(|it| it.name.as_ref() == Some(name));
        names.iter().find_map(find)
    }
}

/// The argument that takes each parameter: the one of its name; otherwise, in their order, the objects
/// that have another name.
fn takers<'s, 'a>(
    names: &[String],
    arguments: &'s [Argument<'a>],
) -> Vec<Option<&'s Argument<'a>>> {
    let taker = |name: &String| {
        // `_id` takes `{_id}` and not also `{id}`.
        Argument::taking(name, arguments)
            .filter(|it| it.name.as_ref().is_none_or(|own| own == name || !names.contains(own)))
    };
    let mut takers: Vec<_> = names.iter().map(taker).collect();
    let is_free = |argument: &&Argument<'a>| {
        is_object(argument.ty) && !takers.iter().flatten().any(|it| ptr::eq(*it, *argument))
    };
    let free: Vec<_> = arguments.iter().filter(is_free).collect();
    takers.iter_mut().filter(|taker| taker.is_none()).zip(free).for_each(|(taker, argument)| {
        *taker = Some(argument);
    });
    takers
}

fn check_shape(sig: &Signature, diagnostics: &mut Diagnostics) {
    let name = &sig.ident;
    if sig.asyncness.is_none() {
        let help = format_args!("write `async fn {name}`");
        diagnostics.error(sig.fn_token, Rule::HandlerAsync, "", help);
    }
    if !matches!(sig.safety, Safety::Default) {
        diagnostics.rule(&sig.safety, Rule::HandlerUnsafe, "");
    }
    if !sig.generics.params.is_empty() {
        diagnostics.rule(&sig.generics, Rule::HandlerGeneric, "");
    }
    if let Some(clause) = &sig.generics.where_clause {
        diagnostics.rule(clause, Rule::HandlerWhere, "");
    }
    if let Some(receiver) = sig.receiver() {
        diagnostics.rule(receiver, Rule::HandlerMethod, "");
    }
}

/// Refuses a returned tuple in which something follows the body.
fn check_tuple(output: &ReturnType, diagnostics: &mut Diagnostics) {
    let ReturnType::Type(_, ty) = output else { return };
    let Type::Tuple(tuple) = &**ty else { return };
    let before_last = tuple.elems.iter().rev().skip(1);
    for ty in before_last.filter(|ty| is_named(ty, &["Json", "Html", "String"])) {
        let help = "what has a body is the last in a tuple, such as `(StatusCode, Json<T>)`";
        diagnostics.error(ty, Rule::ResponseExpected, type_text(ty), help);
    }
}

/// The parameters that all paths share; empty when one of them is wrong.
fn parameters(
    paths: &[LitStr],
    arguments: &[Argument<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<String> {
    let is_argument = |name: &str| Argument::taking(name, arguments).is_some();
    let mut shared: Option<Vec<String>> = None;
    for path in paths {
        route::foreign_parameters(path, is_argument, diagnostics);
        let Some(names) = route::path(path, diagnostics) else { continue };
        match &shared {
            None => shared = Some(names),
            Some(shared) if *shared != names => diagnostics.error(
                path,
                Rule::HandlerPaths,
                "",
                format_args!("{}, as in the first path", join_names(shared)),
            ),
            Some(_) => (),
        }
    }
    shared.unwrap_or_default()
}

fn join_names(names: &[String]) -> String {
    if names.is_empty() {
        return "write none".to_owned();
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{{{name}}}`")).collect();
    format!("write {}", names.join(", "))
}

/// `free` is an argument that may have been meant.
fn missing_argument(
    name: &str,
    free: Option<&Argument<'_>>,
    sig: &Signature,
    paths: &[LitStr],
    diagnostics: &mut Diagnostics,
) {
    let Some(path) = paths.first() else { return };
    let help = match free.and_then(|argument| argument.name.as_ref()) {
        Some(free) => format!("write `{{{free}}}`, or name the argument `{name}`"),
        None => format!("add `{name}: <type>` to `{}`", sig.ident),
    };
    diagnostics.error(path, Rule::ParameterNotTaken, name, help);
}

fn check_type(argument: &Argument<'_>, words: &[String], diagnostics: &mut Diagnostics) {
    for attr in &argument.tokens.attrs {
        if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            diagnostics.rule(attr, Rule::ArgumentConditional, "");
        }
    }
    if let Type::Reference(reference) = argument.ty {
        diagnostics.rule(reference, Rule::ArgumentBorrowed, "");
    } else if words.iter().any(|word| word == "impl") {
        diagnostics.error(
            argument.ty,
            Rule::HandlerGeneric,
            "",
            "name the type in place of `impl ..`; a request cannot choose it",
        );
    }
    for ty in members(argument.ty) {
        if let Some((name, help)) = useless_extractor(ty) {
            diagnostics.error(ty, Rule::ExtractorOfAxum, name, help);
        }
    }
}

/// Refuses arguments of types such as numbers that no path names: nothing can fill them.
fn check_parsed(argument: &Argument<'_>, paths: &[LitStr], diagnostics: &mut Diagnostics) {
    let Some(path) = paths.first().filter(|_| argument.is_parsed()) else { return };
    let name = argument.name.as_deref().unwrap_or("name");
    let path = path.value();
    let path = path.trim_end_matches('/');
    // Nothing can follow the rest of a path.
    let (path, rest) = path.split_at(path.rfind("/{*").unwrap_or(path.len()));
    let help = format_args!(
        "name it in the path, such as `{path}/{{{name}}}{rest}`, or take it from the query or the \
         body with `Query<T>` or `Json<T>`"
    );
    diagnostics.error(argument.ty, Rule::ExtractorExpected, type_text(argument.ty), help);
}

fn principal_in(ty: &Type) -> Option<&Type> {
    members(ty).into_iter().find(|ty| is_named(ty, &["Principal", "Caller"]))
}
