//! The ids of tokens, users and sessions are separate for each issuer.

use serde_json::json;

use super::*;

const A: &str = "https://a.example";
const B: &str = "https://b.example";

/// An app that accepts A and B, and their signers.
fn caller() -> (Caller, Clock, Signer, Signer) {
    let (a, b) = (Signer::es256("a"), Signer::ed25519("b"));
    let (caller, clock) =
        Caller::new(own_tokens().accept(issuer(A, &[&a])).accept(issuer(B, &[&b])), &[A, B]);
    (caller, clock, a, b)
}

#[tokio::test]
async fn a_revocation_of_a_token_applies_to_its_issuer() {
    let (caller, _, a, b) = caller();
    let (of_a, of_b) = (a.token(claims(A)), b.token(claims(B)));
    assert_eq!(caller.send("POST", "/logout", &of_a).await.status(), 200);
    assert_eq!([caller.status(&of_a).await, caller.status(&of_b).await], [401, 200]);
    let own = caller.own_token().await;
    assert_eq!(caller.send("POST", "/logout", &own).await.status(), 200);
    assert_eq!([caller.status(&own).await, caller.status(&of_b).await], [401, 200]);
}

#[tokio::test]
async fn a_foreign_token_is_revoked_by_its_id() {
    let (caller, _, a, b) = caller();
    let (of_a, of_b) = (a.token(claims(A)), b.token(claims(B)));
    let other = a.token(Claims { id: "another", ..claims(A) });
    let revoke = |id: &str| caller.0.post("/revoke-foreign-token").body(id.to_owned()).send();
    assert_eq!(revoke(claims(A).id).await.status(), 200);
    let statuses = [&of_a, &of_b, &other].map(async |token| caller.status(token).await);
    let [of_a, of_b, other] = statuses;
    assert_eq!([of_a.await, of_b.await, other.await], [401, 200, 200]);
    assert_eq!(revoke("").await.status(), 500, "all tokens without an id would be revoked");
}

#[tokio::test]
async fn a_revocation_of_a_user_applies_to_their_issuer() {
    let (caller, _, a, b) = caller();
    let (of_a, of_b, own) = (a.token(claims(A)), b.token(claims(B)), caller.own_token().await);
    let statuses = async || {
        [caller.status(&of_a).await, caller.status(&of_b).await, caller.status(&own).await]
    };
    assert_eq!(caller.0.post("/revoke-foreign/ada").send().await.status(), 200);
    assert_eq!(statuses().await, [401, 200, 200]);
    assert_eq!(caller.0.post("/revoke-user/ada").send().await.status(), 200);
    assert_eq!(statuses().await, [401, 200, 401]);
}

#[tokio::test]
async fn a_revocation_holds_as_long_as_the_longest_token_of_any_issuer() {
    let a = Signer::es256("a");
    let day = std::time::Duration::from_secs(86_400);
    let issuer = issuer(A, &[&a]).max_lifetime(day).leeway(std::time::Duration::from_secs(300));
    let (caller, clock) = Caller::new(own_tokens().accept(issuer), &[A]);
    let long = a.token(Claims { lifetime: 86_400, ..claims(A) });
    let other = a.token(Claims { lifetime: 86_400, subject: "eve", id: "j2", ..claims(A) });
    assert_eq!(caller.0.post("/revoke-foreign/ada").send().await.status(), 200);
    assert_eq!(caller.send("POST", "/logout", &other).await.status(), 200);
    let third = a.token(Claims { lifetime: 86_400, subject: "bob", id: "j3", ..claims(A) });
    clock.advance(day + std::time::Duration::from_secs(299));
    let statuses = [&long, &other, &third].map(async |token| caller.status(token).await);
    let [long, other, third] = statuses;
    assert_eq!([long.await, other.await, third.await], [401, 401, 200]);
}

#[tokio::test]
async fn a_ticket_identifies_the_user_of_its_issuer() {
    let (caller, _, a, _) = caller();
    let token = a.token(claims(A));
    let get = async |ticket: &str| {
        let response = caller.0.get(&format!("/me?ticket={ticket}")).send().await;
        (response.status().as_u16(), response.text())
    };
    let ticket = async || caller.send("GET", "/ticket", &token).await.text();
    assert_eq!(get(&ticket().await).await, (200, format!("ada of {A}")));
    // A ticket that was obtained with a ticket grants no more than the first.
    let second = caller.0.get(&format!("/ticket?ticket={}", ticket().await)).send().await.text();
    assert_eq!(get(&second).await, (200, format!("ada of {A}")));
    let (of_token, of_user) = (ticket().await, ticket().await);
    assert_eq!(caller.0.post("/revoke-user/ada").send().await.status(), 200);
    assert_eq!(get(&of_token).await.0, 200, "another ada");
    assert_eq!(caller.0.post("/revoke-foreign/ada").send().await.status(), 200);
    assert_eq!(get(&of_user).await.0, 401);
}

#[tokio::test]
async fn a_session_of_another_issuer_is_none_here() {
    let (caller, _, a, _) = caller();
    // In the format of this app's session names: 16 bytes.
    let session = json!({ "sid": "AAAAAAAAAAAAAAAAAAAAAA", "auth_time": START });
    let token = a.token_with(claims(A), &session);
    let own = caller.send("POST", "/issue", &token).await;
    assert_eq!(own.status(), 200);
    let payload = own.text().split('.').nth(1).unwrap().to_owned();
    let payload = data_encoding::BASE64URL_NOPAD.decode(payload.as_bytes()).unwrap();
    let payload: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(payload["sub"], "ada");
    assert_eq!((payload.get("sid"), payload.get("auth_time")), (None, None), "{payload}");
}
