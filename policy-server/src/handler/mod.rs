//! What a route macro makes of a handler: constant data, and one call into this file.

pub(crate) mod arguments;
pub(crate) mod csrf_route;
pub mod extract;
pub(crate) mod parameters;
pub mod response;
pub(crate) mod service;
pub(crate) mod upgrade;

use std::{
    any::{Any, TypeId},
    pin::Pin,
    sync::Arc,
};

use axum_core::{
    extract::{DefaultBodyLimit, Request},
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use policy_core::{path::PathTemplate, route::RoutePolicy};

use crate::{
    auth::RequestAuth,
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
    message = "`{Self}`: this is not a handler for the state of this app (handler.not-a-handler)",
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

/// A route as its handler and its extractors know it.
#[derive(Debug)]
pub(crate) struct RouteInfo {
    /// The template of the path, prefix included.
    pub(crate) path: Arc<str>,
    /// What its attributes say; nothing where it is no handler.
    pub(crate) description: Option<Description>,
    /// The state of the app, of the type that all its handlers take.
    pub(crate) state: Arc<dyn Any + Send + Sync>,
}

impl RouteInfo {
    /// The path of the handler's function; empty where it is no handler.
    pub(crate) fn handler(&self) -> &'static str {
        self.description.as_ref().map_or("", |handler| handler.handler)
    }

    /// The name of a parameter of the path.
    fn parameter(&self, index: usize) -> Option<String> {
        let template = PathTemplate::parse(&self.path).ok()?;
        template.parameters().nth(index).map(str::to_owned)
    }
}

/// One request that passed the gates of its route.
#[derive(Debug)]
pub struct Call {
    pub(crate) request: Request,
    pub(crate) values: Values,
    pub(crate) client: Client,
    pub(crate) route: Arc<RouteInfo>,
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
        let (client, route) = (self.client.clone(), Arc::clone(&self.route));
        let context = Context { client, route, auth: self.auth.take() };
        self.request.extensions_mut().insert(context);
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
            let name = call.route.parameter(invalid.index);
            let response = invalid.into_problem(name.as_deref()).into_response();
            Box::pin(std::future::ready(response))
        }
    }
}

/// What a handler may return: [`IntoResponse`], with an error that says so in this crate's
/// words.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this cannot be a response (handler.not-a-response)",
    label = "this return type does not implement `IntoResponse`",
    note = "return a `Response`, `String`, `Json<T>`, `StatusCode`, a tuple of them, or `Result<T, Problem>`"
)]
pub trait Respond: IntoResponse {}

#[diagnostic::do_not_recommend]
impl<T: IntoResponse> Respond for T {}
