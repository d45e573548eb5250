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
    parse::{Inline, PolicyArgs, read_string, strip_groups},
};

/// The arguments of `#[limit]`.
pub(crate) type Args = PolicyArgs<InlineLimits>;

/// Limits, part by part.
#[derive(Default)]
pub(crate) struct InlineLimits {
    /// The parts that are texts, by their names.
    texts: Vec<(String, LitStr)>,
    /// The parts that are numbers, by their names.
    numbers: Vec<(String, Number)>,
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
        let is_first = self.text(&name).is_none() && self.number(&name).is_none();
        if ["concurrency", "sockets", "sockets_per_caller"].contains(&name.as_str()) {
            let number = read_number(&value, &name, diagnostics);
            self.numbers.extend(number.map(|number| (name, number)));
        } else {
            let text = read_string(&value, &name, &Self::example(&name), diagnostics);
            self.texts.extend(text.map(|text| (name, text)));
        }
        is_first
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
    fn text(&self, part: &str) -> Option<&LitStr> {
        self.texts.iter().find(|(name, _)| name == part).map(|(_, text)| text)
    }

    fn number(&self, part: &str) -> Option<&Number> {
        self.numbers.iter().find(|(name, _)| name == part).map(|(_, number)| number)
    }

    /// The limits that the literals state; unreadable ones are left out.
    fn limits(&self, mut report: impl FnMut(LimitPart, Rule)) -> Limits {
        let report = &mut report;
        let number = |part: LimitPart| self.number(part.name()).map(|number| number.value);
        let mut limits = Limits::NONE;
        limits.body = self.read(LimitPart::Body, body_of, report);
        limits.timeout = self.read(LimitPart::Timeout, timeout_of, report);
        limits.rate = self.read(LimitPart::Rate, rate_of, report);
        limits.message = self.read(LimitPart::Message, message_of, report);
        limits.silence = self.read(LimitPart::Silence, silence_of, report);
        limits.misses = self.read(LimitPart::Misses, misses_of, report);
        limits.concurrency = number(LimitPart::Concurrency);
        limits.sockets = number(LimitPart::Sockets);
        limits.sockets_per_caller = number(LimitPart::SocketsPerCaller);
        limits
    }

    fn read<T>(
        &self,
        part: LimitPart,
        parse: impl Fn(&str) -> Result<T, Rule>,
        report: &mut impl FnMut(LimitPart, Rule),
    ) -> Option<T> {
        let text = self.text(part.name())?.value();
        parse(&text).map_err(|rule| report(part, rule)).ok()
    }

    /// The tokens and the text of a part.
    fn text_of(&self, part: LimitPart) -> (TokenStream, String) {
        if let Some(Number { literal, .. }) = self.number(part.name()) {
            return (literal.to_token_stream(), literal.to_string());
        }
        let text = self.text(part.name());
        (text.to_token_stream(), text.map(LitStr::value).unwrap_or_default())
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
