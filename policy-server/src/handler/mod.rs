//! What a route macro makes of a handler: constant data, and one call into this file.

pub(crate) mod arguments;
pub mod extract;
pub(crate) mod parameters;
pub mod response;

use std::{any::TypeId, pin::Pin, sync::Arc};

use axum_core::{
    extract::{DefaultBodyLimit, Request},
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use policy_core::route::RoutePolicy;

use crate::{
    auth::RequestAuth,
    build::Assembled,
    client::Client,
    handler::{
        arguments::Arguments,
        extract::Context,
        parameters::{Parameters, Values},
    },
};

/// A handler on its way to an answer.
pub type BoxFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler as its macro describes it; the macros implement it for the marker type of each
/// handler, and nobody else does.
///
/// `Via` is axum-core's private mark of how the last argument is extracted; it is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler for an app with state `{S}`",
    label = "not a handler for this app",
    note = "list functions that have a route attribute, such as `#[get(\"/path\")]`",
    note = "every argument is a parameter of the path or an extractor for the app's state"
)]
pub trait Endpoint<S, Via>: 'static {
    /// What its attributes say.
    const DESCRIPTION: Description;

    /// Extracts the arguments and runs the function.
    fn call(call: Call) -> BoxFuture;
}

/// The attributes of a handler as constant data.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Method and path template of each route attribute.
    pub routes: &'static [(&'static str, &'static str)],
    /// Its policy attributes.
    pub policy: RoutePolicy,
    /// The type in `#[auth(scheme = ..)]`.
    pub scheme: Option<fn() -> TypeId>,
    /// Whether it takes anything of the request but parameters of the path.
    pub extracts: bool,
    /// Whether that is `Session` or `Sessions`, which its macro knows by name.
    pub takes_session: bool,
    /// The path of the function.
    pub handler: &'static str,
    /// The file of the function.
    pub file: &'static str,
    /// Its line in the file.
    pub line: u32,
    /// The name of each attribute, and its line.
    pub attributes: &'static [(&'static str, u32)],
}

/// One request that passed the gates of its route.
#[derive(Debug)]
pub struct Call {
    pub(crate) request: Request,
    pub(crate) values: Values,
    pub(crate) client: Client,
    pub(crate) app: Arc<Assembled>,
    /// The place of the route in the app.
    pub(crate) route: usize,
    /// Who sent it; nothing in an app that knows nobody.
    pub(crate) auth: Option<Arc<RequestAuth>>,
}

impl Call {
    /// Leaves a note about the route for extractors that ask for it, and tells those of axum
    /// that the body has its limit already.
    pub(crate) fn insert_context(&mut self) {
        if !self.request.body().is_end_stream() {
            DefaultBodyLimit::disable().apply(&mut self.request);
        }
        if let Some(route) = self.app.route(self.route) {
            let path = Arc::clone(route.path());
            let auth = self.auth.take();
            let client = self.client.clone();
            let context = Context { client, route: path, handler: route.handler(), auth };
            self.request.extensions_mut().insert(context);
        }
    }
}

/// Runs one handler. It is written, and checked by the compiler, once for all of them.
pub fn invoke<S, Via, P, A, F, Fut>(call: Call, handler: F) -> BoxFuture
where
    P: Parameters,
    A: Arguments<S, Via>,
    F: FnOnce(P, A) -> Fut + Send + 'static,
    Fut: Future<Output: Respond> + Send,
{
    match P::parse(&call.values, call.request.uri().path()) {
        Ok(parameters) => A::call(call, move |arguments| handler(parameters, arguments)),
        Err(invalid) => {
            let name = call.app.route(call.route).and_then(|route| route.parameter(invalid.index));
            let response = invalid.into_problem(name.as_deref()).into_response();
            Box::pin(std::future::ready(response))
        }
    }
}

/// What a handler may return: [`IntoResponse`], with an error that says so in this crate's
/// words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a response",
    label = "this return type does not implement `IntoResponse`",
    note = "return a `Response`, `String`, `Json<T>`, `StatusCode`, a tuple of them, or `Result<T, Problem>`"
)]
pub trait Respond: IntoResponse {}

#[diagnostic::do_not_recommend]
impl<T: IntoResponse> Respond for T {}
