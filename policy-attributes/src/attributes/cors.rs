//! `#[cors]`: `origins = [..], credentials, ..`, a shared policy, or `none`.

use policy_core::{
    Rule, Violation,
    cors::{CorsExtension, CorsPart, CorsSpec, Origins},
};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Ident, Lit};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, const_assertion, list, option, panic_arms, panic_at, seconds, some, text},
    parse::{
        Inline, List, PolicyArgs, add_flag, number_of, set, strip_groups, strs, texts, word_of,
    },
};

/// The arguments of `#[cors]`.
pub(crate) type Args = PolicyArgs<InlineCors>;

/// A policy, part by part.
pub(crate) struct InlineCors {
    /// The tokens to underline when the attribute as a whole is wrong.
    tokens: TokenStream,
    origins: Option<OriginsArg>,
    methods: Option<List>,
    headers: Option<List>,
    expose: Option<List>,
    max_age: Option<Expr>,
    flags: Vec<Ident>,
}

/// The source of the origins.
enum OriginsArg {
    Listed(List),
    /// `config("name", within = .., by = ..)`
    AtRunTime {
        call: TokenStream,
        name: Box<Expr>,
        within: Option<List>,
        by: Option<Box<Expr>>,
    },
    /// The origins are present, but an error about them was already reported.
    Unreadable,
}

impl Inline for InlineCors {
    const FLAGS: &'static [&'static str] = &[
        "extend",
        "credentials",
        "dangerous_configured_bound",
        "dangerous_insecure_origins",
        "dangerous_public_suffix",
    ];
    const PARTS: &'static [&'static str] = &["origins", "headers", "expose", "methods", "max_age"];
    const POSSIBLE: &'static str = "possible are `origins`, `credentials`, `headers`, `expose`, `methods`, `max_age`, `extend`, \
         `dangerous_configured_bound`, `dangerous_insecure_origins` and `dangerous_public_suffix`; or the name of a \
         `CorsPolicy`, or `none`";

    fn flag(&mut self, flag: Ident) -> bool {
        add_flag(&mut self.flags, flag)
    }

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        match name.as_str() {
            "origins" => set(&mut self.origins, OriginsArg::read(value, diagnostics)),
            "max_age" => set(&mut self.max_age, read_seconds(value, diagnostics)),
            "methods" => set(&mut self.methods, read_list(value, &name, diagnostics)),
            "headers" => set(&mut self.headers, read_list(value, &name, diagnostics)),
            _ => set(&mut self.expose, read_list(value, &name, diagnostics)),
        }
    }

    fn example(part: &str) -> String {
        match part {
            "origins" => {
                "write a list, such as `origins = [\"https://app.example.com\"]`".to_owned()
            }
            "within" => "write a list, such as `within = [\"https://*.example.com\"]`".to_owned(),
            "methods" => "write a list, such as `methods = [\"PUT\"]`".to_owned(),
            "max_age" => "write seconds, such as `max_age = 600`".to_owned(),
            part => format!("write a list, such as `{part} = [\"x-request-id\"]`"),
        }
    }

    /// A misspelt part may be the origins, which are then not reported as missing.
    fn after_error(mut self) -> Option<Self> {
        self.origins.get_or_insert(OriginsArg::Unreadable);
        Some(self)
    }

    /// The compiler checks whether it is a policy.
    fn is_shared(_: &Expr) -> bool {
        true
    }
}

impl OriginsArg {
    fn read(value: Expr, diagnostics: &mut Diagnostics) -> Option<Self> {
        let Expr::Call(call) = strip_groups(&value) else {
            return read_list(value, "origins", diagnostics).map(Self::Listed);
        };
        if word_of(&call.func).is_none_or(|word| word != "config") {
            return Some(Self::Listed(List { expr: value }));
        }
        let mut args = call.args.iter();
        let name = args.next().filter(|name| !matches!(name, Expr::Assign(_)));
        let Some(name) = name else {
            diagnostics.rule(call, Rule::ConfigName, "");
            return None;
        };
        let (mut within, mut by, mut is_readable) = (None, None, true);
        for arg in args {
            match arg {
                Expr::Assign(assign)
                    if word_of(&assign.left).is_some_and(|word| word == "within") =>
                {
                    if within.is_some() {
                        diagnostics.rule(arg, Rule::ArgumentRepeated, "within");
                    }
                    within = read_list((*assign.right).clone(), "within", diagnostics);
                    is_readable &= within.is_some();
                }
                Expr::Assign(assign) if word_of(&assign.left).is_some_and(|word| word == "by") => {
                    if by.is_some() {
                        diagnostics.rule(arg, Rule::ArgumentRepeated, "by");
                    }
                    by = Some(assign.right.clone());
                }
                other => diagnostics.rule(other, Rule::ConfigArgument, ""),
            }
        }
        is_readable.then(|| Self::AtRunTime {
            call: call.to_token_stream(),
            name: Box::new(name.clone()),
            within,
            by,
        })
    }
}

