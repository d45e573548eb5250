//! The values of fields by the semantic conventions of OpenTelemetry, for HTTP.

use std::borrow::Cow;

use axum_core::response::Response;
use http::{Method, Version};
use policy_core::method::is_known;

use crate::base::{log::cut, problem};

/// `http.request.method`, and `http.request.method_original` where no standard defines it: clients may
/// send any number of such methods.
pub(crate) fn method(method: &Method) -> (&str, Option<&str>) {
    let name = method.as_str();
    if is_known(name) { (name, None) } else { ("_OTHER", Some(cut(name))) }
}

/// `network.protocol.version`
pub(crate) fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// `error.type` of a response: the code of its problem, else its status; `None` unless the server
/// failed.
pub(crate) fn error_type(response: &Response) -> Option<Cow<'static, str>> {
    let status = response.status();
    let code = || problem::code(response).unwrap_or_else(|| status.as_str().to_owned().into());
    status.is_server_error().then(code)
}
