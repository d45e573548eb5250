//! The named items of a source file, and their ranges.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// An item that has a name.
#[derive(Debug)]
pub(super) struct Item {
    /// Names from the outside in, such as `OriginSet::covers`, without modules that are files, so
    /// that it survives a move.
    pub(super) path: String,
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

/// When the code of an item takes effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A function that runs, and the range between its braces.
    Function(Range<usize>),
    /// Code that the compiler evaluates or copies: constants, `const fn`, macros.
    Constant,
    /// Items that only contain others, and types.
    Other,
}

/// The items of a file, each before those inside it.
///
/// # Errors
///
/// The text is not Rust.
pub(super) fn items(text: &str) -> Result<Vec<Item>, LexError> {
    let mut items = Vec::new();
    walk(text.parse()?, "", &mut items);
    Ok(items)
}

fn walk(tokens: TokenStream, path: &str, items: &mut Vec<Item>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some((before, rest)) =
        tokens.split_at_checked(at).filter(|(_, rest)| !rest.is_empty())
    {
        let item = Head::read(before, rest).and_then(|head| Some((head.end(rest)?, head)));
        if let Some((end, head)) = item {
            let separator = if path.is_empty() { "" } else { "::" };
            let path = format!("{path}{separator}{}", head.name);
            let body = rest.get(end).and_then(braces);
            let first = modifiers(before).first().or(rest.first());
            let range = first.map_or(0, |token| token.span().byte_range().start)
                ..rest.get(end).map_or(0, |token| token.span().byte_range().end);
            items.push(Item { path: path.clone(), range, kind: head.kind(before, body) });
            if let Some(body) = body {
                walk(body.stream(), &path, items);
            }
            at += end;
        } else if let Some(TokenTree::Group(group)) = rest.first() {
            walk(group.stream(), path, items);
        }
        at += 1;
    }
}

/// The keyword of an item and its name.
struct Head {
    keyword: String,
    name: String,
}

impl Head {
    fn read(before: &[TokenTree], tokens: &[TokenTree]) -> Option<Self> {
        // `'static` and `*const`.
        let is_type = |token: &TokenTree| is(token, "'") || is(token, "*");
        let (TokenTree::Ident(keyword), rest) = tokens.split_first()? else { return None };
        if before.last().is_some_and(is_type) {
            return None;
        }
        let keyword = keyword.to_string();
        let name = match keyword.as_str() {
            "fn" | "mod" | "struct" | "enum" | "trait" | "const" | "static" | "type" => {
                let name = rest.iter().find(|token| !is(token, "mut"))?;
                let is_name = matches!(name, TokenTree::Ident(_)) && !is(name, "fn");
                is_name.then(|| name.to_string())
            }
            "macro_rules" => Some(rest.get(1)?.to_string()),
            "impl" => implementor(rest),
            _ => None,
        };
        Some(Self { keyword, name: name? })
    }

    /// The index of the token that ends the item.
    fn end(&self, tokens: &[TokenTree]) -> Option<usize> {
        let has_value = matches!(self.keyword.as_str(), "const" | "static" | "type");
        tokens.iter().position(|token| is(token, ";") || (!has_value && braces(token).is_some()))
    }

    fn kind(&self, before: &[TokenTree], body: Option<&Group>) -> Kind {
        match (self.keyword.as_str(), body) {
            ("fn", Some(body)) if !modifiers(before).iter().any(|token| is(token, "const")) => {
                let open = body.span_open().byte_range().end;
                Kind::Function(open..body.span_close().byte_range().start)
            }
            ("fn" | "const" | "static" | "macro_rules", _) => Kind::Constant,
            _ => Kind::Other,
        }
    }
}

/// The name of the type after `impl`.
fn implementor(tokens: &[TokenTree]) -> Option<String> {
    let (mut depth, mut name, mut previous) = (0_u32, None, None);
    for token in tokens.iter().take_while(|token| braces(token).is_none()) {
        let text = token.to_string();
        match text.as_str() {
            "<" => depth += 1,
            ">" if previous.as_deref() != Some("-") => depth = depth.saturating_sub(1),
            "where" => break,
            _ if depth > 0 || matches!(token, TokenTree::Punct(_)) => (),
            "for" => name = None,
            _ => name = Some(text.clone()),
        }
        previous = Some(text);
    }
    name
}

/// `pub(crate) const unsafe extern "C"` at the end of these tokens.
fn modifiers(before: &[TokenTree]) -> &[TokenTree] {
    let words = ["pub", "default", "const", "async", "safe", "unsafe", "extern"];
    let mut start = before.len();
    while let [rest @ .., token] = before.get(..start).unwrap_or_default() {
        let is_scope =
            matches!(token, TokenTree::Group(_)) && rest.last().is_some_and(|last| is(last, "pub"));
        let is_abi = matches!(token, TokenTree::Literal(_));
        if !is_scope && !is_abi && !words.iter().any(|word| is(token, word)) {
            break;
        }
        start -= 1;
    }
    before.get(start..).unwrap_or_default()
}

fn is(token: &TokenTree, text: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == text,
        TokenTree::Punct(punct) => text.starts_with(punct.as_char()),
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    }
}

fn braces(token: &TokenTree) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        pub const LIMIT: Duration = Duration::from_secs({ 1 });
        const fn double(n: u8) -> u8 { n * 2 }
        impl<'a, T: Fn() -> u8> crate::Reads<'static> for Vec<&'a T> where T: Copy {
            pub(crate) async fn read(&self, how: impl Fn(u8)) -> impl Sized { fn inner() { one } }
        }
        macro_rules! make { ($name:ident) => { fn made() { two } } }
        mod tests { struct Page { body: fn(u8) -> u8 } }
    ";

    fn paths_of(kind: impl Fn(&Kind) -> bool) -> Vec<String> {
        let items = items(TEXT).unwrap().into_iter();
        items.filter(|item| kind(&item.kind)).map(|item| item.path).collect()
    }

    #[test]
    fn items_are_named_by_their_path() {
        let all = paths_of(|_| true);
        let read = ["LIMIT", "double", "Vec", "Vec::read", "Vec::read::inner"];
        assert_eq!(all, [&read[..], &["make", "make::made", "tests", "tests::Page"]].concat());
    }

    #[test]
    fn constants_and_const_functions_are_not_runtime_functions() {
        assert_eq!(paths_of(|kind| *kind == Kind::Constant), ["LIMIT", "double", "make"]);
    }

    #[test]
    fn an_item_reaches_from_its_first_word_to_its_end() {
        let items = items(TEXT).unwrap();
        let text = |path: &str| {
            let item = items.iter().find(|item| item.path == path).unwrap();
            TEXT.get(item.range.clone()).unwrap()
        };
        assert_eq!(text("LIMIT"), "pub const LIMIT: Duration = Duration::from_secs({ 1 });");
        assert!(text("Vec::read").starts_with("pub(crate) async fn read("));
        assert!(text("Vec::read").ends_with("fn inner() { one } }"));
        let Kind::Function(body) = &items[4].kind else { panic!("no function") };
        assert_eq!(TEXT.get(body.clone()), Some(" one "));
    }
}
