//! `#[limit]`: `body = "1 MiB", timeout = "5s", ..`, or shared limits.

use policy_core::{
    Rule,
    limits::{
        LimitPart, LimitSpec, Limits, Rate, body_of, message_of, misses_of, rate_of, silence_of,
        timeout_of,
    },
};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, ExprLit, Ident, Lit, LitInt, LitStr};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, const_assertion, duration, panic_at},
    parse::{Inline, PolicyArgs, read_string, set, strip_groups},
};

/// The arguments of `#[limit]`.
pub(crate) type Args = PolicyArgs<InlineLimits>;

/// Limits, part by part.
#[derive(Default)]
pub(crate) struct InlineLimits {
    body: Option<LitStr>,
    timeout: Option<LitStr>,
    rate: Option<LitStr>,
    concurrency: Option<Number>,
    message: Option<LitStr>,
    silence: Option<LitStr>,
    sockets: Option<Number>,
    sockets_per_caller: Option<Number>,
    misses: Option<LitStr>,
}

/// A number, and its source text.
struct Number {
    value: u32,
    literal: LitInt,
}

impl Inline for InlineLimits {
    const FLAGS: &'static [&'static str] = &[];
    const PARTS: &'static [&'static str] = &[
        "body",
        "timeout",
        "rate",
        "concurrency",
        "message",
        "silence",
        "sockets",
        "sockets_per_caller",
        "misses",
    ];
    const POSSIBLE: &'static str = "possible are `body`, `timeout`, `rate` and `concurrency`, for WebSockets `message`, \
         `silence`, `sockets` and `sockets_per_caller`, for objects `misses`; or the name of a constant of type `Limits`";
    const NEEDS_ARGUMENTS: bool = true;
    const HAS_NONE: bool = false;

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let mut text = || read_string(&value, &name, &Self::example(&name), diagnostics);
        match name.as_str() {
            "body" => set(&mut self.body, text()),
            "timeout" => set(&mut self.timeout, text()),
            "rate" => set(&mut self.rate, text()),
            "message" => set(&mut self.message, text()),
            "silence" => set(&mut self.silence, text()),
            "misses" => set(&mut self.misses, text()),
            _ => {
                let number = read_number(&value, &name, diagnostics);
                match name.as_str() {
                    "sockets" => set(&mut self.sockets, number),
                    "sockets_per_caller" => set(&mut self.sockets_per_caller, number),
                    _ => set(&mut self.concurrency, number),
                }
            }
        }
    }

    fn example(part: &str) -> String {
        match part {
            "body" => "write a size, such as `body = \"1 MiB\"`",
            "timeout" => "write a time, such as `timeout = \"5s\"`",
            "rate" => "write a rate, such as `rate = \"100/min per principal\"`",
            "message" => "write a size, such as `message = \"256 KiB\"`",
            "silence" => "write a time, such as `silence = \"1m\"`",
            "sockets" => "write a number, such as `sockets = 1000`",
            "sockets_per_caller" => "write a number, such as `sockets_per_caller = 20`",
            "misses" => "write a rate, such as `misses = \"20/min\"`",
            _ => "write a number, such as `concurrency = 64`",
        }
        .to_owned()
    }
}

fn read_number(value: &Expr, part: &str, diagnostics: &mut Diagnostics) -> Option<Number> {
    if let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = strip_groups(value)
        && let Ok(value) = literal.base10_parse()
    {
        return Some(Number { value, literal: literal.clone() });
    }
    diagnostics.error(value, Rule::NumberExpected, part, InlineLimits::example(part));
    None
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        Self::read_policy(parsed, InlineLimits::default(), diagnostics)
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let Some(inline) = self.inline() else { return };
        let mut report = |part, rule| {
            let (tokens, value) = inline.text_of(part);
            diagnostics.rule(tokens, rule, &value);
        };
        let limits = inline.limits(&mut report);
        for found in (LimitSpec { limits, route: context.facts() }).violations() {
            report(found.part, found.rule);
        }
    }

    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion) {
        let value = match self {
            Self::Inline(inline) => inline.emit(),
            Self::Shared(shared) => {
                let shared = shared.to_token_stream();
                expansion.items.extend(checked_value(&shared, context));
                quote!(__POLICY_LIMITS)
            }
            Self::None => return,
        };
        expansion.state("limits", &value);
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        match self {
            Self::Inline(inline) => to.route.limits = (&inline.limits(|_, _| ())).into(),
            Self::Shared(expr) => return Err(expr.to_token_stream()),
            Self::None => (),
        }
        Ok(())
    }
}

