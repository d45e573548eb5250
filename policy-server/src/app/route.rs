//! A handler in the list of an app.

use std::marker::PhantomData;

use crate::handler::{
    BoxFuture, Call, Description, Endpoint, describe::Signature, service::SharedService,
};

/// One annotated handler, as [`routes!`](crate::routes) lists it.
#[derive(Debug)]
pub struct Route<S> {
    pub(crate) entry: Entry,
    state: PhantomData<fn(S)>,
}

/// A handler, independent of the state type of its app.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(crate) description: Description,
    pub(crate) call: fn(&mut Call) -> BoxFuture,
    pub(crate) layer: Option<fn(SharedService) -> SharedService>,
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    pub(crate) layer_names: &'static [&'static str],
    pub(crate) describe: fn(&mut Signature),
}

impl<S> Route<S> {
    /// The route of a handler's marker.
    #[doc(hidden)]
    pub fn new<Via, E>(_marker: E) -> Self
    where
        S: Serves<E, Via>,
    {
        Self { entry: S::entry(), state: PhantomData }
    }
}

/// The state of an app that can serve a handler.
///
/// It is a trait of the state and not of the handler, so that the compiler knows the app's state
/// when it checks a handler, and says what this state lacks. Otherwise it would infer the state
/// from the arguments of the handler, and report that two apps differ.
#[diagnostic::on_unimplemented(
    message = "`{E}`: this is not a handler for the state of this app (handler.not-a-handler)",
    label = "not a handler for an app with the state `{Self}`",
    note = "an argument takes the state as `State<{Self}>`"
)]
pub trait Serves<E, Via> {
    /// The handler.
    fn entry() -> Entry;
}

impl<S, Via, E: Endpoint<S, Via>> Serves<E, Via> for S {
    fn entry() -> Entry {
        let mut description = Description::NOTHING;
        E::declare(&mut description);
        Entry {
            description,
            call: E::call,
            layer: E::LAYER,
            layer_names: E::LAYER_NAMES,
            describe: E::describe,
        }
    }
}
