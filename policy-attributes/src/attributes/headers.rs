//! `#[headers]`: `csp = "..", frame = none, ..`, a shared policy, or `none`.

use policy_core::{
    Rule, Violation,
    headers::{
        Frame, HeadersPart, HeadersSpec,
        csp::{self, Parsed, Source},
    },
};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Ident, LitStr};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, const_assertion, list, panic_at, some},
    parse::{
        Inline, List, PolicyArgs, add_flag, number_of, read_string, set, strs, texts, word_of,
    },
};

/// The arguments of `#[headers]`.
pub(crate) type Args = PolicyArgs<InlineHeaders>;

/// A policy, part by part.
pub(crate) struct InlineHeaders {
    /// The tokens to underline when the attribute as a whole is wrong.
    tokens: TokenStream,
    /// The parts that are one text, by their names.
    texts: Vec<(String, LitStr)>,
    frame: Option<FrameArg>,
    permissions: Option<List>,
    hsts: Option<Expr>,
    flags: Vec<Ident>,
}

/// Which pages may show this one in a frame.
enum FrameArg {
    /// `none`, `same_origin` or `any`
    Word(Ident),
    Listed(List),
}

impl Inline for InlineHeaders {
    const FLAGS: &'static [&'static str] = &["include_subdomains", "preload", "every_response"];
    const PARTS: &'static [&'static str] =
        &["csp", "frame", "referrer", "permissions", "coop", "coep", "corp", "hsts"];
    const POSSIBLE: &'static str = "possible are `csp`, `frame`, `referrer`, `permissions`, `coop`, `coep`, `corp`, `hsts`, \
         `include_subdomains`, `preload` and `every_response`; or the name of a `HeadersPolicy`, or \
         `none`";
    const NEEDS_ARGUMENTS: bool = true;

    fn flag(&mut self, flag: Ident) -> bool {
        add_flag(&mut self.flags, flag)
    }

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let example = Self::example(&name);
        match name.as_str() {
            "frame" => set(&mut self.frame, read_frame(value, diagnostics)),
            "permissions" => {
                let list = List::read_literals(value, &name, &example, diagnostics);
                set(&mut self.permissions, list)
            }
            "hsts" => {
                let is_number = number_of(&value).is_some();
                if !is_number {
                    diagnostics.error(&value, Rule::SecondsExpected, "hsts", example);
                }
                set(&mut self.hsts, is_number.then_some(value))
            }
            _ => {
                let is_first = self.text(&name).is_none();
                let text = read_string(&value, &name, &example, diagnostics);
                self.texts.extend(text.map(|text| (name, text)));
                is_first
            }
        }
    }

    fn example(part: &str) -> String {
        match part {
            "csp" => "write `csp = \"default-src 'self'; script-src 'self' 'nonce'\"`".to_owned(),
            "frame" => "write `none`, `same_origin`, `any`, or a list such as \
                        `frame = [\"https://app.example.com\"]`"
                .to_owned(),
            "permissions" => "write a list, such as `permissions = [\"camera=()\"]`".to_owned(),
            "hsts" => "write seconds, such as `hsts = 31536000`".to_owned(),
            "referrer" => "write `referrer = \"no-referrer\"`".to_owned(),
            "coep" => "write `coep = \"require-corp\"`".to_owned(),
            part => format!("write `{part} = \"same-origin\"`"),
        }
    }

    fn after_error(self) -> Option<Self> {
        None
    }
}

