//! What all rejections have in common: they are problems.

/// Lets a rejection be answered with, or passed on by `?`, as the problem that its method
/// `problem` makes of it.
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
