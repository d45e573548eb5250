//! Security fields, as `#[headers]` says them.

use policy_core::headers::{
    Frame, HeadersSpec, Part, Violation,
    csp::{self, Parsed, Source},
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{ExprPath, LitStr, ext::IdentExt};

use crate::{
    args::{
        List,
        cors::{CorsArgs, number_of},
        headers::{FrameArg, HeadersArgs, Written},
    },
    callers::{strs, values},
    constant::{asked, list, panic_at, some},
    diag::Findings,
    surroundings::Surroundings,
};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &HeadersArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let HeadersArgs::Written(written) = args else { return };
    let text = |part: Part| written.text(part.name()).map(LitStr::value);
    let csp_text = text(Part::Csp);
    let parsed = csp_text.as_deref().map(csp::parse);
    let unread = parsed.iter().flat_map(|parsed| &parsed.violations);
    for (rule, word) in unread {
        findings.rule(written.place_of(Part::Csp, 0), *rule, word);
    }
    // What has nothing that could be read is not to be called empty, too.
    let directives = parsed
        .as_ref()
        .filter(|parsed| parsed.violations.is_empty() || !parsed.directives.is_empty())
        .map(Parsed::borrowed);
    let (referrer, coop) = (text(Part::Referrer), text(Part::Coop));
    let (coep, corp) = (text(Part::Coep), text(Part::Corp));
    let (origins, permissions) = (values(written.origins()), values(written.permissions.as_ref()));
    let (origins, permissions) = (strs(&origins), strs(&permissions));
    let spec = HeadersSpec {
        csp: directives.as_deref(),
        frame: written.frame.as_ref().map(|frame| match frame {
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
        hsts: written.hsts.as_ref().and_then(number_of),
        include_subdomains: written.has("include_subdomains"),
        preload: written.has("preload"),
        every_answer: written.has("every_answer"),
        is_shared: is_shared(around),
    };
    for Violation { rule, part, index, value } in spec.violations() {
        findings.rule(written.place_of(part, index), rule, value);
    }
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(args: &HeadersArgs, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    let facet = quote!(__policy::policy_core::route::Facet);
    match args {
        HeadersArgs::Nothing => (quote!(), quote!(#facet::None)),
        HeadersArgs::Shared(path) => (shared(path, around), quote!(#facet::Set(__POLICY_HEADERS))),
        HeadersArgs::Written(written) => {
            let headers = quote!(__policy::policy_core::headers);
            let parts = parts(written, &headers);
            let spec =
                quote!(#headers::HeadersSpec { #(#parts,)* ..#headers::HeadersSpec::NOTHING });
            (quote!(), quote!(#facet::Set(#headers::HeadersPolicy::expanded(#spec))))
        }
    }
}

/// CORS and JSONP let pages of others have the answers.
fn is_shared(around: &Surroundings<'_>) -> bool {
    let by_cors = matches!(around.cors, Some(CorsArgs::Written(_) | CorsArgs::Shared(_)));
    by_cors || around.jsonp.is_some()
}

/// The policy behind a name, which is checked itself; and where it has to agree with something, a
/// constant whose evaluation asks about that.
fn shared(path: &ExprPath, around: &Surroundings<'_>) -> TokenStream {
    let headers = quote!(__policy::policy_core::headers);
    let policy = quote!(const __POLICY_HEADERS: #headers::HeadersPolicy = #path;);
    if !is_shared(around) {
        return policy;
    }
    let handler = around.handler.unraw();
    let name = format_ident!("headers_policy_of_{handler}", span = Span::call_site());
    let panic = panic_at(&path.to_token_stream());
    let spec = quote!((#headers::HeadersSpec { is_shared: true, ..*__POLICY_HEADERS.spec() }));
    let agreement = asked(&name, &spec, &panic);
    quote!(#policy #agreement)
}

/// The fields of the spec that say something.
fn parts(written: &Written, headers: &TokenStream) -> Vec<TokenStream> {
    let csp = written.text("csp").map(|text| some(&directives(&text.value(), headers)));
    let frame = written.frame.as_ref().map(|frame| {
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
    let texts = written.texts.iter().filter(|(name, _)| name != "csp").map(|(name, text)| {
        let (name, text) = (format_ident!("{name}"), some(&text.to_token_stream()));
        quote!(#name: #text)
    });
    let hsts = written.hsts.as_ref().map(|seconds| some(&seconds.to_token_stream()));
    let values = [
        csp.map(|value| quote!(csp: #value)),
        frame.map(|value| quote!(frame: #value)),
        written.permissions.as_ref().map(list).map(|value| quote!(permissions: #value)),
        hsts.map(|value| quote!(hsts: #value)),
    ];
    let flags = written.flags.iter().map(|flag| quote!(#flag: true));
    values.into_iter().flatten().chain(texts).chain(flags).collect()
}

/// A policy for contents, as data.
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

impl Written {
    fn origins(&self) -> Option<&List> {
        match &self.frame {
            Some(FrameArg::Listed(origins)) => Some(origins),
            _ => None,
        }
    }

    /// The tokens of an entry, or of the smallest thing around it that exists.
    fn place_of(&self, part: Part, index: usize) -> TokenStream {
        let found = match (part, &self.frame) {
            (Part::Frame, Some(FrameArg::Listed(origins))) => Some(origins.place_of(index)),
            (Part::Frame, Some(FrameArg::Word(word))) => Some(word.to_token_stream()),
            (Part::Permissions, _) => self.permissions.as_ref().map(|list| list.place_of(index)),
            (Part::Hsts, _) => self.hsts.as_ref().map(ToTokens::to_token_stream),
            (Part::IncludeSubdomains | Part::Preload, _) => {
                let flag = self.flags.iter().find(|flag| *flag == part.name());
                flag.map(ToTokens::to_token_stream)
            }
            _ => self.text(part.name()).map(ToTokens::to_token_stream),
        };
        found.unwrap_or_else(|| self.place.clone())
    }
}
