//! The interface for the code that route macros generate: data, and one call into this module.

pub(crate) mod arguments;
pub(crate) mod checks;
pub(crate) mod csrf_route;
pub(crate) mod describe;
pub mod extract;
pub mod object;
pub(crate) mod parameters;
pub mod response;
pub(crate) mod service;
pub(crate) mod upgrade;

use std::{
    any::{Any, TypeId},
    mem,
    pin::Pin,
    sync::Arc,
};

use axum_core::{
    extract::{DefaultBodyLimit, Request},
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use policy_core::{path::PathTemplate, route::RoutePolicy, router::Values};

use crate::{
    auth::{RequestAuth, principal::Principal},
    base::{clock::Clock, problem::Problem},
    client::Client,
    handler::{
        arguments::Arguments,
        describe::Signature,
        extract::{Context, Reach},
        object::{MissRate, ObjectEngine},
        parameters::{InvalidParameter, Parameters},
        service::SharedService,
    },
};

/// A handler as a future.
pub type BoxFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler as its macro describes it. Only the macros implement it, for the marker type of each
/// handler.
///
/// `Via` is axum-core's private marker for how the last argument is extracted; it is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not a handler for the state of this app (handler.not-a-handler)",
    label = "not a handler for this app",
    note = "list functions that have a route attribute, such as `#[get(\"/path\")]`",
    note = "every argument is a parameter of the path or an extractor for the app's state"
)]
pub trait Endpoint<S, Via>: 'static {
    /// Sets what its attributes declare. It is a function, since the compiler evaluates each
    /// constant, which takes longer than all other checks of the handler.
    fn declare(description: &mut Description);

    /// Wraps the handler in the layers of its `#[layer(..)]`.
    const LAYER: Option<fn(SharedService) -> SharedService> = None;

    /// The calls that make these layers, the outermost first.
    const LAYER_NAMES: &[&str] = &[];

    /// Describes the types of its signature.
    fn describe(signature: &mut Signature);

    /// Extracts the arguments and runs the function.
    fn call(call: &mut Call) -> BoxFuture;
}

/// The attributes of a handler as data.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Method and path template of each route attribute.
    pub routes: &'static [(&'static str, &'static str)],
    /// Its policy attributes.
    pub policy: RoutePolicy,
    /// The type in `#[auth(scheme = ..)]`.
    pub scheme: Option<fn() -> TypeId>,
    /// Whether its callers are those of its group: `#[auth(group)]`.
    pub inherits_auth: bool,
    /// Whether one of its arguments is a required `Principal` or `Caller`, which its macro
    /// recognises by name.
    pub takes_caller: bool,
    /// Whether it takes arguments other than plain path parameters.
    pub extracts: bool,
    /// Whether parameters of its path are objects.
    pub takes_objects: bool,
    /// Whether one of its arguments is `Session`, `Sessions` or `CsrfToken`, which its macro
    /// recognises by name.
    pub takes_session: bool,
    /// Whether one of its arguments is or contains a `Principal`, which its macro recognises by
    /// name.
    pub takes_user: bool,
    /// The path of the function.
    pub handler: &'static str,
    /// The file of the function.
    pub file: &'static str,
    /// Its line in the file.
    pub line: u32,
    /// The name of each attribute, and its line.
    pub attributes: &'static [(&'static str, u32)],
}

impl Description {
    /// What is true of a handler unless [`Endpoint::declare`] states otherwise.
    pub const NOTHING: Self = Self {
        routes: &[],
        policy: RoutePolicy::PUBLIC,
        scheme: None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: "",
        file: "",
        line: 0,
        attributes: &[],
    };
}

/// A route, as its handler and extractors see it.
#[derive(Debug)]
pub(crate) struct RouteInfo {
    /// The template of the path, prefix included.
    pub(crate) path: Arc<str>,
    /// The attributes of the handler; `None` for other targets.
    pub(crate) description: Option<Description>,
    /// The state of the app, of the type that all its handlers take.
    pub(crate) state: Arc<dyn Any + Send + Sync>,
    /// Decides where the rules of objects ask an engine.
    pub(crate) engine: Option<Arc<dyn ObjectEngine>>,
    /// How often a caller may ask for objects that are not there.
    pub(crate) misses: Option<Arc<dyn MissRate>>,
    pub(crate) clock: Clock,
}

impl RouteInfo {
    /// The path of the handler function; empty for other targets.
    pub(crate) fn handler(&self) -> &'static str {
        self.description.as_ref().map_or("", |handler| handler.handler)
    }

    /// The name of a path parameter.
    fn parameter(&self, index: usize) -> Option<String> {
        let template = PathTemplate::parse(&self.path).ok()?;
        template.parameters().nth(index).map(str::to_owned)
    }
}

