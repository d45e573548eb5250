//! Asks policy-core about everything that can be seen while macros expand: literals. What is
//! behind a name is asked by the generated code, while the compiler evaluates constants.

use policy_core::{
    Rule,
    cors::{CorsSpec, Field, Origins, Violation},
    path::{PathTemplate, Segment},
    route::check_method,
};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::LitStr;

use crate::{
    args::{
        List,
        cors::{OriginsArg, Written, number_of},
        route::{Method, RouteArgs},
    },
    diag::Findings,
};

/// Every route of one handler: its method and its path, once each.
pub(crate) fn routes(all: &[RouteArgs], findings: &mut Findings) -> Vec<(String, LitStr)> {
    let mut routes = Vec::<(String, LitStr)>::new();
    for RouteArgs { methods, path, .. } in all {
        for Method { name, place } in methods {
            if let Err(rule) = check_method(name) {
                findings.rule(place, rule, name);
            }
            let Some(path) = path else { continue };
            let value = path.value();
            if routes.iter().any(|(method, other)| method == name && other.value() == value) {
                findings.rule(place, Rule::RouteConflict, &format!("{name} {value}"));
            }
            routes.push((name.clone(), path.clone()));
        }
    }
    routes
}

/// The parameters of a path; `None` after an error.
pub(crate) fn path(literal: &LitStr, findings: &mut Findings) -> Option<Vec<String>> {
    let value = literal.value();
    match PathTemplate::parse(&value) {
        Ok(path) => Some(path.parameters().map(str::to_owned).collect()),
        Err(rule) => {
            if value.contains('<') {
                let help = "a parameter is written `{id}` here, not `<id>`";
                findings.rule_with_help(literal, rule, &value, help);
            } else {
                findings.rule(literal, rule, &value);
            }
            None
        }
    }
}

/// Refuses a segment that other frameworks would read as a parameter, where an argument of the
/// handler says that it is meant as one.
pub(crate) fn foreign_parameters(
    literal: &LitStr,
    is_argument: impl Fn(&str) -> bool,
    findings: &mut Findings,
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
        findings.error(
            literal,
            format_args!("`{text}` is no parameter, it is fixed text"),
            format_args!("a parameter is written `{here}` here"),
        );
    }
}

/// Reports every violation among the literals of a CORS policy, each on its own token.
pub(crate) fn cors(written: &Written, findings: &mut Findings) {
    let texts = Texts::of(written);
    let texts = texts.as_strs();
    let origins = match &written.origins {
        Some(OriginsArg::AtRunTime { within, .. }) => {
            Origins::AtRunTime { name: "", within: within.as_ref().map(|_| &*texts.within) }
        }
        _ => Origins::Listed(&texts.origins),
    };
    let spec = CorsSpec {
        origins,
        credentials: written.has("credentials"),
        methods: written.methods.as_ref().map(|_| &*texts.methods),
        headers: &texts.headers,
        expose: &texts.expose,
        max_age: written.max_age.as_ref().and_then(number_of),
        dangerous_insecure_origins: written.has("dangerous_insecure_origins"),
        dangerous_public_suffix: written.has("dangerous_public_suffix"),
    };
    for Violation { rule, field, index, value } in spec.violations() {
        if written.is_visible(field) {
            findings.rule(written.place_of(field, index), rule, value);
        }
    }
}

impl Written {
    /// The list that a part is.
    pub(crate) fn list(&self, field: Field) -> Option<&List> {
        match (field, &self.origins) {
            (Field::Origins, Some(OriginsArg::Listed(list))) => Some(list),
            (Field::Within, Some(OriginsArg::AtRunTime { within, .. })) => within.as_ref(),
            (Field::Methods, _) => self.methods.as_ref(),
            (Field::Headers, _) => self.headers.as_ref(),
            (Field::Expose, _) => self.expose.as_ref(),
            _ => None,
        }
    }

    /// Whether everything that a part says can be seen: each part is judged by itself and the
    /// flags, so one that cannot be seen does not keep the others from being judged.
    pub(crate) fn is_visible(&self, field: Field) -> bool {
        match (field, &self.origins) {
            (Field::Origins, Some(OriginsArg::Unreadable)) => false,
            (Field::MaxAge, _) => {
                self.max_age.as_ref().is_none_or(|seconds| number_of(seconds).is_some())
            }
            _ => self.list(field).is_none_or(|list| list.literals().is_some()),
        }
    }

    /// The tokens of an entry, or of the smallest thing around it that exists.
    pub(crate) fn place_of(&self, field: Field, index: usize) -> TokenStream {
        if let (Field::MaxAge, Some(seconds)) = (field, &self.max_age) {
            return seconds.to_token_stream();
        }
        match (self.list(field), &self.origins) {
            (Some(list), _) => list.place_of(index),
            (None, Some(OriginsArg::AtRunTime { call, .. })) => call.clone(),
            _ => self.place.clone(),
        }
    }
}

/// The literals of each list, out of their quotes; empty for lists that cannot be seen.
struct Texts<T> {
    origins: Vec<T>,
    within: Vec<T>,
    methods: Vec<T>,
    headers: Vec<T>,
    expose: Vec<T>,
}

impl Texts<String> {
    fn of(written: &Written) -> Self {
        let texts = |field| {
            let literals = written.list(field).and_then(List::literals).unwrap_or_default();
            literals.into_iter().map(LitStr::value).collect()
        };
        Self {
            origins: texts(Field::Origins),
            within: texts(Field::Within),
            methods: texts(Field::Methods),
            headers: texts(Field::Headers),
            expose: texts(Field::Expose),
        }
    }

    fn as_strs(&self) -> Texts<&str> {
        fn strs(texts: &[String]) -> Vec<&str> {
            texts.iter().map(String::as_str).collect()
        }
        Texts {
            origins: strs(&self.origins),
            within: strs(&self.within),
            methods: strs(&self.methods),
            headers: strs(&self.headers),
            expose: strs(&self.expose),
        }
    }
}
