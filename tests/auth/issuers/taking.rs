//! Which routes accept the tokens of which issuers.

use std::cell::Cell;

use policy_core_tests::law::{Precondition, assert_usual, holds_in_fewer};
use policy_server::{Principal, http::Method, testing::TestResponse};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::{codes, issuers::signing::hs256};

const A: &str = "https://a.example";
const B: &str = "https://b.example";

#[get("/default")]
#[auth(token | ticket)]
async fn by_default(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/a")]
#[auth(token | ticket, issuers = ["https://a.example"])]
async fn of_a(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[get("/both")]
#[auth(session | token | ticket, issuers = ["own", "https://a.example"])]
#[limit(rate = "2/min per principal")]
async fn of_both(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[get("/named")]
#[auth(token | ticket, issuers = ["https://orders.example", "https://b.example"])]
async fn of_named(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[get("/guests")]
#[auth(token, optional, issuers = ["https://a.example"])]
async fn guests(caller: Option<policy_server::Caller>) -> String {
    caller.map_or("nobody".to_owned(), |caller| describe(&caller))
}

/// An alias hides the type's name from the macro.
type Me = Principal;

#[get("/hidden")]
#[auth(token, issuers = ["own", "https://a.example"])]
async fn hidden(me: Me) -> String {
    me.subject().to_owned()
}

/// Ada of this app owns the first of two accounts.
#[derive(Object)]
#[rule(View = owner)]
struct Account {
    #[object(key)]
    id: u32,
    #[object(owner)]
    user: String,
}

impl Load for Account {
    type Source = ();

    async fn load(id: &u32, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok((*id < 2).then(|| Self { id: *id, user: "ada".to_owned() }))
    }
}

#[get("/accounts/{id}")]
#[auth(token | ticket, issuers = ["own", "https://a.example"])]
async fn account(account: Allowed<Account>) -> String {
    account.id.to_string()
}

#[post("/enter")]
#[auth(token, issuers = ["https://a.example"])]
async fn enter(caller: policy_server::Caller, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(caller.subject().as_local_user()).await?)
}

#[post("/ticket")]
#[auth(token, issuers = ["own", "https://a.example", "https://b.example"])]
async fn take_ticket(
    _caller: policy_server::Caller,
    tokens: Tokens,
) -> Result<String, CredentialError> {
    tokens.ticket().await
}

#[post("/revoke")]
#[auth(token, issuers = ["own", "https://a.example", "https://b.example"])]
async fn revoke(_caller: policy_server::Caller, tokens: Tokens) -> Result<(), CredentialError> {
    tokens.revoke().await.map(drop)
}

fn client(a: &Signer, b: &Signer) -> (Caller, Clock) {
    let clock = Clock::at(START);
    let tokens = own_tokens().accept(issuer(A, &[a])).accept(issuer(B, &[b]));
    let app = App::new(()).clock(clock.clone()).public_origin(ORIGIN).tokens(tokens);
    let app = app.sessions(Sessions::memory()).routes(routes![
        by_default,
        of_a,
        of_both,
        of_named,
        guests,
        hidden,
        account,
        enter,
        take_ticket,
        revoke,
        own,
        revoke_user,
        revoke_foreign
    ]);
    let behind = Router::new().route("/behind/a", get(me)).route("/behind/a/user", get(user));
    let of_a = AuthRequirement::token().issuers(&[A]);
    let app = app.mount("/behind", Mount::new(behind).auth(of_a));
    (Caller(app.test()), clock)
}

async fn user(me: Principal) -> String {
    me.subject().to_owned()
}

fn code(response: &TestResponse) -> String {
    match response.status().as_u16() {
        200 => String::new(),
        _ => response.json::<Value>()["code"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn a_route_takes_the_issuers_that_it_names_and_by_default_the_app() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, _) = client(&a, &b);
    let tokens = [client.own_token().await, a.token(claims(A)), b.token(claims(B))];
    for (path, expected) in [
        ("/default", [200, 401, 401]),
        ("/a", [401, 200, 401]),
        ("/both", [200, 200, 401]),
        ("/named", [200, 401, 200]),
        ("/guests", [401, 200, 401]),
        ("/behind/a", [401, 200, 401]),
    ] {
        let mut statuses = Vec::new();
        for token in &tokens {
            statuses.push(client.send("GET", path, token).await.status().as_u16());
        }
        assert_eq!(statuses, expected, "{path}");
    }
    assert_eq!(client.0.get("/guests").send().await.text(), "nobody");
}

/// A token of an issuer that the route does not accept, a token of an unknown issuer, and a text
/// that is no token get the same response.
#[tokio::test]
async fn tokens_of_other_issuers_get_the_same_response_as_invalid_ones() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, _) = client(&a, &b);
    let own = client.own_token().await;
    let refused = async |token: &str| {
        let response = client.send("GET", "/a", token).await;
        let challenge = response.header("www-authenticate").unwrap().to_owned();
        (response.status().as_u16(), challenge, response.text())
    };
    let garbage = refused("garbage").await;
    assert!(garbage.1.contains("invalid_token") && garbage.2.contains("auth.token-invalid"));
    for token in [own, b.token(claims(B)), b.token(claims("https://c.example"))] {
        assert_eq!(refused(&token).await, garbage);
    }
    let options = client.0.request(Method::OPTIONS, "/a").send().await;
    let by_default = client.0.request(Method::OPTIONS, "/default").send().await;
    assert_eq!(options.status(), by_default.status());
    assert_eq!(options.header("allow"), by_default.header("allow"));
}

#[tokio::test]
async fn a_ticket_is_taken_where_its_token_is() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, _) = client(&a, &b);
    let tokens = [client.own_token().await, a.token(claims(A)), b.token(claims(B))];
    for (path, expected) in [
        ("/default", ["", "auth.ticket-invalid", "auth.ticket-invalid"]),
        ("/a", ["auth.ticket-invalid", "", "auth.ticket-invalid"]),
        ("/both", ["", "", "auth.ticket-invalid"]),
        ("/named", ["", "auth.ticket-invalid", ""]),
    ] {
        let mut codes = Vec::new();
        for token in &tokens {
            let ticket = client.send("POST", "/ticket", token).await.text();
            codes.push(code(&client.0.get(&format!("{path}?ticket={ticket}")).send().await));
        }
        assert_eq!(codes, expected, "{path}");
    }
}

