//! A handler in the list of an app.

use policy_core::route::{Facet, Level};

use crate::{
    handler::{BoxFuture, Call, Description, Endpoint},
    source::CorsSource,
};

/// One annotated handler, as [`routes!`](crate::routes) lists it.
#[derive(Debug)]
pub struct Route<S> {
    pub(crate) description: Description,
    pub(crate) call: fn(Call<S>) -> BoxFuture,
    /// The prefix and the default policy of the scope, once the handler stands in one.
    pub(crate) prefix: String,
    pub(crate) scope_cors: Facet<CorsSource>,
}

impl<S> Route<S> {
    /// The route of a handler's marker.
    #[doc(hidden)]
    pub fn of<Via, E: Endpoint<S, Via>>(_marker: E) -> Self {
        Self {
            description: E::DESCRIPTION,
            call: E::call,
            prefix: String::new(),
            scope_cors: Facet::Inherit,
        }
    }

    /// What each level says about CORS, from the inside out.
    pub(crate) fn cors_levels(&self, app: &Facet<CorsSource>) -> [(Level, Facet<CorsSource>); 3] {
        let own = match self.description.policy.cors {
            Facet::Inherit => Facet::Inherit,
            Facet::None => Facet::None,
            Facet::Set(policy) => Facet::Set(CorsSource::Policy(policy)),
        };
        [(Level::Route, own), (Level::Scope, self.scope_cors.clone()), (Level::App, app.clone())]
    }
}