/// The value of a user's constant, which the compiler checks while it evaluates another.
fn checked_value(shared: &TokenStream, context: &Context<'_>) -> TokenStream {
    let limits = quote!(__policy::policy_core::limits);
    let route = context.emit_facts();
    let spec = quote!((#limits::LimitSpec { limits: __POLICY_LIMITS, route: #route }));
    let assertion = const_assertion(&context.constant("limit_policy"), &spec, &panic_at(shared));
    quote!(const __POLICY_LIMITS: #limits::Limits = #shared; #assertion)
}

impl InlineLimits {
    /// The limits that the literals state; unreadable ones are left out.
    fn limits(&self, mut report: impl FnMut(LimitPart, Rule)) -> Limits {
        fn read<T>(
            literal: Option<&LitStr>,
            parse: impl Fn(&str) -> Result<T, Rule>,
            report: impl FnOnce(Rule),
        ) -> Option<T> {
            parse(&literal?.value()).map_err(report).ok()
        }
        let mut limits = Limits::NONE;
        limits.body = read(self.body.as_ref(), body_of, |rule| report(LimitPart::Body, rule));
        limits.timeout =
            read(self.timeout.as_ref(), timeout_of, |rule| report(LimitPart::Timeout, rule));
        limits.rate = read(self.rate.as_ref(), rate_of, |rule| report(LimitPart::Rate, rule));
        limits.message =
            read(self.message.as_ref(), message_of, |rule| report(LimitPart::Message, rule));
        limits.silence =
            read(self.silence.as_ref(), silence_of, |rule| report(LimitPart::Silence, rule));
        limits.misses =
            read(self.misses.as_ref(), misses_of, |rule| report(LimitPart::Misses, rule));
        let value = |number: &Option<Number>| number.as_ref().map(|number| number.value);
        limits.concurrency = value(&self.concurrency);
        limits.sockets = value(&self.sockets);
        limits.sockets_per_caller = value(&self.sockets_per_caller);
        limits
    }

    /// The tokens and the text of a part.
    fn text_of(&self, part: LimitPart) -> (TokenStream, String) {
        let number = |number: &Option<Number>| {
            let number = number.as_ref().map(|number| &number.literal);
            (number.to_token_stream(), number.map(ToString::to_string).unwrap_or_default())
        };
        let literal = match part {
            LimitPart::Body => &self.body,
            LimitPart::Timeout => &self.timeout,
            LimitPart::Rate => &self.rate,
            LimitPart::Message => &self.message,
            LimitPart::Silence => &self.silence,
            LimitPart::Misses => &self.misses,
            LimitPart::Concurrency => return number(&self.concurrency),
            LimitPart::Sockets => return number(&self.sockets),
            LimitPart::SocketsPerCaller => return number(&self.sockets_per_caller),
        };
        (literal.to_token_stream(), literal.as_ref().map(LitStr::value).unwrap_or_default())
    }

    /// Limits that were checked, as an expression.
    fn emit(&self) -> TokenStream {
        let core = quote!(__policy::policy_core::limits);
        let limits = self.limits(|_, _| ());
        let body = limits.body.map(|bytes| quote!(.body(#bytes)));
        let timeout = limits.timeout.map(duration).map(|timeout| quote!(.timeout(#timeout)));
        let new = |Rate { count, per, .. }: Rate| {
            let seconds = per.as_secs();
            quote!(#core::Rate::new(#count, ::core::time::Duration::from_secs(#seconds)))
        };
        let rate = limits.rate.map(|rate| {
            let by = rate.by;
            let (by, rate) = (format_ident!("{by:?}"), new(rate));
            quote!(.rate(#rate.counted_by(#core::RateKey::#by)))
        });
        let misses = limits.misses.map(new).map(|rate| quote!(.misses(#rate)));
        let concurrency = limits.concurrency.map(|requests| quote!(.concurrency(#requests)));
        let message = limits.message.map(|bytes| quote!(.message(#bytes)));
        let silence = limits.silence.map(duration).map(|silence| quote!(.silence(#silence)));
        let sockets = limits.sockets.map(|sockets| quote!(.sockets(#sockets)));
        let per_caller =
            limits.sockets_per_caller.map(|sockets| quote!(.sockets_per_caller(#sockets)));
        quote! {
            #core::Limits::NONE #body #timeout #rate #concurrency #message #silence #sockets
                #per_caller #misses
        }
    }
}
