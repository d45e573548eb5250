//! `#[get]` and the other methods, and `#[any]` for all of them: `"/path"`; `#[route]`: `GET, POST,
//! "/path"`; each of these: `crate = path`.

use policy_core::{
    Rule,
    path::{PathTemplate, Segment},
    route::check_method,
};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, LitStr, Path, Token, ext::IdentExt};

use crate::{
    diagnostics::Diagnostics,
    directive::{Directive, ParsedAttribute},
    parse::{peek_assignment, read_entries, report_repeated, set, string_of, word_of},
};

/// The arguments of a route attribute.
pub(crate) struct Args {
    methods: Vec<Method>,
    pub(crate) path: Option<LitStr>,
    pub(crate) krate: Option<Path>,
    id: Option<LitStr>,
}

/// One route of a handler.
pub(crate) struct HandlerRoute {
    pub(crate) method: String,
    pub(crate) path: LitStr,
    /// The id of its operation in documents.
    pub(crate) id: Option<LitStr>,
}

/// A method, with the tokens that name it.
struct Method {
    name: String,
    tokens: TokenStream,
}

impl Args {
    pub(crate) fn read(taken: ParsedAttribute, diagnostics: &mut Diagnostics) -> Self {
        let ParsedAttribute { directive, tokens, args } = taken;
        let (mut values, mut krate, mut id) = (Vec::<Expr>::new(), None, None);
        read_entries(args, diagnostics, |input, diagnostics| {
            if !peek_assignment(input) {
                values.push(input.parse()?);
                return Ok(());
            }
            let key = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            let is_first = if key == "crate" {
                set(&mut krate, Some(input.call(Path::parse_mod_style)?))
            } else if key == "id" {
                set(&mut id, operation_id(&input.parse()?, diagnostics))
            } else {
                input.parse::<Expr>()?;
                diagnostics.error(
                    &key,
                    Rule::UnknownArgument,
                    &key,
                    "besides the path there are `id = \"..\"` and `crate = path::to::policy_server`; \
                     policies are attributes of their own",
                );
                true
            };
            if !is_first {
                report_repeated(&key, diagnostics);
            }
            Ok(())
        });
        let (path, methods) = match directive.methods() {
            Some(names) => {
                let mut values = values.into_iter();
                let path = values.next();
                for value in values {
                    diagnostics.rule(value, Rule::PathRepeated, "");
                }
                let method = |name| Method { name, tokens: tokens.clone() };
                (path, names.into_iter().map(method).collect())
            }
            None => {
                let path = values.pop();
                if values.is_empty() && path.is_some() {
                    diagnostics.rule(&tokens, Rule::MethodMissing, "");
                }
                let methods = values.iter().filter_map(|value| read_method(value, diagnostics));
                (path, methods.collect())
            }
        };
        if path.is_none() {
            diagnostics.error(&tokens, Rule::PathMissing, "", usage(directive));
        }
        let path = path.and_then(|path| {
            let literal = string_of(&path).cloned();
            if literal.is_none() {
                diagnostics.error(&path, Rule::StringExpected, "", usage(directive));
            }
            literal
        });
        Self { methods, path, krate, id }
    }
}

/// The id of an operation, which generators of clients make a name of.
fn operation_id(value: &Expr, diagnostics: &mut Diagnostics) -> Option<LitStr> {
    let id = string_of(value).cloned();
    // The parser of Rust skips blanks and comments, and `r#` is part of its names.
    let is_sign = |sign: char| sign == '_' || sign.is_alphanumeric();
    let is_name = |id: String| id.chars().all(is_sign) && syn::parse_str::<Ident>(&id).is_ok();
    if !id.as_ref().map(LitStr::value).is_some_and(is_name) {
        diagnostics.rule(value, Rule::OperationId, "");
    }
    id
}

/// A word, upper case as the methods of the standard are, or a string for a method that is no
/// word or is not upper case: methods are case-sensitive (RFC 9110 9.1).
fn read_method(value: &Expr, diagnostics: &mut Diagnostics) -> Option<Method> {
    let tokens = value.to_token_stream();
    if let Some(literal) = string_of(value) {
        return Some(Method { name: literal.value(), tokens });
    }
    let Some(word) = word_of(value) else {
        diagnostics.rule(value, Rule::MethodExpected, "");
        return None;
    };
    let name = word.unraw().to_string();
    let upper = name.to_ascii_uppercase();
    if name != upper {
        diagnostics.error(
            value,
            Rule::MethodCase,
            &name,
            format_args!("write `{upper}`, or `\"{name}\"` for a method of that name"),
        );
        return None;
    }
    Some(Method { name, tokens })
}

fn usage(directive: Directive) -> String {
    match directive {
        Directive::Route => "write `#[route(PURGE, \"/path\")]`: methods, then the path".to_owned(),
        verb => format!("write `#[{}(\"/path\")]`", verb.name()),
    }
}

/// Every route of one handler: its method and its path, once each.
pub(crate) fn routes(all: &[Args], diagnostics: &mut Diagnostics) -> Vec<HandlerRoute> {
    let mut routes = Vec::<HandlerRoute>::new();
    for Args { methods, path, id, .. } in all {
        for Method { name, tokens } in methods {
            if let Err(rule) = check_method(name) {
                diagnostics.rule(tokens, rule, name);
            }
            let Some(path) = path else { continue };
            let value = path.value();
            if routes.iter().any(|other| other.method == *name && other.path.value() == value) {
                diagnostics.rule(tokens, Rule::RouteConflict, &format!("{name} {value}"));
            }
            routes.push(HandlerRoute { method: name.clone(), path: path.clone(), id: id.clone() });
        }
    }
    routes
}

/// The parameters of a path; `None` after an error.
pub(crate) fn path(literal: &LitStr, diagnostics: &mut Diagnostics) -> Option<Vec<String>> {
    let value = literal.value();
    match PathTemplate::parse(&value) {
        Ok(path) => Some(path.parameters().map(str::to_owned).collect()),
        Err(rule) => {
            if value.contains('<') {
                let help = "a parameter is written `{id}` here, not `<id>`";
                diagnostics.rule_with_help(literal, rule, &value, help);
            } else {
                diagnostics.rule(literal, rule, &value);
            }
            None
        }
    }
}

/// Refuses a segment in the parameter syntax of other frameworks, if the handler has an argument
/// with that name.
pub(crate) fn foreign_parameters(
    literal: &LitStr,
    is_argument: impl Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let value = literal.value();
    let Ok(path) = PathTemplate::parse(&value) else { return };
    for segment in path.segments() {
        let Segment::Fixed(text) = segment else { continue };
        let here = match (text.strip_prefix(':'), text.strip_prefix('*')) {
            (Some(name), _) if is_argument(name) => format!("{{{name}}}"),
            (_, Some(name)) if is_argument(name) => format!("{{*{name}}}"),
            _ => continue,
        };
        diagnostics.error(
            literal,
            Rule::ParameterStyle,
            text,
            format_args!("a parameter is written `{here}` here"),
        );
    }
}
