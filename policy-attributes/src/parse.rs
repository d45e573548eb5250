//! The grammar that attributes share, without any rule of policies.

use policy_core::Rule;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Result, Token, UnOp,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

use crate::{diagnostics::Diagnostics, directive::ParsedAttribute};

/// The contents of the parentheses of each attribute of this name, for a derive.
pub(crate) fn arguments_of<'a>(
    attrs: &'a [Attribute],
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<&'a TokenStream> {
    let attrs = attrs.iter().filter(|attr| attr.path().is_ident(name));
    let lists = attrs.filter_map(|attr| {
        let list = attr.meta.require_list().ok();
        if list.is_none() {
            let (value, help) = (format!("#[{name}]"), format!("write `#[{name}(..)]`"));
            diagnostics.error(&attr.meta, Rule::ParenthesesMissing, value, help);
        }
        list.map(|list| &list.tokens)
    });
    lists.collect()
}

/// Reads `entry, entry, ..`; after an error it continues after the next comma.
pub(crate) fn read_entries(
    tokens: TokenStream,
    diagnostics: &mut Diagnostics,
    mut read: impl FnMut(ParseStream<'_>, &mut Diagnostics) -> Result<()>,
) {
    let read_all = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let mut result = read(input, diagnostics);
            if result.is_ok() && !input.is_empty() && !input.peek(Token![,]) {
                result = Err(input.error("expected `,`"));
            }
            if let Err(error) = result {
                diagnostics.syntax(error);
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<TokenTree>()?;
                }
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    if let Err(error) = Parser::parse2(read_all, tokens) {
        diagnostics.syntax(error);
    }
}

/// A policy as an attribute states it.
pub(crate) enum PolicyArgs<T> {
    /// Part by part, for this route alone.
    Inline(T),
    /// As the value of an expression.
    Shared(Box<Expr>),
    /// `none`: no policy, regardless of the outer levels.
    None,
}

/// The parts of a policy that an attribute can state one by one.
pub(crate) trait Inline: Sized {
    /// The words without a value.
    const FLAGS: &'static [&'static str];
    /// The words that have a value.
    const PARTS: &'static [&'static str];
    /// All arguments of the attribute, for the help of errors.
    const POSSIBLE: &'static str;
    /// Whether an attribute without arguments is a mistake that no rule of the policy reports.
    const NEEDS_ARGUMENTS: bool = false;
    /// Whether `none` is a valid policy.
    const HAS_NONE: bool = true;

    /// Sets a flag; `false` if it is already set.
    fn flag(&mut self, _flag: Ident) -> bool {
        true
    }

    /// Sets the value of a part; `false` if it already has one.
    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool;

    /// An example of a part, for the help of errors.
    fn example(part: &str) -> String;

    /// The arguments that can still be checked after an error: a part that seems missing or
    /// contradictory may be the one that could not be read.
    fn after_error(self) -> Option<Self> {
        Some(self)
    }

    /// Whether an expression can be a shared policy.
    fn is_shared(expr: &Expr) -> bool {
        matches!(expr, Expr::Path(_))
    }
}