fn read_list(value: Expr, part: &str, diagnostics: &mut Diagnostics) -> Option<List> {
    List::read(value, part, &InlineCors::example(part), diagnostics)
}

fn read_seconds(value: Expr, diagnostics: &mut Diagnostics) -> Option<Expr> {
    match strip_groups(&value) {
        Expr::Lit(literal) if !matches!(literal.lit, Lit::Int(_)) => {
            let help = InlineCors::example("max_age");
            diagnostics.error(literal, Rule::SecondsExpected, "max_age", help);
            None
        }
        _ => Some(value),
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let inline = InlineCors {
            tokens: parsed.tokens.clone(),
            origins: None,
            methods: None,
            headers: None,
            expose: None,
            max_age: None,
            flags: Vec::new(),
        };
        Self::read_policy(parsed, inline, diagnostics)
    }

    fn check(&self, _: &Context<'_>, diagnostics: &mut Diagnostics) {
        if let Some(inline) = self.inline() {
            inline.check(diagnostics);
        }
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        match self {
            Self::Inline(inline) => inline.emit(&constant(context), expansion),
            // It is already a policy, and checked itself.
            Self::Shared(expr) => {
                let name = constant(context);
                expansion.items.extend(quote! {
                    const #name: __policy::policy_core::cors::CorsPolicy = #expr;
                });
                expansion.set("cors", &quote!(*#name.spec()));
            }
            Self::None => expansion.set_none("cors"),
        }
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        let inline = match self {
            Self::Inline(inline) => inline,
            Self::Shared(expr) => return Err(expr.to_token_stream()),
            Self::None => return Ok(()),
        };
        // The engine has no lists of a running app, and the text no outer level to extend.
        let is_at_run_time = matches!(inline.origins, Some(OriginsArg::AtRunTime { .. }));
        let unseen = CorsPart::ALL.iter().find(|&&part| !inline.is_visible(part));
        match unseen {
            Some(&part) => return Err(inline.tokens_of(part, 0)),
            None if is_at_run_time => return Err(inline.tokens_of(CorsPart::Origins, 0)),
            None if inline.extends() => return Err(inline.tokens.clone()),
            None => (),
        }
        to.route.cors = Some(inline.with_spec(|spec| (&spec).into()));
        Ok(())
    }
}

/// The constant of a policy that is not all literals. `#[auth]` refers to a shared one.
pub(super) fn constant(context: &Context<'_>) -> Ident {
    context.constant("cors_policy")
}

impl InlineCors {
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|word| word == flag)
    }

    /// The `*` of a policy, which cannot have credentials; else the attribute, which lacks them.
    pub(super) fn tokens_of_credentials(&self) -> TokenStream {
        let literals = self.list(CorsPart::Origins).and_then(List::literals).unwrap_or_default();
        let star = literals.into_iter().find(|origin| origin.value() == "*");
        star.map_or_else(|| self.tokens.clone(), ToTokens::to_token_stream)
    }

    /// Whether the attribute extends the policy of an outer level.
    pub(crate) fn extends(&self) -> bool {
        self.has("extend")
    }

    /// Reports the arguments that `extend` does not permit, each on its own tokens.
    fn check_extension(&self, diagnostics: &mut Diagnostics) {
        let origins = match &self.origins {
            Some(OriginsArg::Listed(list)) => Some(list.expr.to_token_stream()),
            Some(OriginsArg::AtRunTime { call, .. }) => Some(call.clone()),
            Some(OriginsArg::Unreadable) | None => None,
        };
        let methods = self.methods.as_ref().map(|list| list.expr.to_token_stream());
        let seconds = self.max_age.as_ref().map(ToTokens::to_token_stream);
        let flags = self.flags.iter().filter(|flag| *flag != "extend");
        let others = flags.map(ToTokens::to_token_stream);
        let others: Vec<_> =
            others.chain([origins, methods, seconds].into_iter().flatten()).collect();
        for tokens in &others {
            diagnostics.rule(tokens, Rule::ExtensionPart, "");
        }
        let has_names = self.headers.is_some() || self.expose.is_some();
        let is_unreadable = matches!(self.origins, Some(OriginsArg::Unreadable));
        if others.is_empty() && !has_names && !is_unreadable {
            diagnostics.rule(&self.tokens, Rule::ExtensionPart, "");
        }
    }

    /// Reports every violation among the literals, each on its own token.
    fn check(&self, diagnostics: &mut Diagnostics) {
        if self.extends() {
            self.check_extension(diagnostics);
        }
        self.with_spec(|spec| {
            let extension = CorsExtension { headers: spec.headers, expose: spec.expose };
            let spec = if self.extends() { extension.spec() } else { spec };
            for Violation { rule, part, index, value, .. } in spec.violations() {
                if self.is_visible(part) {
                    diagnostics.rule(self.tokens_of(part, index), rule, value);
                }
            }
        });
    }

    /// Calls a function with the spec of the visible values.
    fn with_spec<T>(&self, call: impl FnOnce(CorsSpec<'_>) -> T) -> T {
        let texts_of = |part| texts(self.list(part));
        let (origins, within) = (texts_of(CorsPart::Origins), texts_of(CorsPart::Within));
        let (methods, headers) = (texts_of(CorsPart::Methods), texts_of(CorsPart::Headers));
        let expose = texts_of(CorsPart::Expose);
        let (origins, within, methods) = (strs(&origins), strs(&within), strs(&methods));
        call(CorsSpec {
            origins: match &self.origins {
                Some(OriginsArg::AtRunTime { within: bound, .. }) => Origins::AtRunTime {
                    name: "",
                    within: bound.as_ref().map(|_| &*within),
                    by: None,
                },
                _ => Origins::Listed(&origins),
            },
            credentials: self.has("credentials"),
            methods: self.methods.as_ref().map(|_| &*methods),
            headers: &strs(&headers),
            expose: &strs(&expose),
            max_age: self.max_age.as_ref().and_then(number_of),
            dangerous_insecure_origins: self.has("dangerous_insecure_origins"),
            dangerous_public_suffix: self.has("dangerous_public_suffix"),
            dangerous_configured_bound: self.has("dangerous_configured_bound"),
        })
    }

    /// The list of a part.
    fn list(&self, part: CorsPart) -> Option<&List> {
        match (part, &self.origins) {
            (CorsPart::Origins, Some(OriginsArg::Listed(list))) => Some(list),
            (CorsPart::Within, Some(OriginsArg::AtRunTime { within, .. })) => within.as_ref(),
            (CorsPart::Methods, _) => self.methods.as_ref(),
            (CorsPart::Headers, _) => self.headers.as_ref(),
            (CorsPart::Expose, _) => self.expose.as_ref(),
            _ => None,
        }
    }

    /// Whether all values of a part are visible: each part is checked separately and with the
    /// flags, so a part that is not visible does not prevent checks of the others.
    fn is_visible(&self, part: CorsPart) -> bool {
        match (part, &self.origins) {
            (CorsPart::Origins, Some(OriginsArg::Unreadable)) => false,
            (CorsPart::MaxAge, _) => {
                self.max_age.as_ref().is_none_or(|seconds| number_of(seconds).is_some())
            }
            _ => self.list(part).is_none_or(|list| list.literals().is_some()),
        }
    }

    fn is_all_visible(&self) -> bool {
        CorsPart::ALL.iter().all(|&part| self.is_visible(part))
    }

    /// The tokens of an entry, or of the smallest enclosing part that exists.
    fn tokens_of(&self, part: CorsPart, index: usize) -> TokenStream {
        if let (CorsPart::MaxAge, Some(seconds)) = (part, &self.max_age) {
            return seconds.to_token_stream();
        }
        match (self.list(part), &self.origins) {
            (Some(list), _) => list.tokens_of(index),
            (None, Some(OriginsArg::AtRunTime { call, .. })) => call.clone(),
            _ => self.tokens.clone(),
        }
    }

    /// The policy as a constant. The compiler applies the rules again while it evaluates the
    /// constant, this time also to values behind names.
    ///
    /// The error is in a constant that nothing refers to, since the compiler would report every use
    /// of it. The message contains its name.
    fn emit_checked(&self, name: &Ident, (ty, value): (&TokenStream, &TokenStream)) -> TokenStream {
        let stated = quote!(__POLICY_CORS);
        let spec = if self.extends() { quote!(#stated.spec()) } else { stated.clone() };
        let assertion = const_assertion(name, &spec, &self.failure());
        quote! {
            const #stated: __policy::policy_core::cors::#ty<'static> = #value;
            #assertion
        }
    }

    /// Emits the policy, or its extension of an outer one. The compiler checks what the macro
    /// cannot see.
    fn emit(&self, name: &Ident, expansion: &mut Expansion) {
        let (ty, mut value) = match self.extends() {
            true => (quote!(CorsExtension), self.extension()),
            false => (quote!(CorsSpec), self.spec()),
        };
        if !self.is_all_visible() {
            expansion.items.extend(self.emit_checked(name, (&ty, &value)));
            value = quote!(__POLICY_CORS);
        }
        match self.extends() {
            true => expansion.state("cors_extension", &value),
            false => expansion.set("cors", &value),
        }
    }

    fn extension(&self) -> TokenStream {
        let names = |names: &Option<List>| names.as_ref().map_or_else(|| quote!(&[]), list);
        let (headers, expose) = (names(&self.headers), names(&self.expose));
        let cors = quote!(__policy::policy_core::cors);
        quote!(#cors::CorsExtension { headers: #headers, expose: #expose })
    }

    fn spec(&self) -> TokenStream {
        let cors = quote!(__policy::policy_core::cors);
        let origins = match &self.origins {
            Some(OriginsArg::Listed(origins)) => {
                let origins = list(origins);
                quote!(Listed(#origins))
            }
            Some(OriginsArg::AtRunTime { name, within, by, .. }) => {
                let (name, within) = (text(name), option(within.as_ref().map(list)));
                let by = option(by.as_ref().map(|by| text(by)));
                quote!(AtRunTime { name: #name, within: #within, by: #by })
            }
            Some(OriginsArg::Unreadable) | None => quote!(Listed(&[])),
        };
        let spec = quote!(#cors::CorsSpec::new(#cors::Origins::#origins));
        let parts = self.parts();
        if parts.is_empty() { spec } else { quote!(#cors::CorsSpec { #(#parts,)* ..#spec }) }
    }

    /// The fields of the spec that are stated.
    fn parts(&self) -> Vec<TokenStream> {
        let methods = self.methods.as_ref().map(|methods| some(&list(methods)));
        let headers = self.headers.as_ref().map(list);
        let expose = self.expose.as_ref().map(list);
        let max_age = self.max_age.as_ref().map(|value| some(&seconds(value)));
        let flags = self.flags.iter().map(|flag| quote!(#flag: true));
        let values = [
            methods.map(|value| quote!(methods: #value)),
            headers.map(|value| quote!(headers: #value)),
            expose.map(|value| quote!(expose: #value)),
            max_age.map(|value| quote!(max_age: #value)),
        ];
        flags.chain(values.into_iter().flatten()).collect()
    }

    /// One panic for each part that was not visible to the macro, with the spans of that part, so
    /// that the compiler underlines it. The visible parts have no violations.
    fn failure(&self) -> TokenStream {
        let otherwise = panic_at(&self.tokens);
        let mut arms = TokenStream::new();
        for &part in CorsPart::ALL.iter().filter(|&&part| !self.is_visible(part)) {
            let variant = format_ident!("{part:?}");
            let path = quote!(__policy::policy_core::cors::CorsPart::#variant);
            arms.extend(panic_arms(&path, self.list(part), |index| self.tokens_of(part, index)));
        }
        quote! {
            match (__policy_violation.part, __policy_violation.index) {
                #arms
                _ => #otherwise,
            }
        }
    }
}
