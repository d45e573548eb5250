//! What an issuer may grant, and when it says that its user logged in.

use serde_json::{Value, json};

use super::*;

const A: &str = "https://a.example";

#[get("/admin")]
#[auth(session | token, issuers = ["own", "https://a.example"], roles = ["admin"])]
async fn admin(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[get("/reports")]
#[auth(token | ticket, issuers = ["https://a.example"], scopes = ["reports:read"])]
async fn reports(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[get("/recent")]
#[auth(token | ticket, issuers = ["https://a.example"], fresh = "1m")]
async fn recent(caller: policy_server::Caller) -> String {
    describe(&caller)
}

#[post("/issue-ticket")]
#[auth(token, issuers = ["https://a.example"])]
async fn issue_ticket(
    _caller: policy_server::Caller,
    tokens: Tokens,
) -> Result<String, CredentialError> {
    tokens.ticket().await
}

#[get("/tenant")]
#[auth(session | token | ticket, issuers = ["own", "https://a.example"])]
async fn tenant(caller: policy_server::Caller) -> String {
    caller.tenant().unwrap_or("none").to_owned()
}

/// A client of an app with this issuer, and a token of it with these claims.
fn client(key: &Signer, settings: impl FnOnce(Issuer) -> Issuer) -> Caller {
    let tokens = own_tokens().accept(settings(issuer(A, &[key])));
    let app = App::new(()).clock(Clock::at(START)).public_origin(ORIGIN).tokens(tokens);
    let app = app.sessions(Sessions::memory());
    Caller(app.routes(routes![admin, reports, recent, tenant, issue_ticket]).test())
}

type Settings = fn(Issuer) -> Issuer;

/// A name, settings, and the statuses of `/admin` and `/reports`.
type Case = (&'static str, Settings, [u16; 2]);

/// Settings, claims, and the tenant of the caller or the status.
type TenantCase = (Settings, Value, Result<&'static str, u16>);

#[tokio::test]
async fn an_issuer_grants_only_permitted_rights() {
    let key = Signer::ed25519("k");
    let asks_for_all = json!({
        "roles": ["admin", "Admins", "root"],
        "scope": "reports:read reports:write Reports.Read",
    });
    let token = key.token_with(claims(A), &asks_for_all);
    let cases: [Case; 7] = [
        ("unstated", |issuer| issuer, [403, 403]),
        ("others", |issuer| issuer.roles(["root"]).scopes(["reports:write"]), [403, 403]),
        ("a role", |issuer| issuer.roles(["clerk", "admin"]), [200, 403]),
        ("a scope", |issuer| issuer.scopes(["reports:read"]), [403, 200]),
        ("renamed", |issuer| issuer.role_as("Admins", "admin"), [200, 403]),
        ("renamed scope", |issuer| issuer.scope_as("Reports.Read", "reports:read"), [403, 200]),
        ("in full", Issuer::trust_in_full, [200, 200]),
    ];
    for (name, settings, expected) in cases {
        let client = client(&key, settings);
        let mut statuses = Vec::new();
        for path in ["/admin", "/reports"] {
            statuses.push(client.send("GET", path, &token).await.status().as_u16());
        }
        assert_eq!(statuses, expected, "{name}");
    }
}

#[tokio::test]
async fn a_renamed_right_no_longer_has_its_old_meaning() {
    let key = Signer::ed25519("k");
    for (role, status) in [("admin", 403), ("Admins", 200)] {
        let token = key.token_with(claims(A), &json!({ "roles": [role] }));
        let renamed = |issuer: Issuer| {
            issuer.role_as("admin", "their-admin").role_as("Admins", "admin").trust_in_full()
        };
        let client = client(&key, renamed);
        assert_eq!(client.send("GET", "/admin", &token).await.status(), status, "{role}");
    }
}

#[tokio::test]
async fn a_ticket_grants_no_more_than_its_token() {
    let key = Signer::ed25519("k");
    let token =
        key.token_with(claims(A), &json!({ "scope": "reports:read", "auth_time": START - 10 }));
    for (granted, status) in [(&["reports:read"][..], 200), (&[][..], 403)] {
        let client = client(&key, |issuer| issuer.scopes(granted.iter().copied()));
        let ticket = client.send("POST", "/issue-ticket", &token).await.text();
        let response = client.0.get(&format!("/reports?ticket={ticket}")).send().await;
        assert_eq!(response.status(), status);
        let ticket = client.send("POST", "/issue-ticket", &token).await.text();
        let response = client.0.get(&format!("/recent?ticket={ticket}")).send().await;
        assert_eq!((response.status().as_u16(), response.text()), (200, format!("ada of {A}")));
    }
}

/// The operator of an issuer decides what its tokens contain, so no tenant is read unless the app
/// asks for it.
#[tokio::test]
async fn an_issuer_names_tenants_only_by_the_claim_that_the_app_reads() {
    let key = Signer::ed25519("k");
    let nested = |issuer: Issuer| issuer.tenant_claim(["https://a.example/org", "id"]);
    let (tid, by_name): (Settings, Settings) =
        (|issuer| issuer.tenant_claim(["tid"]), |issuer| issuer.tenant_claim(["tenant"]));
    let claims = json!({
        "tenant": "acme", "tid": "globex", "https://a.example/org": { "id": "initech" },
    });
    let long = json!({ "tid": "a".repeat(201) });
    let cases: [TenantCase; 11] = [
        (|issuer| issuer, claims.clone(), Ok("none")),
        (Issuer::trust_in_full, claims.clone(), Ok("none")),
        // A claim that the app does not read makes no token invalid.
        (|issuer| issuer, json!({ "tenant": 7 }), Ok("none")),
        (by_name, claims.clone(), Ok("acme")),
        (tid, claims.clone(), Ok("globex")),
        (nested, claims, Ok("initech")),
        (tid, json!({ "tenant": "acme" }), Ok("none")),
        (tid, json!({ "tid": null }), Ok("none")),
        (tid, json!({ "tid": "" }), Err(401)),
        (tid, json!({ "tid": ["globex"] }), Err(401)),
        (tid, long, Err(401)),
    ];
    for (settings, claims, due) in cases {
        let client = client(&key, settings);
        let token = key.token_with(super::claims(A), &claims);
        let response = client.send("GET", "/tenant", &token).await;
        match due {
            Err(status) => assert_eq!(response.status(), status, "{claims}"),
            Ok(tenant) => {
                assert_eq!(response.text(), tenant, "{claims}");
                let ticket = client.send("POST", "/issue-ticket", &token).await.text();
                let by_ticket = client.0.get(&format!("/tenant?ticket={ticket}")).send().await;
                assert_eq!(by_ticket.text(), tenant, "by ticket: {claims}");
            }
        }
    }
}

#[tokio::test]
async fn a_login_in_the_future_is_none() {
    let key = Signer::ed25519("k");
    let client = client(&key, |issuer| issuer);
    for (auth_time, code) in [
        (START - 60, "auth.login-too-old"),
        (START - 59, ""),
        (START + 30, ""),
        (START + 31, "auth.token-invalid"),
        (START + 365 * 86_400, "auth.token-invalid"),
    ] {
        let token = key.token_with(claims(A), &json!({ "auth_time": auth_time }));
        let response = client.send("GET", "/recent", &token).await;
        let found = match response.status().as_u16() {
            200 => String::new(),
            _ => response.json::<Value>()["code"].as_str().unwrap().to_owned(),
        };
        assert_eq!(found, code, "{auth_time}");
    }
    let future = key.token_with(claims(A), &json!({ "iat": START + 31 }));
    assert_eq!(client.send("GET", "/recent", &future).await.status(), 401);
}
