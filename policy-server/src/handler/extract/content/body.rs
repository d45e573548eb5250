//! Reading a whole body.

use axum_core::{RequestExt, extract::Request};
use bytes::Bytes;
use http::header::CONTENT_ENCODING;

use crate::{
    base::body::{BodyRejection, collect},
    handler::extract::context::Context,
};

/// Reads the body of a request. In an app it is already limited; elsewhere, as in an axum router,
/// axum's limit applies.
///
/// # Errors
///
/// The body could not be read, or it has a content coding: nothing here decodes one, and its bytes
/// are not what its type says (RFC 9110 8.4).
pub(super) async fn read(request: Request) -> Result<Bytes, BodyRejection> {
    let mut codings = request.headers().get_all(CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")) {
        return Err(BodyRejection::Coded);
    }
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
    async fn a_coded_body_is_not_taken_for_what_it_codes() {
        let read_of = async |codings: &[&str]| {
            let mut request = Request::new(Body::from("1"));
            for coding in codings {
                request.headers_mut().append(CONTENT_ENCODING, coding.parse().unwrap());
            }
            read(request).await
        };
        for plain in [&[][..], &["identity"], &["Identity", "identity"]] {
            assert_eq!(read_of(plain).await.unwrap(), "1");
        }
        for coded in [&["gzip"][..], &["x"], &["identity, br"], &["identity", "gzip"]] {
            assert!(matches!(read_of(coded).await, Err(BodyRejection::Coded)), "{coded:?}");
        }
    }

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
