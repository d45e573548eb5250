//! `#[cache]`: `public, max_age = 60, ..`, a shared policy, or `none`.

use policy_core::{
    Rule, Violation,
    cache::{Audience, CachePart, CacheSpec},
};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, Ident};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, const_assertion, list, panic_at, some},
    parse::{Inline, List, PolicyArgs, add_flag, number_of, set, strs, texts},
};

/// The arguments of `#[cache]`.
pub(crate) type Args = PolicyArgs<InlineCache>;

/// A policy, part by part.
pub(crate) struct InlineCache {
    /// The tokens to underline when the attribute as a whole is wrong.
    tokens: TokenStream,
    flags: Vec<Ident>,
    ages: Vec<Age>,
    vary: Option<List>,
}

/// `key = seconds`
struct Age {
    key: Ident,
    seconds: i64,
    /// The tokens of both.
    tokens: TokenStream,
}

impl Inline for InlineCache {
    const FLAGS: &'static [&'static str] =
        &["no_store", "no_cache", "private", "public", "must_revalidate", "immutable"];
    const PARTS: &'static [&'static str] =
        &["max_age", "s_maxage", "stale_while_revalidate", "stale_if_error", "vary"];
    const POSSIBLE: &'static str = "possible are `no_store`, `private`, `public`, `no_cache`, `max_age`, `s_maxage`, \
         `stale_while_revalidate`, `stale_if_error`, `must_revalidate`, `immutable` and `vary`; or \
         the name of a `CachePolicy`, or `none`";

    fn flag(&mut self, flag: Ident) -> bool {
        add_flag(&mut self.flags, flag)
    }

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        if name == "vary" {
            let names = List::read_literals(value, &name, &Self::example(&name), diagnostics);
            return set(&mut self.vary, names);
        }
        if self.age(&name).is_some() {
            return false;
        }
        if let Some(seconds) = number_of(&value) {
            let tokens = quote!(#part = #value);
            self.ages.push(Age { key: part.clone(), seconds, tokens });
        } else {
            diagnostics.error(&value, Rule::SecondsExpected, &name, Self::example(&name));
        }
        true
    }

    fn example(part: &str) -> String {
        if part == "vary" {
            "write a list, such as `vary = [\"accept\"]`".to_owned()
        } else {
            format!("write seconds, such as `{part} = 60`")
        }
    }

    fn after_error(self) -> Option<Self> {
        None
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let tokens = parsed.tokens.clone();
        let inline = InlineCache { tokens, flags: Vec::new(), ages: Vec::new(), vary: None };
        Self::read_policy(parsed, inline, diagnostics)
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let Some(inline) = self.inline() else { return };
        inline.with_spec(context, |spec| {
            for Violation { rule, part, index, value, .. } in spec.violations() {
                diagnostics.rule(inline.tokens_of(part, index), rule, value);
            }
        });
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        match self {
            Self::Inline(inline) => expansion.set("cache", &inline.emit()),
            Self::Shared(expr) => {
                let name = context.constant("cache_policy");
                expansion.items.extend(checked_policy(&name, expr, context));
                expansion.set("cache", &quote!(*#name.spec()));
            }
            Self::None => expansion.set_none("cache"),
        }
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        match self {
            Self::Inline(inline) => {
                to.route.cache = Some(inline.with_spec(to.context, |spec| (&spec).into()));
            }
            Self::Shared(expr) => return Err(expr.to_token_stream()),
            Self::None => (),
        }
        Ok(())
    }
}

/// A policy that is already checked, and a constant whose evaluation checks that it agrees with the
/// rest of the handler.
fn checked_policy(name: &Ident, expr: &Expr, context: &Context<'_>) -> TokenStream {
    let cache = quote!(__policy::policy_core::cache);
    let route = context.emit_facts();
    let spec = quote!((#cache::CacheSpec { route: #route, ..*#name.spec() }));
    let failure = panic_at(&expr.to_token_stream());
    let agreement = const_assertion(&context.constant("cache_agreement"), &spec, &failure);
    quote!(const #name: #cache::CachePolicy = #expr; #agreement)
}

impl InlineCache {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|found| found == flag)
    }

    fn age(&self, key: &str) -> Option<&Age> {
        self.ages.iter().find(|age| age.key == key)
    }

    fn audience(&self) -> Audience {
        if self.has("private") {
            Audience::Private
        } else if self.has("public") {
            Audience::Public
        } else {
            Audience::Unstated
        }
    }

    /// Calls a function with the spec.
    fn with_spec<T>(&self, context: &Context<'_>, call: impl FnOnce(CacheSpec<'_>) -> T) -> T {
        let vary = texts(self.vary.as_ref());
        let seconds = |key| self.age(key).map(|age| age.seconds);
        call(CacheSpec {
            no_store: self.has("no_store"),
            no_cache: self.has("no_cache"),
            audience: self.audience(),
            is_twofold: self.has("private") && self.has("public"),
            max_age: seconds("max_age"),
            s_maxage: seconds("s_maxage"),
            stale_while_revalidate: seconds("stale_while_revalidate"),
            stale_if_error: seconds("stale_if_error"),
            must_revalidate: self.has("must_revalidate"),
            immutable: self.has("immutable"),
            vary: &strs(&vary),
            route: context.facts(),
        })
    }

    /// The spec, which was checked, as an expression.
    fn emit(&self) -> TokenStream {
        let cache = quote!(__policy::policy_core::cache);
        let flags = self.flags.iter().map(|flag| match flag.to_string().as_str() {
            "private" => quote!(audience: #cache::Audience::Private),
            "public" => quote!(audience: #cache::Audience::Public),
            _ => quote!(#flag: true),
        });
        let ages = self.ages.iter().map(|Age { key, seconds, .. }| {
            let seconds = some(&Literal::i64_unsuffixed(*seconds));
            quote!(#key: #seconds)
        });
        let vary = self.vary.as_ref().map(list).map(|vary| quote!(vary: #vary));
        let parts = flags.chain(ages).chain(vary);
        quote!(#cache::CacheSpec { #(#parts,)* ..#cache::CacheSpec::NOTHING })
    }

    /// The tokens of a part, or of the smallest enclosing part that exists.
    fn tokens_of(&self, part: CachePart, index: usize) -> TokenStream {
        let flag = self.flags.iter().find(|flag| *flag == part.name());
        let age = self.age(part.name()).map(|age| age.tokens.clone());
        let entry = self.vary.as_ref().filter(|_| part == CachePart::Vary);
        flag.map(ToTokens::to_token_stream)
            .or(age)
            .or_else(|| entry.map(|list| list.tokens_of(index)))
            .unwrap_or_else(|| self.tokens.clone())
    }
}
