//! Tokens of other issuers, and asymmetric keys: which tokens an app accepts, and from where. These
//! tests sign with AWS-LC and write headers and claims by hand; the crate verifies ES256 and
//! Ed25519 with other code.

mod causes;
mod ceilings;
mod choosing;
mod fetching;
mod identity_provider;
mod laws;
mod own_keys;
mod providers;
mod revoking;
mod signing;
mod starts;
mod taking;
mod targets;

use axum::{
    Router,
    http::StatusCode,
    routing::{get, post},
};
use policy_server::{
    AppService, Clock, Subject, Timestamp,
    prelude::*,
    tokens::{ForeignToken, ForeignUser, Issuer, SecretKey, TokenSettings},
};
use signing::{Claims, Signer};

const START: u64 = 1_800_000_000;
const ORIGIN: &str = "https://orders.example";

/// The caller as a handler sees it: the issuer, and the name that it gave.
fn describe(caller: &policy_server::Caller) -> String {
    match caller.subject() {
        Subject::User(name) => format!("{name} of this app"),
        Subject::Foreign { issuer, name } => format!("{name} of {issuer}"),
    }
}

async fn me(caller: policy_server::Caller) -> String {
    describe(&caller)
}

async fn ticket(tokens: Tokens) -> Result<String, CredentialError> {
    tokens.ticket().await
}

async fn issue(caller: policy_server::Caller, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new(caller.subject().as_local_user()))?.access_token)
}

async fn logout(tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke().await.map(drop)
}

#[get("/own")]
#[auth(public)]
async fn own(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

#[post("/revoke-user/{user}")]
#[auth(public)]
async fn revoke_user(user: String, tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_user(&user).await.map(drop)
}

#[post("/revoke-foreign/{user}")]
#[auth(public)]
async fn revoke_foreign(user: String, tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_foreign_user(ForeignUser { issuer: "https://a.example", name: &user }).await
}

/// Revokes a token of A by its id.
#[post("/revoke-foreign-token")]
#[auth(public)]
async fn revoke_foreign_token(tokens: Tokens, id: String) -> Result<(), CredentialError> {
    let expires = Timestamp::from_seconds(START + 3600);
    tokens
        .revoke_foreign_token(ForeignToken { issuer: "https://a.example", id: &id, expires })
        .await
}

fn own_tokens() -> TokenSettings {
    Tokens::hs256([("own", SecretKey::from_bytes([1; 32]))]).unwrap()
}

/// An app whose fallback accepts the tokens of this app and of these issuers.
fn app(tokens: TokenSettings, issuers: &[&'static str], clock: &Clock) -> App<()> {
    let taken: Vec<&str> = [&["own"], issuers].concat();
    let callers = AuthRequirement::token().or_ticket().issuers(taken.leak());
    let router = Router::new()
        .route("/me", get(me))
        .route("/ticket", get(ticket))
        .route("/issue", post(issue))
        .route("/logout", post(logout));
    App::new(())
        .clock(clock.clone())
        .tokens(tokens)
        .routes(routes![own, revoke_user, revoke_foreign, revoke_foreign_token])
        .fallback(Fallback::new(router).auth(callers))
}

/// A client of an app with a public origin.
struct Caller(policy_server::testing::TestClient);

impl Caller {
    /// A client of an app whose keys are all given.
    fn new(tokens: TokenSettings, issuers: &[&'static str]) -> (Self, Clock) {
        let clock = Clock::at(START);
        (Self(app(tokens, issuers, &clock).public_origin(ORIGIN).test()), clock)
    }

    /// A client of an app in the development profile, opened as it is for serving.
    fn from_service(service: AppService) -> Self {
        Self(policy_server::testing::TestClient::new(service, "localhost"))
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
    ) -> policy_server::testing::TestResponse {
        let method = method.parse().unwrap();
        self.0.request(method, path).header("authorization", format!("Bearer {token}")).send().await
    }

    /// The status and, where it is 200, the caller.
    async fn me(&self, token: &str) -> (StatusCode, String) {
        let response = self.send("GET", "/me", token).await;
        let status = response.status();
        (status, if status == 200 { response.text() } else { String::new() })
    }

    async fn status(&self, token: &str) -> u16 {
        self.me(token).await.0.as_u16()
    }

    async fn own_token(&self) -> String {
        self.0.get("/own").send().await.text()
    }
}

/// An issuer whose keys are given.
fn issuer(name: &str, keys: &[&Signer]) -> Issuer {
    Issuer::new(name).audience("orders").keys(keys.iter().map(|key| key.public()))
}

fn claims(issuer: &str) -> Claims<'_> {
    Claims { issuer, audience: "orders", subject: "ada", id: "j1", issued: START, lifetime: 300 }
}
