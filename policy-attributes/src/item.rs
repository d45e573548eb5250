//! The function below an attribute.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Result, Signature, Visibility,
    parse::{Parse, ParseStream},
};

/// Any item: its attributes, and its remaining tokens. The compiler has parsed the item before it
/// calls a macro, so this much can always be read.
pub(crate) struct Annotated {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) rest: TokenStream,
}

impl Parse for Annotated {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self { attrs: input.call(Attribute::parse_outer)?, rest: input.parse()? })
    }
}

impl ToTokens for Annotated {
    fn to_tokens(&self, out: &mut TokenStream) {
        let Self { attrs, rest } = self;
        quote!(#(#attrs)* #rest).to_tokens(out);
    }
}

/// The parts of a function that a route needs. The body is not parsed: this is faster, and an
/// editor keeps working while the body is incomplete.
pub(crate) struct Function {
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let function = Self { vis: input.parse()?, sig: input.parse()? };
        input.parse::<TokenStream>()?;
        Ok(function)
    }
}
