//! HTTP services whose policies are attributes on their handlers.
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
//! An attribute that contradicts itself, or that no browser could follow, is a compile error at the
//! token. Errors that only the whole app shows prevent the start and are reported together. Every
//! response of a route carries the headers of its policy, including errors, panics of the handler
//! and time-outs.
//!
//! # Overview
//!
//! - [`App`] combines routes, [groups](Group), [mounted services](Mount), a [`Fallback`] and settings;
//!   [`AppService`] is the compiled app, a `tower::Service`; [`Server`] serves it on a socket.
//! - [`get`], [`post`], [`put`], [`patch`], [`delete`], [`head`], [`options`], [`any`] and [`route`]
//!   bind a handler to a path; [`cors`], [`auth`] and [`csrf`] are its policy; [`routes!`] lists handlers.
//! - Handler arguments are path parameters ([`FromParam`]) and axum-core extractors: those in
//!   [`extract`], axum's and axum-extra's.
//! - [`Principal`] is the authenticated caller, [`Session`] the data kept between their requests.
//!   [`Sessions`] and [`Tokens`] log in and out, and [`extract::CsrfToken`] is the CSRF token of a
//!   page. [`session`], [`tokens`] and [`store`] have settings, keys and stores; [`Scheme`] is for
//!   an application's own credentials.
//! - [`cache`](macro@cache), [`limit`](macro@limit), [`headers`](macro@headers),
//!   [`isolation`](macro@isolation) and [`jsonp`](macro@jsonp) are the rest of a route's policy;
//!   [`CachePolicy`], [`Limits`], [`HeadersPolicy`] and [`Isolation`] are the same as values, for
//!   an app, a group or a mount.
//! - [`RateLimiter`] counts what a handler names, such as the attempts at an account.
//! - [`layer`](macro@layer) and [`Group::layer`] put `tower` layers behind the gates of a route.
//! - [`response`] has the validators for caches and conditional requests: [`ETag`](response::ETag),
//!   [`LastModified`](response::LastModified), [`ByteRanges`](response::ByteRanges).
//! - [`extract::PageQuery`] and [`response::Page`] are the pages of a list.
//! - [`Problem`] is an error response, [`Invalid`] the validation errors of a request, [`Error`] a
//!   failed start.
//! - [`guide::operation`] describes how to run an app: probes, logs, runtimes, limits.
//! - [`guide::instances`] describes how to run several: their store, and the state that they share.
//! - [`guide::cross_site`] describes how pages of another site use an app: same site, `SameSite=None`,
//!   tokens.
//! - [`PolicyLayer`] puts policies in front of any `tower` service.
//! - The module `testing`, with the feature of that name, is for tests: a client without sockets, a
//!   model of the browser, the laws of `policy_tests!`, fault-injecting stores.
//! - `Tls`, with the feature `tls`, is HTTPS: certificates, their renewal, and the redirect from
//!   HTTP.
//! - The engine is the crate `policy-core` of the same version. What a service needs of it is
//!   exported here; depend on it for the rest.
//!
//! # Features
//!
#![doc = include_str!("../docs/features.md")]
//!
//! # Authentication
//!
//! Every route declares its callers by [`#[auth(..)]`](macro@auth); a route without it is a compile
//! error. A [`Mount`], a proxy and a [`Fallback`] declare them by an [`AuthRequirement`], or inherit
//! those of their group or app; an app in which no level declares them does not start.
//!
//! | word | accepts |
//! |---|---|
//! | `public` | everyone, without authentication |
//! | `group` | whom the group of the handler admits, or else the app |
//! | `session` | a user who is logged in by a session cookie |
//! | `token` | a valid `Authorization: Bearer` |
//! | `ticket` | `?ticket=` with a ticket of [`Tokens::ticket`](Tokens::ticket), once, within 30 seconds |
//! | <code>session \| token</code> | either; if a bearer token is sent, it alone decides |
//! | `scheme = ApiKeys` | a caller that a [`Scheme`] of the application recognises |
//! | `optional` | also requests without a credential, as anonymous; an invalid token is refused |
//! | `issuers = [..]` | tokens of these issuers, and of this app only if `own` is among them |
//! | `scopes = [..]` | a caller with all of these scopes |
//! | `roles = [..]` | a caller with one of these roles |
//! | `fresh = "10m"` | a caller who authenticated within this time, by a login or [`Session::elevate`] |
//!
//! Authentication runs before any code of the handler, and never for a preflight. A handler gets
//! the result as [`Principal`], a user of this app, which only this gate creates. Where other
//! issuers are taken, it gets a [`Caller`].
//!
//! | status | when |
//! |---|---|
//! | 401 | the credential is missing, invalid or expired, or the login is too old |
//! | 400 | the `Authorization` header is malformed or repeated |
//! | 403 | scopes or roles are missing; a user of another issuer calls a handler for those of this app (`auth.caller-foreign`); `csrf.origin` and `csrf.token`: see below |
//! | 503 | the credential cannot be checked at the moment; no user is logged out because of it |
//! | 303 | in place of 401, for a navigation, if there is a [`login_page`](session::SessionSettings::login_page) |
//!
//! All of them carry the route's CORS headers and are never cached. They do not reveal which rule a
//! token broke, except for `auth.token-expired`, which tells the client to refresh it.
//!
//! **Deviation:** a 401 carries `WWW-Authenticate`, which RFC 9110 15.5.2 requires, only if the
//! route takes tokens or a scheme with a [challenge](Scheme::challenge). If a session is the only
//! credential there is none: no registered scheme means a cookie, and `Basic` would open a dialog
//! in the browser.
//!
//! ## CSRF
//!
//! A browser attaches the session cookie to requests of any page. An unsafe request with a session,
//! or one whose handler takes [`Session`] or [`Sessions`], is therefore refused if a page sends it
//! that is neither of this origin nor of one that the route's [`cors`](macro@cors) grants with
//! `credentials` (403 `csrf.origin`). If there is a session, it must also carry the session's CSRF
//! token, as `x-csrf-token` or as the form field `csrf_token` (403 `csrf.token`). If there is none,
//! as at a login, it must state its page. This applies to `public` routes too. Pages get the token
//! by [`extract::CsrfToken`]; a route that returns it is one line. Bearer tokens need no CSRF token.
//! [`#[csrf(..)]`](macro@csrf) is for exceptions, and [`App::csrf`] and [`Group::csrf`] are for many
//! routes at once. A program that sends neither `Origin` nor Fetch Metadata finds out what to send
//! from the `detail` of the 403. Services without attributes are protected in the same way, and from
//! unsafe requests of other pages also where they are public: see [`Mount::csrf`].
//!
//! ## Lifetimes
//!
//! - A session ends 15 minutes after its last use and 8 hours after its login
//!   ([`idle`](session::SessionSettings::idle) and `absolute` change this), and immediately by `logout` and
//!   `revoke..`. A login always gives it a new id. Logout and revocation are committed even if the
//!   response fails; logins and new rights only if the status is below 400. A clock that is set back
//!   lengthens no session while the process runs; after a restart, a session lasts longer by as much
//!   as the clock is behind.
//! - The end of a session ends the tokens and tickets that were issued in it.
//!   [`revoke_others`](Sessions::revoke_others), [`revoke_user`](Sessions::revoke_user) and
//!   [`revoke_everyone`](Sessions::revoke_everyone) end sessions, tokens, tickets and streams
//!   alike, and [`set_rights`](Sessions::set_rights) changes tenant, roles and scopes everywhere. They win
//!   against every login, elevation and issue of tokens that began before (409 `session.ended`),
//!   except in their own request.
//! - An access token expires after 5 minutes and is verified without a store lookup. Deleting it at
//!   the client does not invalidate copies; only [revocations](Tokens::revoke_user) end it
//!   early.
//! - A refresh token can be used once. A second use after a grace period of 10 seconds ends
//!   everything that was issued from its login.
//! - Event streams, WebSockets and other streaming responses end with the credential that opened
//!   them. So do responses of known size above 1 MiB; a smaller one is likely to be sent at once.
//!
//! The example `cargo run -p accounts` shows all of this.
//!
//! # HTTP semantics
//!
//! - **HEAD** is GET without the body, with the same headers. OPTIONS lists the methods of a path.
//!   A method that a path does not serve gets 405 with `Allow`, an unknown one 501.
//! - **`Cache-Control`** is what [`#[cache(..)]`](macro@cache) declares. A handler can make it
//!   stricter, never less strict. Errors are not stored unless their handler allows it. A response
//!   that depends on the caller is stored by their browser only, whatever was declared, and one
//!   with a credential not at all.
//! - **Conditional and range requests** by GET and HEAD are evaluated by the app for every response
//!   that has an [`ETag`](response::ETag) or [`LastModified`](response::LastModified), or declares
//!   [`ByteRanges`](response::ByteRanges): 304, 206, 412, 416 (RFC 9110 13.2.2). A handler that
//!   changes something checks [`Preconditions`](extract::Preconditions) first.
//! - **Problems** are `application/problem+json`, or a page or text for clients that prefer these.
//!   [`Valid`](extract::Valid) lists all errors of an argument together.
//! - **Limits** by [`#[limit(..)]`](macro@limit): 413, 408 or 503, and 429 with `Retry-After`. They
//!   are counted per process, unless [`App::shared_limits`] counts them for all instances, at the
//!   level that sets them: a limit of the app counts all routes that inherit it. The address is that of the connection unless [`App::behind`] names trusted
//!   proxies; without that, all clients of a proxy share one address, so limit by principal there.
//!   By default a body has at most 2 MiB, and a response must be ready within 30 seconds.
//! - **Security headers**: by default every response has `nosniff`, pages cannot be framed by other
//!   origins, and HSTS is sent if there is a public origin. [`HeadersPolicy::API`] and
//!   [`HeadersPolicy::PAGES`] are stricter.
//! - **Isolation** by [`#[isolation(..)]`](macro@isolation) keeps pages of other origins from
//!   loading a route in any way that [`cors`](macro@cors) does not grant.
//!
//! The example `cargo run -p catalogue` shows all of this.
//!
//! # Paths
//!
//! A request matches by the [normal form](policy_core::head::NormalPath) of its path, which is all that
//! handlers, mounts and upstreams see: `/%61` is `/a`. `/a` and `/a/` are two paths, and neither
//! redirects to the other, unless [`App::trailing_slash`] says so. A fixed segment takes precedence over a parameter. Parameters are percent-decoded
//! once, after the match. A path that servers read differently is answered with 400 before anything
//! is routed: with a malformed percent code, a control character, an empty segment or a dot segment,
//! encoded or not; and with `%2F` or `%5C`, unless `{name:slashes}` takes it.

