//! `body = "1 MiB", timeout = "5s", ..`, or shared limits.

use syn::{
    Expr, ExprLit, Ident, Lit, LitInt, LitStr, Result, Token, ext::IdentExt, parse::ParseStream,
};

use super::{is_constant, peek_word, peeled, read_entries, read_value, repeated, set, string_of};
use crate::{collect::Taken, diag::Findings};

/// What `#[limit]` says.
pub(crate) enum LimitArgs {
    /// Limits of this route alone.
    Written(Written),
    /// The value of a constant.
    Shared(Expr),
}

/// Limits, part by part.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) body: Option<LitStr>,
    pub(crate) timeout: Option<LitStr>,
    pub(crate) rate: Option<LitStr>,
    pub(crate) concurrency: Option<Number>,
}

/// A number, and how it is written.
pub(crate) struct Number {
    pub(crate) value: u32,
    pub(crate) literal: LitInt,
}

const PARTS: [&str; 4] = ["body", "timeout", "rate", "concurrency"];

const POSSIBLE: &str = "possible are `body`, `timeout`, `rate` and `concurrency`; or the name of \
     a constant of type `Limits`";

impl LimitArgs {
    /// Reads the arguments; `None` after an error that leaves no limits.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let (mut written, mut shared, mut count) = (Written::default(), Vec::new(), 0);
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| {
            count += 1;
            if peek_word(input) {
                let ahead = input.fork().call(Ident::parse_any)?;
                if !is_constant(&ahead) || input.peek2(Token![=]) {
                    return written.read_part(input, findings);
                }
            }
            let value: Expr = input.parse()?;
            match peeled(&value) {
                Expr::Path(_) => shared.push(value),
                other => findings.error(other, "this is neither a part nor a constant", POSSIBLE),
            }
            Ok(())
        });
        if count == 0 && findings.error_count() == errors_before {
            findings.error(&place, "`#[limit]` does not say what is limited", POSSIBLE);
        }
        if count > 1 {
            for constant in &shared {
                findings.error(
                    constant,
                    "shared limits stand alone: nothing is merged into them",
                    "write each limit by itself, or give the name of a constant that has them all",
                );
            }
        }
        let written = Self::Written(written);
        Some(shared.pop().map_or(written, Self::Shared))
    }
}

impl Written {
    fn read_part(&mut self, input: ParseStream<'_>, findings: &mut Findings) -> Result<()> {
        let key = input.call(Ident::parse_any)?;
        let name = key.to_string();
        let (assigned, value) = read_value(input)?;
        if !PARTS.contains(&name.as_str()) {
            let kind = if assigned { "argument" } else { "word" };
            findings.error(&key, format_args!("unknown {kind} `{key}`"), POSSIBLE);
            return Ok(());
        }
        let Some(value) = value else {
            findings.error(&key, format_args!("`{key}` needs a value"), example(&name));
            return Ok(());
        };
        let is_first = match name.as_str() {
            "body" => set(&mut self.body, read_text(&value, &name, findings)),
            "timeout" => set(&mut self.timeout, read_text(&value, &name, findings)),
            "rate" => set(&mut self.rate, read_text(&value, &name, findings)),
            _ => set(&mut self.concurrency, read_number(&value, &name, findings)),
        };
        if !is_first {
            repeated(&key, findings);
        }
        Ok(())
    }
}

fn example(part: &str) -> &'static str {
    match part {
        "body" => "write a size, such as `body = \"1 MiB\"`",
        "timeout" => "write a time, such as `timeout = \"5s\"`",
        "rate" => "write a rate, such as `rate = \"100/min per principal\"`",
        _ => "write a number, such as `concurrency = 64`",
    }
}

fn read_text(value: &Expr, part: &str, findings: &mut Findings) -> Option<LitStr> {
    let text = string_of(value).cloned();
    if text.is_none() {
        findings.error(value, format_args!("`{part}` is a string literal"), example(part));
    }
    text
}

fn read_number(value: &Expr, part: &str, findings: &mut Findings) -> Option<Number> {
    if let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = peeled(value)
        && let Ok(value) = literal.base10_parse()
    {
        return Some(Number { value, literal: literal.clone() });
    }
    findings.error(value, format_args!("`{part}` is a whole number below 2^32"), example(part));
    None
}
