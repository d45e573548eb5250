//! The rules of an object: `#[rule(Action = condition)]`.

use policy_core::{
    Rule,
    object::{Atom, Condition, ConditionToken},
};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{ItemStruct, LitStr, Path, Token, ext::IdentExt, parse::Parser, spanned::Spanned};

use super::field::MarkedField;
use crate::{diagnostics::Diagnostics, parse::arguments_of};

/// A rule, with the tokens of its action.
pub(super) struct ObjectRule {
    pub(super) action: Path,
    pub(super) condition: Condition,
    /// The functions that it names, as texts and as the tokens of their calls.
    pub(super) functions: Vec<(String, TokenStream)>,
}

pub(super) fn read_rules(
    item: &ItemStruct,
    fields: &[MarkedField<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<ObjectRule> {
    let kinds: Vec<_> =
        fields.iter().filter_map(|field| Some((field.text(), field.kind()?))).collect();
    let mut rules: Vec<ObjectRule> = Vec::new();
    for tokens in arguments_of(&item.attrs, "rule", diagnostics) {
        let parsed = Parser::parse2(
            |input: syn::parse::ParseStream<'_>| {
                let action = input.call(Path::parse_mod_style)?;
                input.parse::<Token![=]>()?;
                Ok((action, input.parse::<TokenStream>()?))
            },
            tokens.clone(),
        );
        let (action, condition) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                diagnostics.syntax(error);
                continue;
            }
        };
        let name = action.to_token_stream().to_string();
        if rules.iter().any(|rule| rule.action.to_token_stream().to_string() == name) {
            diagnostics.rule(&action, Rule::ObjectRuleTwice, &name);
            continue;
        }
        let (mut read, mut spans) = (Vec::new(), Vec::new());
        condition_tokens(condition, &mut read, &mut spans);
        match Condition::parse(&read, Some(&kinds)) {
            Ok(condition) => {
                let functions = functions(&condition, &read, &spans, diagnostics);
                rules.push(ObjectRule { action, condition, functions });
            }
            Err(error) => {
                let at = spans.get(error.at).or(spans.last()).copied();
                let at = at.unwrap_or_else(|| action.span());
                diagnostics.error_at(at, error.rule, error.value, error.help);
            }
        }
    }
    let is_view =
        |rule: &ObjectRule| rule.action.segments.last().is_some_and(|it| it.ident == "View");
    if diagnostics.error_count() == 0 && !rules.iter().any(is_view) {
        diagnostics.rule(&item.ident, Rule::ObjectView, "");
    }
    rules
}

/// The tokens of a condition, each with its span.
fn condition_tokens(tokens: TokenStream, read: &mut Vec<ConditionToken>, spans: &mut Vec<Span>) {
    for token in tokens {
        let span = token.span();
        let token = match token {
            TokenTree::Group(group) => {
                let signs = match group.delimiter() {
                    Delimiter::Parenthesis => Some(['(', ')']),
                    Delimiter::Brace => Some(['{', '}']),
                    Delimiter::Bracket => Some(['[', ']']),
                    Delimiter::None => None,
                };
                if let Some([open, _]) = signs {
                    read.push(ConditionToken::Sign(open));
                    spans.push(group.span_open());
                }
                condition_tokens(group.stream(), read, spans);
                if let Some([_, close]) = signs {
                    read.push(ConditionToken::Sign(close));
                    spans.push(group.span_close());
                }
                continue;
            }
            TokenTree::Ident(word) => ConditionToken::Word(word.unraw().to_string()),
            TokenTree::Punct(sign) => ConditionToken::Sign(sign.as_char()),
            TokenTree::Literal(literal) => match syn::parse2::<LitStr>(literal.to_token_stream()) {
                Ok(text) => ConditionToken::Text(text.value()),
                Err(_) => ConditionToken::Sign('#'),
            },
        };
        read.push(token);
        spans.push(span);
    }
}

/// The functions of a condition, each with its call. Errors of the call are reported at `with`.
fn functions(
    condition: &Condition,
    read: &[ConditionToken],
    spans: &[Span],
    diagnostics: &mut Diagnostics,
) -> Vec<(String, TokenStream)> {
    let names = condition.atoms().into_iter().filter_map(|atom| match atom {
        Atom::With(path) => Some(path),
        _ => None,
    });
    let is_with = |token: &ConditionToken| *token == ConditionToken::Word("with".to_owned());
    let at = read.iter().position(is_with).and_then(|at| spans.get(at)).copied();
    let at = Span::call_site().located_at(at.unwrap_or_else(Span::call_site));
    let call = |name: &String| {
        let Ok(path) = syn::parse_str::<Path>(name) else {
            let help = "write the name of a function `fn(&Self, &Principal) -> bool`";
            diagnostics.error_at(at, Rule::ConditionMalformed, name, help);
            return None;
        };
        let call = quote_spanned!(at=> #path(self, __policy_caller));
        let spanned = call.into_iter().map(|mut token| {
            token.set_span(at);
            token
        });
        Some((name.clone(), spanned.collect()))
    };
    names.filter_map(call).collect()
}
