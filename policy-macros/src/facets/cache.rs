//! Caching, as `#[cache]` says it.

use policy_core::cache::{Audience, CacheSpec, Part, Violation};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, LitStr, ext::IdentExt};

use crate::{
    args::{
        List,
        cache::{Age, CacheArgs, Written},
    },
    constant::{asked, list, panic_at, some},
    diag::Findings,
    surroundings::Surroundings,
};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &CacheArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let CacheArgs::Written(written) = args else { return };
    let vary = written.vary.as_ref().and_then(List::literals).unwrap_or_default();
    let vary: Vec<_> = vary.into_iter().map(LitStr::value).collect();
    let vary: Vec<_> = vary.iter().map(String::as_str).collect();
    let methods = methods(around);
    let seconds = |key| written.age(key).map(|age| age.seconds);
    let spec = CacheSpec {
        no_store: written.has("no_store"),
        no_cache: written.has("no_cache"),
        audience: written.audience(),
        is_twofold: written.has("private") && written.has("public"),
        max_age: seconds("max_age"),
        s_maxage: seconds("s_maxage"),
        stale_while_revalidate: seconds("stale_while_revalidate"),
        stale_if_error: seconds("stale_if_error"),
        must_revalidate: written.has("must_revalidate"),
        immutable: written.has("immutable"),
        vary: &vary,
        methods: &methods,
        is_personal: is_personal(around),
    };
    for Violation { rule, part, index, value } in spec.violations() {
        findings.rule(written.place_of(part, index), rule, value);
    }
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(args: &CacheArgs, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    let facet = quote!(__policy::policy_core::route::Facet);
    match args {
        CacheArgs::Nothing => (quote!(), quote!(#facet::None)),
        CacheArgs::Shared(expr) => shared(expr, around),
        CacheArgs::Written(written) => {
            let cache = quote!(__policy::policy_core::cache);
            let parts = written.parts(&cache);
            let spec = quote!(#cache::CacheSpec { #(#parts,)* ..#cache::CacheSpec::NOTHING });
            (quote!(), quote!(#facet::Set(#cache::CachePolicy::expanded(#spec))))
        }
    }
}

/// A policy that is checked already, and a constant whose evaluation asks whether it agrees with
/// what stands around it.
fn shared(expr: &Expr, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    let cache = quote!(__policy::policy_core::cache);
    let handler = around.handler.unraw();
    let name = format_ident!("cache_policy_of_{handler}", span = Span::call_site());
    let agreement = format_ident!("cache_agreement_of_{handler}", span = Span::call_site());
    let (methods, is_personal) = (methods(around), is_personal(around));
    let panic = panic_at(&expr.to_token_stream());
    let spec = quote! {
        (#cache::CacheSpec {
            methods: &[#(#methods),*],
            is_personal: #is_personal,
            ..*#name.spec()
        })
    };
    let agreement = asked(&agreement, &spec, &panic);
    let items = quote!(const #name: #cache::CachePolicy = #expr; #agreement);
    (items, quote!(__policy::policy_core::route::Facet::Set(#name)))
}

/// Each method of the route once.
fn methods<'a>(around: &Surroundings<'a>) -> Vec<&'a str> {
    let mut methods = Vec::new();
    for (method, _) in around.routes {
        if !methods.contains(&method.as_str()) {
            methods.push(method);
        }
    }
    methods
}

fn is_personal(around: &Surroundings<'_>) -> bool {
    let asks = around.auth.is_some_and(|auth| {
        auth.scheme.is_some() || auth.callers.iter().any(|caller| caller != "public")
    });
    asks || around.takes_session
}

impl Written {
    fn audience(&self) -> Audience {
        if self.has("private") {
            Audience::Private
        } else if self.has("public") {
            Audience::Public
        } else {
            Audience::Unstated
        }
    }

    /// The fields of the spec that say something.
    fn parts(&self, cache: &TokenStream) -> Vec<TokenStream> {
        let words = self.words.iter().map(|word| match word.to_string().as_str() {
            "private" => quote!(audience: #cache::Audience::Private),
            "public" => quote!(audience: #cache::Audience::Public),
            _ => quote!(#word: true),
        });
        let ages = self.ages.iter().map(|Age { key, seconds, .. }| {
            let seconds = some(&Literal::i64_unsuffixed(*seconds).to_token_stream());
            quote!(#key: #seconds)
        });
        let vary = self.vary.as_ref().map(list).map(|vary| quote!(vary: #vary));
        words.chain(ages).chain(vary).collect()
    }

    /// The tokens of a part, or of the smallest thing around it that exists.
    fn place_of(&self, part: Part, index: usize) -> TokenStream {
        let word = self.words.iter().find(|word| *word == part.name());
        let age = self.age(part.name()).map(|age| age.place.clone());
        let entry = self.vary.as_ref().filter(|_| part == Part::Vary);
        word.map(ToTokens::to_token_stream)
            .or(age)
            .or_else(|| entry.map(|list| list.place_of(index)))
            .unwrap_or_else(|| self.place.clone())
    }
}