// Generated code refers to `policy_server`; this crate's own route needs the name too.
extern crate self as policy_server;

mod app;
mod attributes;
mod auth;
mod base;
mod build;
mod client;
#[cfg(feature = "gateway")]
mod gateway;
mod handler;
mod laws;
mod observe;
mod pipeline;
mod route;
mod run;
mod server;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "openapi")]
pub use crate::{app::openapi::OpenApiSettings, build::openapi::OpenApi};
#[cfg(feature = "files")]
pub use app::files::Files;
#[cfg(feature = "tls")]
pub use app::tls::Tls;
pub use app::{
    App, access::AuthRequirement, cors_source::CorsSource, fallback::Fallback, group::Group,
    mount::Mount, origin_list::OriginList, policies::Policies, policy_layer::PolicyLayerBuilder,
    route::Route, settings::ServerSettings,
};
#[cfg(feature = "gateway")]
pub use app::{
    proxy::ReverseProxy,
    tunnel::{Targets, Tunnel},
};
pub use attributes::*;
pub use auth::{
    CredentialError,
    caller::{Caller, Subject},
    principal::{AuthScheme, Principal},
    scheme::{AuthError, Scheme, SchemeRequest},
    session::{Session, Sessions},
    tokens::Tokens,
};
pub use axum_core::{
    body::Body,
    extract::{FromRef, FromRequest, FromRequestParts, Request},
    response::{IntoResponse, Response},
};
pub use base::{
    body::MessageBody,
    clock::{Clock, Random, RandomError},
    error::{Error, Report, StartProblem},
    problem::{Invalid, OrInternal, OrNotFound, Problem, Problems},
};
pub use client::trusted_proxies::TrustedProxies;
pub use handler::{
    extract, object,
    parameters::FromParam,
    response,
    service::{HttpService, RouteLayer, SharedService},
};
pub use http;
#[cfg(feature = "manifest")]
pub use observe::decision_record::DecisionRecords;
#[cfg(feature = "metrics")]
pub use observe::metrics::{GlobalRecorder, Metrics, MetricsTarget};
pub use observe::request_id::RequestId;
pub use pipeline::{layer::PolicyLayer, response_future::ResponseFuture, service::AppService};
pub use policy_core::{
    CodePage, Refusal, Rule, Severity,
    cors::{CorsConfig, SharedOrigins},
    csrf::CsrfPolicy,
    limits::RateCapacity,
    path::TrailingSlash,
    problem::DeclaredProblem,
    session::Identity,
    time::Timestamp,
};
#[cfg(feature = "manifest")]
pub use policy_core::{Confidence, Lint};
#[cfg(feature = "manifest")]
#[doc(inline)]
pub use policy_manifest as manifest;
pub use route::{rate_limiter::RateLimiter, shared_limits::SharedLimits};
#[cfg(feature = "openapi")]
pub use schemars;
pub use server::{ListenAddress, Server};
pub use store::stored_origins::{StoredOrigins, StoredOriginsError};

