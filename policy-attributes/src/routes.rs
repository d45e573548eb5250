//! `routes![a, m::b]`

use policy_core::Rule;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ExprPath, Ident, Path, Token, ext::IdentExt};

use crate::{
    diagnostics::Diagnostics,
    emit::CratePath,
    parse::{read_entries, strip_groups},
};

/// Expands the list of `routes!`; each error of the compiler points at one handler.
pub fn expand(input: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let (mut handlers, mut krate) = (Vec::<Path>::new(), None);
    read_entries(input, &mut diagnostics, |input, diagnostics| {
        if input.peek(Token![crate]) && input.peek2(Token![=]) {
            input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            krate = Some(input.call(Path::parse_mod_style)?);
            return Ok(());
        }
        let entry: Expr = input.parse()?;
        match strip_groups(&entry) {
            Expr::Path(ExprPath { attrs, qself: None, path }) if attrs.is_empty() => {
                match path.segments.iter().rev().nth(1) {
                    Some(of) if is_type(&of.ident) => {
                        diagnostics.rule(path, Rule::HandlerMethod, "");
                    }
                    _ => handlers.push(path.clone()),
                }
            }
            other => diagnostics.rule(other, Rule::RoutesEntry, ""),
        }
        Ok(())
    });
    let krate = CratePath::new(krate);
    let routes = handlers.iter().map(|path| {
        let last = path.segments.last();
        let span = last.map_or_else(Span::call_site, |segment| segment.ident.span());
        // Spanned as a whole, so that a handler for another state is underlined, and not the list.
        let new = quote!(#krate::codegen::Route::new).into_iter().map(|mut token| {
            token.set_span(token.span().located_at(span));
            token
        });
        let new = TokenStream::from_iter(new);
        quote_spanned!(span=> #new(#path {}))
    });
    let list = quote!(#krate::codegen::vec![#(#routes),*]);
    if diagnostics.error_count() == 0 {
        return list;
    }
    let errors = diagnostics.errors();
    quote!({ #errors #list }).into_token_stream()
}

/// Whether a name is the name of a type, judged by its first letter. For an associated function the
/// compiler would report an ambiguous type, which is no help.
fn is_type(name: &Ident) -> bool {
    name.unraw().to_string().starts_with(char::is_uppercase)
}
