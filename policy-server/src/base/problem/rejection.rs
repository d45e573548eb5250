//! Conversions that all rejections share.

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE},
};
use http_body_util::{BodyExt, Collected, Limited};
use policy_core::{Refusal, headers::groups};

use super::Problem;
use crate::base::{escape::printable, event::log};

/// The maximum length of a text that is kept.
const LONGEST_TEXT: usize = 1024;

/// Converts a rejection into a response, and by `?` into a problem, through its method `problem`. A
/// variant for an unsupported `Content-Type` names the supported type.
macro_rules! rejection {
    ($rejection:ty $(, $unsupported:ident => $media_type:ident)?) => {
        impl From<$rejection> for $crate::base::problem::Problem {
            fn from(rejection: $rejection) -> Self {
                rejection.problem()
            }
        }

        impl axum_core::response::IntoResponse for $rejection {
            fn into_response(self) -> axum_core::response::Response {
                $(
                    if matches!(self, Self::$unsupported) {
                        return $crate::base::problem::unsupported(self.problem(), $media_type);
                    }
                )?
                self.problem().into_response()
            }
        }
    };
}

pub(crate) use rejection;

/// 415, with the media type that would have been read (RFC 9110 15.5.16).
pub(crate) fn unsupported(problem: Problem, media_type: &'static str) -> Response {
    let mut response = problem.into_response();
    response.headers_mut().insert(ACCEPT, HeaderValue::from_static(media_type));
    response
}

/// Whether a response is an error that other crates state in plain text, or without a body. Encoded
/// text cannot be read here.
pub(crate) fn is_text(response: &Response) -> bool {
    let (status, headers) = (response.status(), response.headers());
    let is_plain = |kind: &HeaderValue| kind.as_bytes().starts_with(b"text/plain");
    (status.is_client_error() || status.is_server_error())
        && headers.get(CONTENT_TYPE).is_none_or(is_plain)
        && !headers.contains_key(CONTENT_ENCODING)
}

/// Converts an error in plain text to a problem of the same status. Its text is the `detail`; the
/// text of a server error is written for developers, and only logged. A client error without its own
/// code gets that of `refusal`.
pub(crate) async fn convert_text(response: Response, refusal: Option<Refusal>) -> Response {
    let (parts, body) = response.into_parts();
    let text = Limited::new(body, LONGEST_TEXT).collect().await;
    let text = text.map(Collected::to_bytes).unwrap_or_default();
    let text = printable(&String::from_utf8_lossy(&text));
    let mut problem = match (parts.status, refusal) {
        (StatusCode::PAYLOAD_TOO_LARGE, _) => Problem::from(Refusal::BodyTooLarge),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => Problem::from(Refusal::MediaType),
        (status, Some(_)) if status.is_server_error() => {
            Problem::from(Refusal::Internal).with_status(status)
        }
        (status, Some(refusal)) => Problem::from(refusal).with_status(status),
        (status, None) => Problem::new(status),
    };
    match &*text {
        "" => (),
        _ if parts.status.is_server_error() => log!(HandlerError, error = %text),
        _ => problem = problem.detail(text),
    }
    let mut response = problem.into_response();
    for (name, value) in &parts.headers {
        // What described the text does not describe the problem.
        if !groups::is_about_content(name.as_str()) {
            response.headers_mut().append(name, value.clone());
        }
    }
    response
}