/// A possible next policy of an app, evaluated beside the one in force: [`App::report_only`].
#[cfg(feature = "manifest")]
pub mod candidate {
    pub use crate::observe::candidate::{Candidate, Counts, Difference};
}

/// Which traces the spans of requests belong to, and what they record: [`App::tracing`].
pub mod traces {
    pub use policy_core::trace::TraceContext;

    pub use crate::observe::traces::{RemoteTrace, TraceParents, Tracing};
}

/// Chapters about the whole of an app. They have no items.
pub mod guide {
    // The chapters link to these.
    #[cfg(doc)]
    use crate::{tokens::*, *};

    #[doc = include_str!("../docs/operation.md")]
    pub mod operation {}

    #[doc = include_str!("../docs/instances.md")]
    pub mod instances {}

    // Its examples are tests in a model of browsers.
    #[cfg_attr(any(not(doctest), feature = "testing"), doc = include_str!("../docs/cross-site.md"))]
    pub mod cross_site {}

    #[doc = include_str!("../docs/tls.md")]
    #[cfg(feature = "tls")]
    pub mod tls {}

    #[doc = include_str!("../docs/issuers.md")]
    #[cfg(feature = "asym")]
    pub mod issuers {}
}

/// Types that [`CorsPolicy`], [`CachePolicy`], [`HeadersPolicy`], [`Limits`] and the other policies
/// are built from, and the errors of building them.
pub mod policy {
    pub use policy_core::{
        cache::CachePolicyBuilder,
        cors::{CorsPolicyBuilder, PolicyError, PolicyErrors},
        headers::{Frame, HeadersPolicyBuilder},
        jsonp::{Grammar, JsonpPolicy, JsonpPolicyBuilder},
        limits::{RateGrant, RateKey, RateRefusal},
    };

