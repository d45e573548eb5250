//! `#[layer]`: expressions, each of them a `tower` layer, of which the first is the outermost.

use policy_core::Rule;
use quote::{quote, quote_spanned};
use syn::{Expr, spanned::Spanned};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics, directive::ParsedAttribute, emit::Expansion, parse::read_entries,
};

/// The arguments of `#[layer]`.
pub(crate) struct Args {
    layers: Vec<Expr>,
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let ParsedAttribute { tokens, args, .. } = parsed;
        let (mut layers, errors_before) = (Vec::new(), diagnostics.error_count());
        read_entries(args, diagnostics, |input, _diagnostics| {
            layers.push(input.parse()?);
            Ok(())
        });
        if layers.is_empty() && diagnostics.error_count() == errors_before {
            let help = "write a layer, such as `#[layer(CompressionLayer::new())]`";
            diagnostics.error(&tokens, Rule::ValueMissing, "layer", help);
        }
        Some(Self { layers })
    }

    /// One function, which the compiler checks at each expression.
    fn emit(&self, _context: &Context<'_>, expansion: &mut Expansion) {
        let wraps = self.layers.iter().rev().map(|layer| {
            let wrap = quote_spanned!(layer.span()=> __policy::RouteLayer::wrap);
            quote!(let __policy_inner = #wrap(#layer, __policy_inner);)
        });
        let names = self.layers.iter().map(name_of);
        expansion.items.extend(quote! {
            const __POLICY_LAYER_NAMES: &[&::core::primitive::str] = &[#(#names),*];
        });
        expansion.layer.extend(quote! {
            const LAYER_NAMES: &'static [&'static ::core::primitive::str] = __POLICY_LAYER_NAMES;
            const LAYER: ::core::option::Option<
                fn(__policy::SharedService) -> __policy::SharedService,
            > = ::core::option::Option::Some(|__policy_inner| {
                #(#wraps)*
                __policy_inner
            });
        });
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        to.route.layers =
            self.layers.iter().map(|layer| format!("route {}", name_of(layer))).collect();
        Ok(())
    }
}

/// The path of the call that makes a layer, such as `CompressionLayer::new`; its last call's, where
/// calls are chained.
fn name_of(layer: &Expr) -> String {
    match layer {
        Expr::Call(call) => name_of(&call.func),
        Expr::MethodCall(call) => name_of(&call.receiver),
        Expr::Path(path) => {
            let segments = path.path.segments.iter().map(|segment| segment.ident.to_string());
            segments.collect::<Vec<_>>().join("::")
        }
        _ => "an expression".to_owned(),
    }
}
