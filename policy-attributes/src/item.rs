//! The function below an attribute.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Result, Signature, Visibility,
    parse::{Parse, ParseStream, Parser},
};

/// Any item: its attributes, and its remaining tokens. The compiler has parsed the item before it
/// calls a macro, so this much can always be read.
pub(crate) struct AnnotatedItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) rest: TokenStream,
}

impl Parse for AnnotatedItem {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self { attrs: input.call(Attribute::parse_outer)?, rest: input.parse()? })
    }
}

impl ToTokens for AnnotatedItem {
    fn to_tokens(&self, out: &mut TokenStream) {
        let Self { attrs, rest } = self;
        quote!(#(#attrs)* #rest).to_tokens(out);
    }
}

/// The function below a route attribute.
pub(crate) struct Handler {
    pub(crate) attrs: Vec<Attribute>,
    /// Its remaining tokens.
    pub(crate) rest: TokenStream,
    pub(crate) function: Result<Function>,
}

/// The parts of a function that a route needs.
pub(crate) struct Function {
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
}

impl Handler {
    /// Reads all but the body. This is faster, and an editor keeps working while the body is
    /// incomplete.
    pub(crate) fn read(item: TokenStream) -> Result<Self> {
        let mut tokens: Vec<_> = item.into_iter().collect();
        let is_body = |token: &mut TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let body = tokens.pop_if(is_body);
        let read = |input: ParseStream<'_>| {
            let attrs = input.call(Attribute::parse_outer)?;
            let function = Function::parse(&input.fork());
            let mut rest: TokenStream = input.parse()?;
            rest.extend(body);
            Ok(Self { attrs, rest, function })
        };
        read.parse2(TokenStream::from_iter(tokens))
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self { vis: input.parse()?, sig: input.parse()? })
    }
}
