//! Errors of the app's own that handlers return.

use super::*;

/// Converts to a problem.
struct SoldOut;

impl From<SoldOut> for Problem {
    fn from(_: SoldOut) -> Self {
        Self::conflict().code("shop.sold-out").with("order", 7)
    }
}

impl From<std::num::ParseIntError> for SoldOut {
    fn from(_: std::num::ParseIntError) -> Self {
        Self
    }
}

type ShopResult<T> = Result<T, SoldOut>;

/// Is a response, and converts to a problem.
struct Both;

impl IntoResponse for Both {
    fn into_response(self) -> Response {
        StatusCode::IM_A_TEAPOT.into_response()
    }
}

impl From<Both> for Problem {
    fn from(_: Both) -> Self {
        Self::conflict()
    }
}

#[get("/written/{lamp}")]
#[auth(public)]
async fn written(lamp: String) -> Result<Json<u32>, SoldOut> {
    Ok(Json(lamp.parse()?))
}

#[get("/alias/{lamp}")]
#[auth(public)]
async fn alias(lamp: String) -> ShopResult<(StatusCode, String)> {
    let lamp: u32 = lamp.parse()?;
    Ok((StatusCode::ACCEPTED, lamp.to_string()))
}

#[get("/opaque/{lamp}")]
#[auth(public)]
async fn opaque(lamp: String) -> Result<impl IntoResponse, SoldOut> {
    Ok(lamp.parse::<u32>()?.to_string())
}

#[get("/both")]
#[auth(public)]
async fn both() -> Result<String, Both> {
    Err(Both)
}

#[get("/tuple")]
#[auth(public)]
async fn tuple() -> Result<String, (StatusCode, &'static str)> {
    Err((StatusCode::GONE, "no more"))
}

#[get("/rejection")]
#[auth(public)]
async fn rejection() -> Result<String, CredentialError> {
    Err(CredentialError::Ended)
}

#[tokio::test]
async fn an_error_that_converts_to_a_problem_is_one() {
    let client = client(routes![written, alias, opaque]);
    for path in ["/written", "/alias", "/opaque"] {
        let response = client.get(&format!("{path}/7")).send().await;
        assert!(response.status().is_success(), "{path}");
        assert_eq!(response.text(), "7", "{path}");
        let response = client.get(&format!("{path}/seven")).send().await;
        assert_eq!(response.status(), 409, "{path}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{path}");
        let problem: serde_json::Value = response.json();
        assert_eq!(problem["code"], "shop.sold-out", "{path}");
        assert_eq!(problem["order"], 7, "{path}");
    }
    let response = client.get("/alias/7").send().await;
    assert_eq!(response.status(), 202);
}

#[tokio::test]
async fn an_error_that_is_a_response_is_sent_as_it_is() {
    let client = client(routes![both, tuple, rejection]);
    assert_eq!(client.get("/both").send().await.status(), 418);
    let response = client.get("/tuple").send().await;
    assert_eq!((response.status().as_u16(), response.text().as_str()), (410, "no more"));
    assert_eq!(client.get("/rejection").send().await.status(), 409);
}
