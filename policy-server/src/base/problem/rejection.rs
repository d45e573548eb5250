//! Conversions that all rejections share.

use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, header::ACCEPT};

use super::Problem;

/// Makes a rejection a response, and convertible by `?`, through the problem that its method
/// `problem` returns. A variant for an unsupported `Content-Type` names the one that is read.
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
