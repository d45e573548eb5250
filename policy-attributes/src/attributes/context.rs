//! The attributes and arguments of one handler, for rules by which one attribute must be consistent
//! with others.

use policy_core::{
    auth::AuthSpec,
    route::{Authentication, RouteFacts},
};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Type, ext::IdentExt};

use super::{Attributes, auth};

/// The parsed attributes and arguments of one handler.
pub(crate) struct Context<'a> {
    /// The name of the handler.
    pub(crate) handler: &'a Ident,
    /// Each method of the handler once.
    pub(crate) methods: Vec<&'a str>,
    pub(crate) attributes: &'a Attributes,
    /// The type of an argument that is a `Principal` or a `Caller`.
    pub(crate) principal: Option<&'a Type>,
    /// The type of an argument that is or contains a `Principal`: a user of this app.
    pub(crate) user: Option<&'a Type>,
    /// Whether an argument is a `Session` or the `Sessions`.
    pub(crate) takes_session: bool,
    /// The type of the first path parameter that is taken without an object.
    pub(crate) plain: Option<&'a Type>,
    /// Whether an argument is read from the fields of a body or a query.
    pub(crate) takes_fields: bool,
    /// Whether a path parameter is an object.
    pub(crate) takes_objects: bool,
}

impl Context<'_> {
    /// The facts about the handler that the rules of several policies use.
    pub(crate) fn facts(&self) -> RouteFacts<'_> {
        let Attributes { auth, jsonp, .. } = self.attributes;
        let words = auth.as_ref().map_or(AuthSpec::NOTHING, auth::Args::words);
        let auth = AuthSpec { takes_session: self.takes_session, ..words };
        RouteFacts::new(&auth, &self.methods, jsonp.is_some())
    }

    /// Whether the route may know its caller. The callers of `#[auth(group)]` are not visible here, so
    /// that they count as known.
    pub(crate) fn may_know_caller(&self) -> bool {
        !self.facts().is_public()
    }

    /// The facts as an expression.
    pub(crate) fn emit_facts(&self) -> TokenStream {
        let RouteFacts { methods, authentication, takes_session, has_jsonp } = self.facts();
        let authentication = match authentication {
            Authentication::Unknown => quote!(Unknown),
            Authentication::Public => quote!(Public),
            Authentication::Asked => quote!(Asked),
        };
        quote! {
            __policy::policy_core::route::RouteFacts {
                methods: &[#(#methods),*],
                authentication: __policy::policy_core::route::Authentication::#authentication,
                takes_session: #takes_session,
                has_jsonp: #has_jsonp,
            }
        }
    }

    /// The name of a constant about this handler, which the compiler shows in its errors.
    pub(crate) fn constant(&self, about: &str) -> Ident {
        format_ident!("{about}_of_{}", self.handler.unraw(), span = Span::call_site())
    }
}
