//! Reading a whole body.

use axum_core::{RequestExt, extract::Request};
use bytes::Bytes;

use super::context::Context;
use crate::base::body::{BodyRejection, collect};

/// Reads the body of a request. In an app it is already limited; elsewhere, as in an axum router,
/// axum's limit applies.
pub(super) async fn read(request: Request) -> Result<Bytes, BodyRejection> {
    let is_limited = request.extensions().get::<Context>().is_some();
    let body = if is_limited { request.into_body() } else { request.into_limited_body() };
    collect(body).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum_core::body::Body;

    use super::*;
    use crate::{client::Client, handler::RouteInfo};

    #[tokio::test]
    async fn without_an_app_axums_limit_holds() {
        let large = || Request::new(Body::from(vec![0; 2_097_153]));
        assert!(matches!(read(large()).await, Err(BodyRejection::TooLarge)));
        let mut inside = large();
        let client = Client::new(None);
        let route = RouteInfo { path: "/".into(), description: None, state: Arc::new(()) };
        let context = Context { client, route: Arc::new(route), auth: None };
        inside.extensions_mut().insert(context);
        assert_eq!(read(inside).await.unwrap().len(), 2_097_153);
    }
}
