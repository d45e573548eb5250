//! The response to a login or a refresh.

use std::fmt;

use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, header::CONTENT_TYPE};
use policy_core::{cache::forbid_storing, time::Timestamp};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::base::problem::Problem;

/// Tokens for a client, in the form of RFC 6749 5.1.
///
/// As a response it is JSON that is never cached. `Debug` does not show the tokens.
#[derive(Clone)]
#[non_exhaustive]
pub struct IssuedTokens {
    /// The token that the client sends in `Authorization: Bearer`.
    pub access_token: String,
    /// The token that the client exchanges for the next access token; present after a login and a
    /// refresh.
    pub refresh_token: Option<String>,
    /// The `jti` of the access token, by which it can be revoked.
    pub id: Box<str>,
    /// When the access token was issued (`iat`).
    pub issued: Timestamp,
    /// When the access token expires (`exp`).
    pub expires: Timestamp,
}

impl Serialize for IssuedTokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = 3 + usize::from(self.refresh_token.is_some());
        let mut object = serializer.serialize_struct("Issued", fields)?;
        object.serialize_field("access_token", &self.access_token)?;
        object.serialize_field("token_type", "Bearer")?;
        object.serialize_field("expires_in", &self.expires.since(self.issued).as_secs())?;
        match &self.refresh_token {
            Some(token) => object.serialize_field("refresh_token", token)?,
            None => object.skip_field("refresh_token")?,
        }
        object.end()
    }
}

impl IntoResponse for IssuedTokens {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self) {
            Ok(body) => {
                let json = HeaderValue::from_static("application/json");
                let mut response = ([(CONTENT_TYPE, json)], body).into_response();
                // RFC 6749 5.1
                forbid_storing(response.headers_mut());
                response
            }
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

impl fmt::Debug for IssuedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("id", &self.id)
            .field("issued", &self.issued)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
