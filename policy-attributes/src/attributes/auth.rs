//! `#[auth]`: `public`, or `session | token, optional, scopes = [..], ..`, or `scheme = ApiKeys,
//! ..`. Its rules include those by which `#[csrf]`, `#[cors]` and the arguments of the handler must
//! be consistent with it.

use policy_core::{
    Rule, Violation,
    auth::{AuthPart, AuthSpec, seconds_of},
};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Ident, LitStr, Result, Token, Type, ext::IdentExt, parse::ParseStream};

use super::{Attribute, context::Context, cors, csrf};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, const_assertion, list, option, panic_arms, panic_at, some},
    parse::{List, PolicyArgs, read_entries, read_string, report_repeated, set, strs, texts},
    type_names::last_segment,
};

/// The arguments of `#[auth]`.
pub(crate) struct Args {
    /// The tokens to underline when the attribute as a whole is wrong.
    tokens: TokenStream,
    /// `public`, `group`, `session`, `token` and `ticket`.
    callers: Vec<Ident>,
    scheme: Option<SchemeType>,
    optional: bool,
    issuers: Option<List>,
    scopes: Option<List>,
    roles: Option<List>,
    fresh: Option<LitStr>,
    /// Whether an error about the attribute was reported already, so that missing parts are not
    /// reported as well.
    is_broken: bool,
}

/// The type of a custom scheme, and the word before it.
struct SchemeType {
    key: Ident,
    ty: Type,
}

const CALLERS: [&str; 5] = ["public", "group", "session", "token", "ticket"];

