//! `#[jsonp]`: `callback = "cb", dotted`, or a shared policy.

use policy_core::{
    Violation,
    jsonp::{JsonpPart, JsonpSpec},
};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, Ident, LitStr};

use super::{Attribute, auth, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, some},
    parse::{Inline, PolicyArgs, read_string, set},
};

/// The arguments of `#[jsonp]`.
pub(crate) struct Args {
    /// The tokens to underline when the attribute as a whole is wrong.
    tokens: TokenStream,
    policy: PolicyArgs<InlineJsonp>,
}

/// A policy, part by part.
#[derive(Default)]
struct InlineJsonp {
    callback: Option<LitStr>,
    dotted: bool,
    /// Whether an error about the attribute was reported already, so that missing parts are not
    /// reported as well.
    is_broken: bool,
}

impl Inline for InlineJsonp {
    const FLAGS: &'static [&'static str] = &["dotted"];
    const PARTS: &'static [&'static str] = &["callback"];
    const POSSIBLE: &'static str =
        "possible are `callback = \"callback\"` and `dotted`; or the name of a `JsonpPolicy`";
    const HAS_NONE: bool = false;

    fn flag(&mut self, _flag: Ident) -> bool {
        !std::mem::replace(&mut self.dotted, true)
    }

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let text = read_string(&value, &name, &Self::example(&name), diagnostics);
        set(&mut self.callback, text)
    }

    fn example(_part: &str) -> String {
        "write the name of a parameter, such as `callback = \"callback\"`".to_owned()
    }

    fn after_error(self) -> Option<Self> {
        Some(Self { is_broken: true, ..self })
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let tokens = parsed.tokens.clone();
        let policy = PolicyArgs::read_policy(parsed, InlineJsonp::default(), diagnostics)?;
        Some(Self { tokens, policy })
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let inline = self.policy.inline();
        let callback = inline.and_then(|inline| inline.callback.as_ref()).map(LitStr::value);
        // A shared constant is not visible here; its builder has checked it.
        let is_unseen = inline.is_none_or(|inline| inline.is_broken && callback.is_none());
        let spec = JsonpSpec {
            callback: callback.as_deref().unwrap_or_default(),
            route: context.facts(),
            csrf: context.attributes.csrf.is_some(),
            ..JsonpSpec::NOTHING
        };
        for Violation { rule, part, value, .. } in spec.violations() {
            if part != JsonpPart::Callback || !is_unseen {
                diagnostics.rule(self.tokens_of(part, context), rule, value);
            }
        }
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        let jsonp = quote!(__policy::policy_core::jsonp);
        let spec = match &self.policy {
            PolicyArgs::Inline(InlineJsonp { callback, dotted, .. }) => {
                let grammar = dotted.then(|| quote!(grammar: #jsonp::Grammar::Dotted,));
                quote! {
                    #jsonp::JsonpSpec { callback: #callback, #grammar ..#jsonp::JsonpSpec::NOTHING }
                }
            }
            PolicyArgs::Shared(expr) => {
                let name = context.constant("jsonp_policy");
                expansion.items.extend(quote!(const #name: #jsonp::JsonpPolicy = #expr;));
                quote!(*#name.spec())
            }
            PolicyArgs::None => return,
        };
        expansion.state("jsonp", &some(&spec));
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        match &self.policy {
            PolicyArgs::Inline(InlineJsonp { callback: Some(callback), dotted, .. }) => {
                let (callback, dotted) = (callback.value(), *dotted);
                to.route.jsonp = Some(policy_manifest::Jsonp { callback, dotted });
            }
            PolicyArgs::Shared(expr) => return Err(expr.to_token_stream()),
            PolicyArgs::Inline(_) | PolicyArgs::None => (),
        }
        Ok(())
    }
}

impl Args {
    /// The tokens of a part, or of the smallest enclosing part that exists.
    fn tokens_of(&self, part: JsonpPart, context: &Context<'_>) -> TokenStream {
        let inline = self.policy.inline();
        let found = match part {
            JsonpPart::Callback => {
                let callback = inline.and_then(|inline| inline.callback.as_ref());
                callback.map(ToTokens::to_token_stream)
            }
            JsonpPart::Auth => context.attributes.auth.as_ref().and_then(auth::Args::first_word),
            JsonpPart::Csrf => context.attributes.csrf.as_ref().map(|csrf| csrf.tokens.clone()),
            JsonpPart::Methods | JsonpPart::Session => None,
        };
        found.unwrap_or_else(|| self.tokens.clone())
    }
}
