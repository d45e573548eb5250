//! Who may call, as `#[auth]` and `#[csrf]` say it, and as `#[cors]` and the arguments agree with
//! it: policy-core is asked about literals here, and by the compiler about what is behind names.

use policy_core::{
    auth::{AuthSpec, Part, Violation, seconds_of},
    cors::Field,
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{LitStr, Type};

use crate::{
    args::{
        List,
        auth::{AuthArgs, OwnType},
        cors::{CorsArgs, Written},
        csrf::{CsrfArgs, Protection},
    },
    constant::{asked, list, panic_at, some},
    diag::Findings,
};

/// Everything that says who may call a route.
pub(crate) struct Callers<'a> {
    pub(crate) auth: &'a AuthArgs,
    pub(crate) csrf: Option<&'a CsrfArgs>,
    pub(crate) cors: Option<&'a CorsArgs>,
    /// The type of an argument that is a `Principal`.
    pub(crate) principal: Option<&'a Type>,
    /// Whether an argument is a `Session` or the `Sessions`.
    pub(crate) takes_session: bool,
}

/// The expressions that state a policy.
pub(crate) struct Stated {
    /// Items that the compiler checks, and so the policy.
    pub(crate) items: TokenStream,
    pub(crate) auth: TokenStream,
    pub(crate) csrf: TokenStream,
    /// The type of an own scheme.
    pub(crate) scheme: TokenStream,
}

