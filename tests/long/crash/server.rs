//! The server that is killed.

use std::{env, path::PathBuf};

use policy_server::{prelude::*, tokens::SecretKey};

/// The variable that names the file of the store.
pub(super) const FILE: &str = "POLICY_CRASH_FILE";

#[post("/login/{user}")]
#[auth(public)]
#[csrf(origin)]
async fn login(user: String, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(user).await?)
}

#[post("/logout")]
#[auth(session)]
#[csrf(origin)]
async fn logout(session: Session) {
    session.logout();
}

#[post("/write/{value}")]
#[auth(session)]
#[csrf(origin)]
#[object(none = "a test of something else")]
async fn write(value: u64, session: Session) -> Result<(), Problem> {
    Ok(session.set("value", value)?)
}

#[get("/read")]
#[auth(session)]
async fn read(me: Principal, session: Session) -> Result<String, Problem> {
    let value: u64 = session.get("value")?.unwrap_or_default();
    Ok(format!("{} {value}", me.subject()))
}

#[post("/revoke/others")]
#[auth(session)]
#[csrf(origin)]
async fn revoke_others(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_others().await?;
    Ok(())
}

#[post("/token")]
#[auth(session)]
#[csrf(origin)]
async fn token(me: Principal, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new(me.subject()))?.access_token)
}

#[get("/token/use")]
#[auth(token)]
async fn use_token(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/token/revoke")]
#[auth(token)]
async fn revoke_token(tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke().await?;
    Ok(())
}

/// Serves until it is killed.
pub(super) fn serve() {
    policy_tests::log::print("session.store-");
    let file = PathBuf::from(env::var_os(FILE).expect("a file"));
    let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=");
    let tokens = Tokens::hs256(secret.expect("a secret")).expect("keys");
    let app = App::new(())
        // Without the port, which differs after each start.
        .sessions(Sessions::embedded(file).cookie_name("sid"))
        // Longer than a run.
        .tokens(tokens.lifetime(hours(1)))
        .health("/healthz")
        .readiness("/readyz")
        .routes(routes![login, logout, write, read, revoke_others, token, use_token, revoke_token]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(app.serve("127.0.0.1:0")).expect("a server");
}
