//! Conversions that all rejections share.

/// Makes a rejection a response, and convertible by `?`, through the problem that its method
/// `problem` returns.
macro_rules! rejection {
    ($rejection:ty) => {
        impl From<$rejection> for $crate::base::problem::Problem {
            fn from(rejection: $rejection) -> Self {
                rejection.problem()
            }
        }

        impl axum_core::response::IntoResponse for $rejection {
            fn into_response(self) -> axum_core::response::Response {
                self.problem().into_response()
            }
        }
    };
}

pub(crate) use rejection;
