//! The arguments of the attributes: grammar only, no rules.

pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod cors;
pub(crate) mod csrf;
pub(crate) mod headers;
pub(crate) mod isolation;
pub(crate) mod jsonp;
pub(crate) mod limit;
pub(crate) mod route;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Result, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

use crate::diag::Findings;

/// Reads `entry, entry, ..`; after a mistake it goes on behind the next comma.
pub(crate) fn read_entries(
    tokens: TokenStream,
    findings: &mut Findings,
    mut read: impl FnMut(ParseStream<'_>, &mut Findings) -> Result<()>,
) {
    let read_all = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let mut result = read(input, findings);
            if result.is_ok() && !input.is_empty() && !input.peek(Token![,]) {
                result = Err(input.error("expected `,`"));
            }
            if let Err(error) = result {
                findings.syntax(error);
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<TokenTree>()?;
                }
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    if let Err(error) = Parser::parse2(read_all, tokens) {
        findings.syntax(error);
    }
}

/// Whether a word stands here by itself, or before `=`: an argument that has a name.
fn peek_word(input: ParseStream<'_>) -> bool {
    let alone = input.peek(Ident::peek_any) && {
        let ahead = input.fork();
        ahead.call(Ident::parse_any).is_ok() && (ahead.is_empty() || ahead.peek(Token![,]))
    };
    alone || peek_assignment(input)
}

/// Whether `name = ..` stands here.
fn peek_assignment(input: ParseStream<'_>) -> bool {
    input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

/// A list of texts: an array, or any constant expression.
pub(crate) struct List {
    /// The expression, without a `&` in front.
    pub(crate) expr: Expr,
}

impl List {
    /// Takes anything that can be a list; what it is exactly the compiler finds out.
    fn read(value: Expr, part: &str, example: &str, findings: &mut Findings) -> Option<Self> {
        match peeled(&value) {
            Expr::Lit(literal) => {
                findings.error(literal, format_args!("`{part}` is a list"), example);
                None
            }
            Expr::Reference(reference) => {
                let inner = (*reference.expr).clone();
                Self::read(inner, part, example, findings)
            }
            Expr::Array(array) => Some(Self { expr: Expr::Array(array.clone()) }),
            _ => Some(Self { expr: value }),
        }
    }

    /// The same, of literals alone.
    fn read_literals(
        value: Expr,
        part: &str,
        example: &str,
        findings: &mut Findings,
    ) -> Option<Self> {
        let list = Self::read(value, part, example, findings)?;
        if list.literals().is_none() {
            let message = format_args!("`{part}` is a list of string literals");
            findings.error(&list.expr, message, example);
            return None;
        }
        Some(list)
    }

    /// The entries, where they can be seen.
    pub(crate) fn entries(&self) -> Option<impl Iterator<Item = &Expr>> {
        match &self.expr {
            Expr::Array(array) => Some(array.elems.iter()),
            _ => None,
        }
    }

    /// The tokens of an entry; of the whole list where there is none to be seen.
    pub(crate) fn place_of(&self, index: usize) -> TokenStream {
        let entry = self.entries().and_then(|mut entries| entries.nth(index));
        entry.unwrap_or(&self.expr).to_token_stream()
    }

    /// The entries, where all of them are literals.
    pub(crate) fn literals(&self) -> Option<Vec<&LitStr>> {
        self.entries()?.map(string_of).collect()
    }
}

/// Reads `= value`, and tells whether there was a `=`: without a value it is a mistake.
fn read_value(input: ParseStream<'_>) -> Result<(bool, Option<Expr>)> {
    let assigned = input.parse::<Option<Token![=]>>()?.is_some();
    let is_there = assigned && !input.is_empty() && !input.peek(Token![,]);
    let value = if is_there { Some(input.parse()?) } else { None };
    Ok((assigned, value))
}

/// Takes a word that says something by standing there.
fn add_flag(flags: &mut Vec<Ident>, key: Ident, assigned: bool, findings: &mut Findings) {
    if assigned {
        let help = format_args!("write `{key}` alone, or leave it out");
        findings.error(&key, format_args!("`{key}` has no value"), help);
    } else if flags.contains(&key) {
        repeated(&key, findings);
    } else {
        flags.push(key);
    }
}

/// Whether a word is written as constants are.
fn is_constant(word: &Ident) -> bool {
    word.to_string().contains(|char: char| char.is_ascii_uppercase())
}

/// Refuses what stands beside a whole policy.
fn refuse_company(wholes: impl IntoIterator<Item = impl ToTokens>, findings: &mut Findings) {
    for whole in wholes {
        findings.error(
            whole,
            "a whole policy stands alone: nothing is merged into it",
            "write one policy by its parts, or give the name of one that has them all",
        );
    }
}

/// Fills a part that is still empty.
fn set<T>(part: &mut Option<T>, value: Option<T>) -> bool {
    if part.is_some() {
        return false;
    }
    *part = value;
    true
}

fn repeated(key: &Ident, findings: &mut Findings) {
    findings.error(key, format_args!("`{key}` stands here twice"), "remove one of them");
}

/// The expression inside of parentheses and of the invisible groups that `macro_rules` puts
/// around its fragments.
pub(crate) fn peeled(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => peeled(&group.expr),
        Expr::Paren(paren) => peeled(&paren.expr),
        other => other,
    }
}

/// The string literal that an expression is.
pub(crate) fn string_of(expr: &Expr) -> Option<&LitStr> {
    match peeled(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The single word that an expression is.
pub(crate) fn word_of(expr: &Expr) -> Option<&Ident> {
    match peeled(expr) {
        Expr::Path(ExprPath { qself: None, path, .. }) => path.get_ident(),
        _ => None,
    }
}
