//! A user of another issuer is no user of this app, unless the code says so.
use policy_server::{Subject, prelude::*};

async fn enter(caller: Caller, sessions: Sessions) {
    let _ = sessions.login(caller.subject()).await;
}

async fn issue(caller: Caller, tokens: Tokens) {
    let _ = tokens.issue(&Identity::new(caller.subject()));
}

async fn log_in(caller: Caller, tokens: Tokens) {
    let _ = tokens.login(caller.subject()).await;
}

async fn revoke(caller: Caller, tokens: Tokens, sessions: Sessions) {
    let _ = tokens.revoke_user(caller.subject()).await;
    let _ = sessions.revoke_user(caller.subject()).await;
}

async fn elevate(subject: Subject<'_>, session: Session) {
    let _ = session.elevate_as(subject);
}

fn main() {}