    /// Directives and sources of a Content-Security-Policy.
    pub mod csp {
        pub use policy_core::headers::csp::{Directive, Name, Source};
    }
}

/// Sessions: their settings, and the session of a request. Handlers use [`Session`]
/// and [`Sessions`].
pub mod session {
    pub use policy_core::session::{DataError, Names};

    pub use crate::{
        auth::session::{Handle, SameSite, SessionSettings, days, hours, minutes},
        handler::csrf_route::csrf,
    };
}

/// Tokens: their settings, keys and issued tokens. Handlers use [`Tokens`].
///
/// - [`Tokens::hs256`] creates the settings, which [`App::tokens`] takes.
/// - [`Tokens`] as a handler argument issues, refreshes and revokes.
/// - With the feature `asym`, keys may be for ES256 and Ed25519, and `TokenSettings::accept` accepts the
///   tokens of external issuers.
/// - [`TokenKeys`](tokens::TokenKeys) is the handle that changes keys at run time.
pub mod tokens {
    pub use policy_core::{
        secret::{SecretError, SecretKey},
        token::{Key, KeyError, Token},
    };

    #[cfg(feature = "asym")]
    pub use crate::auth::tokens::{ForeignToken, ForeignUser, Issuer};
    pub use crate::auth::tokens::{
        IntoKeys, IssuedTokens, KeyFileError, OnStale, TokenKeys, TokenSettings,
    };
}

