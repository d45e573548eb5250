//! Handlers that several suites serve.

use std::future::pending;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use policy_server::{prelude::*, tokens::IssuedTokens};

#[get("/hello")]
#[auth(public)]
pub async fn hello() -> &'static str {
    "hello"
}

#[post("/upload")]
#[auth(public)]
pub async fn upload(body: Bytes) -> Bytes {
    body
}

#[post("/echo")]
#[auth(public)]
pub async fn echo(body: Bytes) -> Bytes {
    body
}

#[get("/never")]
#[auth(public)]
pub async fn never() -> &'static str {
    pending().await
}

#[get("/status/{status}")]
#[auth(public)]
pub async fn status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or_default()
}

#[get("/peer")]
#[auth(public)]
pub async fn peer(PeerAddr(address): PeerAddr) -> String {
    address.to_string()
}

#[get("/me")]
#[auth(session)]
pub async fn me(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/csrf")]
#[auth(public)]
pub async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}

#[post("/login")]
#[auth(public)]
pub async fn login(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada").await?)
}

#[post("/login/{user}")]
#[auth(public)]
pub async fn login_as(user: String, sessions: Sessions) -> Result<String, Problem> {
    sessions.login(user.as_str()).await?;
    Ok(user)
}

#[post("/elevate")]
#[auth(session)]
pub async fn elevate(session: Session) -> Result<(), Problem> {
    Ok(session.elevate()?)
}

#[post("/logout")]
#[auth(session)]
pub async fn logout(session: Session) {
    session.logout();
}

#[post("/revoke-all")]
#[auth(session)]
pub async fn revoke_all(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_all().await?.to_string())
}

#[post("/revoke-others")]
#[auth(session)]
pub async fn revoke_others(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_others().await?.to_string())
}

#[post("/rights")]
#[auth(session)]
pub async fn change_tenant(sessions: Sessions, me: Principal) -> Result<String, Problem> {
    let elsewhere = Identity::new(me.subject()).tenant("globex");
    Ok(sessions.set_rights(elsewhere).await?.to_string())
}

#[post("/refresh")]
#[auth(public)]
pub async fn refresh(tokens: Tokens, body: String) -> Result<IssuedTokens, CredentialError> {
    tokens.refresh(&body).await
}

#[post("/tokens")]
#[auth(session)]
pub async fn own_token(tokens: Tokens, session: Session) -> Result<String, Problem> {
    Ok(tokens.issue(&session.identity().ok_or_else(Problem::unauthorized)?)?.access_token)
}

#[get("/token")]
#[auth(token)]
pub async fn token(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/by-token")]
#[auth(token)]
pub async fn by_token() {}

#[post("/revoke")]
#[auth(token)]
pub async fn revoke(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.revoke().await?.to_string())
}

#[post("/cut-off")]
#[auth(public)]
pub async fn cut_off(tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_user("ada").await.map(drop)
}

#[post("/cut-off-all")]
#[auth(public)]
pub async fn cut_off_all(tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke_all().await
}

#[post("/ticket")]
#[auth(session | token)]
pub async fn ticket(tokens: Tokens) -> Result<String, CredentialError> {
    tokens.ticket().await
}

#[get("/by-ticket")]
#[auth(ticket)]
pub async fn by_ticket() {}

#[get("/panic")]
#[auth(public)]
pub async fn panics() -> String {
    panic!("a panic on purpose")
}

/// The headers that a request asks for in `x-response`: lines of `name: value` with `|` between.
pub fn asked_for(headers: &HeaderMap) -> HeaderMap {
    let text = headers.get("x-response").map_or("", |value| value.to_str().expect("text"));
    let lines = text.split('|').filter_map(|line| line.split_once(": "));
    let header = |(name, value): (&str, &str)| {
        (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
    };
    lines.map(header).collect()
}
