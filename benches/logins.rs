//! The login of the client that measures.

use policy_server::prelude::*;

#[derive(serde::Deserialize)]
pub(crate) struct Login {
    user: u64,
}

#[post("/login")]
#[auth(public)]
#[csrf(exempt = "the client that measures is no browser")]
pub(crate) async fn login(
    sessions: Sessions,
    Query(login): Query<Login>,
) -> Result<StatusCode, Problem> {
    sessions.login(login.user).await?;
    Ok(StatusCode::NO_CONTENT)
}