impl Callers<'_> {
    /// Reports every violation that can be seen, each on its own token.
    pub(crate) fn check(&self, findings: &mut Findings) {
        let Self { auth, csrf, .. } = *self;
        let fresh = auth.fresh.as_ref().map(|text| (text.value(), seconds_of(&text.value())));
        if let Some((text, Err(rule))) = &fresh {
            findings.rule(&auth.fresh, *rule, text);
        }
        let exempt = csrf.and_then(CsrfArgs::reason).map(LitStr::value);
        let (scopes, roles) = (values(auth.scopes.as_ref()), values(auth.roles.as_ref()));
        let (scopes, roles) = (strs(&scopes), strs(&roles));
        let spec = AuthSpec {
            public: auth.takes("public"),
            session: auth.takes("session"),
            token: auth.takes("token"),
            ticket: auth.takes("ticket"),
            scheme: auth.scheme.is_some(),
            // The compiler knows. Until it is asked, such a route agrees with everything.
            ambient: false,
            csrf: csrf.is_some() && auth.scheme.is_none(),
            optional: auth.optional,
            scopes: auth.scopes.as_ref().map(|_| &*scopes),
            roles: auth.roles.as_ref().map(|_| &*roles),
            fresh: fresh.as_ref().and_then(|(_, seconds)| seconds.ok()),
            exempt: exempt.as_deref(),
            without_credentials: self.written_cors().is_some_and(|cors| !cors.has("credentials")),
            principal: self.principal.is_some(),
            takes_session: self.takes_session,
        };
        for Violation { rule, part, index, value } in spec.violations() {
            let value = match (part, &fresh) {
                (Part::Fresh, Some((text, _))) => text,
                _ => value,
            };
            if self.is_visible(part) {
                findings.rule(self.place_of(part, index), rule, value);
            }
        }
    }

    pub(crate) fn stated(&self, handler: &Ident) -> Stated {
        let Self { auth, csrf, .. } = *self;
        let core = quote!(__policy::policy_core);
        let (mut own, mut scheme) = (None, quote!(::core::option::Option::None));
        if let Some(OwnType { ty, .. }) = &auth.scheme {
            let name = auth.scheme.as_ref().map(OwnType::name);
            own = Some(quote! {
                scheme: ::core::option::Option::Some(#core::auth::OwnScheme {
                    name: #name,
                    ambient: <#ty as __policy::Scheme>::AMBIENT,
                })
            });
            scheme = some(&quote!(::core::any::TypeId::of::<#ty>));
        }
        let policy = quote!(#core::auth::AuthPolicy);
        let mut stated = if auth.takes("public") {
            quote!(#policy::Public)
        } else {
            let words = auth.callers.iter().map(|word| quote!(#word: true));
            let optional = auth.optional.then(|| quote!(optional: true));
            let lists = self.lists().into_iter().filter_map(|(part, entries)| {
                let name = format_ident!("{}", part.name());
                let value = if self.is_visible(part) { list(entries?) } else { constant_of(part) };
                Some(quote!(#name: #value))
            });
            let seconds = auth.fresh.as_ref().and_then(|text| seconds_of(&text.value()).ok());
            let fresh = seconds.map(|seconds| {
                let seconds = some(&quote!(#seconds));
                quote!(fresh: #seconds)
            });
            let parts = words.chain(own).chain(optional).chain(lists).chain(fresh);
            quote! {
                #policy::Required(#core::auth::Requirement {
                    #(#parts,)*
                    ..#core::auth::Requirement::NONE
                })
            }
        };
        let protection = match csrf.map(|csrf| &csrf.protection) {
            None | Some(Protection::Token) => quote!(Token),
            Some(Protection::Origin) => quote!(Origin),
            Some(Protection::Exempt(reason)) => quote!(Exempt(#reason)),
        };
        let csrf = quote!(#core::csrf::CsrfPolicy::#protection);
        let mut items = TokenStream::new();
        if self.needs_compiler() {
            let lists = self.unseen_lists().map(|(part, entries)| {
                let (name, entries) = (constant_of(part), list(entries));
                quote!(const #name: &[&::core::primitive::str] = #entries;)
            });
            items.extend(lists);
            items.extend(quote!(const __POLICY_AUTH: #policy = #stated;));
            items.extend(self.check_by_compiler(handler, &csrf));
            stated = quote!(__POLICY_AUTH);
        }
        Stated { items, auth: stated, csrf, scheme }
    }

    fn lists(&self) -> [(Part, Option<&List>); 2] {
        [(Part::Scopes, self.auth.scopes.as_ref()), (Part::Roles, self.auth.roles.as_ref())]
    }

    fn unseen_lists(&self) -> impl Iterator<Item = (Part, &List)> {
        let lists = self.lists().into_iter().filter(|(part, _)| !self.is_visible(*part));
        lists.filter_map(|(part, entries)| Some((part, entries?)))
    }

    fn written_cors(&self) -> Option<&Written> {
        match self.cors {
            Some(CorsArgs::Written(written)) => Some(written),
            _ => None,
        }
    }

    /// Whether something that the rules are about stands behind a name.
    fn needs_compiler(&self) -> bool {
        let Self { auth, csrf, cors, .. } = *self;
        let is_shared = matches!(cors, Some(CorsArgs::Shared(_)));
        let is_scheme_judged = csrf.is_some() || is_shared || self.written_cors().is_some();
        self.unseen_lists().next().is_some()
            || (auth.scheme.is_some() && is_scheme_judged)
            || (auth.takes("session") && is_shared)
    }

    /// A constant whose evaluation asks the same rules. As that of a CORS policy it stands by
    /// itself, so that one mistake is one error.
    fn check_by_compiler(&self, handler: &Ident, csrf: &TokenStream) -> TokenStream {
        let core = quote!(__policy::policy_core);
        let name = format_ident!("auth_policy_of_{handler}", span = Span::call_site());
        let cors = format_ident!("cors_policy_of_{handler}", span = Span::call_site());
        let without_credentials = match self.cors {
            Some(CorsArgs::Shared(_)) => quote!(!#cors.spec().credentials),
            _ => {
                let without = self.written_cors().is_some_and(|cors| !cors.has("credentials"));
                quote!(#without)
            }
        };
        let (has_csrf, takes_session) = (self.csrf.is_some(), self.takes_session);
        let lists = self.unseen_lists().map(|(part, _)| {
            let (name, value) = (format_ident!("{}", part.name()), some(&constant_of(part)));
            quote!(#name: #value)
        });
        let arms = self.arms();
        let spec = quote! {
            (#core::auth::AuthSpec {
                csrf: #has_csrf,
                takes_session: #takes_session,
                without_credentials: #without_credentials,
                #(#lists,)*
                ..#core::auth::AuthSpec::of(&__POLICY_AUTH, &#csrf)
            })
        };
        let failure =
            quote!({ match (__policy_violation.part, __policy_violation.index) { #arms } });
        asked(&name, &spec, &failure)
    }

    /// One panic for each token that may be at fault.
    fn arms(&self) -> TokenStream {
        let mut arms = TokenStream::new();
        for (part, list) in self.unseen_lists() {
            let entries = list.entries().map_or(0, Iterator::count);
            let variant = format_ident!("{part:?}");
            let pattern = quote!(__policy::policy_core::auth::Part::#variant);
            for index in 0..entries {
                let panic = panic_at(&self.place_of(part, index));
                arms.extend(quote!((#pattern, #index) => #panic,));
            }
            let panic = panic_at(&self.place_of(part, entries));
            arms.extend(quote!((#pattern, _) => #panic,));
        }
        if self.csrf.is_some() {
            let panic = panic_at(&self.place_of(Part::Csrf, 0));
            arms.extend(quote!((__policy::policy_core::auth::Part::Csrf, _) => #panic,));
        }
        let panic = panic_at(&self.place_of(Part::Cors, 0));
        arms.extend(quote!(_ => #panic,));
        arms
    }

    /// Whether everything that a part says can be seen.
    fn is_visible(&self, part: Part) -> bool {
        let is_literal =
            |list: &Option<List>| list.as_ref().is_none_or(|list| list.literals().is_some());
        match part {
            Part::Callers => !self.auth.is_broken,
            Part::Scopes => is_literal(&self.auth.scopes),
            Part::Roles => is_literal(&self.auth.roles),
            _ => true,
        }
    }

    /// The tokens of an entry, or of the smallest thing around it that exists.
    fn place_of(&self, part: Part, index: usize) -> TokenStream {
        let Self { auth, csrf, cors, principal, .. } = *self;
        let entry = |list: &Option<List>| list.as_ref().map(|list| list.place_of(index));
        let found = match part {
            Part::Callers => {
                let public = auth.callers.iter().find(|word| *word == "public");
                public.map(ToTokens::to_token_stream)
            }
            Part::Scheme => auth.scheme.as_ref().map(|scheme| scheme.key.to_token_stream()),
            Part::Scopes => entry(&auth.scopes),
            Part::Roles => entry(&auth.roles),
            Part::Fresh => auth.fresh.as_ref().map(ToTokens::to_token_stream),
            Part::Csrf => csrf.map(|csrf| csrf.place.clone()),
            Part::Cors => match cors {
                Some(CorsArgs::Shared(expr)) => Some(expr.to_token_stream()),
                Some(CorsArgs::Written(written)) => Some(place_of_origins(written)),
                _ => None,
            },
            Part::Principal => principal.map(ToTokens::to_token_stream),
        };
        found.unwrap_or_else(|| auth.place.clone())
    }
}

/// The constant that holds a list which cannot be seen.
fn constant_of(part: Part) -> TokenStream {
    let name = format_ident!("__POLICY_{}", part.name().to_ascii_uppercase());
    name.to_token_stream()
}

/// The `*` of a policy, which cannot have credentials; else the attribute, which lacks them.
fn place_of_origins(written: &Written) -> TokenStream {
    let literals = written.list(Field::Origins).and_then(List::literals).unwrap_or_default();
    let star = literals.into_iter().find(|origin| origin.value() == "*");
    star.map_or_else(|| written.place.clone(), ToTokens::to_token_stream)
}

/// The literals of a list, out of their quotes.
pub(crate) fn values(list: Option<&List>) -> Vec<String> {
    let literals = list.and_then(List::literals).unwrap_or_default();
    literals.into_iter().map(LitStr::value).collect()
}

/// The same, as the rules take them.
pub(crate) fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