#[tokio::test]
async fn a_handler_for_users_of_this_app_never_gets_another() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, _) = client(&a, &b);
    let own = client.own_token().await;
    assert_eq!(client.send("GET", "/hidden", &own).await.text(), "ada");
    assert_eq!(client.send("GET", "/accounts/1", &own).await.text(), "1");
    for path in ["/hidden", "/behind/a/user", "/accounts/1", "/accounts/2"] {
        let response = client.send("GET", path, &a.token(claims(A))).await;
        let found = (response.status().as_u16(), code(&response));
        assert_eq!(found, (403, "auth.caller-foreign".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_session_for_a_foreign_user_is_begun_only_by_saying_so() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, _) = client(&a, &b);
    let entered = client.send("POST", "/enter", &a.token(claims(A))).await;
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let response = client.0.get("/both").header("cookie", cookie).send().await;
    assert_eq!(response.text(), "ada of this app");
}

#[tokio::test]
async fn a_token_without_an_id_is_revoked_with_its_user() {
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let (client, clock) = client(&a, &b);
    let nameless = |signer: &Signer, issuer: &str, subject: &str, issued: u64| {
        let mut claims = Claims { subject, issued, ..claims(issuer) }.json();
        claims.as_object_mut().unwrap().remove("jti");
        signer.sign(&json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": signer.id }), &claims)
    };
    let ada = nameless(&a, A, "ada", START);
    let others = [
        ("/a", nameless(&a, A, "eve", START)),
        ("/named", nameless(&b, B, "ada", START)),
        ("/default", client.own_token().await),
    ];
    let named = a.token(claims(A));
    assert_eq!(client.send("POST", "/revoke", &ada).await.status(), 200);
    assert_eq!(client.send("GET", "/a", &ada).await.status(), 401);
    assert_eq!(client.send("GET", "/a", &named).await.status(), 401, "of the same user");
    for (path, token) in &others {
        assert_eq!(client.send("GET", path, token).await.status(), 200, "{path}");
    }
    clock.advance(std::time::Duration::from_secs(1));
    let later = nameless(&a, A, "ada", START + 1);
    assert_eq!(client.send("GET", "/a", &later).await.status(), 200);
}

/// Whatever the users of two issuers are called, they share no rate, no revocation and no ticket.
#[test]
fn users_of_two_issuers_share_nothing() {
    // Some contain the separators that keys are made with.
    let names =
        || select(vec!["ada", "a\u{1f}ada", "https://a.example\u{1f}ada", "\0ada", "ada\0"]);
    let (a, b) = (Signer::ed25519("a"), Signer::ed25519("b"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (same, tried) = (Cell::new(0), Cell::new(0));
    holds_in_fewer(4, "issuers: shared names", 90, (names(), names()), |(name, other)| {
        let (client, _) = client(&a, &b);
        tried.set(tried.get() + 1);
        same.set(same.get() + u64::from(name == other));
        runtime.block_on(async {
            let foreign = a.token(Claims { subject: name, ..claims(A) });
            let own = hs256(
                "own",
                &[1; 32],
                Claims { issuer: ORIGIN, audience: ORIGIN, subject: other, ..claims(A) },
            );
            let get =
                async |token: &str| client.send("GET", "/both", token).await.status().as_u16();
            // Each user has two requests a minute.
            for token in [&own, &foreign, &own, &foreign] {
                prop_assert_eq!(get(token).await, 200);
            }
            prop_assert_eq!([get(&own).await, get(&foreign).await], [429, 429]);
            let revoked = client.0.post("/revoke-foreign/ada").send().await;
            prop_assert_eq!(revoked.status().as_u16(), 200);
            let is_revoked = if name == "ada" { 401 } else { 429 };
            prop_assert_eq!([get(&own).await, get(&foreign).await], [429, is_revoked]);
            Ok(())
        })?;
        Ok(Precondition::Met)
    });
    assert_usual("issuers: one name twice", same.get(), tried.get(), 10);
}

/// The problems of an app with these tokens: their codes, without `auth.`.
fn problems(tokens: TokenSettings, extend: impl FnOnce(App<()>) -> App<()>) -> Vec<&'static str> {
    let app = App::new(()).public_origin(ORIGIN).tokens(tokens);
    let codes = codes(extend(app).check());
    codes.into_iter().filter_map(|code| code.strip_prefix("auth.")).collect()
}

#[test]
fn routes_may_name_only_accepted_issuers() {
    let key = Signer::ed25519("k");
    let of = |name: &str| issuer(name, &[&key]);
    let both = || own_tokens().accept(of(A)).accept(of(B));
    let of_a_only = AuthRequirement::token().issuers(&[A]);
    let unknown = ["issuer-not-accepted"];
    assert_eq!(problems(both(), |app| app.routes(routes![of_a, of_named])), [""; 0]);
    assert_eq!(problems(own_tokens(), |app| app.routes(routes![of_a])), unknown);
    let router = || Mount::new(Router::new()).auth(of_a_only);
    assert_eq!(problems(own_tokens(), |app| app.mount("/m", router())), unknown);
    assert_eq!(problems(both(), |app| app.mount("/m", router())), [""; 0]);
    let group = || Group::new().auth(of_a_only).mount("/m", Mount::new(Router::new()));
    assert_eq!(problems(own_tokens(), |app| app.group("/g", group())), unknown);
    let fallback = || Fallback::new(Router::new()).auth(of_a_only);
    assert_eq!(problems(own_tokens(), |app| app.fallback(fallback())), unknown);
    let proxy = || policy_server::ReverseProxy::new("/p", "http://localhost:1").auth(of_a_only);
    assert_eq!(problems(own_tokens(), |app| app.proxy(proxy())), unknown);
    let tunnel = || policy_server::Tunnel::to(["db.example:5432"]).auth(of_a_only);
    assert_eq!(problems(own_tokens(), |app| app.tunnel(tunnel())), unknown);
    assert_eq!(problems(both(), |app| app.tunnel(tunnel())), [""; 0]);
}

#[tokio::test]
async fn the_only_issuer_of_an_app_without_keys_needs_no_name() {
    #[get("/me")]
    #[auth(token | ticket)]
    async fn me(caller: policy_server::Caller) -> String {
        describe(&caller)
    }

    #[post("/token")]
    #[auth(public)]
    async fn token(tokens: Tokens) -> Result<String, Problem> {
        Ok(tokens.issue(&Identity::new("ada"))?.access_token)
    }

    let key = Signer::ed25519("k");
    let only = || Tokens::accepting(issuer(A, &[&key]));
    let app = |tokens| App::new(()).clock(Clock::at(START)).public_origin(ORIGIN).tokens(tokens);
    let client = Caller(app(only()).routes(routes![me, token]).test());
    assert_eq!(client.me(&key.token(claims(A))).await, (StatusCode::OK, format!("ada of {A}")));
    assert_eq!(client.0.post("/token").send().await.status(), 500);
    let as_us = Claims { audience: ORIGIN, ..claims(ORIGIN) };
    assert_eq!(client.status(&key.token(as_us)).await, 401);

    assert_eq!(problems(only(), |app| app.routes(routes![by_default])), ["principal-of-others"]);
    let two = || only().accept(issuer(B, &[&key]));
    assert_eq!(problems(two(), |app| app.routes(routes![me])), ["issuers-missing"]);
    assert_eq!(
        problems(only(), |app| app.routes(routes![of_both])),
        ["issuer-not-accepted", "sessions-missing"]
    );
}