fn read_frame(value: Expr, diagnostics: &mut Diagnostics) -> Option<FrameArg> {
    let example = InlineHeaders::example("frame");
    match word_of(&value) {
        Some(word) if ["none", "same_origin", "any"].iter().any(|known| word == known) => {
            Some(FrameArg::Word(word.clone()))
        }
        Some(word) => {
            diagnostics.unknown(word, Rule::UnknownWord, word, &example);
            None
        }
        None => List::read_literals(value, "frame", &example, diagnostics).map(FrameArg::Listed),
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let inline = InlineHeaders {
            tokens: parsed.tokens.clone(),
            texts: Vec::new(),
            frame: None,
            permissions: None,
            hsts: None,
            flags: Vec::new(),
        };
        Self::read_policy(parsed, inline, diagnostics)
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        if let Some(inline) = self.inline() {
            inline.check(context, diagnostics);
        }
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        match self {
            Self::Inline(inline) => expansion.set("headers", &inline.emit()),
            Self::Shared(expr) => {
                expansion.items.extend(checked_policy(expr, context));
                expansion.set("headers", &quote!(*__POLICY_HEADERS.spec()));
            }
            Self::None => expansion.set_none("headers"),
        }
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        match self {
            Self::Inline(inline) => {
                let csp = inline.text("csp").map(LitStr::value);
                let csp = csp.as_deref().map(csp::parse);
                let headers = inline.with_spec(to.context, csp.as_ref(), |spec| {
                    policy_core::headers::SecurityHeaders::from_spec(&spec)
                });
                to.route.headers = Some(to.manifest.add_security_headers(headers));
            }
            Self::Shared(expr) => return Err(expr.to_token_stream()),
            Self::None => to.route.headers = None,
        }
        Ok(())
    }
}

