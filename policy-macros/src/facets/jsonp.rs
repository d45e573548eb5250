//! Scripts, as `#[jsonp]` asks for them.

use policy_core::jsonp::{JsonpSpec, Part, Violation};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{LitStr, ext::IdentExt};

use crate::{
    args::{
        auth::AuthArgs,
        jsonp::{JsonpArgs, Policy, Written},
    },
    constant::{asked, panic_at, some},
    diag::Findings,
    surroundings::Surroundings,
};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &JsonpArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let callback = match &args.policy {
        Policy::Written(written) => written.callback.as_ref().map(LitStr::value),
        Policy::Shared(_) => None,
    };
    // What cannot be seen agrees with everything: of a constant the compiler asks it.
    let is_unseen = match &args.policy {
        Policy::Written(written) => written.is_broken && callback.is_none(),
        Policy::Shared(_) => true,
    };
    let mut methods: Vec<_> = around.routes.iter().map(|(method, _)| method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    let spec = JsonpSpec {
        callback: callback.as_deref().unwrap_or_default(),
        methods: &methods,
        asks_who_calls: around.auth.is_some_and(asks_who_calls),
        takes_session: around.takes_session,
        csrf: around.csrf.is_some(),
    };
    for Violation { rule, part, value, .. } in spec.violations() {
        if part != Part::Callback || !is_unseen {
            findings.rule(place_of(part, args, around), rule, value);
        }
    }
}

/// Whether `#[auth]` names a credential. One that names nobody has been refused for that.
fn asks_who_calls(auth: &AuthArgs) -> bool {
    !auth.takes("public") && (!auth.callers.is_empty() || auth.scheme.is_some())
}

/// The tokens of a part, or of the smallest thing around it that exists.
fn place_of(part: Part, args: &JsonpArgs, around: &Surroundings<'_>) -> TokenStream {
    let found = match (part, &args.policy) {
        (Part::Callback, Policy::Written(Written { callback, .. })) => {
            callback.as_ref().map(ToTokens::to_token_stream)
        }
        (Part::Callers, _) => around.auth.and_then(|auth| {
            let scheme = auth.scheme.as_ref().map(|scheme| &scheme.key);
            auth.callers.first().or(scheme).map(ToTokens::to_token_stream)
        }),
        (Part::Csrf, _) => around.csrf.map(|csrf| csrf.place.clone()),
        _ => None,
    };
    found.unwrap_or_else(|| args.place.clone())
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(args: &JsonpArgs, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    let jsonp = quote!(__policy::policy_core::jsonp);
    match &args.policy {
        Policy::Written(Written { callback, dotted, .. }) => {
            let grammar = if *dotted { quote!(Dotted) } else { quote!(Identifier) };
            let policy = quote! {
                #jsonp::JsonpPolicy { callback: #callback, grammar: #jsonp::Grammar::#grammar }
            };
            (TokenStream::new(), some(&policy))
        }
        Policy::Shared(path) => {
            let handler = around.handler.unraw();
            let name = format_ident!("jsonp_policy_of_{handler}", span = Span::call_site());
            let panic = panic_at(&path.to_token_stream());
            let spec = quote!(#jsonp::JsonpSpec::of(&__POLICY_JSONP));
            let asked = asked(&name, &spec, &panic);
            let items = quote!(const __POLICY_JSONP: #jsonp::JsonpPolicy = #path; #asked);
            (items, some(&quote!(__POLICY_JSONP)))
        }
    }
}
