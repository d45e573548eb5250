//! Finds the attributes of Policy on one function, in any order.
//!
//! The compiler expands attributes from top to bottom, and the first one sees the others as plain
//! tokens. So the first route attribute takes all of them; a policy attribute that is expanded
//! earlier moves itself below the first route attribute.

use policy_core::Rule;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Ident, LitStr, Meta, Path, spanned::Spanned};

use crate::{
    diagnostics::Diagnostics,
    directive::{Directive, ParsedAttribute},
    item::AnnotatedItem,
    parse::string_of,
};

/// The one argument of an attribute that has been taken, see [`CollectedAttributes::use_markers`].
const CONSUMED: &str = "__policy_consumed";

/// The default crate of the attributes.
const CRATE: &str = "policy_server";

/// The attributes of a function.
#[derive(Default)]
pub(crate) struct CollectedAttributes {
    pub(crate) routes: Vec<ParsedAttribute>,
    /// At most one attribute of each kind.
    policies: Vec<ParsedAttribute>,
    /// The other attributes, which stay in place.
    pub(crate) others: Vec<Attribute>,
    /// Each taken attribute again, on an empty item, so that an import counts as used, an editor
    /// can resolve the name, and an attribute of another crate with the same name is an error
    /// instead of being ignored.
    pub(crate) use_markers: Vec<TokenStream>,
    /// Whether there is an `#[auth]` that could not be read, so that it is not reported as missing.
    pub(crate) broken_auth: bool,
}

impl CollectedAttributes {
    /// Takes the attributes; `first` is the one that is being expanded.
    pub(crate) fn take(
        first: ParsedAttribute,
        attrs: Vec<Attribute>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut collected = Self { routes: vec![first], ..Self::default() };
        for attr in attrs {
            match Directive::from_path(attr.path()) {
                Some(directive) => collected.take_one(directive, &attr, diagnostics),
                None => collected.others.push(attr),
            }
        }
        collected
    }

    fn take_one(&mut self, directive: Directive, attr: &Attribute, diagnostics: &mut Diagnostics) {
        let path = attr.path();
        if !is_requeued(path) {
            let consumed = Ident::new(CONSUMED, Span::call_site());
            let item = quote!(
                const _: () = ();
            );
            self.use_markers.push(quote_spanned!(path.span()=> #[#path(#consumed)] #item));
        }
        let args = match &attr.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(pair) => {
                let name = directive.name();
                diagnostics.error(
                    pair,
                    Rule::ParenthesesMissing,
                    format_args!("#[{name}]"),
                    format_args!("write `#[{name}(..)]`"),
                );
                self.broken_auth |= directive == Directive::Auth;
                return;
            }
        };
        let parsed = ParsedAttribute { directive, tokens: path.to_token_stream(), args };
        if directive.is_route() {
            self.routes.push(parsed);
        } else if self.policies.iter().all(|other| other.directive != directive) {
            self.policies.push(parsed);
        } else {
            let value = format!("#[{}]", directive.name());
            diagnostics.rule(path, Rule::AttributeRepeated, &value);
        }
    }

    /// The name and span of each attribute, sorted by name.
    pub(crate) fn spans(&self) -> Vec<(&'static str, Span)> {
        let all = self.routes.iter().chain(&self.policies);
        let mut spans: Vec<_> =
            all.map(|parsed| (parsed.directive.name(), parsed.tokens.span())).collect();
        spans.sort_by_key(|(name, _)| *name);
        spans
    }

    /// Takes the policy attribute of this kind.
    pub(crate) fn policy(&mut self, directive: Directive) -> Option<ParsedAttribute> {
        let index = self.policies.iter().position(|parsed| parsed.directive == directive)?;
        Some(self.policies.swap_remove(index))
    }

    /// The lines of the function's documentation.
    pub(crate) fn docs(&self) -> Vec<LitStr> {
        let docs = self.others.iter().filter(|attr| attr.path().is_ident("doc"));
        let lines = docs.filter_map(|attr| match &attr.meta {
            Meta::NameValue(pair) => string_of(&pair.value).cloned(),
            Meta::Path(_) | Meta::List(_) => None,
        });
        lines.collect()
    }

    /// The conditions of the function, which every generated item shares. (rustc decides and
    /// removes them before it calls a macro; other tools that expand macros need not.)
    pub(crate) fn conditions(&self) -> Vec<&Attribute> {
        self.others.iter().filter(|attr| attr.path().is_ident("cfg")).collect()
    }

    /// The `cfg` conditions, and the lints that the function allows.
    pub(crate) fn conditions_and_allows(&self) -> Vec<&Attribute> {
        self.others
            .iter()
            .filter(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("allow"))
            .collect()
    }
}

/// Whether this is a use marker, which expands to nothing. The item must be empty, too: otherwise
/// the arguments alone could make a function disappear.
pub(crate) fn is_use_marker(args: &TokenStream, item: &TokenStream) -> bool {
    use TokenTree::{Group, Ident, Punct};
    let mut args = args.clone().into_iter();
    if !matches!((args.next(), args.next()), (Some(Ident(word)), None) if word == CONSUMED) {
        return false;
    }
    let item: Vec<_> = item.clone().into_iter().collect();
    matches!(
        &item[..],
        [Ident(word), Ident(name), Punct(_), Group(ty), Punct(_), Group(value), Punct(_)]
            if word == "const" && name == "_"
                && ty.stream().is_empty() && value.stream().is_empty()
    )
}

/// Whether the attribute was put back, see [`requeue`], and so is already resolved.
fn is_requeued(path: &Path) -> bool {
    path.leading_colon.is_some()
        && path.segments.len() == 2
        && path.segments.first().is_some_and(|segment| segment.ident == CRATE)
}

/// Expands a policy attribute that comes before the route attribute: puts it back, or refuses it if
/// there is no route attribute. Attributes are never dropped.
pub(crate) fn requeue(policy: Directive, args: &TokenStream, item: TokenStream) -> TokenStream {
    let name = policy.name();
    let mut diagnostics = Diagnostics::default();
    let Ok(mut annotated) = syn::parse2::<AnnotatedItem>(item.clone()) else { return item };
    let route = annotated
        .attrs
        .iter()
        .position(|attr| Directive::from_path(attr.path()).is_some_and(Directive::is_route));
    let Some(route) = route else {
        let value = format_args!("#[{name}]");
        diagnostics.rule_at(Span::call_site(), Rule::RouteAttributeMissing, value);
        let errors = diagnostics.errors();
        return quote!(#annotated #errors);
    };
    // An attribute macro does not learn the path by which it was called. The path used here need
    // not exist: the route attribute takes the attribute before it is resolved.
    let (krate, name) = (Ident::new(CRATE, Span::call_site()), Ident::new(name, Span::call_site()));
    annotated.attrs.insert(route + 1, syn::parse_quote!(#[::#krate::#name(#args)]));
    annotated.into_token_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_constant_is_a_use_marker() {
        let cases = [
            ("__policy_consumed", "const _: () = ();", true),
            ("__policy_consumed, public", "const _: () = ();", false),
            ("__policy_consumed", "const _: () = (check());", false),
            ("__policy_consumed", "const _: () = CHECKED;", false),
            ("__policy_consumed", "const ALL: () = ();", false),
            ("__policy_consumed", "fn handler() {}", false),
        ];
        for (args, item, expected) in cases {
            let is_marker = is_use_marker(&args.parse().unwrap(), &item.parse().unwrap());
            assert_eq!(is_marker, expected, "#[auth({args})] {item}");
        }
    }
}
