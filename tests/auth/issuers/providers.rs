//! Tokens of widely used issuers, in the form that these document, with the settings of
//! `guide::issuers` in the documentation.

use std::time::Duration;

use policy_core::token::Jwks;
use serde_json::{Value, json};

use super::*;

/// A token that an issuer documents, and who its caller is.
struct Documented {
    issuer: Issuer,
    header: Value,
    claims: Value,
    /// The caller, with the rights that this app knows.
    caller: &'static str,
    /// Changes that make it a token of another user or for another purpose; `null` removes.
    refused: Vec<Value>,
}

async fn who(caller: policy_server::Caller) -> String {
    let has = |is: bool, word: &str| if is { format!(" {word}") } else { String::new() };
    let admin = has(caller.has_role("admin"), "admin");
    format!("{}{admin}{}", describe(&caller), has(caller.has_scope("orders:read"), "orders:read"))
}

/// Asserts that the documented token is accepted with keys of a published document, and that each
/// change is refused.
async fn assert_accepted(documented: Documented) {
    let Documented { issuer, header, claims, caller, refused } = documented;
    let name: &'static str = claims["iss"].as_str().unwrap().to_owned().leak();
    let signer = Signer::rs256(header["kid"].as_str().unwrap());
    let document = json!({ "keys": [signer.jwk()] }).to_string();
    let keys = Jwks::parse(document.as_bytes()).unwrap().keys;
    let callers = AuthRequirement::token().issuers([name].to_vec().leak());
    let client = App::new(())
        .clock(Clock::at(START))
        .public_origin(ORIGIN)
        .tokens(own_tokens().accept(issuer.keys(keys)))
        .fallback(Fallback::new(Router::new().route("/me", get(who))).auth(callers))
        .test();
    let client = Caller(client);
    let token = |changes: &Value| {
        let mut claims = claims.clone();
        let members = claims.as_object_mut().unwrap();
        members.extend(changes.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        signer.sign(&header, &claims)
    };
    let (status, response) = client.me(&token(&json!({}))).await;
    assert_eq!((status.as_u16(), &*response), (200, caller), "{name}");
    for changes in refused {
        assert_eq!(client.status(&token(&changes)).await, 401, "{name} {changes}");
    }
    let other = client.status(&token(&json!({ "iss": format!("{name}x") }))).await;
    assert_eq!(other, 401, "{name}");
}

/// Access token claims reference, version 2.0: `sub` is pairwise, and there is no `jti`.
#[tokio::test]
async fn entra() {
    let tenant = "https://login.microsoftonline.com/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/v2.0";
    let claims = json!({
        "aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
        "iss": tenant,
        "iat": START - 300, "nbf": START - 300, "exp": START + 4500,
        "aio": "AXQAi/8IAAAAtAaZLo3ChMif6KOnttRB7eBq4/DccQzjcJGxPYy/C3jDaNGxXd6wNIIVGRghNRnwJ1lOcAnNZcjvkoyrFxCttv33140RioOFJ4bCCGVuoCag1uOTT22222gHwLPYQ/uf79QX+0KIijdrmp69RctzmQ==",
        "azp": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
        "azpacr": "0",
        "name": "Abe Lincoln",
        "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474",
        "preferred_username": "abeli@shop.example",
        "rh": "I",
        "roles": ["Orders.Admin", "Orders.Other"],
        "scp": "access_as_user Orders.Read",
        "sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ",
        "tid": "8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10",
        "uti": "fqiBqXLPj0eQa82S-IYFAA",
        "ver": "2.0",
    });
    assert_accepted(Documented {
        issuer: Issuer::new(tenant)
            .audience("6e74172b-be56-4843-9ff4-e66a39bb12e3")
            .generic_type()
            .max_lifetime(Duration::from_secs(2 * 3600))
            .subject_claim(["oid"])
            .scopes_claim(["scp"])
            .scope_as("Orders.Read", "orders:read")
            .role_as("Orders.Admin", "admin"),
        header: json!({ "typ": "JWT", "alg": "RS256", "kid": "i6lGk3FZzxRcUb2C3nEQ7syHJlY" }),
        claims,
        caller: "690222be-ff1a-4d56-abd1-7e4f7d38e474 of https://login.microsoftonline.com/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/v2.0 admin orders:read",
        refused: vec![
            json!({ "aud": "00000003-0000-0000-c000-000000000000" }),
            json!({ "oid": null }),
            json!({ "exp": START + 7500 }),
        ],
    })
    .await;
}

/// The same of version 1.0, for an application without a user: app roles only.
#[tokio::test]
async fn entra_of_version_1() {
    let claims = json!({
        "aud": "api://6e74172b-be56-4843-9ff4-e66a39bb12e3",
        "iss": "https://sts.windows.net/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/",
        "iat": START - 300, "nbf": START - 300, "exp": START + 3600,
        "appid": "f7a5b3c1-2d4e-4f60-8172-93a4b5c6d7e8",
        "appidacr": "1",
        "idp": "https://sts.windows.net/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/",
        "oid": "0d9c8b7a-6f5e-4d3c-2b1a-009f8e7d6c5b",
        "roles": ["Orders.Admin"],
        "sub": "0d9c8b7a-6f5e-4d3c-2b1a-009f8e7d6c5b",
        "tid": "8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10",
        "uti": "uti-9kQ2",
        "ver": "1.0",
    });
    let id = "nOo3ZDrODXEK1jKWhXslHR_KXEg";
    assert_accepted(Documented {
        issuer: Issuer::new("https://sts.windows.net/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/")
            .audience("api://6e74172b-be56-4843-9ff4-e66a39bb12e3")
            .generic_type()
            .max_lifetime(Duration::from_secs(2 * 3600))
            .subject_claim(["oid"])
            .scopes_claim(["scp"])
            .role_as("Orders.Admin", "admin"),
        header: json!({ "typ": "JWT", "alg": "RS256", "x5t": id, "kid": id }),
        claims,
        caller: "0d9c8b7a-6f5e-4d3c-2b1a-009f8e7d6c5b of https://sts.windows.net/8a5b9c1e-0f42-4a6d-9d2b-3f1c7e6a9b10/ admin",
        refused: vec![json!({ "aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3" })],
    })
    .await;
}

/// Understanding the access token: no `aud`, and key ids in base64.
#[tokio::test]
async fn cognito() {
    let claims = json!({
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "device_key": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "cognito:groups": ["testgroup", "admin"],
        "iss": "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example",
        "version": 2,
        "client_id": "xxxxxxxxxxxxexample",
        "origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "event_id": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "token_use": "access",
        "scope": "phone openid profile orders/read email",
        "auth_time": START - 60,
        "iat": START - 60, "exp": START + 3540,
        "jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef",
        "username": "my-test-user",
    });
    assert_accepted(Documented {
        issuer: Issuer::new("https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example")
            .audience("xxxxxxxxxxxxexample")
            .audience_claim(["client_id"])
            .required_claim(["token_use"], "access")
            .generic_type()
            .roles_claim(["cognito:groups"])
            .roles(["admin"])
            .scope_as("orders/read", "orders:read"),
        header: json!({ "kid": "1234+example/5678=", "alg": "RS256" }),
        claims,
        caller: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee of https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example admin orders:read",
        refused: vec![
            json!({ "client_id": "another" }),
            // The ID token of the same user.
            json!({ "client_id": null, "aud": "xxxxxxxxxxxxexample", "token_use": "id" }),
            json!({ "token_use": "id" }),
        ],
    })
    .await;
}

/// OpenID Connect of Google: an ID token, without `jti`, which grants nothing.
#[tokio::test]
async fn google() {
    let claims = json!({
        "iss": "https://accounts.google.com",
        "azp": "1234987819200.apps.googleusercontent.com",
        "aud": "1234987819200.apps.googleusercontent.com",
        "sub": "10769150350006150715113082367",
        "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
        "hd": "shop.example",
        "email": "jsmith@shop.example",
        "email_verified": true,
        "iat": START, "exp": START + 3600,
        "nonce": "0394852-3190485-2490358",
    });
    let google = || {
        Issuer::new("https://accounts.google.com")
            .audience("1234987819200.apps.googleusercontent.com")
            .generic_type()
    };
    let header = || {
        let id = "f77ad8d8a78b34c8d2dd4e3a3a3b4c5d6e7f8a9b";
        json!({ "alg": "RS256", "kid": id, "typ": "JWT" })
    };
    assert_accepted(Documented {
        issuer: google().required_claim(["hd"], "shop.example"),
        header: header(),
        claims: claims.clone(),
        caller: "10769150350006150715113082367 of https://accounts.google.com",
        refused: vec![
            json!({ "aud": "another.apps.googleusercontent.com" }),
            json!({ "hd": null }),
            json!({ "hd": "other.example" }),
        ],
    })
    .await;
    assert_accepted(Documented {
        issuer: google().subject_claim(["email"]).required_claim(["email_verified"], true),
        header: header(),
        claims,
        caller: "jsmith@shop.example of https://accounts.google.com",
        refused: vec![
            json!({ "email_verified": false }),
            json!({ "email_verified": "true" }),
            json!({ "email": null }),
        ],
    })
    .await;
}

/// Server administration guide of Keycloak: realm roles are nested.
#[tokio::test]
async fn keycloak() {
    let claims = json!({
        "exp": START + 300, "iat": START, "auth_time": START - 5,
        "jti": "onrtac:8f2f4a1c-1e0b-4f0e-9d27-6a0b2a1f6c3d",
        "iss": "https://id.example/realms/shop",
        "aud": ["orders", "account"],
        "sub": "f3a6b8d2-0c1e-4b7a-9f65-2d1c3e4f5a6b",
        "typ": "Bearer",
        "azp": "shop-web",
        "sid": "6c5d4e3f-2a1b-4c9d-8e7f-0a1b2c3d4e5f",
        "acr": "1",
        "allowed-origins": ["https://shop.example"],
        "realm_access": { "roles": ["offline_access", "admin", "uma_authorization"] },
        "resource_access": { "account": { "roles": ["manage-account", "view-profile"] } },
        "scope": "openid email orders:read profile",
        "email_verified": false,
        "preferred_username": "ada",
    });
    let keycloak = || {
        Issuer::new("https://id.example/realms/shop")
            .audience("orders")
            .required_claim(["typ"], "Bearer")
            .generic_type()
            .scopes(["orders:read"])
    };
    let header = || {
        let id = "nnniBrxL0qhG79pkF3ccQj_l0jDmxKrYYy2YLlEe1s";
        json!({ "alg": "RS256", "typ": "JWT", "kid": id })
    };
    assert_accepted(Documented {
        issuer: keycloak().roles_claim(["realm_access", "roles"]).roles(["admin", "clerk"]),
        header: header(),
        claims: claims.clone(),
        caller: "f3a6b8d2-0c1e-4b7a-9f65-2d1c3e4f5a6b of https://id.example/realms/shop admin orders:read",
        refused: vec![
            // The ID token of the same user.
            json!({ "typ": "ID", "aud": "orders" }),
            json!({ "aud": "account" }),
            json!({ "realm_access": { "roles": "admin".chars().map(u32::from).collect::<Vec<_>>() } }),
        ],
    })
    .await;
    assert_accepted(Documented {
        issuer: keycloak()
            .roles_claim(["resource_access", "account", "roles"])
            .role_as("manage-account", "admin"),
        header: header(),
        claims,
        caller: "f3a6b8d2-0c1e-4b7a-9f65-2d1c3e4f5a6b of https://id.example/realms/shop admin orders:read",
        refused: vec![json!({ "resource_access": { "account": { "roles": [1] } } })],
    })
    .await;
}

/// Access token profiles of Auth0: its own, and RFC 9068.
#[tokio::test]
async fn auth0() {
    let claims = json!({
        "iss": "https://my-domain.auth0.com/",
        "sub": "auth0|123456",
        "aud": ["https://shop.example/orders-api", "https://my-domain.auth0.com/userinfo"],
        "azp": "my_client_id",
        "exp": START + 86_400, "iat": START,
        "scope": "openid profile orders:read",
        "https://shop.example/roles": ["admin"],
    });
    let auth0 = || {
        Issuer::new("https://my-domain.auth0.com/")
            .audience("https://shop.example/orders-api")
            .max_lifetime(Duration::from_secs(24 * 3600))
            .roles_claim(["https://shop.example/roles"])
            .roles(["admin"])
            .scopes(["orders:read"])
    };
    let id = "NTVBOTU3MzBBOEUwNzhBQ0VGMkQ0QTU5QTYxQUUyOUNEQUVFNjEyMw";
    let caller = "auth0|123456 of https://my-domain.auth0.com/ admin orders:read";
    let refused = || vec![json!({ "aud": "https://my-domain.auth0.com/userinfo" })];
    assert_accepted(Documented {
        issuer: auth0().generic_type(),
        header: json!({ "alg": "RS256", "typ": "JWT", "kid": id }),
        claims: claims.clone(),
        caller,
        refused: refused(),
    })
    .await;
    let mut of_rbac = claims.clone();
    of_rbac["permissions"] = json!(["create:orders", "orders:read"]);
    of_rbac["scope"] = json!("openid");
    assert_accepted(Documented {
        issuer: auth0().generic_type().scopes_claim(["permissions"]),
        header: json!({ "alg": "RS256", "typ": "JWT", "kid": id }),
        claims: of_rbac,
        caller,
        refused: refused(),
    })
    .await;
    let mut of_rfc_9068 = claims;
    of_rfc_9068["client_id"] = of_rfc_9068["azp"].take();
    of_rfc_9068["jti"] = json!("73WakrfVbNJBaAmhQtEeDv");
    assert_accepted(Documented {
        issuer: auth0(),
        header: json!({ "alg": "RS256", "typ": "at+jwt", "kid": id }),
        claims: of_rfc_9068,
        caller,
        refused: refused(),
    })
    .await;
}

/// Access tokens of an authorization server of Okta: `scp` is a list.
#[tokio::test]
async fn okta() {
    let claims = json!({
        "ver": 1,
        "jti": "AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE.oarob4a0tckCkGcyo1d6",
        "iss": "https://my-org.okta.com/oauth2/default",
        "aud": "api://default",
        "iat": START, "exp": START + 3600,
        "cid": "nmdP1fcyvdVO11AL7ECm",
        "uid": "00uid4BxXw6I6TV4m0g3",
        "scp": ["openid", "orders:read", "profile"],
        "auth_time": START - 30,
        "groups": ["Everyone", "Administrators"],
        "sub": "jane.doe@shop.example",
    });
    assert_accepted(Documented {
        issuer: Issuer::new("https://my-org.okta.com/oauth2/default")
            .audience("api://default")
            .generic_type()
            .subject_claim(["uid"])
            .scopes_claim(["scp"])
            .scopes(["orders:read"])
            .roles_claim(["groups"])
            .role_as("Administrators", "admin"),
        header: json!({ "kid": "ZkvelLN_seik7w4pc_prCcfUf-h2hFfiwkDeCrs0iUc", "alg": "RS256" }),
        claims,
        caller: "00uid4BxXw6I6TV4m0g3 of https://my-org.okta.com/oauth2/default admin orders:read",
        refused: vec![
            // The ID token of the same user.
            json!({ "aud": "nmdP1fcyvdVO11AL7ECm", "uid": null }),
            json!({ "uid": null }),
            json!({ "scp": { "orders:read": true } }),
        ],
    })
    .await;
}
