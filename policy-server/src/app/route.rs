//! A handler in the list of an app.

use std::marker::PhantomData;

use crate::handler::{BoxFuture, Call, Description, Endpoint, service::SharedService};

/// One annotated handler, as [`routes!`](crate::routes) lists it.
#[derive(Debug)]
pub struct Route<S> {
    pub(crate) entry: Entry,
    state: PhantomData<fn(S)>,
}

/// A handler, independent of the state type of its app.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) description: Description,
    pub(crate) call: fn(&mut Call) -> BoxFuture,
    pub(crate) layer: Option<fn(SharedService) -> SharedService>,
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    pub(crate) layer_names: &'static [&'static str],
    pub(crate) reads: Option<&'static str>,
}

impl<S> Route<S> {
    /// The route of a handler's marker.
    #[doc(hidden)]
    pub fn of<Via, E: Endpoint<S, Via>>(_marker: E) -> Self {
        let entry = Entry {
            description: E::DESCRIPTION,
            call: E::call,
            layer: E::LAYER,
            layer_names: E::LAYER_NAMES,
            reads: E::READS,
        };
        Self { entry, state: PhantomData }
    }
}
