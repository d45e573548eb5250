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
//! async fn main() -> Result<(), Report> {
//!     App::new(()).routes(routes![user]).serve("127.0.0.1:8080").await?;
//!     Ok(())
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
//! - [`App`] puts routes, [groups](Group), [mounted services](Mount) and settings together;
//!   [`AppService`] is the result, a `tower::Service`; [`Server`] has it listen.
//! - [`get`], [`post`], [`put`], [`patch`], [`delete`], [`head`], [`options`] and [`route`]
//!   bind a handler to requests; [`cors`], [`auth`] and [`csrf`] are its policy; [`routes!`] lists
//!   handlers.
//! - Arguments of handlers are path parameters ([`FromParam`]) and axum-core's extractors:
//!   those in [`extract`], axum's and axum-extra's.
//! - [`Principal`] is who sent a request, [`Session`] what is kept of them between requests;
//!   [`Sessions`] and [`Tokens`] log in and out, [`extract::CsrfToken`] is what a page sends back.
//!   [`session`], [`tokens`] and [`store`] have their settings, keys and stores, [`Scheme`] is for
//!   credentials of one's own.
//! - [`cache`](macro@cache), [`limit`](macro@limit), [`headers`](macro@headers),
//!   [`isolation`](macro@isolation) and [`jsonp`](macro@jsonp) are the rest of a route's policy;
//!   [`CachePolicy`], [`Limits`], [`HeadersPolicy`] and [`Isolation`] are the same as values, for an
//!   app, a group or a mount.
//! - [`response`] has what tells clients what they have already: [`ETag`](response::ETag),
//!   [`LastModified`](response::LastModified), [`ByteRanges`](response::ByteRanges).
//! - [`Problem`] is how a request fails, [`Invalid`] what is wrong with what it sent, [`Error`]
//!   how a start fails. [`response`] has what is said beside an answer.
//! - [`operation`] is how to run an app: probes, logs, runtimes, limits.
//! - [`PolicyLayer`] puts a policy in front of a service that is not ours.
//! - The module `testing`, of the feature of that name, is for tests: a client without sockets, a
//!   browser, the laws of `policy_tests!`, stores that fail.
//! - `Tls`, of the feature `tls`, is HTTPS: certificates, their renewal, the redirect beside it.
//! - The engine is a crate of its own, `policy-core`, of the same version: depend on it for what
//!   is not here. What a service needs of it by name is.
//!
//! # Who may call
//!
//! Every route says it by [`#[auth(..)]`](macro@auth); one that does not is a compile error.
//!
//! | word | lets in |
//! |---|---|
//! | `public` | everybody, and nobody is asked who they are |
//! | `session` | who is logged in by the cookie of a session |
//! | `token` | who sends a good `Authorization: Bearer` |
//! | `ticket` | who sends `?ticket=` that [`Tokens::ticket`](Tokens::ticket) made, once, within 30 seconds |
//! | <code>session \| token</code> | either; where a bearer token is sent, it alone decides |
//! | `scheme = ApiKeys` | whom a [`Scheme`] of the application recognises |
//! | `optional` | also who has no credential, as nobody; a bad token is refused |
//! | `scopes = [..]` | who was granted all of these |
//! | `roles = [..]` | who has one of these |
//! | `fresh = "10m"` | who proved within this time who they are: by a login or [`Session::elevate`] |
//!
//! It is asked before anything of the handler runs, and never on a preflight. A handler gets the
//! outcome as [`Principal`], which nothing but this gate makes.
//!
//! | answer | when |
//! |---|---|
//! | 401 | no credential, a bad or expired one, or a login that is too old |
//! | 400 | an `Authorization` that is malformed, or repeated |
//! | 403 | scopes or roles are missing; `csrf.origin` and `csrf.token`: see below |
//! | 503 | the credential cannot be checked now: nobody is logged out for it |
//! | 303 | in place of 401, to a browser that opens a page, if there is a [`login_page`](session::SessionSettings::login_page) |
//!
//! All of them carry the route's CORS headers, and no cache keeps them. They do not say which rule
//! a token broke, but for `auth.token-expired`: refresh then, and only then.
//!
//! **Deviation:** a 401 carries `WWW-Authenticate`, as RFC 9110 15.5.2 asks, where a route takes
//! tokens, or a scheme that has a [challenge](Scheme::challenge). Where a session is the only way
//! in there is none: no registered scheme means a cookie, and `Basic` would open a dialog of the
//! browser.
//!
//! ## Forged requests
//!
//! A browser sends the cookie of a session whoever asks it to. So what changes something by a
//! session, or asks for [`Session`] or [`Sessions`], has to come from a page of this origin or of
//! one that the route's [`cors`](macro@cors) grants with `credentials` (403 `csrf.origin`), and
//! where there is a session, bring its token back, as `x-csrf-token` or as the form field
//! `csrf_token` (403 `csrf.token`). It holds on `public` routes too. Pages get the token by
//! [`extract::CsrfToken`]: a route that gives it is one line. Bearer tokens need none of it.
//! [`#[csrf(..)]`](macro@csrf) is for the exceptions.
//!
//! ## What ends when
//!
//! - A session ends 15 minutes after its last use and 8 hours after its login, unless
//!   [told otherwise](session::SessionSettings::idle); by `logout` and `revoke..` at once. A login always
//!   gives it a new id. What takes rights away is stored whatever becomes of the answer; what
//!   gives them, only if its status is below 400.
//! - An access token ends after 5 minutes, and nobody has to ask a store about it. That a client
//!   drops its copy ends nothing: whoever has another one goes on. Only
//!   [revocations](Tokens::revoke_user) end it early.
//! - A refresh token is good for once. A second use, later than a grace of 10 seconds, ends
//!   everything of its login.
//! - Event streams, WebSockets and other lasting answers end with the credential that opened them.
//!
//! `cargo run -p accounts` shows all of it.
//!
//! # What HTTP asks of an answer
//!
//! - **HEAD** is GET without the body, header for header. OPTIONS says what is served. A method that
//!   a path does not serve gets 405 with `Allow`, one that nobody knows 501.
//! - **`Cache-Control`** is what [`#[cache(..)]`](macro@cache) declares. A handler can make it
//!   stricter, never laxer; errors are stored nowhere unless their handler says so; what depends on
//!   who asks is for one browser, whatever was declared; what carries a credential is for none.
//! - **Conditions and ranges** of GET and HEAD are answered by the app, for every answer that has an
//!   [`ETag`](response::ETag) or [`LastModified`](response::LastModified), or declares
//!   [`ByteRanges`](response::ByteRanges): 304, 206, 412, 416 (RFC 9110 13.2.2). A handler that changes something asks
//!   [`Preconditions`](extract::Preconditions) before it does.
//! - **Problems** have one form, `application/problem+json`, and a page or a text for who would rather
//!   read that. [`Valid`](extract::Valid) lists all faults of an argument at once.
//! - **Limits** by [`#[limit(..)]`](macro@limit): 413, 408 or 503, 429 with `Retry-After`. They are
//!   counted in this process, where they are stated: one of the app over all routes that take it
//!   over. The address is that of the connection; behind a proxy all clients have one, so limit by
//!   principal there. Without any, a body has 2 MiB and an answer 30 seconds.
//! - **Security fields**: without a word every answer has `nosniff`, pages cannot be framed by
//!   others, and browsers stay with `https` where there is a public origin.
//!   [`HeadersPolicy::API`] and [`HeadersPolicy::PAGES`] are stricter.
//! - **Isolation** by [`#[isolation(..)]`](macro@isolation) keeps pages of others from loading a
//!   route in any way that [`cors`](macro@cors) does not grant.
//!
//! `cargo run -p catalogue` shows all of it.
//!
//! # Paths
//!
//! A request matches byte for byte: `/a` and `/a/` are two paths, and neither is redirected to
//! the other. A fixed segment wins over a parameter. Parameters are percent-decoded once, after
//! the match. A path with a malformed percent code or a dot segment, encoded or not, is
//! answered with 400 before anything is routed.

