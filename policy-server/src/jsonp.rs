//! Answers that are scripts where the query names a function to call.

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    Request,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, SET_COOKIE},
};
use http_body_util::BodyExt;
use policy_core::{
    Refusal,
    jsonp::{self, Callback, JsonpPolicy},
};

use crate::{extract::media_type::is_json, problem::Problem};

/// The function to call. Any page can load the answer, so nothing that tells who asks reaches the
/// handler, also where there is no function.
///
/// # Errors
///
/// A name that cannot be called.
pub(crate) fn callback(
    policy: &JsonpPolicy,
    request: &mut Request<Body>,
) -> Result<Option<Callback>, Refusal> {
    for name in [COOKIE, AUTHORIZATION] {
        request.headers_mut().remove(name);
    }
    let query = request.uri().query().unwrap_or_default();
    Callback::of_query(query, policy.callback, policy.grammar)
}

/// Calls the function with an answer that is JSON, and not encoded. Errors stay as they are: a page learns of them
/// by the `error` event of its script element.
pub(crate) async fn script(callback: &Callback, response: Response) -> Response {
    let headers = response.headers();
    let is_plain_json = is_json(headers) && !headers.contains_key(CONTENT_ENCODING);
    if !response.status().is_success() || !is_plain_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    match body.collect().await {
        Ok(json) => {
            parts.headers.remove(CONTENT_LENGTH);
            parts.headers.remove(SET_COOKIE);
            jsonp::finish(&mut parts.headers);
            let script = jsonp::script(callback, &json.to_bytes());
            Response::from_parts(parts, Body::from(script))
        }
        Err(error) => Problem::internal(error).into_response(),
    }
}
