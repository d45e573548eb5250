//! A login, a route for its session and one for a token, shared with the pages of one origin.

use policy_server::{
    prelude::*,
    session::csrf,
    tokens::{Issued, TokenKeys},
};

#[derive(serde::Deserialize)]
struct Login {
    name: String,
    password: String,
}

#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions, Json(login): Json<Login>) -> Result<(), Problem> {
    match &*login.password {
        "correct horse" => Ok(sessions.login(login.name).await?),
        _ => Err(Problem::forbidden()),
    }
}

#[post("/transfer/{amount}")]
#[auth(session)]
async fn transfer(amount: u64, me: Principal) -> String {
    format!("{} pays {amount}", me.subject())
}

#[post("/token")]
#[auth(session)]
async fn token(tokens: Tokens, me: Principal) -> Result<Issued, CredentialError> {
    tokens.issue(&Identity::new(me.subject()))
}

#[get("/report/{id}")]
#[auth(token)]
async fn report(id: u64, me: Principal) -> String {
    format!("report {id} for {}", me.subject())
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    App::new(())
        .public_origin("https://api.shop.example")
        .cors(CorsPolicy::origins(&["https://app.shop.example"]).credentials().build())
        .sessions(Sessions::embedded("sessions.redb"))
        .tokens(Tokens::signed_with(TokenKeys::read("token.keys")?))
        .routes(routes![csrf, login, transfer, token, report])
        .serve("127.0.0.1:8080")
        .await?;
    Ok(())
}
