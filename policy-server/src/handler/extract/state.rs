//! The state of the app.

use std::convert::Infallible;

use axum_core::extract::{FromRef, FromRequestParts};
use http::request::Parts;

use super::wrapper::wrapper;

/// The state passed to [`App::new`](crate::App::new), or a part of it that
/// [`FromRef`](crate::FromRef) provides. Each request gets a clone of it, so it is `Clone`: large
/// parts are kept in an `Arc`.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[derive(Clone)]
/// struct Shop {
///     name: &'static str,
/// }
///
/// #[get("/name")]
/// #[auth(public)]
/// async fn name(State(shop): State<Shop>) -> &'static str {
///     shop.name
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let app = App::new(Shop { name: "lamps" }).routes(routes![name]);
/// assert_eq!(app.test().get("/name").send().await.text(), "lamps");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct State<T>(pub T);

wrapper!(State);

impl<S, T> FromRequestParts<S> for State<T>
where
    T: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Infallible;

    async fn from_request_parts(_parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(T::from_ref(state)))
    }
}
