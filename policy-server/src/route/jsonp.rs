//! JSONP: responses that are scripts calling a function named in the query.

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
    jsonp::{self, Callback, JsonpPolicy, JsonpSpec},
};

use crate::{base::problem::Problem, handler::extract::media_type::is_json};

/// The function to call. Any page can load the response, so credentials never reach the handler,
/// not even where no function is named.
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
    Callback::of_query(query, callback, grammar)
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

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use crate::{prelude::*, testing::TestClient};

    #[get("/lamps")]
    #[jsonp(callback = "cb")]
    #[auth(public)]
    async fn lamps(headers: HeaderMap) -> ([(&'static str, &'static str); 1], Json<Vec<String>>) {
        let names = headers.keys().map(|name| name.as_str().to_owned());
        ([("set-cookie", "seen=1")], Json(names.collect()))
    }

    #[get("/text")]
    #[jsonp(callback = "cb")]
    #[auth(public)]
    async fn text() -> &'static str {
        "a lamp"
    }

    #[get("/nothing")]
    #[jsonp(callback = "cb")]
    #[auth(public)]
    async fn nothing() -> Problem {
        Problem::not_found()
    }

    fn client() -> TestClient {
        App::new(()).routes(routes![lamps, text, nothing]).test()
    }

    #[tokio::test]
    async fn jsonp_handlers_see_no_credentials() {
        for (path, body) in [
            ("/lamps", r#"["host","accept"]"#),
            ("/lamps?cb=f", r#"/**/typeof f==='function'&&f(["host","accept"]);"#),
        ] {
            let request = client().get(path).header("host", "localhost").header("accept", "*/*");
            let request = request.header("cookie", "a=b").header("authorization", "Bearer c");
            let response = request.send().await;
            assert_eq!(response.text(), body, "{path}");
        }
    }

    #[tokio::test]
    async fn a_script_is_one_for_every_browser_and_sets_no_cookie() {
        let script = client().get("/lamps?cb=f").send().await;
        assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(script.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(script.header("cross-origin-resource-policy"), Some("cross-origin"));
        assert_eq!(script.header("set-cookie"), None);
        let json = client().get("/lamps").send().await;
        assert_eq!(json.header("content-type"), Some("application/json"));
    }

    #[tokio::test]
    async fn only_json_responses_become_scripts() {
        for (path, status, media_type) in [
            ("/text?cb=f", 200, "text/plain; charset=utf-8"),
            ("/nothing?cb=f", 404, "application/problem+json"),
        ] {
            let response = client().get(path).send().await;
            assert_eq!(response.status(), status);
            assert_eq!(response.header("content-type"), Some(media_type));
            assert!(!response.text().contains("typeof"));
        }
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_called_is_not_repeated() {
        for name in ["alert(1)", "%3Cscript%3E", "a.b", "a&cb=alert"] {
            let response = client().get(&format!("/lamps?cb={name}")).send().await;
            assert_eq!(response.status(), 400, "{name}");
            assert!(!response.text().contains("alert") && !response.text().contains("script"));
        }
    }
}
