//! A handler in the list of an app.

use crate::handler::{BoxFuture, Call, Description, Endpoint};

/// One annotated handler, as [`routes!`](crate::routes) lists it.
#[derive(Debug)]
pub struct Route<S> {
    pub(crate) description: Description,
    pub(crate) call: fn(Call<S>) -> BoxFuture,
}

impl<S> Route<S> {
    /// The route of a handler's marker.
    #[doc(hidden)]
    pub fn of<Via, E: Endpoint<S, Via>>(_marker: E) -> Self {
        Self { description: E::DESCRIPTION, call: E::call }
    }
}
