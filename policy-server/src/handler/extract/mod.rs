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
//! | [`PageQuery`] | the requested page of a list | 400 |
//! | [`Valid`] | one of these, checked by [`Validate`] | 422, and the statuses of the inner one |
//! | `Decoded` | wraps one that reads a body, and decodes its content coding (feature `decompression`) | 400, 413, 415, and the statuses of the inner one |
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
//! The modules `multipart`, `ws` and `cookie` (features `multipart`, `ws` and `cookies`) export axum's
//! extractors. If an extractor of axum or of another crate rejects a request in plain text, the
//! response is a problem, too: `request.rejected`, with its status, and its text as `detail`.
//!
//! A handler that responds to a failure itself takes `Result<Json<T>, JsonRejection>`.

mod accept;
mod client_addr;
pub(crate) mod content;
mod context;
mod csp_nonce;
mod matched_route;
mod page_query;
mod peer_addr;
mod preconditions;
mod principal;
mod session;
mod state;
mod tokens;
mod wrapper;

pub use crate::base::{body::BodyRejection, sent_target::SentTarget};
pub use crate::handler::describe::Rejects;
pub use accept::{Accept, ChosenMediaType};
pub use client_addr::ClientAddr;
#[cfg(feature = "decompression")]
pub use content::{Decoded, DecodedRejection};
pub use content::{
    Form, FormRejection, Json, JsonRejection, Mismatch, Query, QueryRejection, Valid,
    ValidRejection, Validate,
};
pub(crate) use content::{json_answer, media_type};
pub use context::ContextRejection;
pub(crate) use context::optional;
pub(crate) use context::{Context, Reach};
pub use csp_nonce::CspNonce;
pub use matched_route::MatchedRoute;
pub use page_query::PageQuery;
pub use peer_addr::PeerAddr;
pub use preconditions::{Current, Preconditions};
pub(crate) use principal::user;
pub use session::CsrfToken;
pub use state::State;

/// Forms with files (RFC 7578), by axum: [`Multipart`](multipart::Multipart) has to be the last argument
/// (feature `multipart`).
///
/// `?` converts its errors into a [`Problem`](crate::Problem) with their status.
///
/// ```
/// use policy_server::{extract::multipart::Multipart, prelude::*};
///
/// #[post("/photos")]
/// #[limit(body = "20 MiB")]
/// #[auth(public)]
/// async fn upload(mut form: Multipart) -> Result<String, Problem> {
///     let mut names = Vec::new();
///     while let Some(field) = form.next_field().await? {
///         names.push(field.name().unwrap_or_default().to_owned());
///     }
///     Ok(names.join(" "))
/// }
/// # assert!(App::new(()).routes(routes![upload]).check().is_ok());
/// ```
#[cfg(feature = "multipart")]
pub mod multipart {
    pub use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
}

/// WebSockets, by axum (feature `ws`).
///
/// ```
/// use policy_server::{extract::ws::WebSocketUpgrade, prelude::*};
///
/// #[get("/echo")]
/// #[auth(public)]
/// async fn echo(upgrade: WebSocketUpgrade) -> Response {
///     upgrade.on_upgrade(async |mut socket| {
///         while let Some(Ok(message)) = socket.recv().await {
///             if socket.send(message).await.is_err() {
///                 return;
///             }
///         }
///     })
/// }
/// # assert!(App::new(()).routes(routes![echo]).check().is_ok());
/// ```
#[cfg(feature = "ws")]
pub mod ws {
    pub use axum::extract::ws::{
        CloseCode, CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
        rejection::WebSocketUpgradeRejection,
    };
}

/// An app's own cookies, by axum-extra (feature `cookies`). Handlers do not handle the session cookie:
/// see [`Session`](crate::Session).
///
/// A changed [`CookieJar`](cookie::CookieJar) is a part of the response.
///
/// ```
/// use policy_server::{extract::cookie::{Cookie, CookieJar}, prelude::*};
///
/// #[put("/theme/{name}")]
/// #[auth(public)]
/// async fn theme(name: String, cookies: CookieJar) -> (CookieJar, StatusCode) {
///     let theme = Cookie::build(("theme", name)).path("/").secure(true).http_only(true);
///     (cookies.add(theme), StatusCode::NO_CONTENT)
/// }
/// # assert!(App::new(()).routes(routes![theme]).check().is_ok());
/// ```
#[cfg(feature = "cookies")]
pub mod cookie {
    pub use axum_extra::extract::cookie::{Cookie, CookieJar, Expiration, SameSite};
}
