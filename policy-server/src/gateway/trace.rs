//! The response to TRACE.

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_TYPE, HOST},
};
use policy_core::{
    Refusal,
    head::Head,
    headers::groups::{is_about_sender, may_be_credential},
};

/// Returns the head of a request as `message/http` (RFC 9110 9.3.8), without possible credentials.
///
/// # Errors
///
/// The request has content, which a client must not send.
pub(crate) fn answer(
    head: &Head<'_>,
    headers: &HeaderMap,
    has_content: bool,
) -> Result<Response, Refusal> {
    if has_content {
        return Err(Refusal::TraceContent);
    }
    let target = head.uri.path_and_query().map_or(head.path, |target| target.as_str());
    let mut message = format!("{} {target} {:?}\r\n", head.method, head.version).into_bytes();
    let mut line = |name: &str, value: &[u8]| {
        message.extend_from_slice(name.as_bytes());
        message.extend_from_slice(b": ");
        message.extend_from_slice(value);
        message.extend_from_slice(b"\r\n");
    };
    if let Some(authority) = head.uri.authority().filter(|_| !headers.contains_key(HOST)) {
        line("host", authority.as_str().as_bytes());
    }
    let fields = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    // Neither credentials nor headers that identify the client.
    for (name, value) in
        fields.filter(|(name, _)| !is_about_sender(name) && !may_be_credential(name))
    {
        line(name, value);
    }
    message.extend_from_slice(b"\r\n");
    let mut response = message.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("message/http"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use http::Method;

    use crate::prelude::*;

    #[get("/page")]
    #[cors(origins = ["*"])]
    #[auth(public)]
    async fn page() {}

    #[tokio::test]
    async fn the_head_comes_back_without_credentials() {
        let app = App::new(()).public_origin("https://api.example").routes(routes![page]);
        let client = app.trace().test();
        let elsewhere = client.request(Method::TRACE, "/page").header("host", "a.example");
        assert_eq!(elsewhere.send().await.status(), 421);
        for path in ["/page?a=b", "/nowhere"] {
            let mut request = client.request(Method::TRACE, path).origin("https://a.example");
            for (name, value) in [
                ("x-seen", "yes"),
                ("authorization", "Bearer 1"),
                ("proxy-authorization", "Basic 2"),
                ("cookie", "sid=3"),
                ("x-csrf-token", "4"),
                ("x-api-key", "5"),
                ("x-forwarded-for", "192.0.2.6"),
                ("forwarded", "for=192.0.2.7"),
            ] {
                request = request.header(name, value);
            }
            let response = request.send().await;
            assert_eq!(response.status(), 200);
            assert_eq!(response.header("content-type"), Some("message/http"));
            assert_eq!(response.header("cache-control"), Some("no-store"));
            assert_eq!(response.header("access-control-allow-origin"), None);
            let want = format!(
                "TRACE {path} HTTP/1.1\r\norigin: https://a.example\r\nx-seen: yes\r\n\
                 host: api.example\r\n\r\n"
            );
            assert_eq!(response.text(), want);
        }
    }
}
