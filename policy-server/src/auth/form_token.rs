//! The CSRF token of a form, read before the handler gets the body.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum_core::{BoxError, body::Body};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header::CONTENT_TYPE};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::base::body::{BodyRejection, longer};

/// The form field with the token.
pub(super) const FIELD: &str = "csrf_token";

/// The maximum number of bytes of a body that are searched for the field.
const REACH: usize = 64 * 1024;

/// A form encoding whose fields can be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    UrlEncoded,
    Multipart { boundary: Vec<u8> },
}

impl Form {
    /// The form encoding of a request body, by its `Content-Type`.
    pub(super) fn detect(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let mut parts = value.split(';').map(str::trim);
        let media_type = parts.next()?;
        if media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Some(Self::UrlEncoded);
        }
        if !media_type.eq_ignore_ascii_case("multipart/form-data") {
            return None;
        }
        let boundary = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"').as_bytes())
        })?;
        // RFC 2046 5.1.1
        let is_boundary = (1..=70).contains(&boundary.len());
        is_boundary.then(|| Self::Multipart { boundary: boundary.to_vec() })
    }

    /// Reads as much of a body as may contain the field; the handler still gets the whole body.
    pub(crate) async fn token(&self, body: &mut Body) -> Result<Option<Vec<u8>>, BodyRejection> {
        let mut front = BytesMut::new();
        let mut rest = std::mem::take(body);
        let mut trailers = None;
        while front.len() < REACH {
            let Some(frame) = rest.frame().await else { break };
            match frame?.into_data() {
                Ok(data) => front.extend_from_slice(&data),
                Err(frame) => {
                    trailers = Some(frame);
                    break;
                }
            }
        }
        let front = front.freeze();
        let token = self.find(front.get(..REACH).unwrap_or(&front));
        *body = Body::new(ReplayBody { front: Some(front), trailers, rest });
        Ok(token)
    }

    fn find(&self, body: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::UrlEncoded => form_urlencoded::parse(body)
                .find(|(name, _)| name == FIELD)
                .map(|(_, value)| value.as_bytes().to_vec()),
            Self::Multipart { boundary } => in_multipart(body, boundary),
        }
    }
}

/// The field of a multipart body (RFC 7578 4.2).
fn in_multipart(body: &[u8], boundary: &[u8]) -> Option<Vec<u8>> {
    let delimiter = [b"--", boundary].concat();
    let mut rest = after(body, &delimiter)?;
    loop {
        let head_end = find(rest, b"\r\n\r\n")?;
        let (head, content) = rest.split_at_checked(head_end)?;
        let content = content.get(4..)?;
        let end = find(content, &[b"\r\n", &*delimiter].concat())?;
        if is_field(head) {
            return content.get(..end).map(<[u8]>::to_vec);
        }
        rest = after(content, &delimiter)?;
    }
}

/// Whether the head of a part names the field.
fn is_field(head: &[u8]) -> bool {
    let Ok(head) = std::str::from_utf8(head) else { return false };
    head.lines().any(|line| {
        let Some((name, value)) = line.split_once(':') else { return false };
        let mut parameters = value.split(';').map(str::trim);
        name.trim().eq_ignore_ascii_case("content-disposition")
            && parameters.next().is_some_and(|kind| kind.eq_ignore_ascii_case("form-data"))
            && parameters.any(|parameter| {
                parameter
                    .split_once('=')
                    .is_some_and(|(name, value)| name == "name" && value.trim_matches('"') == FIELD)
            })
    })
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn after<'a>(text: &'a [u8], what: &[u8]) -> Option<&'a [u8]> {
    text.get(find(text, what)? + what.len()..)
}

/// A body whose first bytes were already read.
struct ReplayBody {
    front: Option<Bytes>,
    trailers: Option<Frame<Bytes>>,
    rest: Body,
}

impl HttpBody for ReplayBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(front) = self.front.take().filter(|front| !front.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(front))));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(trailers)));
        }
        Pin::new(&mut self.rest).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.front.as_ref().is_none_or(Bytes::is_empty)
            && self.trailers.is_none()
            && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let front = self.front.as_ref().map_or(0, Bytes::len) as u64;
        longer(self.rest.size_hint(), front)
    }
}
