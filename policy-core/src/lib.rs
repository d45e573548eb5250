//! The engine of Policy: what the attributes on a handler mean, as pure data and decisions.
//!
//! Nothing here waits, opens, reads a clock or draws a random number. The macros of
//! `policy-macros` call the rules of this crate on what a programmer wrote; `policy-server`
//! compiles the data at start and asks the decisions for every request. To build a service, use
//! `policy-server`, which re-exports what is needed of this crate.
//!
//! - [`origin`]: origins, patterns and sets of them
//! - [`cors`]: cross-origin sharing: policies, their rules, their decisions
//! - [`auth`], [`csrf`]: who may call, and against whom a session is protected
//! - `session` and `token`: what callers are known by
//! - `cookie`, `cache`, `jsonp`: what of it travels, what is stored, answers that are scripts
//! - `vary`: which request fields an answer depends on
//! - `conditional`, `negotiate`: what a client has already, and what it would like to have
//! - [`headers`], [`isolation`]: what browsers are told about an answer, and who may load it
//! - [`time`] and `secret`: points in time and keys, which come in as arguments
//! - [`path`]: the paths of routes
//! - [`route`]: the facets of one route, how levels compose, and what rules ask about it
//! - `forwarded`: what proxies say about those in front of them
//! - `tunnel`: where a CONNECT may lead
//! - `gate`: what is asked of every request before its handler runs
//! - `reverse_proxy`: what a gateway does to the messages that it passes on
//! - `browser`: a model of what browsers do, to test against; `testing`: generated cases
//! - [`Rule`], [`Refusal`] and [`Event`]: the one catalogue of codes and messages
//!
//! Without the default feature `engine` only the rules are built, which is all that the macros
//! need.

pub mod auth;
#[cfg(feature = "engine")]
mod base64url;
#[cfg(feature = "browser")]
pub mod browser;
pub mod cache;
mod catalogue;
#[cfg(feature = "engine")]
pub mod conditional;
mod const_text;
#[cfg(feature = "engine")]
pub mod cookie;
pub mod cors;
pub mod csrf;
#[cfg(feature = "engine")]
pub mod forwarded;
#[cfg(feature = "engine")]
pub mod gate;
mod grammar;
pub mod headers;
pub mod isolation;
pub mod jsonp;
pub mod limits;
pub mod method;
#[cfg(feature = "engine")]
pub mod negotiate;
pub mod origin;
pub mod path;
#[cfg(feature = "engine")]
pub mod reverse_proxy;
pub mod route;
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
pub mod tunnel;
mod validator;
#[cfg(feature = "engine")]
pub mod vary;

pub use catalogue::{Event, EventLevel, Refusal, Rule, Severity};
pub use const_text::ConstText;
pub use grammar::is_token;
pub use validator::{PolicyPart, Violation};
