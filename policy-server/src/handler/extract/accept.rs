//! Content negotiation by `Accept`.

use std::convert::Infallible;

use axum_core::{
    extract::FromRequestParts,
    response::{IntoResponseParts, ResponseParts},
};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
    request::Parts,
};
use policy_core::{
    Refusal,
    negotiate::accept,
    vary::{self, VaryToken},
};

use crate::base::problem::Problem;

/// The `Accept` of the request (RFC 9110 12.5.1), for handlers that offer several media types.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/lamps/{id}")]
/// #[auth(public)]
/// async fn lamp(id: u64, accept: Accept) -> Result<Response, Problem> {
///     let chosen = accept.best(["application/json", "text/html"])?;
///     Ok(match chosen.media_type() {
///         "text/html" => (chosen, format!("<h1>Lamp {id}</h1>")).into_response(),
///         _ => (chosen, Json(id)).into_response(),
///     })
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![lamp]).test();
/// let response = client.get("/lamps/7").header("accept", "text/html, */*;q=0.8").send().await;
/// assert_eq!(response.text(), "<h1>Lamp 7</h1>");
/// assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
/// assert_eq!(response.header("vary"), Some("accept"));
///
/// let response = client.get("/lamps/7").header("accept", "image/png").send().await;
/// assert_eq!(response.status(), 406);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accept(HeaderMap);

impl Accept {
    /// The best of the media types for the client; among equally good ones the first, which is also
    /// the one for a client without `Accept`.
    ///
    /// # Errors
    ///
    /// 406 `request.not-acceptable`: the client accepts none of them.
    pub fn best<const N: usize>(
        &self,
        offers: [&'static str; N],
    ) -> Result<ChosenMediaType, Problem> {
        let best = accept(&self.0, &offers).and_then(|best| offers.get(best));
        best.map(|media_type| ChosenMediaType { media_type }).ok_or_else(|| {
            let offers = offers.map(|offer| format!("`{offer}`")).join(", ");
            Problem::from(Refusal::NotAcceptable).detail(format!("there is {offers}"))
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Accept {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let lines = parts.headers.get_all(ACCEPT).iter();
        Ok(Self(lines.map(|line| (ACCEPT, line.clone())).collect()))
    }
}

/// The media type that [`Accept::best`] has chosen. In front of a body it sets `Content-Type`, and
/// adds `Accept` to `Vary`, so that caches do not reuse the response for other clients.
///
/// Text without a `charset` is marked as UTF-8, which Rust strings always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChosenMediaType {
    media_type: &'static str,
}

impl ChosenMediaType {
    /// The offer, as it was written.
    pub fn media_type(self) -> &'static str {
        self.media_type
    }
}

impl IntoResponseParts for ChosenMediaType {
    type Error = Problem;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Problem> {
        let Self { media_type } = self;
        let value = if media_type.starts_with("text/") && !media_type.contains("charset=") {
            HeaderValue::try_from(format!("{media_type}; charset=utf-8"))
        } else {
            HeaderValue::from_str(media_type)
        };
        let headers = parts.headers_mut();
        headers.insert(CONTENT_TYPE, value.map_err(Problem::internal)?);
        vary::add(headers, VaryToken::Accept);
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use axum_core::response::IntoResponse;
    use http::header::VARY;

    use super::*;

    #[test]
    fn a_406_names_the_offers() {
        let line = (ACCEPT, HeaderValue::from_static("image/png"));
        let refused = Accept(HeaderMap::from_iter([line])).best(["application/json", "text/csv"]);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "406 There is no representation that the request accepts (request.not-acceptable): \
             there is `application/json`, `text/csv`"
        );
    }

    #[test]
    fn a_response_has_the_type_that_was_chosen() {
        for (media_type, sent) in [
            ("text/csv", "text/csv; charset=utf-8"),
            ("text/csv;charset=latin1", "text/csv;charset=latin1"),
            ("application/vnd.shop+json", "application/vnd.shop+json"),
        ] {
            let parts = (ChosenMediaType { media_type }, [(VARY, "origin")], "body");
            let response = parts.into_response();
            assert_eq!(response.headers()[CONTENT_TYPE], sent);
        }
        let parts = ([(VARY, "origin")], ChosenMediaType { media_type: "text/csv" }, "body");
        let response = parts.into_response();
        assert!(response.headers().get_all(VARY).iter().eq(["origin, accept"]));
        let broken = (ChosenMediaType { media_type: "text/\n" }, "body").into_response();
        assert_eq!(broken.status(), 500);
    }
}