/// The policy behind a name, which is checked itself; and, if it must be consistent with other
/// attributes, a constant whose evaluation checks that.
fn checked_policy(expr: &Expr, context: &Context<'_>) -> TokenStream {
    let headers = quote!(__policy::policy_core::headers);
    let policy = quote!(const __POLICY_HEADERS: #headers::HeadersPolicy = #expr;);
    if !context.facts().has_jsonp {
        return policy;
    }
    let route = context.emit_facts();
    let spec = quote!((#headers::HeadersSpec { route: #route, ..*__POLICY_HEADERS.spec() }));
    let failure = panic_at(&expr.to_token_stream());
    let agreement = const_assertion(&context.constant("headers_policy"), &spec, &failure);
    quote!(#policy #agreement)
}

impl InlineHeaders {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|word| word == flag)
    }

    fn text(&self, part: &str) -> Option<&LitStr> {
        self.texts.iter().find(|(name, _)| name == part).map(|(_, text)| text)
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let csp_text = self.text("csp").map(LitStr::value);
        let parsed = csp_text.as_deref().map(csp::parse);
        let unread = parsed.iter().flat_map(|parsed| &parsed.violations);
        for (rule, word) in unread {
            diagnostics.rule(self.tokens_of(HeadersPart::Csp, 0), *rule, word);
        }
        self.with_spec(context, parsed.as_ref(), |spec| {
            for Violation { rule, part, index, value, .. } in spec.violations() {
                diagnostics.rule(self.tokens_of(part, index), rule, value);
            }
        });
    }

    /// Calls a function with the spec, of which the content security policy is read already.
    fn with_spec<T>(
        &self,
        context: &Context<'_>,
        csp: Option<&Parsed<'_>>,
        call: impl FnOnce(HeadersSpec<'_>) -> T,
    ) -> T {
        let text = |part: HeadersPart| self.text(part.name()).map(LitStr::value);
        // If nothing could be read, do not also report the policy as empty.
        let directives = csp
            .filter(|parsed| parsed.violations.is_empty() || !parsed.directives.is_empty())
            .map(Parsed::borrowed);
        let (referrer, coop) = (text(HeadersPart::Referrer), text(HeadersPart::Coop));
        let (coep, corp) = (text(HeadersPart::Coep), text(HeadersPart::Corp));
        let (origins, permissions) = (texts(self.origins()), texts(self.permissions.as_ref()));
        let (origins, permissions) = (strs(&origins), strs(&permissions));
        call(HeadersSpec {
            csp: directives.as_deref(),
            frame: self.frame.as_ref().map(|frame| match frame {
                FrameArg::Listed(_) => Frame::Listed(&origins),
                FrameArg::Word(word) if word == "none" => Frame::Nobody,
                FrameArg::Word(word) if word == "any" => Frame::Anybody,
                FrameArg::Word(_) => Frame::SameOrigin,
            }),
            referrer: referrer.as_deref(),
            permissions: &permissions,
            coop: coop.as_deref(),
            coep: coep.as_deref(),
            corp: corp.as_deref(),
            hsts: self.hsts.as_ref().and_then(number_of),
            include_subdomains: self.has("include_subdomains"),
            preload: self.has("preload"),
            every_response: self.has("every_response"),
            route: context.facts(),
        })
    }

    /// The policy, which was checked, as an expression.
    fn emit(&self) -> TokenStream {
        let headers = quote!(__policy::policy_core::headers);
        let csp = self.text("csp").map(|text| some(&directives(&text.value(), &headers)));
        let frame = self.frame.as_ref().map(|frame| {
            some(&match frame {
                FrameArg::Listed(origins) => {
                    let origins = list(origins);
                    quote!(#headers::Frame::Listed(#origins))
                }
                FrameArg::Word(word) if word == "none" => quote!(#headers::Frame::Nobody),
                FrameArg::Word(word) if word == "any" => quote!(#headers::Frame::Anybody),
                FrameArg::Word(_) => quote!(#headers::Frame::SameOrigin),
            })
        });
        let texts = self.texts.iter().filter(|(name, _)| name != "csp").map(|(name, text)| {
            let (name, text) = (format_ident!("{name}"), some(text));
            quote!(#name: #text)
        });
        let hsts = self.hsts.as_ref().map(some);
        let values = [
            csp.map(|value| quote!(csp: #value)),
            frame.map(|value| quote!(frame: #value)),
            self.permissions.as_ref().map(list).map(|value| quote!(permissions: #value)),
            hsts.map(|value| quote!(hsts: #value)),
        ];
        let flags = self.flags.iter().map(|flag| quote!(#flag: true));
        let parts = values.into_iter().flatten().chain(texts).chain(flags);
        quote!(#headers::HeadersSpec { #(#parts,)* ..#headers::HeadersSpec::NOTHING })
    }

    fn origins(&self) -> Option<&List> {
        match &self.frame {
            Some(FrameArg::Listed(origins)) => Some(origins),
            _ => None,
        }
    }

    /// The tokens of an entry, or of the smallest enclosing part that exists.
    fn tokens_of(&self, part: HeadersPart, index: usize) -> TokenStream {
        let found = match (part, &self.frame) {
            (HeadersPart::Frame, Some(FrameArg::Listed(origins))) => Some(origins.tokens_of(index)),
            (HeadersPart::Frame, Some(FrameArg::Word(word))) => Some(word.to_token_stream()),
            (HeadersPart::Permissions, _) => {
                self.permissions.as_ref().map(|list| list.tokens_of(index))
            }
            (HeadersPart::Hsts, _) => self.hsts.as_ref().map(ToTokens::to_token_stream),
            (HeadersPart::IncludeSubdomains | HeadersPart::Preload, _) => {
                let flag = self.flags.iter().find(|flag| *flag == part.name());
                flag.map(ToTokens::to_token_stream)
            }
            _ => self.text(part.name()).map(ToTokens::to_token_stream),
        };
        found.unwrap_or_else(|| self.tokens.clone())
    }
}

/// A content security policy, as data.
fn directives(text: &str, headers: &TokenStream) -> TokenStream {
    let directives = csp::parse(text).directives.into_iter().map(|(name, sources)| {
        let name = format_ident!("{name:?}");
        let sources = sources.into_iter().map(|source| {
            let source = match source {
                Source::Scheme(text) => quote!(Scheme(#text)),
                Source::Host(text) => quote!(Host(#text)),
                Source::Hash(text) => quote!(Hash(#text)),
                Source::Word(text) => quote!(Word(#text)),
                keyword => format_ident!("{keyword:?}").to_token_stream(),
            };
            quote!(#headers::csp::Source::#source)
        });
        quote!(#headers::csp::Directive(#headers::csp::Name::#name, &[#(#sources),*]))
    });
    quote!(&[#(#directives),*])
}