// For the routes of this crate's own: generated code names it.
extern crate self as policy_server;

mod app;
mod attributes;
mod auth;
mod base;
mod build;
mod client;
mod gateway;
mod handler;
mod observe;
mod pipeline;
mod route;
mod run;
mod server;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "proxy")]
pub use app::proxy::Proxy;
#[cfg(feature = "tls")]
pub use app::tls::Tls;
pub use app::{
    App,
    access::AuthRequirement,
    cors_source::CorsSource,
    group::Group,
    mount::Mount,
    route::Route,
    settings::ServerSettings,
    tunnel::{Targets, Tunnel},
};
pub use attributes::*;
pub use auth::{
    principal::{AuthScheme, Principal},
    scheme::{AuthError, Scheme, SchemeRequest},
    session::{Session, Sessions},
    tokens::Tokens,
};
pub use axum_core::{
    body::Body,
    extract::{FromRef, Request},
    response::{IntoResponse, Response},
};
pub use base::{
    clock::{Clock, Random, RandomError},
    error::{Error, StartProblem},
    exit::Report,
    problem::{Invalid, Problem},
};
pub use client::trusted_proxies::Proxies;
pub use handler::{extract, parameters::FromParam, response, service::SharedService};
pub use http;
pub use observe::request_id::RequestId;
pub use pipeline::{layer::PolicyLayer, response_future::ResponseFuture, service::AppService};
pub use policy_core::{
    Refusal, Rule, Severity,
    cache::CachePolicy,
    cors::{CorsConfig, CorsPolicy, SharedOrigins},
    headers::HeadersPolicy,
    isolation::Isolation,
    limits::{Limits, Rate},
    session::Identity,
    time::Timestamp,
};
pub use server::Server;

