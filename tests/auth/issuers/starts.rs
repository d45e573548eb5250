//! Configurations of issuers that an app refuses to start with.

use std::time::Duration;

use policy_core::token::Key;

use super::*;
use crate::codes;

const A: &str = "https://a.example";

/// The problems of an app that accepts these issuers.
fn problems(issuers: Vec<Issuer>, own: Option<&str>) -> Vec<&'static str> {
    let tokens = issuers.into_iter().fold(own_tokens(), TokenSettings::accept);
    let app = app(tokens, &[], &Clock::at(START));
    codes(own.into_iter().fold(app, App::public_origin).check())
}

#[test]
fn every_issuer_that_cannot_be_is_named() {
    let key = Signer::ed25519("k");
    let good = |name: &str| issuer(name, &[&key]);
    let hs256 = Key::hs256("k", &SecretKey::from_bytes([2; 32])).unwrap();
    let a = || good(A);
    for (issuers, why) in [
        (vec![a(), a()], "token.issuer-repeated"),
        (vec![good(ORIGIN)], "token.issuer-repeated"),
        (vec![good("")], "token.issuer-empty"),
        (vec![good("a\u{1f}b")], "token.issuer-name"),
        (vec![Issuer::new(A)], "token.issuer-keys-missing"),
        (vec![a().keys([])], "token.keys-missing"),
        (vec![a().keys([key.public(), key.public()])], "token.key-repeated"),
        (vec![a().keys([hs256])], "token.issuer-secret"),
        (vec![a().audience("")], "token.audience-empty"),
        (vec![a().typ("at+JWT")], "token.type"),
        (vec![a().leeway(Duration::from_secs(301))], "token.leeway"),
        (vec![a().max_lifetime(Duration::ZERO)], "token.lifetime"),
        (vec![a().max_len(100)], "token.length"),
        (
            vec![a().jwks("https://id.example/k").certificate_authority(*b"none")],
            "tls.authority-malformed",
        ),
    ] {
        assert_eq!(problems(issuers, Some(ORIGIN)), [why]);
    }
    assert_eq!(problems(vec![a().audience(""), Issuer::new("b")], Some(ORIGIN)).len(), 2);
    assert_eq!(problems(vec![a(), good("b")], Some(ORIGIN)), [""; 0]);
}

#[test]
fn keys_are_fetched_from_an_https_address_or_from_this_machine_while_developing() {
    let at = |address: &str, own| {
        let found = problems(vec![Issuer::new(A).jwks(address)], own);
        assert!(found.iter().all(|code| *code == "token.issuer-address"), "{found:?}");
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