impl<T: Inline> PolicyArgs<T> {
    /// Reads the arguments into `inline`, or a whole policy instead; `None` after an error that
    /// leaves no policy.
    pub(crate) fn read_policy(
        parsed: ParsedAttribute,
        mut inline: T,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let ParsedAttribute { directive, tokens, args } = parsed;
        // Whole policies, each with the tokens that name it.
        let mut whole = Vec::<(TokenStream, Self)>::new();
        let mut count = 0;
        let errors_before = diagnostics.error_count();
        read_entries(args, diagnostics, |input, diagnostics| {
            count += 1;
            if !peek_word(input) {
                let shared: Expr = input.parse()?;
                if T::is_shared(strip_groups(&shared)) {
                    whole.push((shared.to_token_stream(), Self::Shared(Box::new(shared))));
                } else {
                    diagnostics.error(shared, Rule::PolicyNameExpected, "", T::POSSIBLE);
                }
                return Ok(());
            }
            let word = input.call(Ident::parse_any)?;
            let name = word.to_string();
            let is_known = T::FLAGS.iter().chain(T::PARTS).any(|known| *known == name);
            if input.peek(Token![=]) || is_known {
                return read_part(&mut inline, &word, input, diagnostics);
            }
            if T::HAS_NONE && name == "none" {
                whole.push((word.to_token_stream(), Self::None));
            } else if is_constant(&word) {
                let shared = syn::parse_quote!(#word);
                whole.push((word.to_token_stream(), Self::Shared(Box::new(shared))));
            } else {
                diagnostics.unknown(&word, Rule::UnknownWord, &word, T::POSSIBLE);
            }
            Ok(())
        });
        if count == 0 && T::NEEDS_ARGUMENTS {
            let value = format_args!("#[{}]", directive.name());
            diagnostics.error(tokens, Rule::AttributeEmpty, value, T::POSSIBLE);
        }
        if count > 1 {
            for (policy, _) in &whole {
                diagnostics.rule(policy, Rule::PolicyNotAlone, "");
            }
        }
        let is_read = diagnostics.error_count() == errors_before;
        match whole.pop() {
            None if is_read => Some(Self::Inline(inline)),
            None => inline.after_error().map(Self::Inline),
            Some((_, policy)) => is_read.then_some(policy),
        }
    }

    /// The parts, if the policy is stated inline.
    pub(crate) fn inline(&self) -> Option<&T> {
        match self {
            Self::Inline(inline) => Some(inline),
            Self::Shared(_) | Self::None => None,
        }
    }
}

/// Reads what follows the name of a flag or part.
pub(crate) fn read_part<T: Inline>(
    inline: &mut T,
    key: &Ident,
    input: ParseStream<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let assigned = input.parse::<Option<Token![=]>>()?.is_some();
    let name = key.to_string();
    let is_end = |input: ParseStream<'_>| input.is_empty() || input.peek(Token![,]);
    let value = if assigned && !is_end(input) { Some(input.parse()?) } else { None };
    if value.is_some() && !is_end(input) && T::PARTS.contains(&name.as_str()) {
        // Such as a unit without quotes.
        let help = T::example(&name);
        return Err(input.error(format_args!("expected `,`\nhelp: {help}")));
    }
    if T::FLAGS.contains(&name.as_str()) {
        if assigned {
            let help = format_args!("write `{key}` alone, or leave it out");
            diagnostics.error(key, Rule::ValueUnwanted, key, help);
            // Consequences of this error are not reported as well.
            inline.flag(key.clone());
        } else if !inline.flag(key.clone()) {
            report_repeated(key, diagnostics);
        }
    } else if !T::PARTS.contains(&name.as_str()) {
        diagnostics.unknown(key, Rule::UnknownArgument, key, T::POSSIBLE);
    } else if let Some(value) = value {
        if !inline.set(key, value, diagnostics) {
            report_repeated(key, diagnostics);
        }
    } else {
        diagnostics.error(key, Rule::ValueMissing, key, T::example(&name));
    }
    Ok(())
}

/// Adds a word unless it is already in the list.
pub(crate) fn add_flag(flags: &mut Vec<Ident>, flag: Ident) -> bool {
    let is_first = !flags.contains(&flag);
    if is_first {
        flags.push(flag);
    }
    is_first
}

pub(crate) fn report_repeated(key: &Ident, diagnostics: &mut Diagnostics) {
    diagnostics.rule(key, Rule::ArgumentRepeated, &key.to_string());
}

/// Fills a part that is still empty.
pub(crate) fn set<T>(part: &mut Option<T>, value: Option<T>) -> bool {
    if part.is_some() {
        return false;
    }
    *part = value;
    true
}

/// Whether the next argument begins with a name: a word alone, or before `=`.
pub(crate) fn peek_word(input: ParseStream<'_>) -> bool {
    let alone = input.peek(Ident::peek_any) && {
        let ahead = input.fork();
        ahead.call(Ident::parse_any).is_ok() && (ahead.is_empty() || ahead.peek(Token![,]))
    };
    alone || peek_assignment(input)
}

/// Whether `name = ..` comes next.
pub(crate) fn peek_assignment(input: ParseStream<'_>) -> bool {
    input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

/// Whether a word is written in the case of constants.
fn is_constant(word: &Ident) -> bool {
    word.to_string().contains(|char: char| char.is_ascii_uppercase())
}

/// Whether a word in a list is a text whose quotes were forgotten: it has the case of no constant,
/// or is a method.
fn is_text(word: &Ident) -> bool {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];
    !is_constant(word) || methods.iter().any(|method| word == method)
}

/// A list of texts: an array, or any constant expression.
pub(crate) struct List {
    /// The expression, without a `&` in front.
    pub(crate) expr: Expr,
}

impl List {
    /// Reads any expression that can be a list; the compiler checks its type.
    pub(crate) fn read(
        value: Expr,
        part: &str,
        example: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        match strip_groups(&value) {
            Expr::Lit(literal) => {
                diagnostics.error(literal, Rule::ListExpected, part, example);
                None
            }
            Expr::Reference(reference) => {
                let inner = (*reference.expr).clone();
                Self::read(inner, part, example, diagnostics)
            }
            Expr::Array(array) => {
                let mut bare = array.elems.iter().filter_map(word_of).filter(|word| is_text(word));
                let Some(word) = bare.next() else {
                    return Some(Self { expr: Expr::Array(array.clone()) });
                };
                let help = format_args!("write it in quotes: `\"{word}\"`");
                diagnostics.error(word, Rule::StringExpected, word, help);
                None
            }
            _ => Some(Self { expr: value }),
        }
    }

