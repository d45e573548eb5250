//! HTTP services whose rules stand as attributes on their handlers.
//!
//! ```no_run
//! use policy_server::prelude::*;
//!
//! #[get("/users/{id}")]
//! #[cors(origins = ["https://app.shop.example"], expose = ["etag"], max_age = 600)]
//! #[auth(public)]
//! async fn user(id: u64) -> Result<Json<String>, Problem> {
//!     match id {
//!         1 => Ok(Json("Ada".to_owned())),
//!         _ => Err(Problem::not_found().detail("there is only user 1")),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     App::new(()).routes(routes![user]).serve("127.0.0.1:8080").await
//! }
//! ```
//!
//! An attribute that contradicts itself, or that no browser could follow, is a compile error on
//! the token. What only the assembled app shows stops the start, every problem at once. Every
//! answer of a route carries the headers of its policy: those of errors, of a handler that
//! panicked and of a request that timed out too.
//!
//! # What is where
//!
//! - [`App`] puts routes, [scopes](Scope), [mounted services](Mount) and settings together;
//!   [`AppService`] is the result, a `tower::Service`; [`Server`] has it listen.
//! - [`get`], [`post`], [`put`], [`patch`], [`delete`], [`head`], [`options`] and [`route`]
//!   bind a handler to requests; [`cors`], [`auth`] and [`csrf`] are its policy; [`routes!`] lists
//!   handlers.
//! - Arguments of handlers are path parameters ([`FromParam`]) and axum-core's extractors:
//!   those in [`extract`], axum's and axum-extra's.
//! - [`Problem`] is how a request fails, [`Error`] how a start fails.
//! - [`PolicyLayer`] puts a policy in front of a service that is not ours.
//! - [`policy_core`] is the engine.
//!
//! # Paths
//!
//! A request matches byte for byte: `/a` and `/a/` are two paths, and neither is redirected to
//! the other. A fixed segment wins over a parameter. Parameters are percent-decoded once, after
//! the match. A path with a malformed percent code or a dot segment, encoded or not, is
//! answered with 400 before anything is routed.

mod app;
mod arguments;
mod assemble;
mod body;
mod clock;
mod config_file;
mod dispatch;
mod endings;
mod error;
pub mod extract;
mod guard;
mod handler;
mod layer;
mod mount;
mod parameters;
mod principal;
mod problem;
mod report;
mod response_future;
mod route;
mod router;
mod scheme;
mod scope;
mod serve;
mod service;
pub mod session;
mod source;
pub mod store;
mod telemetry;
mod test_client;
pub mod tokens;

pub use app::App;
pub use axum_core::{
    body::Body,
    extract::{FromRef, Request},
    response::{IntoResponse, Response},
};
pub use clock::{Clock, Random};
pub use error::{Error, StartProblem};
pub use http;
pub use layer::PolicyLayer;
pub use mount::{Mount, SharedService};
pub use parameters::FromParam;
pub use policy_core;
pub use policy_core::cors::{CorsConfig, CorsPolicy, SharedOrigins};
pub use policy_core::session::Identity;
pub use policy_macros::{
    auth, cors, csrf, delete, get, head, options, patch, post, put, route, routes,
};
pub use principal::{AuthScheme, Principal};
pub use problem::Problem;
pub use response_future::ResponseFuture;
pub use route::Route;
pub use scheme::{AuthError, Scheme, SchemeRequest};
pub use scope::Scope;
pub use serve::{Server, Settings};
pub use service::AppService;
pub use session::{Session, Sessions};
pub use source::CorsSource;
pub use test_client::{TestClient, TestRequest, TestResponse};
pub use tokens::Tokens;

/// What nearly every service uses: `use policy_server::prelude::*;`.
pub mod prelude {
    pub use crate::{
        App, CorsPolicy, Error, FromParam, FromRef, Identity, IntoResponse, Mount, Principal,
        Problem, Response, Scope, Session, Sessions, Tokens, auth, cors, csrf, delete,
        extract::{CsrfToken, Form, Json, MatchedRoute, PeerAddr, Query, State},
        get, head, options, patch, post, put, route, routes,
        session::{days, hours, minutes},
    };
    pub use http::StatusCode;
}

/// What the macros expand to; no public API.
#[doc(hidden)]
pub mod __private {
    pub use std::vec;

    pub use http;
    pub use policy_core;

    pub use crate::{
        arguments::{Arguments, Extract, ExtractParts},
        handler::{BoxFuture, Call, Description, Endpoint, Respond, invoke},
        parameters::{FromParam, Parameters},
        route::Route,
        scheme::Scheme,
    };
}

/// The examples of the README are tested as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
