//! Tokens of other issuers, and asymmetric keys: which tokens an app accepts, and from where. These
//! tests sign with AWS-LC and write headers and claims by hand; the crate verifies ES256 and
//! Ed25519 with other code.

mod choosing;
mod fetching;
mod identity_provider;
mod laws;
mod own_keys;
mod revoking;
mod signing;
mod starts;

use axum::http::StatusCode;
use policy_server::{
    AppService, Clock,
    prelude::*,
    tokens::{Issuer, SecretKey, TokenSettings},
};
use signing::{Claims, Signer};

const START: u64 = 1_800_000_000;
const ORIGIN: &str = "https://orders.example";

/// The caller as a handler sees it: the issuer, and the subject at that issuer.
#[get("/me")]
#[auth(token | ticket)]
async fn me(me: Principal) -> String {
    format!("{} of {}", me.subject(), me.issuer().unwrap_or("this app"))
}

#[get("/own")]
#[auth(public)]
async fn own(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

#[get("/ticket")]
#[auth(token | ticket)]
async fn ticket(_me: Principal, tokens: Tokens) -> Result<String, Problem> {
    tokens.ticket().await
}

#[post("/issue")]
#[auth(token)]
async fn issue(me: Principal, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new(me.subject()))?.access_token)
}

#[post("/logout")]
#[auth(token)]
async fn logout(_me: Principal, tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke().await.map(drop)
}

#[post("/revoke-user/{user}")]
#[auth(public)]
async fn revoke_user(user: String, tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke_user(&user).await.map(drop)
}

#[post("/revoke-foreign/{user}")]
#[auth(public)]
async fn revoke_foreign(user: String, tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke_user_of("https://a.example", &user).await
}

fn own_tokens() -> TokenSettings {
    Tokens::hs256([("own", SecretKey::drawn([1; 32]))]).unwrap()
}

fn app(tokens: TokenSettings, clock: &Clock) -> App<()> {
    App::new(()).clock(clock.clone()).tokens(tokens).routes(routes![
        me,
        own,
        ticket,
        issue,
        logout,
        revoke_user,
        revoke_foreign
    ])
}

/// A client of an app with a public origin.
struct Caller(policy_server::testing::TestClient);

impl Caller {
    /// A client of an app whose keys are all given.
    fn new(tokens: TokenSettings) -> (Self, Clock) {
        let clock = Clock::at(START);
        (Self(app(tokens, &clock).public_origin(ORIGIN).test()), clock)
    }

    /// A client of an app in the development profile that was opened as for serving.
    fn of(service: AppService) -> Self {
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