    pub(crate) fn read_literals(
        value: Expr,
        part: &str,
        example: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let list = Self::read(value, part, example, diagnostics)?;
        if list.literals().is_none() {
            diagnostics.error(&list.expr, Rule::LiteralsExpected, part, example);
            return None;
        }
        Some(list)
    }

    /// The entries, if they are visible.
    pub(crate) fn entries(&self) -> Option<impl Iterator<Item = &Expr>> {
        match &self.expr {
            Expr::Array(array) => Some(array.elems.iter()),
            _ => None,
        }
    }

    /// The tokens of an entry; of the whole list if the entry is not visible.
    pub(crate) fn tokens_of(&self, index: usize) -> TokenStream {
        let entry = self.entries().and_then(|mut entries| entries.nth(index));
        entry.unwrap_or(&self.expr).to_token_stream()
    }

    /// The entries, if all of them are literals.
    pub(crate) fn literals(&self) -> Option<Vec<&LitStr>> {
        self.entries()?.map(string_of).collect()
    }
}

/// The texts of a list of literals; empty if the list is not visible.
pub(crate) fn texts(list: Option<&List>) -> Vec<String> {
    let literals = list.and_then(List::literals).unwrap_or_default();
    literals.into_iter().map(LitStr::value).collect()
}

/// The texts in the form that the rules take.
pub(crate) fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The expression inside of parentheses and of the invisible groups that `macro_rules` puts
/// around its fragments.
pub(crate) fn strip_groups(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => strip_groups(&group.expr),
        Expr::Paren(paren) => strip_groups(&paren.expr),
        other => other,
    }
}

/// The string literal that an expression consists of.
pub(crate) fn string_of(expr: &Expr) -> Option<&LitStr> {
    match strip_groups(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The string literal that the value of a part must be.
pub(crate) fn read_string(
    value: &Expr,
    part: &str,
    example: &str,
    diagnostics: &mut Diagnostics,
) -> Option<LitStr> {
    let text = string_of(value).cloned();
    if text.is_none() {
        diagnostics.error(value, Rule::StringExpected, part, example);
    }
    text
}

/// The single word that an expression consists of.
pub(crate) fn word_of(expr: &Expr) -> Option<&Ident> {
    match strip_groups(expr) {
        Expr::Path(ExprPath { qself: None, path, .. }) => path.get_ident(),
        _ => None,
    }
}

/// The number that an expression consists of, including negative ones. A number that does not fit
/// counts as the largest one, which is also invalid.
pub(crate) fn number_of(expr: &Expr) -> Option<i64> {
    match strip_groups(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            Some(number.base10_parse().unwrap_or(i64::MAX))
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            number_of(&unary.expr).map(|number| -number)
        }
        _ => None,
    }
}
