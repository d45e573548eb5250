//! A route from which pages get their CSRF token.

use policy_macros::{auth, get};

use super::extract::CsrfToken;

/// `GET /csrf`: the CSRF token of the session, as `{"token": ".."}`; `null` without a session. It
/// is shared with the origins of the app's default policy.
///
/// ```
/// use policy_server::{prelude::*, session};
///
/// let app = App::new(()).sessions(Sessions::memory()).routes(routes![session::csrf]);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = app.test().get("/csrf").send().await;
/// assert_eq!(response.text(), r#"{"token":null}"#);
/// assert_eq!(response.header("cache-control"), Some("private, no-cache"));
/// # });
/// ```
#[get("/csrf")]
#[auth(public)]
pub async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}