#[doc = include_str!("../docs/operation.md")]
pub mod operation {}

#[doc = include_str!("../docs/tls.md")]
#[cfg(feature = "tls")]
pub mod tls {}

/// What [`CorsPolicy`], [`CachePolicy`], [`HeadersPolicy`], [`Limits`] and the other policies are
/// made of, and how making one fails.
pub mod policy {
    pub use policy_core::{
        cache::CachePolicyBuilder,
        cors::{CorsPolicyBuilder, OriginLists, PolicyError, PolicyErrors},
        headers::{Frame, HeadersPolicyBuilder},
        jsonp::{Grammar, JsonpPolicy},
        limits::RateKey,
    };

    /// The words of a Content-Security-Policy.
    pub mod csp {
        pub use policy_core::headers::csp::{Directive, Name, Source};
    }
}

/// Sessions: their settings, the session of a request, and how both fail. In a handler,
/// [`Session`] and [`Sessions`] are what to do with them.
pub mod session {
    pub use policy_core::session::DataError;

    pub use crate::{
        auth::session::{Handle, SameSite, SessionError, SessionSettings, days, hours, minutes},
        handler::csrf_route::csrf,
    };
}

/// Tokens: their settings and keys, and what is issued. In a handler, [`Tokens`] is what to do with
/// them.
///
/// - [`Tokens::hs256`] begins the settings, which [`App::tokens`] takes.
/// - [`Tokens`] as an argument of a handler issues, refreshes and revokes.
/// - With the feature `asym`, keys may be of ES256 and Ed25519, and `TokenSettings::accept` takes the
///   tokens of other issuers.
/// - [`TokenKeys`](tokens::TokenKeys) is the handle that changes keys while the app runs.
pub mod tokens {
    pub use policy_core::{
        secret::{SecretError, SecretKey},
        token::{Key, KeyError, Token},
    };

    #[cfg(feature = "asym")]
    pub use crate::auth::tokens::Issuer;
    pub use crate::auth::tokens::{
        IntoKeys, Issued, KeyFileError, KeyLineError, OnStale, TokenKeys, TokenSettings,
    };
}

/// What nearly every service uses: `use policy_server::prelude::*;`.
pub mod prelude {
    pub use crate::{
        App, CachePolicy, CorsPolicy, Error, FromParam, FromRef, Group, HeadersPolicy, Identity,
        IntoResponse, Invalid, Isolation, Limits, Mount, Principal, Problem, Rate, Report,
        Response, Session, Sessions, Tokens,
        attributes::*,
        extract::{
            Accept, ClientAddr, CspNonce, CsrfToken, Form, Json, MatchedRoute, PeerAddr,
            Preconditions, Query, State, Valid, Validate,
        },
        response::{ETag, LastModified},
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

    /// The rows of the embedded store, which are fuzzed from outside.
    #[cfg(feature = "embedded")]
    pub use crate::store::embedded::codec::{Row, Successor, TokenRow};
    #[cfg(feature = "testing")]
    pub use crate::testing::prove::{Law, Proof, prove};
    pub use crate::{
        app::route::Route,
        auth::scheme::Scheme,
        handler::{
            BoxFuture, Call, Description, Endpoint, Respond,
            arguments::{Arguments, Extract, ExtractParts},
            invoke,
            parameters::{FromParam, Parameters},
        },
    };
}

/// The examples of the README are tested as those of the documentation are.
#[cfg(all(doctest, feature = "testing", feature = "http3", feature = "proxy"))]
#[doc = include_str!("../../README.md")]
struct Readme;
