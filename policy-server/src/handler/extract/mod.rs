//! Extractors: handler arguments taken from a request.
//!
//! They implement axum-core's traits, as axum's and axum-extra's extractors do, and can be combined
//! with those in one handler. They differ in how they fail: an extractor of this module responds
//! with a [`Problem`](crate::Problem) whose code identifies the error.
//!
//! | argument | provides | fails with |
//! |---|---|---|
//! | [`Json`] | the body | 400, 408, 413, 415, 422 |
//! | [`Form`] | the body, or the query of GET and HEAD | 400, 408, 413, 415, 422 |
//! | [`Query`] | the query | 400 |
//! | [`Valid`] | one of these, checked by [`Validate`] | 422, and the statuses of the inner one |
//! | [`State`] | a part of the app's state | |
//! | [`MatchedRoute`] | the route that matched | |
//! | [`Principal`](crate::Principal) | the authenticated caller | |
//! | [`Session`](crate::Session), [`Sessions`](crate::Sessions) | the session | 403, 503 |
//! | [`CsrfToken`] | a CSRF token | 503 |
//! | [`Tokens`](crate::Tokens) | issuing and revoking of tokens | |
//! | [`Accept`] | the media types that the client prefers | |
//! | [`Preconditions`] | conditions on the state that the request changes | |
//! | [`CspNonce`] | the nonce of the page's Content-Security-Policy | |
//! | [`ClientAddr`] | the address of the client | |
//! | [`PeerAddr`] | the address of the connection's peer | |
//! | [`SentTarget`] | the request target as it was sent | |
//!
//! A handler that responds to a failure itself takes `Result<Json<T>, JsonRejection>`.

mod accept;
mod client_addr;
pub(crate) mod content;
mod context;
mod csp_nonce;
mod matched_route;
mod peer_addr;
mod preconditions;
mod principal;
mod session;
mod state;
mod tokens;
mod wrapper;

pub use crate::base::{body::BodyRejection, sent_target::SentTarget};
pub use accept::{Accept, Chosen};
pub use client_addr::ClientAddr;
pub use content::{
    Form, FormRejection, Json, JsonRejection, Mismatch, Query, QueryRejection, Valid,
    ValidRejection, Validate,
};
pub(crate) use content::{json_answer, media_type};
pub(crate) use context::Context;
pub use context::ContextRejection;
pub(crate) use context::optional;
pub use csp_nonce::CspNonce;
pub use matched_route::MatchedRoute;
pub use peer_addr::PeerAddr;
pub use preconditions::{Current, Preconditions};
pub use session::CsrfToken;
pub use state::State;
