//! `origins = [..], credentials, ..`, a shared policy, or `none`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ExprLit, Ident, Lit, Result, Token, UnOp, ext::IdentExt, parse::ParseStream};

use super::{
    List, add_flag, is_constant, peek_word, peeled, read_entries, read_value, refuse_company,
    repeated, set, word_of,
};
use crate::{collect::Taken, diag::Findings};

/// What `#[cors]` says.
pub(crate) enum CorsArgs {
    /// A policy of this route alone.
    Written(Box<Written>),
    /// The value of an expression.
    Shared(Expr),
    /// Nobody, whatever the outer levels say.
    Nobody,
}

/// A policy, part by part.
pub(crate) struct Written {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
    pub(crate) origins: Option<OriginsArg>,
    pub(crate) methods: Option<List>,
    pub(crate) headers: Option<List>,
    pub(crate) expose: Option<List>,
    pub(crate) max_age: Option<Expr>,
    pub(crate) flags: Vec<Ident>,
}

/// Where origins come from.
pub(crate) enum OriginsArg {
    Listed(List),
    /// `config("name", within = ..)`
    AtRunTime {
        call: TokenStream,
        name: Expr,
        within: Option<List>,
    },
    /// They are there, and an error about them has been found already.
    Unreadable,
}

pub(crate) const FLAGS: [&str; 3] =
    ["credentials", "dangerous_insecure_origins", "dangerous_public_suffix"];

const POSSIBLE: &str = "possible are `origins`, `credentials`, `headers`, `expose`, `methods`, \
     `max_age`, `dangerous_insecure_origins` and `dangerous_public_suffix`; or the name of a \
     `CorsPolicy`, or `none`";

impl CorsArgs {
    /// Reads the arguments; `None` after an error that leaves no policy.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let mut written = Written::new(place.clone());
        // Whole policies, each with the tokens that name it.
        let mut wholes = Vec::new();
        let mut count = 0;
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| {
            count += 1;
            if !peek_word(input) {
                let shared: Expr = input.parse()?;
                wholes.push((shared.to_token_stream(), Self::Shared(shared)));
                return Ok(());
            }
            let word = input.call(Ident::parse_any)?;
            if input.peek(Token![=]) || is_part(&word) {
                return written.read_part(word, input, findings);
            }
            if word == "none" {
                wholes.push((word.to_token_stream(), Self::Nobody));
            } else if is_constant(&word) {
                let shared = syn::parse_quote!(#word);
                wholes.push((word.to_token_stream(), Self::Shared(shared)));
            } else {
                findings.error(&word, format_args!("unknown word `{word}`"), POSSIBLE);
            }
            Ok(())
        });
        if wholes.is_empty() {
            // A misspelt part may be the origins: not to be called missing, too.
            if findings.error_count() > errors_before {
                written.origins.get_or_insert(OriginsArg::Unreadable);
            }
            return Some(Self::Written(Box::new(written)));
        }
        if count > 1 {
            refuse_company(wholes.iter().map(|(place, _)| place), findings);
            return None;
        }
        wholes.pop().map(|(_, whole)| whole)
    }
}

fn is_part(word: &Ident) -> bool {
    let lists = ["origins", "headers", "expose", "methods", "max_age"];
    lists.iter().chain(&FLAGS).any(|part| word == part)
}

impl Written {
    fn new(place: TokenStream) -> Self {
        Self {
            place,
            origins: None,
            methods: None,
            headers: None,
            expose: None,
            max_age: None,
            flags: Vec::new(),
        }
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|word| word == flag)
    }

    fn read_part(
        &mut self,
        key: Ident,
        input: ParseStream<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let (assigned, value) = read_value(input)?;
        let name = key.to_string();
        if FLAGS.contains(&name.as_str()) {
            add_flag(&mut self.flags, key, assigned, findings);
            return Ok(());
        }
        if !is_part(&key) {
            findings.error(&key, format_args!("unknown argument `{key}`"), POSSIBLE);
            return Ok(());
        }
        let Some(value) = value else {
            findings.error(&key, format_args!("`{key}` needs a value"), example(&name));
            return Ok(());
        };
        let fresh = match name.as_str() {
            "origins" => set(&mut self.origins, OriginsArg::read(value, findings)),
            "max_age" => set(&mut self.max_age, read_seconds(value, findings)),
            "methods" => set(&mut self.methods, read_list(value, &name, findings)),
            "headers" => set(&mut self.headers, read_list(value, &name, findings)),
            _ => set(&mut self.expose, read_list(value, &name, findings)),
        };
        if !fresh {
            repeated(&key, findings);
        }
        Ok(())
    }
}

fn example(part: &str) -> String {
    match part {
        "origins" => "write a list, such as `origins = [\"https://app.example.com\"]`".to_owned(),
        "within" => "write a list, such as `within = [\"https://*.example.com\"]`".to_owned(),
        "methods" => "write a list, such as `methods = [\"PUT\"]`".to_owned(),
        "max_age" => "write seconds, such as `max_age = 600`".to_owned(),
        part => format!("write a list, such as `{part} = [\"x-request-id\"]`"),
    }
}

impl OriginsArg {
    fn read(value: Expr, findings: &mut Findings) -> Option<Self> {
        let Expr::Call(call) = peeled(&value) else {
            return read_list(value, "origins", findings).map(Self::Listed);
        };
        if word_of(&call.func).is_none_or(|word| word != "config") {
            return Some(Self::Listed(List { expr: value }));
        }
        let mut args = call.args.iter();
        let name = args.next().filter(|name| !matches!(name, Expr::Assign(_)));
        let Some(name) = name else {
            findings.error(
                call,
                "`config` needs the name of the list",
                "write `config(\"partners\")`; the app is given the origins under that name",
            );
            return None;
        };
        let (mut within, mut readable) = (None, true);
        for arg in args {
            match arg {
                Expr::Assign(assign)
                    if word_of(&assign.left).is_some_and(|word| word == "within") =>
                {
                    if within.is_some() {
                        findings.error(arg, "`within` stands here twice", "remove one of them");
                    }
                    within = read_list((*assign.right).clone(), "within", findings);
                    readable &= within.is_some();
                }
                other => findings.error(
                    other,
                    "`config` takes the name of a list, and a bound",
                    "write `config(\"partners\", within = [\"https://*.example.com\"])`",
                ),
            }
        }
        readable.then(|| Self::AtRunTime {
            call: call.to_token_stream(),
            name: name.clone(),
            within,
        })
    }
}

fn read_list(value: Expr, part: &str, findings: &mut Findings) -> Option<List> {
    List::read(value, part, &example(part), findings)
}

fn read_seconds(value: Expr, findings: &mut Findings) -> Option<Expr> {
    match peeled(&value) {
        Expr::Lit(literal) if !matches!(literal.lit, Lit::Int(_)) => {
            findings.error(literal, "`max_age` is a number of seconds", example("max_age"));
            None
        }
        _ => Some(value),
    }
}

/// The number that an expression is, negative ones too. One that does not fit is as wrong as the
/// largest that does.
pub(crate) fn number_of(expr: &Expr) -> Option<i64> {
    match peeled(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            Some(number.base10_parse().unwrap_or(i64::MAX))
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            number_of(&unary.expr).map(|number| -number)
        }
        _ => None,
    }
}
