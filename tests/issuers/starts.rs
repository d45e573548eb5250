//! What an app with issuers refuses to start with.

use std::time::Duration;

use policy_server::policy_core::token::Key;

use super::*;

const A: &str = "https://a.example";

/// What is wrong with an app that accepts these.
fn problems(issuers: Vec<Issuer>, own: Option<&str>) -> Vec<String> {
    let tokens = issuers.into_iter().fold(own_tokens(), Tokens::accept);
    let app = app(tokens, &Clock::at(START));
    let app = match own {
        Some(origin) => app.public_origin(origin),
        None => app,
    };
    match app.build() {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().skip(1).map(str::to_owned).collect(),
    }
}

#[test]
fn every_issuer_that_cannot_be_is_named() {
    let key = Signer::ed25519("k");
    let good = |name: &str| issuer(name, &[&key]);
    let hs256 = Key::hs256("k", &SecretKey::drawn([2; 32])).unwrap();
    let a = || good(A);
    for (issuers, why) in [
        (vec![a(), a()], "has this name"),
        (vec![good(ORIGIN)], "has this name"),
        (vec![good("")], "the issuer is empty"),
        (vec![good("a\u{1f}b")], "control characters"),
        (vec![Issuer::new(A)], "where its keys are"),
        (vec![a().keys([])], "at least one key"),
        (vec![a().keys([key.public(), key.public()])], "the same id"),
        (vec![a().keys([hs256])], "keys of other issuers are public ones"),
        (vec![a().audience("")], "the audience is empty"),
        (vec![a().typ("at+JWT")], "media type"),
        (vec![a().leeway(Duration::from_secs(301))], "300 seconds"),
        (vec![a().max_lifetime(Duration::ZERO)], "one second"),
        (vec![a().max_len(100)], "256 to 16384"),
        (vec![a().jwks("https://id.example/k").certificate_authority(*b"none")], "no certificate"),
    ] {
        let found = problems(issuers, Some(ORIGIN));
        assert!(found.len() == 1 && found[0].contains(why), "{why}: {found:?}");
    }
    assert_eq!(problems(vec![a().audience(""), Issuer::new("b")], Some(ORIGIN)).len(), 2);
    assert_eq!(problems(vec![a(), good("b")], Some(ORIGIN)), [""; 0]);
}

#[test]
fn keys_are_fetched_from_an_https_address_or_from_this_machine_while_developing() {
    let at = |address: &str, own| {
        let found = problems(vec![Issuer::new(A).jwks(address)], own);
        assert!(found.iter().all(|line| line.contains("the address of its keys")), "{found:?}");
        found.is_empty()
    };
    for address in ["https://id.example/keys?v=1", "https://id.example", "https://10.0.0.1:8443/k"]
    {
        assert!(at(address, Some(ORIGIN)) && at(address, None), "{address}");
    }
    for address in ["http://localhost:8080/k", "http://127.0.0.1:8080/k", "http://[::1]:8080/k"] {
        assert!(!at(address, Some(ORIGIN)) && at(address, None), "{address}");
    }
    for address in [
        "",
        "/keys",
        "id.example/keys",
        "http://id.example/keys",
        "http://localhost.id.example/keys",
        "http://10.0.0.1/keys",
        "file:///etc/passwd",
        "ftp://id.example/keys",
        "https://*.example/keys",
        "https://user@id.example/keys",
        "https://user:pass@localhost/keys",
        "https://id.example/keys#a",
        "https://id.example:99999/keys",
        "https://id.example/a b",
        "https:///keys",
    ] {
        assert!(!at(address, Some(ORIGIN)) && !at(address, None), "{address}");
    }
}
