//! Reading a whole body.

use std::mem;

use axum_core::{RequestExt, extract::Request};
use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_ENCODING};

use crate::{
    base::body::{BodyRejection, collect},
    handler::extract::context::{Context, Reach},
};

/// Reads the body of a request.
///
/// # Errors
///
/// The body could not be read, or it has a content coding: no coding is decoded here, and encoded
/// bytes are not of the stated type (RFC 9110 8.4).
pub(super) async fn read(mut request: Request) -> Result<Bytes, BodyRejection> {
    if codings(request.headers()).next().is_some() {
        return Err(BodyRejection::Coded);
    }
    take(&mut request).await
}

/// Takes the body out of a request, up to the limit of its route. In a service or behind layers,
/// axum's limit applies, too, which is the same unless a service or layer sets another. Outside of
/// an app, as in an axum router, only axum's limit applies.
pub(super) async fn take(request: &mut Request) -> Result<Bytes, BodyRejection> {
    let context = request.extensions().get::<Context>();
    let limit = context.map_or(u64::MAX, |context| context.body_limit);
    if context.is_none_or(|context| context.reach == Reach::Services) {
        *request = mem::take(request).with_limited_body();
    }
    collect(mem::take(request.body_mut()), limit).await
}

/// The content codings of a body, in the order in which they were applied (RFC 9110 8.4).
pub(super) fn codings(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(CONTENT_ENCODING).into_iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let codings = codings.map(<[u8]>::trim_ascii);
    codings.filter(|coding| !coding.eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum_core::{body::Body, extract::DefaultBodyLimit};

    use super::*;
    use crate::{base::clock::Clock, client::Client, handler::RouteInfo};

    /// A request with a body of three million bytes, in an app with this limit.
    fn inside(body_limit: u64, reach: Reach) -> Request {
        let mut request = Request::new(Body::from(vec![0; 3_000_000]));
        let client = Client::new(None);
        let route = RouteInfo {
            path: "/".into(),
            description: None,
            state: Arc::new(()),
            engine: None,
            misses: None,
            clock: Clock::system(),
        };
        let context = Context { client, route: Arc::new(route), auth: None, body_limit, reach };
        request.extensions_mut().insert(context);
        request
    }

    #[tokio::test]
    async fn without_an_app_axums_limit_holds() {
        let large = Request::new(Body::from(vec![0; 3_000_000]));
        assert!(matches!(read(large).await, Err(BodyRejection::TooLarge)));
    }

    /// The reader limits the body even if nothing around it does.
    #[tokio::test]
    async fn the_limit_of_the_route_holds_by_itself() {
        for (limit, reach, is_read) in [
            (3_000_000, Reach::Extractors, true),
            (2_999_999, Reach::Extractors, false),
            (u64::MAX, Reach::Extractors, true),
            // axum's limit is two megabytes unless something sets it.
            (3_000_000, Reach::Services, false),
        ] {
            let length = read(inside(limit, reach)).await.map(|body| body.len());
            match is_read {
                true => assert_eq!(length.unwrap(), 3_000_000),
                false => assert!(matches!(length, Err(BodyRejection::TooLarge)), "{limit}"),
            }
        }
        let mut stated = inside(u64::MAX, Reach::Services);
        DefaultBodyLimit::max(2_999_999).apply(&mut stated);
        assert!(matches!(read(stated).await, Err(BodyRejection::TooLarge)));
        let mut unstated = inside(2_999_999, Reach::Services);
        DefaultBodyLimit::disable().apply(&mut unstated);
        assert!(matches!(read(unstated).await, Err(BodyRejection::TooLarge)));
    }
}
