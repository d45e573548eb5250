//! Conditional and range requests (RFC 9110 13 and 14): the whole response, a part of it, or 304.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::{Buf, Bytes};
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, IF_RANGE, RANGE},
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use policy_core::{
    Refusal,
    cache::forget_age,
    conditional::{Conditions, PreconditionVerdict, Range, Validators, not_modified, one_range},
};

use crate::base::{body::PolledBody, problem::Problem};

/// Evaluates the conditions of a GET or HEAD request against its response.
pub(crate) fn answer(conditions: &Conditions, response: Response) -> Response {
    // Conditions apply only if the response without them would be 200 (RFC 9110 13.2.1). They
    // precede `Range` (14.2), so that they apply to a part that the target selected, too.
    let is_part = response.status() == StatusCode::PARTIAL_CONTENT;
    if !is_part && response.status() != StatusCode::OK {
        return response;
    }
    let validators = Validators::read(response.headers());
    match conditions.evaluate(Some(&validators)) {
        PreconditionVerdict::Proceed if is_part => response,
        PreconditionVerdict::Proceed => part(conditions, &validators, response),
        PreconditionVerdict::NotModified => {
            let (mut parts, _) = response.into_parts();
            parts.status = StatusCode::NOT_MODIFIED;
            not_modified(&mut parts.headers);
            Response::from_parts(parts, Body::empty())
        }
        PreconditionVerdict::Failed => instead(response, Refusal::PreconditionFailed),
    }
}

/// Serves a range, if the response allows ranges.
fn part(conditions: &Conditions, validators: &Validators, response: Response) -> Response {
    let is_ranged = response.headers().get(ACCEPT_RANGES).is_some_and(|units| units == "bytes");
    let Some(length) = length(&response).filter(|_| is_ranged) else { return response };
    let range = conditions.range(validators, length);
    match range {
        Range::Whole => response,
        Range::Part { first, last } => {
            let (mut parts, body) = response.into_parts();
            parts.status = StatusCode::PARTIAL_CONTENT;
            let left = last - first + 1;
            parts.headers.extend(range.content_range(length).map(|value| (CONTENT_RANGE, value)));
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(left));
            // Digests of the bytes of a message; the others are of the whole (RFC 9530 2, 3).
            for name in ["content-digest", "content-md5"] {
                parts.headers.remove(name);
            }
            // Polled at once, so that it holds no more than the part while the client reads nothing.
            let part = PolledBody::new(Part { body, skipped: first, left });
            Response::from_parts(parts, Body::new(part))
        }
        Range::NotSatisfiable => {
            let mut response = instead(response, Refusal::RangeNotSatisfiable);
            let stated = range.content_range(length).map(|value| (CONTENT_RANGE, value));
            response.headers_mut().extend(stated);
            response
        }
    }
}

/// The length of the content. Services that stream files state it only in `Content-Length`.
fn length(response: &Response) -> Option<u64> {
    let stated = || response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    response.body().size_hint().exact().or_else(stated)
}

/// Removes `Range` from a request for a mounted service, unless it asks for one range: services
/// evaluate it without `If-Range` and for HEAD, and refuse ranges that they do not serve. All
/// conditions are evaluated on the response instead.
pub(crate) fn simplify_range(request: &mut Request<Body>) {
    let may_pass = request.method() == Method::GET && !request.headers().contains_key(IF_RANGE);
    let range = one_range(request.headers()).filter(|_| may_pass);
    let headers = request.headers_mut();
    match range {
        Some(range) => {
            headers.insert(RANGE, range);
        }
        None => {
            headers.remove(IF_RANGE);
            headers.remove(RANGE);
        }
    }
}

/// Replaces a response by a problem and keeps its headers, except those about its content and its
/// freshness: the problem concerns one request only, and a cache must not reuse it for others.
fn instead(response: Response, refusal: Refusal) -> Response {
    let (mut parts, _) = response.into_parts();
    not_modified(&mut parts.headers);
    forget_age(&mut parts.headers);
    let mut problem = Problem::from(refusal).into_response();
    let own = std::mem::take(problem.headers_mut());
    merge(&mut parts.headers, own);
    *problem.headers_mut() = parts.headers;
    problem
}

fn merge(headers: &mut HeaderMap, own: HeaderMap) {
    headers.remove(CONTENT_TYPE);
    let mut name = None;
    for (next, value) in own {
        name = next.or(name);
        if let Some(name) = &name {
            headers.append(name, value);
        }
    }
}

/// A body cut to a range: skips the first bytes, then passes at most a number of them.
struct Part {
    body: Body,
    skipped: u64,
    left: u64,
}

