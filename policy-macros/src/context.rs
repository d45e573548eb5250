//! What the attributes and the arguments of a handler say, where one attribute has to agree with
//! the others.

use proc_macro2::Span;
use quote::format_ident;
use syn::{Ident, LitStr, Type, ext::IdentExt};

use crate::attributes::Attributes;

/// Everything that stands on one handler, read.
pub(crate) struct Context<'a> {
    /// The name of the handler.
    pub(crate) handler: &'a Ident,
    /// Method and path of each route.
    pub(crate) routes: &'a [(String, LitStr)],
    pub(crate) attributes: &'a Attributes,
    /// The type of an argument that is a `Principal`.
    pub(crate) principal: Option<&'a Type>,
    /// Whether an argument is a `Session` or the `Sessions`.
    pub(crate) takes_session: bool,
}

impl<'a> Context<'a> {
    /// Each method of the handler once.
    pub(crate) fn methods(&self) -> Vec<&'a str> {
        let mut methods = Vec::new();
        for (method, _) in self.routes {
            if !methods.contains(&method.as_str()) {
                methods.push(method);
            }
        }
        methods
    }

    /// The name of a constant about this handler, which the compiler shows with what is wrong.
    pub(crate) fn constant(&self, about: &str) -> Ident {
        format_ident!("{about}_of_{}", self.handler.unraw(), span = Span::call_site())
    }
}