const POSSIBLE: &str = "possible are `public`, or `group`, or `session`, `token` and `ticket` with `|` \
     between, or `scheme = ApiKeys`; then `optional`, `issuers`, `scopes`, `roles` and `fresh`";

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let ParsedAttribute { tokens, args, .. } = parsed;
        let mut read = Self {
            tokens,
            callers: Vec::new(),
            scheme: None,
            optional: false,
            issuers: None,
            scopes: None,
            roles: None,
            fresh: None,
            is_broken: false,
        };
        let errors_before = diagnostics.error_count();
        read_entries(args, diagnostics, |input, diagnostics| read.read_entry(input, diagnostics));
        read.is_broken = diagnostics.error_count() > errors_before;
        Some(read)
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let fresh = self.fresh.as_ref().map(|text| (text.value(), seconds_of(&text.value())));
        if let Some((text, Err(rule))) = &fresh {
            diagnostics.rule(&self.fresh, *rule, text);
        }
        if self.inherits() {
            // The other rules are about the inherited requirement, which is known at the start.
            if !self.is_broken && self.is_combined() {
                diagnostics.rule(&self.tokens, Rule::GroupNotAlone, "");
            }
            return;
        }
        let csrf = context.attributes.csrf.as_ref();
        let exempt = csrf.and_then(csrf::Args::reason).map(LitStr::value);
        let issuers = texts(self.issuers.as_ref());
        let (scopes, roles) = (texts(self.scopes.as_ref()), texts(self.roles.as_ref()));
        let (issuers, scopes, roles) = (strs(&issuers), strs(&scopes), strs(&roles));
        let spec = AuthSpec {
            // Only the compiler knows whether a scheme is ambient. Until it checks, such a route
            // counts as consistent.
            csrf: csrf.is_some() && self.scheme.is_none(),
            issuers: self.issuers.as_ref().map(|_| &*issuers),
            scopes: self.scopes.as_ref().map(|_| &*scopes),
            roles: self.roles.as_ref().map(|_| &*roles),
            fresh: fresh.as_ref().and_then(|(_, seconds)| seconds.ok()),
            exempt: exempt.as_deref(),
            without_credentials: is_without_credentials(context),
            principal: context.principal.is_some(),
            takes_user: context.user.is_some(),
            takes_session: context.takes_session,
            methods: &context.methods,
            ..self.words()
        };
        let demands = [&self.issuers, &self.scopes, &self.roles].into_iter().any(Option::is_some);
        for Violation { rule, part, index, value, .. } in spec.violations() {
            if rule == Rule::CallersMissing && (demands || self.fresh.is_some()) {
                let help = "write the credential that has it in front, such as \
                            `#[auth(session, roles = [\"admin\"])]`";
                diagnostics.error(self.tokens_of(part, index, context), rule, value, help);
                continue;
            }
            let value = match (part, &fresh) {
                (AuthPart::Fresh, Some((text, _))) => text,
                _ => value,
            };
            if self.is_visible(part) {
                diagnostics.rule(self.tokens_of(part, index, context), rule, value);
            }
        }
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        if let Some(SchemeType { ty, .. }) = &self.scheme {
            let scheme = some(&quote!(::core::any::TypeId::of::<#ty>));
            expansion.describe("scheme", &scheme);
        }
        if self.inherits() {
            expansion.describe("inherits_auth", &true);
        }
        if context.principal.is_some() {
            expansion.describe("takes_caller", &true);
        }
        let mut policy = self.policy();
        if self.needs_compiler(context) {
            let ty = quote!(__policy::policy_core::auth::AuthPolicy);
            let lists = self.unseen_lists().map(|(part, entries)| {
                let (name, entries) = (constant_of(part), list(entries));
                quote!(const #name: &[&::core::primitive::str] = #entries;)
            });
            expansion.items.extend(lists);
            expansion.items.extend(quote!(const __POLICY_AUTH: #ty = #policy;));
            expansion.items.extend(self.check_by_compiler(context));
            policy = quote!(__POLICY_AUTH);
        }
        expansion.state("auth", &policy);
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        let list = self.unseen_lists().next().map(|(_, list)| list.expr.to_token_stream());
        let scheme = || self.scheme.as_ref().map(|scheme| scheme.ty.to_token_stream());
        let group = || self.caller("group").map(ToTokens::to_token_stream);
        if let Some(unseen) = list.or_else(scheme).or_else(group) {
            return Err(unseen);
        }
        to.route.auth = match self.takes("public") {
            true => policy_manifest::Auth::Public,
            false => policy_manifest::Auth::Required(policy_manifest::RouteRequirement {
                session: self.takes("session"),
                token: self.takes("token"),
                ticket: self.takes("ticket"),
                scheme: None,
                optional: self.optional,
                issuers: texts(self.issuers.as_ref()),
                scopes: texts(self.scopes.as_ref()),
                roles: texts(self.roles.as_ref()),
                fresh: self.fresh.as_ref().and_then(|text| seconds_of(&text.value()).ok()),
            }),
        };
        Ok(())
    }
}

impl Args {
    fn caller(&self, caller: &str) -> Option<&Ident> {
        self.callers.iter().find(|word| *word == caller)
    }

    fn takes(&self, caller: &str) -> bool {
        self.caller(caller).is_some()
    }

    /// Whether the requirement is that of the group.
    fn inherits(&self) -> bool {
        self.takes("group")
    }

    /// Whether more than one word is stated.
    fn is_combined(&self) -> bool {
        let lists = self.lists().into_iter().any(|(_, list)| list.is_some());
        self.callers.len() > 1
            || self.scheme.is_some()
            || self.optional
            || lists
            || self.fresh.is_some()
    }

    /// The statements about callers.
    pub(crate) fn words(&self) -> AuthSpec<'static> {
        AuthSpec {
            public: self.takes("public"),
            session: self.takes("session"),
            token: self.takes("token"),
            ticket: self.takes("ticket"),
            scheme: self.scheme.is_some(),
            optional: self.optional,
            ..AuthSpec::NOTHING
        }
    }

    /// The first word about callers.
    pub(super) fn first_word(&self) -> Option<TokenStream> {
        let scheme = self.scheme.as_ref().map(|scheme| &scheme.key);
        self.callers.first().or(scheme).map(ToTokens::to_token_stream)
    }

    /// One entry, which is several words where `|` joins them.
    fn read_entry(&mut self, input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> Result<()> {
        let mut is_joined = false;
        loop {
            if !input.peek(Ident::peek_any) {
                return Err(input.error(format_args!("expected a word\nhelp: {POSSIBLE}")));
            }
            let word = input.call(Ident::parse_any)?;
            if CALLERS.iter().any(|caller| word == caller) && !input.peek(Token![=]) {
                self.add_caller(word, is_joined, diagnostics);
            } else {
                self.read_part(&word, input, diagnostics)?;
            }
            let is_joined_otherwise = input.peek(Token![&&])
                || input.peek(Token![||])
                || input.peek(Token![&])
                || input.peek(Ident::peek_any);
            if is_joined_otherwise {
                return Err(input.error(
                    "expected `|`\nhelp: a request has one credential: write `session | token` if \
                     either is accepted",
                ));
            }
            if input.parse::<Option<Token![|]>>()?.is_none() {
                return Ok(());
            }
            is_joined = true;
        }
    }

    fn add_caller(&mut self, word: Ident, is_joined: bool, diagnostics: &mut Diagnostics) {
        if self.takes(&word.to_string()) {
            report_repeated(&word, diagnostics);
            return;
        }
        let stands_alone = ["public", "group"].iter().any(|it| word == it || self.takes(it));
        match self.callers.last() {
            Some(other) if !is_joined && !stands_alone => diagnostics.error(
                &word,
                Rule::CallersNotJoined,
                "",
                format_args!("write `{other} | {word}`"),
            ),
            _ => (),
        }
        self.callers.push(word);
    }

    fn read_part(
        &mut self,
        key: &Ident,
        input: ParseStream<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let name = key.to_string();
        let assigned = input.parse::<Option<Token![=]>>()?.is_some();
        if *key == "optional" || CALLERS.contains(&name.as_str()) {
            if assigned {
                input.parse::<Expr>()?;
                let help = format_args!("write `{name}` alone, or leave it out");
                diagnostics.error(key, Rule::ValueUnwanted, &name, help);
            } else if std::mem::replace(&mut self.optional, true) {
                report_repeated(key, diagnostics);
            }
            return Ok(());
        }
        if !matches!(name.as_str(), "scheme" | "issuers" | "scopes" | "roles" | "fresh") {
            if assigned {
                input.parse::<Expr>()?;
            }
            let rule = if assigned { Rule::UnknownArgument } else { Rule::UnknownWord };
            diagnostics.unknown(key, rule, key, POSSIBLE);
            return Ok(());
        }
        if !assigned || input.is_empty() || input.peek(Token![,]) {
            diagnostics.error(key, Rule::ValueMissing, key, example(&name));
            return Ok(());
        }
        let is_first = if *key == "scheme" {
            let ty = input.parse()?;
            set(&mut self.scheme, Some(SchemeType { key: key.clone(), ty }))
        } else {
            let value = input.parse()?;
            match name.as_str() {
                "issuers" => set(&mut self.issuers, read_list(value, &name, diagnostics)),
                "scopes" => set(&mut self.scopes, read_list(value, &name, diagnostics)),
                "roles" => set(&mut self.roles, read_list(value, &name, diagnostics)),
                _ => set(&mut self.fresh, read_string(&value, &name, example(&name), diagnostics)),
            }
        };
        if !is_first {
            report_repeated(key, diagnostics);
        }
        Ok(())
    }
}

fn example(part: &str) -> &'static str {
    match part {
        "scheme" => "write the type, such as `scheme = ApiKeys`",
        "issuers" => "write a list, such as `issuers = [\"https://id.example\"]`",
        "scopes" => "write a list, such as `scopes = [\"orders:read\"]`",
        "roles" => "write a list, such as `roles = [\"admin\"]`",
        _ => "write a time, such as `fresh = \"10m\"`",
    }
}

fn read_list(value: Expr, part: &str, diagnostics: &mut Diagnostics) -> Option<List> {
    List::read(value, part, example(part), diagnostics)
}

impl Args {
    /// The policy, as an expression.
    fn policy(&self) -> TokenStream {
        let core = quote!(__policy::policy_core::auth);
        if self.takes("public") {
            return quote!(#core::AuthPolicy::Public);
        }
        // `group` alone: no caller is admitted until the start finds the requirement.
        let words = self.callers.iter().filter(|word| *word != "group");
        let words = words.map(|word| quote!(#word: true));
        let scheme = self.scheme.as_ref().map(|scheme| {
            let (name, ty) = (scheme.name(), &scheme.ty);
            let scheme = some(&quote! {
                #core::OwnScheme { name: #name, ambient: <#ty as __policy::Scheme>::AMBIENT }
            });
            quote!(scheme: #scheme)
        });
        let optional = self.optional.then(|| quote!(optional: true));
        let lists = self.lists().into_iter().filter_map(|(part, entries)| {
            let name = format_ident!("{}", part.name());
            let value = if self.is_visible(part) { list(entries?) } else { constant_of(part) };
            Some(quote!(#name: #value))
        });
        let seconds = self.fresh.as_ref().and_then(|text| seconds_of(&text.value()).ok());
        let fresh = seconds.map(|seconds| {
            let seconds = some(&seconds);
            quote!(fresh: #seconds)
        });
        let parts = words.chain(scheme).chain(optional).chain(lists).chain(fresh);
        quote! {
            #core::AuthPolicy::Required(#core::Requirement {
                #(#parts,)*
                ..#core::Requirement::NONE
            })
        }
    }

    fn lists(&self) -> [(AuthPart, Option<&List>); 3] {
        [
            (AuthPart::Issuers, self.issuers.as_ref()),
            (AuthPart::Scopes, self.scopes.as_ref()),
            (AuthPart::Roles, self.roles.as_ref()),
        ]
    }

    fn unseen_lists(&self) -> impl Iterator<Item = (AuthPart, &List)> {
        let lists = self.lists().into_iter().filter(|(part, _)| !self.is_visible(*part));
        lists.filter_map(|(part, entries)| Some((part, entries?)))
    }

    /// Whether a value that the rules need is a named constant.
    fn needs_compiler(&self, context: &Context<'_>) -> bool {
        let (is_shared, is_inline) = match &context.attributes.cors {
            Some(PolicyArgs::Shared(_)) => (true, false),
            Some(PolicyArgs::Inline(inline)) => (false, !inline.extends()),
            Some(PolicyArgs::None) | None => (false, false),
        };
        let is_scheme_judged = context.attributes.csrf.is_some() || is_shared || is_inline;
        let may_differ = self.unseen_lists().next().is_some()
            || (self.scheme.is_some() && is_scheme_judged)
            || (self.takes("session") && is_shared);
        may_differ && !self.inherits()
    }

    /// A constant whose evaluation applies the same rules. As for a CORS policy, nothing refers to
    /// it, so that one mistake gives one error.
    fn check_by_compiler(&self, context: &Context<'_>) -> TokenStream {
        let core = quote!(__policy::policy_core);
        let without_credentials = match &context.attributes.cors {
            Some(PolicyArgs::Shared(_)) => {
                let cors = cors::constant(context);
                quote!(!#cors.spec().credentials)
            }
            _ => is_without_credentials(context).to_token_stream(),
        };
        let csrf = context.attributes.csrf.as_ref();
        let (takes_session, takes_user) = (context.takes_session, context.user.is_some());
        let csrf = option(csrf.map(csrf::Args::policy).map(|policy| quote!(&#policy)));
        let lists = self.unseen_lists().map(|(part, _)| {
            let (name, value) = (format_ident!("{}", part.name()), some(&constant_of(part)));
            quote!(#name: #value)
        });
        let arms = self.panics(context);
        let spec = quote! {
            (#core::auth::AuthSpec {
                takes_user: #takes_user,
                takes_session: #takes_session,
                without_credentials: #without_credentials,
                #(#lists,)*
                ..#core::auth::AuthSpec::from_policies(&__POLICY_AUTH, #csrf)
            })
        };
        let failure =
            quote!({ match (__policy_violation.part, __policy_violation.index) { #arms } });
        const_assertion(&context.constant("auth_policy"), &spec, &failure)
    }

    /// One panic for each token that may be at fault.
    fn panics(&self, context: &Context<'_>) -> TokenStream {
        let mut arms = TokenStream::new();
        let path = |part: AuthPart| {
            let variant = format_ident!("{part:?}");
            quote!(__policy::policy_core::auth::AuthPart::#variant)
        };
        for (part, list) in self.unseen_lists() {
            let tokens_of = |index| self.tokens_of(part, index, context);
            arms.extend(panic_arms(&path(part), Some(list), tokens_of));
        }
        if context.attributes.csrf.is_some() {
            let tokens_of = |index| self.tokens_of(AuthPart::Csrf, index, context);
            arms.extend(panic_arms(&path(AuthPart::Csrf), None, tokens_of));
        }
        if context.user.is_some() && !self.is_visible(AuthPart::Issuers) {
            let tokens_of = |index| self.tokens_of(AuthPart::Principal, index, context);
            arms.extend(panic_arms(&path(AuthPart::Principal), None, tokens_of));
        }
        let otherwise = panic_at(&self.tokens_of(AuthPart::Cors, 0, context));
        quote!(#arms _ => #otherwise,)
    }

    /// Whether all values of a part are visible.
    fn is_visible(&self, part: AuthPart) -> bool {
        let is_literal =
            |list: &Option<List>| list.as_ref().is_none_or(|list| list.literals().is_some());
        match part {
            AuthPart::Auth => !self.is_broken,
            AuthPart::Issuers => is_literal(&self.issuers),
            AuthPart::Scopes => is_literal(&self.scopes),
            AuthPart::Roles => is_literal(&self.roles),
            _ => true,
        }
    }

    /// The tokens of an entry, or of the smallest enclosing part that exists.
    fn tokens_of(&self, part: AuthPart, index: usize, context: &Context<'_>) -> TokenStream {
        let entry = |list: &Option<List>| list.as_ref().map(|list| list.tokens_of(index));
        let found = match part {
            AuthPart::Auth => self.caller("public").map(ToTokens::to_token_stream),
            AuthPart::Ticket => self.caller("ticket").map(ToTokens::to_token_stream),
            AuthPart::Scheme => self.scheme.as_ref().map(|scheme| scheme.key.to_token_stream()),
            AuthPart::Issuers => entry(&self.issuers),
            AuthPart::Scopes => entry(&self.scopes),
            AuthPart::Roles => entry(&self.roles),
            AuthPart::Fresh => self.fresh.as_ref().map(ToTokens::to_token_stream),
            AuthPart::Csrf => context.attributes.csrf.as_ref().map(|csrf| csrf.tokens.clone()),
            AuthPart::Cors => match &context.attributes.cors {
                Some(PolicyArgs::Shared(expr)) => Some(expr.to_token_stream()),
                Some(PolicyArgs::Inline(inline)) => Some(inline.tokens_of_credentials()),
                _ => None,
            },
            AuthPart::Principal => {
                context.principal.or(context.user).map(ToTokens::to_token_stream)
            }
        };
        found.unwrap_or_else(|| self.tokens.clone())
    }
}

impl SchemeType {
    /// The type without its path and without blanks, as `AuthRequirement::scheme` names it.
    fn name(&self) -> String {
        let own = last_segment(&self.ty).map(ToTokens::to_token_stream);
        let text = own.unwrap_or_else(|| self.ty.to_token_stream()).to_string();
        text.split_whitespace().collect()
    }
}

/// Whether `#[cors]` grants origins without `credentials`, if that is visible to the macro.
fn is_without_credentials(context: &Context<'_>) -> bool {
    let inline = context.attributes.cors.as_ref().and_then(PolicyArgs::inline);
    inline.is_some_and(|inline| !inline.has("credentials") && !inline.extends())
}

/// The constant that holds a list whose values are not visible.
fn constant_of(part: AuthPart) -> TokenStream {
    let name = format_ident!("__POLICY_{}", part.name().to_ascii_uppercase());
    name.to_token_stream()
}