impl HttpBody for Part {
    type Data = Bytes;
    type Error = axum_core::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum_core::Error>>> {
        while self.left > 0 {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            // Trailers describe the whole content, not a part.
            let Ok(mut data) = frame.into_data() else { continue };
            let whole = data.len();
            let passed = self.skipped.min(data.len() as u64);
            self.skipped -= passed;
            data.advance(passed as usize);
            let taken = self.left.min(data.len() as u64);
            self.left -= taken;
            data.truncate(taken as usize);
            // A slice keeps the memory of its whole frame, but only its own length is counted as
            // unread.
            if data.is_unique() && data.len() <= whole / 2 {
                data = Bytes::copy_from_slice(&data);
            }
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use futures_util::stream;
    use http_body_util::BodyExt;

    use super::*;
    use crate::{handler::response::ByteRanges, prelude::*};

    #[tokio::test]
    async fn a_part_has_no_digest_of_other_bytes() {
        #[get("/sum")]
        #[auth(public)]
        async fn sum() -> (ByteRanges, [(&'static str, &'static str); 3], &'static str) {
            let digests = [
                ("content-digest", "sha-256=:MQ==:"),
                ("content-md5", "MQ=="),
                ("repr-digest", "x"),
            ];
            (ByteRanges, digests, "0123456789")
        }

        let client = App::new(()).routes(routes![sum]).test();
        for (range, status, has_digest) in [("bytes=2-4", 206, false), ("bytes=", 200, true)] {
            let response = client.get("/sum").header("range", range).send().await;
            assert_eq!(response.status(), status);
            assert_eq!(response.header("content-digest").is_some(), has_digest, "{range}");
            assert_eq!(response.header("content-md5").is_some(), has_digest, "{range}");
            assert_eq!(response.header("repr-digest"), Some("x"));
        }
    }

    /// A service that evaluates `Range` but not `If-Range`, as many do.
    async fn file(request: Request<Body>) -> Result<Response, Infallible> {
        let whole = "0123456789";
        let (status, body) = match request.headers().get(RANGE) {
            Some(_) => (StatusCode::PARTIAL_CONTENT, "01"),
            None => (StatusCode::OK, whole),
        };
        Ok((status, ByteRanges, ETag::version(2), body).into_response())
    }

    #[tokio::test]
    async fn ranges_of_a_changed_resource_are_never_combined() {
        let client =
            App::new(()).mount("/file", Mount::new(tower::service_fn(file)).public()).test();
        for (if_range, status, body) in
            [("\"1\"", 200, "0123456789"), ("\"2\"", 206, "01"), ("W/\"2\"", 200, "0123456789")]
        {
            let request = client.get("/file").header("range", "bytes=0-1");
            let response = request.header("if-range", if_range).send().await;
            assert_eq!(response.status(), status, "{if_range}");
            assert_eq!(response.text(), body);
        }
    }

    /// A range that is cut here costs what the whole content costs.
    #[test]
    fn a_service_is_asked_for_ranges_that_join_as_one() {
        let asked = |method: Method, range: &'static str| {
            let request = Request::builder().method(method).header(RANGE, range);
            let mut request = request.body(Body::empty()).unwrap();
            simplify_range(&mut request);
            request.headers().get(RANGE).map(|range| range.to_str().unwrap().to_owned())
        };
        assert_eq!(asked(Method::GET, "bytes=-1, -1").as_deref(), Some("bytes=-1"));
        assert_eq!(asked(Method::GET, "bytes=2-3,0-1").as_deref(), Some("bytes=0-3"));
        assert_eq!(asked(Method::GET, "bytes=0-1,3-4"), None);
        assert_eq!(asked(Method::HEAD, "bytes=0-1"), None);
    }

    #[tokio::test]
    async fn a_part_of_a_service_is_sent_only_if_the_conditions_hold() {
        let client =
            App::new(()).mount("/file", Mount::new(tower::service_fn(file)).public()).test();
        for (name, value, status) in [
            ("if-match", "\"1\"", 412),
            ("if-match", "\"2\"", 206),
            ("if-none-match", "\"1\"", 206),
            ("if-none-match", "\"2\"", 304),
        ] {
            let request = client.get("/file").header("range", "bytes=0-1");
            let response = request.header(name, value).send().await;
            assert_eq!(response.status(), status, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn a_part_is_cut_from_frames_of_any_length() {
        let frames = ["", "012", "3", "", "456789"];
        let whole = frames.concat().into_bytes();
        for first in 0..whole.len() {
            for last in first..whole.len() {
                let frames = frames.map(Ok::<_, Infallible>);
                let body = Body::from_stream(stream::iter(frames));
                let (skipped, left) = (first as u64, (last - first + 1) as u64);
                let part = Part { body, skipped, left }.collect().await.unwrap().to_bytes();
                assert_eq!(part, whole[first..=last]);
            }
        }
    }

    #[tokio::test]
    async fn a_small_part_does_not_keep_the_memory_of_the_whole() {
        for (range, is_kept) in [("bytes=0-0", false), ("bytes=-512", false), ("bytes=1-", true)] {
            let whole = vec![7_u8; 1024];
            let memory = whole.as_ptr_range();
            let is_read = Arc::new(());
            let unread = Arc::clone(&is_read);
            let body = Body::from_stream(stream::once(async move {
                drop(unread);
                Ok::<_, Infallible>(Bytes::from(whole))
            }));
            let field = (RANGE, HeaderValue::from_static(range));
            let conditions = Conditions::read(&Method::GET, &HeaderMap::from_iter([field]));
            let response = (ByteRanges, [("content-length", "1024")], body).into_response();
            let part = answer(&conditions.unwrap(), response).into_body();
            assert_eq!(Arc::strong_count(&is_read), 1, "before the client has room for it");
            let data = part.collect().await.unwrap().to_bytes();
            assert_eq!(memory.contains(&data.as_ptr()), is_kept, "{range}");
        }
    }

    #[tokio::test]
    async fn a_range_ends_without_waiting_after_its_last_byte() {
        let first = stream::iter([Ok::<_, Infallible>("01")]);
        let body = Body::from_stream(futures_util::StreamExt::chain(first, stream::pending()));
        let part = Part { body, skipped: 0, left: 2 }.collect().await.unwrap().to_bytes();
        assert_eq!(part, "01");
    }
}