/// A request that passed the gates of its route.
#[derive(Debug)]
pub struct Call {
    pub(crate) request: Request,
    pub(crate) values: Values,
    pub(crate) client: Client,
    pub(crate) route: Arc<RouteInfo>,
    /// The authentication state; `None` in an app without authentication.
    pub(crate) auth: Option<Arc<RequestAuth>>,
    /// The body limit, in bytes.
    pub(crate) body_limit: u64,
    /// Whether it came through layers of its route.
    pub(crate) is_behind_layers: bool,
}

impl Call {
    /// The authenticated caller, if they are a user of this app.
    fn user(&self) -> Option<Principal> {
        self.auth.as_ref()?.user().ok()?.cloned()
    }

    /// Takes the request for the extractors of a handler: it contains their context, and axum's own
    /// body limit is set to the route's.
    pub(crate) fn take_request(&mut self) -> Request {
        self.take_for(Reach::Extractors)
    }

    /// Takes the request for a service or a layer, which may contain others.
    pub(crate) fn hand_over(&mut self) -> Request {
        self.take_for(Reach::Services)
    }

    fn take_for(&mut self, reach: Reach) -> Request {
        let mut request = mem::take(&mut self.request);
        // Keeps a `DefaultBodyLimit` that one of the layers has set.
        if !self.is_behind_layers && !request.body().is_end_stream() {
            let limit = self.body_limit.try_into().unwrap_or(usize::MAX);
            DefaultBodyLimit::max(limit).apply(&mut request);
        }
        let context = Context {
            client: self.client.clone(),
            route: Arc::clone(&self.route),
            auth: self.auth.take(),
            body_limit: self.body_limit,
            reach: if self.is_behind_layers { Reach::Services } else { reach },
        };
        request.extensions_mut().insert(context);
        request
    }

    /// Takes the whole call, to keep it across an `await`.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            request: mem::take(&mut self.request),
            values: self.values,
            client: self.client.clone(),
            route: Arc::clone(&self.route),
            auth: self.auth.take(),
            body_limit: self.body_limit,
            is_behind_layers: self.is_behind_layers,
        }
    }
}

/// Runs one handler. The code of all handlers goes through this function, so it is type-checked
/// once.
pub fn invoke<S, Via, P, A, R, F, Fut>(call: &mut Call, handler: F) -> BoxFuture
where
    P: Parameters,
    A: Arguments<S, Via>,
    R: Respond,
    F: FnOnce(P, A) -> Fut + Send + 'static,
    Fut: Future<Output = R> + Send,
{
    match P::parse(&call.values, call.request.uri().path()) {
        Ok(parameters) => A::call(call, move |arguments| handler(parameters, arguments)),
        Err(invalid) => reject(call, invalid),
    }
}

/// The response to a parameter of the path that its type could not parse.
fn reject(call: &Call, invalid: InvalidParameter) -> BoxFuture {
    let name = call.route.parameter(invalid.index);
    let response = invalid.into_problem(name.as_deref()).into_response();
    Box::pin(std::future::ready(response))
}

/// The return type of a handler: [`IntoResponse`], with this crate's diagnostics.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this cannot be converted to a response (handler.not-a-response)",
    label = "this does not implement `IntoResponse`",
    note = "return a `Response`, `String`, `StatusCode`, `Json<T>` of a `T: Serialize`, a tuple that ends with one of them, such as `(StatusCode, Json<T>)`, or a `Result` of two of them, such as `Result<T, Problem>`"
)]
pub trait Respond: IntoResponse {}

#[diagnostic::do_not_recommend]
impl<T: IntoResponse> Respond for T {}

/// The value of a `Result` that a handler returned.
pub fn respond<T: Respond>(value: T) -> Response {
    value.into_response()
}

/// The error of a `Result` that a handler returned: a response, or a type that converts to a
/// [`Problem`].
///
/// There is a method `respond` for each. If an error is both, the compiler takes the inherent
/// method: an error that implements `IntoResponse` itself responds by it.
#[derive(Debug)]
pub struct Returned<E>(pub E);

impl<E: IntoResponse> Returned<E> {
    /// The response.
    pub fn respond(self) -> Response {
        self.0.into_response()
    }
}

/// The other method `respond` of [`Returned`].
pub trait RespondWithProblem<E> {
    /// The response. The bound is on the method, so that the compiler reports it.
    fn respond(self) -> Response
    where
        E: IntoProblem;
}

impl<E> RespondWithProblem<E> for Returned<E> {
    fn respond(self) -> Response
    where
        E: IntoProblem,
    {
        self.0.into().into_response()
    }
}

/// An error that a handler returns: `Into<Problem>`, with this crate's diagnostics.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this error cannot be converted to a response (handler.error-not-a-problem)",
    label = "this converts to no `Problem`",
    note = "for an error type of your own, write `impl From<{Self}> for Problem`",
    note = "for an error of another crate, return `Result<_, Problem>` and write `.or_internal()?`, or return an error type of your own"
)]
pub trait IntoProblem: Into<Problem> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Problem>> IntoProblem for E {}

/// Converts an error that another error contains.
pub fn into_problem(error: impl IntoProblem) -> Problem {
    error.into()
}
