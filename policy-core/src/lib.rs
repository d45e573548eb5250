//! The engine of Policy: the meaning of the attributes on a handler, as pure data and decisions.
//!
//! This crate does no input or output, reads no clock and draws no random numbers. The macros of
//! `policy-macros` apply its rules to attributes at compile time; `policy-server` compiles the data
//! at start and uses the decisions for every request. To build a service, use `policy-server`,
//! which re-exports the parts of this crate that services need.
//!
//! - [`origin`]: origins, patterns and sets of them
//! - [`cors`]: cross-origin sharing: policies, their rules, their decisions
//! - [`auth`], [`csrf`]: which callers a route admits, and its protection against forged requests
//! - `session` and `token`: the credentials of callers
//! - `cookie`, `cache`, `jsonp`: cookies, caching, and responses that are scripts
//! - `vary`: the request headers that a response depends on
//! - `conditional`, `negotiate`: conditional requests, ranges and content negotiation
//! - [`headers`], [`isolation`]: security headers of responses, and which sites may load them
//! - [`time`] and `secret`: points in time and keys, which the caller passes in
//! - [`object`]: rights on one object, by its fields
//! - [`path`]: the paths of routes
//! - [`problem`]: the problems that an app sends for its errors
//! - [`route`]: the facets of one route, how levels compose, and the facts that rules use
//! - `forwarded`: the statements of proxies about their clients
//! - `tunnel`: where a CONNECT may lead
//! - `head`: the head of a request as the gates read it, and the names under which a server serves
//! - `router`: which route serves a path and a method
//! - `outcome`: the refusals that a request can meet, by what its handler takes
//! - `gates`: the gates of a request in their order, for servers, layers and manifests
//! - `reverse_proxy`: how a gateway changes the messages that it forwards
//! - `trace`: which trace a request belongs to, and which part of a query a trace may contain
//! - `testing` (feature `proptest`): generated cases
//! - [`Rule`], [`Refusal`], [`Event`] and [`Lint`]: the one catalogue of codes and messages; [`Entry`]
//!   finds one by its code
//!
//! Without the default feature `engine` only the rules are built, which are all that the macros
//! need.

pub mod auth;
#[cfg(feature = "engine")]
mod base64url;
pub mod cache;
mod catalogue;
#[cfg(feature = "engine")]
pub mod conditional;
mod const_text;
#[cfg(feature = "engine")]
pub mod cookie;
pub mod cors;
pub mod csrf;
mod facet;
#[cfg(feature = "engine")]
pub mod forwarded;
#[cfg(feature = "engine")]
pub mod gates;
mod grammar;
#[cfg(feature = "engine")]
pub mod head;
pub mod headers;
pub mod isolation;
pub mod jsonp;
pub mod limits;
pub mod method;
#[cfg(feature = "engine")]
pub mod negotiate;
pub mod object;
pub mod origin;
#[cfg(feature = "engine")]
pub mod outcome;
pub mod path;
#[cfg(feature = "engine")]
mod percent;
pub mod problem;
#[cfg(feature = "engine")]
pub mod reverse_proxy;
pub mod route;
#[cfg(feature = "engine")]
pub mod router;
#[cfg(feature = "engine")]
pub mod secret;
#[cfg(feature = "engine")]
pub mod session;
#[cfg(feature = "proptest")]
pub mod testing;
pub mod time;
#[cfg(feature = "engine")]
pub mod token;
#[cfg(feature = "engine")]
pub mod trace;
#[cfg(feature = "engine")]
pub mod tunnel;
mod validator;
#[cfg(feature = "engine")]
pub mod vary;

pub use catalogue::{
    CodePage, Confidence, Entry, Event, EventLevel, Lint, Refusal, Rule, Severity,
};
pub use const_text::ConstText;
pub use grammar::is_token;
pub use validator::Violation;

/// Tests the example of the README like those of the documentation.
#[cfg(all(doctest, feature = "engine"))]
#[doc = include_str!("../README.md")]
struct Readme;
