//! What a handler takes from a request, and gives back.
//!
//! These implement axum-core's traits, as axum's and axum-extra's extractors do: all of them
//! can stand side by side in one handler. What differs is how they fail: an extractor of this
//! module answers with a [`Problem`](crate::Problem), whose code says what was wrong.
//!
//! | argument | takes | fails with |
//! |---|---|---|
//! | [`Json`] | the body | 400, 408, 413, 415, 422 |
//! | [`Form`] | the body, or the query of GET and HEAD | 400, 408, 413, 415, 422 |
//! | [`Query`] | the query | 400 |
//! | [`Valid`] | one of these, if its value keeps the rules of [`Validate`] | 422, and as without |
//! | [`State`] | a part of the app's state | |
//! | [`MatchedRoute`] | which route it is | |
//! | [`Principal`](crate::Principal) | who sent the request | |
//! | [`Session`](crate::Session), [`Sessions`](crate::Sessions) | the session | 403, 503 |
//! | [`CsrfToken`] | an anti-forgery token | 503 |
//! | [`Tokens`](crate::Tokens) | issuing and revoking tokens | |
//! | [`Accept`] | which media types the client would like to have | |
//! | [`Preconditions`] | what the request assumes about the state that it changes | |
//! | [`CspNonce`] | the nonce of the page's Content-Security-Policy | |
//! | [`ClientAddr`] | the address that the request came from | |
//! | [`PeerAddr`] | who holds the other end of the connection | |
//!
//! A handler that wants to answer a failure itself takes `Result<Json<T>, JsonRejection>`.

mod accept;
mod body;
mod client_addr;
mod context;
mod csp_nonce;
mod form;
mod json;
mod matched_route;
pub(crate) mod media_type;
mod mismatch;
mod peer_addr;
mod preconditions;
mod principal;
mod query;
mod session;
mod state;
mod tokens;
mod valid;
mod wrapper;

pub use crate::base::body::BodyRejection;
pub use accept::{Accept, Chosen};
pub use client_addr::ClientAddr;
pub(crate) use context::Context;
pub use context::ContextRejection;
pub(crate) use context::optional;
pub use csp_nonce::CspNonce;
pub use form::{Form, FormRejection};
pub(crate) use json::answer as json_answer;
pub use json::{Json, JsonRejection};
pub use matched_route::MatchedRoute;
pub use mismatch::Mismatch;
pub use peer_addr::PeerAddr;
pub use preconditions::{Current, Preconditions};
pub use query::{Query, QueryRejection};
pub use session::CsrfToken;
pub use state::State;
pub use valid::{Valid, ValidRejection, Validate};