/// The items that nearly every service uses: `use policy_server::prelude::*;`.
pub mod prelude {
    pub use crate::{
        App, AuthRequirement, Caller, CredentialError, Error, Fallback, FromParam, FromRef, Group,
        Identity, IntoResponse, Invalid, Mount, OrInternal, OrNotFound, Policies, Principal,
        Problem, Problems, Report, Response, Session, Sessions, Tokens,
        attributes::*,
        extract::{
            Accept, ClientAddr, CspNonce, CsrfToken, Form, Json, MatchedRoute, PeerAddr,
            Preconditions, Query, State, Valid, Validate,
        },
        object::{Allowed, Delete, Edit, Load, Scope, View},
        response::{ETag, LastModified},
        session::{days, hours, minutes},
    };
    pub use http::StatusCode;
}

/// For code that the macros generate; not a public API.
#[doc(hidden)]
pub mod codegen {
    pub use std::vec;

    pub use axum_core::response::Response;
    pub use http;
    pub use policy_core::{
        self,
        object::names_differ,
        problem::{DeclaredProblem, JoinedProblems},
        route::{Facet, RoutePolicy},
    };

    #[cfg(feature = "openapi")]
    pub use crate::handler::describe::{Input, Schemas, Side, TypedContent, TypedTakes, Types};
    #[cfg(not(feature = "testing"))]
    pub use crate::laws::testing_is_off;
    /// The rows of the embedded store, for fuzz targets.
    #[cfg(feature = "embedded")]
    pub use crate::store::embedded::codec::{Row, Successor, TokenRow};
    #[cfg(feature = "testing")]
    pub use crate::testing::{
        app_source::AppSource,
        lock::Subject as LockSubject,
        prove::{Law, Proof, prove},
    };
    /// The traits whose methods describe an `Of`. They have no names here, so that they hide no name of the user's.
    pub mod describing {
        pub use crate::handler::describe::{
            KnownAnswer as _, KnownArgument as _, KnownValue as _, KnownValueOnly as _,
            ParsedParameter as _, TextParameter as _, UnknownAnswer as _, UnknownArgument as _,
        };
        #[cfg(feature = "openapi")]
        pub use crate::handler::describe::{TypedParameter as _, TypedValueOnly as _};
    }
    pub use crate::{
        app::route::{Route, Serves},
        auth::{principal::Principal, scheme::Scheme},
        base::problem::{ErrorForClients, Problem, Problems},
        handler::{
            BoxFuture, Call, Description, Endpoint, IntoProblem, Respond, RespondWithProblem,
            Returned,
            arguments::{Arguments, Extract, ExtractParts, FromBody, Inferred, StatePart},
            checks::{OfBody, OfHead, OfState, Parameter, ReturnedJson, ReturnedValue},
            describe::{Answer, Of, Reply, Signature, Takes},
            into_problem, invoke,
            object::{
                Action, FieldValue, Object, ObjectArgument, ObjectFacts, ObjectGate, Permits,
                PermitsByData, Sample, condition, invoke_with_objects, is_text_of,
            },
            parameters::{FromParam, Parameters},
            respond,
            service::{RouteLayer, SharedService},
        },
    };
}

/// Tests the examples of the README like those of the documentation.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../../README.md")]
struct Readme;
