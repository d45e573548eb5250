//! Tokens for what has no cookies: an app on a phone, a program, another service.
//!
//! An access token is good for five minutes, wherever it is. Nobody asks a database about it, so
//! nobody can take it back by forgetting it: a client that "logs out" by dropping its copy ends
//! nothing, and whoever else has a copy goes on until it expires. What ends it early is the
//! list of revocations, to which `/token/logout`, a change of the password and a logout
//! everywhere add.

use policy_server::{prelude::*, tokens::Issued};
use serde::Deserialize;

use super::{
    news::News,
    users::{Credentials, Users},
};

/// An access token, and a refresh token for the next one.
#[post("/token")]
#[auth(public)]
pub(crate) async fn token(
    tokens: Tokens,
    State(users): State<Users>,
    State(news): State<News>,
    Json(credentials): Json<Credentials>,
) -> Result<Issued, Problem> {
    let name = users.verify(credentials).await?;
    news.tell(&name, "Tokens were given out");
    tokens.login(name).await
}

#[derive(Deserialize)]
pub(crate) struct Refresh {
    refresh_token: String,
}

/// Every refresh token is used once. One that comes a second time was stolen, by this client or
/// from it: the login that it belongs to ends.
#[post("/token/refresh")]
#[auth(public)]
pub(crate) async fn token_refresh(
    tokens: Tokens,
    Json(Refresh { refresh_token }): Json<Refresh>,
) -> Result<Issued, Problem> {
    tokens.refresh(&refresh_token).await
}

/// Ends the login, and the access tokens of it that are still good.
#[post("/token/logout")]
#[auth(public)]
pub(crate) async fn token_logout(
    tokens: Tokens,
    Json(Refresh { refresh_token }): Json<Refresh>,
) -> Result<StatusCode, Problem> {
    tokens.logout(&refresh_token).await?;
    Ok(StatusCode::NO_CONTENT)
}
