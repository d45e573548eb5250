//! Tokens for clients without cookies: a mobile app, a program, another service.
//!
//! An access token is valid for five minutes, for everyone who has it. No database is consulted for
//! it, so a client that "logs out" by deleting its copy invalidates nothing: other copies work
//! until they expire. Only revocation ends it early, which `/token/logout`, a change of the
//! password and a logout everywhere do.

use example_logins::{attempts::Guesser, devices::Device};
use policy_server::{
    prelude::*,
    response::NoContent,
    schemars::{self, JsonSchema},
    tokens::IssuedTokens,
};
use serde::Deserialize;

use super::{
    PAGES, PASSWORDS,
    events::Events,
    users::{Credentials, Users},
};

/// An access token, and a refresh token for the next one.
#[post("/token")]
#[cors(origins = PAGES)]
#[auth(public)]
#[limit(PASSWORDS)]
pub(crate) async fn token(
    tokens: Tokens,
    device: Device,
    State(users): State<Users>,
    State(events): State<Events>,
    Json(credentials): Json<Credentials>,
) -> Result<IssuedTokens, Problem> {
    let name = users.verify(credentials, Guesser::Device(&device)).await?.name;
    let issued = tokens.login(&name).await?;
    events.record(&name, "Tokens were given out", &device).await?;
    Ok(issued)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Refresh {
    refresh_token: String,
}

/// Every refresh token is used once. If one is used a second time, it was stolen, by this client or
/// from it, and its whole login ends.
#[post("/token/refresh")]
#[cors(origins = PAGES)]
#[auth(public)]
pub(crate) async fn token_refresh(
    tokens: Tokens,
    Json(Refresh { refresh_token }): Json<Refresh>,
) -> Result<IssuedTokens, CredentialError> {
    tokens.refresh(&refresh_token).await
}

/// Ends the login and revokes its access tokens.
#[post("/token/logout")]
#[cors(origins = PAGES)]
#[auth(public)]
pub(crate) async fn token_logout(
    tokens: Tokens,
    Json(Refresh { refresh_token }): Json<Refresh>,
) -> Result<NoContent, Problem> {
    tokens.logout(&refresh_token).await?;
    Ok(NoContent)
}
