//! JSONP: responses that are scripts calling a function named in the query.

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Request,
    header::{
        ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, SET_COOKIE,
    },
};
use http_body_util::BodyExt;
use policy_core::{
    Refusal,
    jsonp::{self, Callback, JsonpPolicy, JsonpSpec},
};

use crate::{base::problem::Problem, handler::extract::media_type::is_json};

/// The function to call. Any page can load the response, so credentials never reach the handler,
/// not even where no function is named. Where one is, the layers of the route leave the JSON
/// unencoded, so that it can be wrapped.
///
/// # Errors
///
/// The name is not a valid callback.
pub(crate) fn callback(
    policy: &JsonpPolicy,
    request: &mut Request<Body>,
) -> Result<Option<Callback>, Refusal> {
    for name in [COOKIE, AUTHORIZATION] {
        request.headers_mut().remove(name);
    }
    let query = request.uri().query().unwrap_or_default();
    let JsonpSpec { callback, grammar, .. } = *policy.spec();
    let callback = Callback::from_query(query, callback, grammar)?;
    if callback.is_some() {
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(callback)
}

/// Wraps a JSON response without content encoding in a call of the function. Error responses are
/// not wrapped: a page detects them by the `error` event of its script element.
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
            jsonp::apply(&mut parts.headers);
            let script = jsonp::script(callback, &json.to_bytes());
            Response::from_parts(parts, Body::from(script))
        }
        Err(error) => Problem::internal(error).into_response(),
    }
}
