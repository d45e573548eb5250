//! The sections `authorization_header` and `failure_mapping`.

use http::header::AUTHORIZATION;
use policy_core::{
    Refusal,
    auth::{Authorization, Challenges, authorization},
};
use serde_json::json;

use crate::auth::{lines, section, text};

#[test]
fn every_authorization_field_is_read_as_expected() {
    for case in section("authorization_header", 14) {
        let headers = lines(&AUTHORIZATION, &case["headers"]);
        let read = match authorization(&headers) {
            Authorization::None => json!(["none"]),
            Authorization::OtherScheme => json!(["other_scheme"]),
            Authorization::Bearer(token) => json!(["token", String::from_utf8_lossy(token)]),
            Authorization::Invalid => json!(["reject", "invalid_request"]),
        };
        assert_eq!(read, case["expect"], "{case}");
    }
}

#[test]
fn every_failure_has_its_status_and_challenge() {
    let token = Challenges::new("api", &["admin"]).expect("a realm and scopes");
    for case in section("failure_mapping", 15) {
        let refusal = match text(&case, "code") {
            // A session that ended counts as none.
            "none" => Refusal::CredentialsMissing,
            "expired" | "unknown" | "revoked" if case["mode"] == "session" => {
                Refusal::CredentialsMissing
            }
            "invalid_request" => Refusal::AuthorizationMalformed,
            "expired" => Refusal::TokenExpired,
            "insufficient_scope" => Refusal::RightsMissing,
            "store_unavailable" => Refusal::CredentialsUnchecked,
            "csrf" => Refusal::CsrfToken,
            _ => Refusal::TokenInvalid,
        };
        let challenge = if case["mode"] == "token" { token.for_refusal(refusal) } else { None };
        let challenge = challenge.map(|value| value.to_str().expect("text").to_owned());
        assert_eq!(json!(challenge), case["expect"]["www_authenticate"], "{case}");
        assert_eq!(json!(refusal.status()), case["expect"]["status"], "{case}");
    }
}
