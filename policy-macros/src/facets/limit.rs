//! Limits, as `#[limit]` says them.

use policy_core::{
    Rule,
    limits::{LimitSpec, Limits, Part, Rate, body_of, rate_of, timeout_of},
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{LitStr, ext::IdentExt};

use crate::{
    args::limit::{LimitArgs, Written},
    constant::{asked, panic_at},
    diag::Findings,
    surroundings::Surroundings,
};

/// Reports every violation that can be seen, each on its own token.
pub(crate) fn check(args: &LimitArgs, around: &Surroundings<'_>, findings: &mut Findings) {
    let LimitArgs::Written(written) = args else { return };
    let mut report = |part, rule| {
        let (place, value) = written.text_of(part);
        findings.rule(place, rule, &value);
    };
    let limits = written.limits(&mut report);
    for found in (LimitSpec { limits, is_public: is_public(around) }).violations() {
        report(found.part, found.rule);
    }
}

/// The items that the policy needs, and the expression for it.
pub(crate) fn stated(args: &LimitArgs, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    match args {
        LimitArgs::Written(written) => (quote!(), constant(written.limits(|_, _| ()))),
        LimitArgs::Shared(shared) => checked(&shared.to_token_stream(), around),
    }
}

/// The value of a constant of the user's, which the compiler checks while it evaluates another.
fn checked(shared: &TokenStream, around: &Surroundings<'_>) -> (TokenStream, TokenStream) {
    let core = quote!(__policy::policy_core::limits);
    let handler = around.handler.unraw();
    let name = format_ident!("limit_policy_of_{handler}", span = Span::call_site());
    let (is_public, failure) = (is_public(around), panic_at(shared));
    let spec = quote!((#core::LimitSpec { limits: __POLICY_LIMITS, is_public: #is_public }));
    let asked = asked(&name, &spec, &failure);
    let items = quote!(const __POLICY_LIMITS: #core::Limits = #shared; #asked);
    (items, quote!(__POLICY_LIMITS))
}

/// Limits that were checked, as an expression.
fn constant(limits: Limits) -> TokenStream {
    let core = quote!(__policy::policy_core::limits);
    let body = limits.body.map(|bytes| quote!(.body(#bytes)));
    let timeout = limits.timeout.map(|timeout| {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        quote!(.timeout(::core::time::Duration::from_millis(#millis)))
    });
    let rate = limits.rate.map(|Rate { count, per, by }| {
        let (seconds, by) = (per.as_secs(), format_ident!("{by:?}"));
        quote! {
            .rate(#core::Rate {
                count: #count,
                per: ::core::time::Duration::from_secs(#seconds),
                by: #core::RateKey::#by,
            })
        }
    });
    let concurrency = limits.concurrency.map(|requests| quote!(.concurrency(#requests)));
    quote!(#core::Limits::NONE #body #timeout #rate #concurrency)
}

fn is_public(around: &Surroundings<'_>) -> bool {
    around.auth.is_some_and(|auth| auth.takes("public"))
}

impl Written {
    /// What the literals say, without those that say nothing that can be read.
    fn limits(&self, mut report: impl FnMut(Part, Rule)) -> Limits {
        fn read<T>(
            literal: Option<&LitStr>,
            parse: impl Fn(&str) -> Result<T, Rule>,
            report: impl FnOnce(Rule),
        ) -> Option<T> {
            parse(&literal?.value()).map_err(report).ok()
        }
        Limits {
            body: read(self.body.as_ref(), body_of, |rule| report(Part::Body, rule)),
            timeout: read(self.timeout.as_ref(), timeout_of, |rule| report(Part::Timeout, rule)),
            rate: read(self.rate.as_ref(), rate_of, |rule| report(Part::Rate, rule)),
            concurrency: self.concurrency.as_ref().map(|number| number.value),
        }
    }

    /// The tokens of a part, and what stands there.
    fn text_of(&self, part: Part) -> (TokenStream, String) {
        let literal = match part {
            Part::Body => &self.body,
            Part::Timeout => &self.timeout,
            Part::Rate => &self.rate,
            Part::Concurrency => {
                let number = self.concurrency.as_ref().map(|number| &number.literal);
                let value = number.map(ToString::to_string).unwrap_or_default();
                return (number.to_token_stream(), value);
            }
        };
        (literal.to_token_stream(), literal.as_ref().map(LitStr::value).unwrap_or_default())
    }
}
