//! Pages of browser extensions that use the API with the user's session.

use std::{collections::BTreeMap, fs};

use policy_tests::folder::Folder;

use super::{cookies::token_in, shop::FETCH, *};

/// Chromium derives the id of an extension from the key in its manifest, by SHA-256.
const KEYS: [&str; 2] = ["cG9saWN5", "b3RoZXJz"];

/// The ids of the extensions in Firefox. The UUIDs of their origins are random unless a preference
/// sets them.
const NAMES: [&str; 2] = ["granted@shop.example", "others@shop.example"];

/// The origins of an extension that the shop grants, and of another, in Chromium and in Firefox.
pub(super) const IN_CHROMIUM: [&str; 2] = [
    "chrome-extension://icdebcnbokmlghjfgccaofdcjfjpabae",
    "chrome-extension://abnljbnagadcmmgebgcmbgpiodfhcfla",
];
pub(super) const IN_FIREFOX: [&str; 2] = [
    "moz-extension://b2f2a1c0-0000-4000-8000-000000000001",
    "moz-extension://b2f2a1c0-0000-4000-8000-000000000002",
];

/// An extension with a page and without host permissions, so that CORS decides what its page reads.
fn extension(key: &str, name: &str) -> Result<Folder, Failure> {
    let folder = Folder::new()?;
    let manifest = json!({
        "manifest_version": 3,
        "name": name,
        "version": "1",
        "key": key,
        "browser_specific_settings": { "gecko": { "id": name } },
    });
    fs::write(folder.path().join("manifest.json"), manifest.to_string())?;
    fs::write(folder.path().join("page.html"), "<!doctype html><title>page</title>")?;
    Ok(folder)
}

fn extensions() -> Result<[Folder; 2], Failure> {
    let [granted, other] = [0, 1].map(|index| extension(KEYS[index], NAMES[index]));
    Ok([granted?, other?])
}

fn both_use_the_shop(
    shop: &Shop,
    [granted, other]: [&str; 2],
    mut fetch: impl FnMut(&str, &Value) -> Result<Value, Failure>,
) -> Result<(), Failure> {
    let mut call = |origin: &str, method: &str, path: &str, headers: Value| {
        let url = format!("{}{path}", shop.api());
        let input = json!({ "url": url, "method": method, "headers": headers });
        fetch(&format!("{origin}/page.html"), &input)
    };
    assert_eq!(call(granted, "POST", "/login/ada", json!({}))?, json!([200, "ada"]));
    assert_eq!(call(granted, "GET", "/me", json!({}))?, json!([200, "ada"]));
    let arrival = shop.arrivals.first("/me");
    assert_eq!(arrival.origin.as_deref(), Some(granted));
    assert!(arrival.has_session_cookie());

    assert_eq!(call(granted, "POST", "/transfer?without", json!({}))?[0], 403);
    assert_eq!(shop.arrivals.first("/transfer?without").refused_with(), (403, "csrf.token"));
    let token = token_in(&call(granted, "GET", "/csrf", json!({}))?)?;
    let transferred = call(granted, "POST", "/transfer", token)?;
    assert_eq!(transferred, json!([200, "transferred"]));

    assert_eq!(call(other, "GET", "/me?other", json!({}))?, json!(["TypeError"]));
    assert_eq!(shop.arrivals.first("/me?other").origin.as_deref(), Some(other));
    assert_eq!(call(other, "POST", "/transfer-by-origin", json!({}))?, json!(["TypeError"]));
    assert_eq!(shop.arrivals.first("/transfer-by-origin").refused_with(), (403, "csrf.origin"));
    assert_eq!(shop.transfers(), 1);
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn an_extension_of_chromium_has_the_session_where_its_origin_is_granted() -> Result<(), Failure> {
    let (shop, folders) = (Shop::with(Sessions::memory(), SameSite::None)?, extensions()?);
    let [granted, other] = folders.each_ref().map(|folder| folder.path().display());
    let flags = [
        format!("--load-extension={granted},{other}"),
        "--disable-features=DisableLoadExtensionCommandLineSwitch".to_owned(),
    ];
    let browser = shop.browser_with(ThirdPartyCookies::Allowed, &flags)?;
    both_use_the_shop(&shop, IN_CHROMIUM, |page, input| {
        browser.goto(page)?;
        browser.run(FETCH, input)
    })
}

#[test]
#[ignore = "needs Firefox: `cargo xtask test` runs it"]
fn an_extension_of_firefox_has_the_session_where_its_origin_is_granted() -> Result<(), Failure> {
    let (shop, folders) = (Shop::with(Sessions::memory(), SameSite::None)?, extensions()?);
    let ids = NAMES.iter().zip(IN_FIREFOX);
    let ids = ids.map(|(name, origin)| (*name, origin.trim_start_matches("moz-extension://")));
    let ids: BTreeMap<_, _> = ids.collect();
    let ids = ("extensions.webextensions.uuids", json!(json!(ids).to_string()));
    let mut browser = shop.firefox(&[ids])?;
    for folder in &folders {
        browser.install(folder.path())?;
    }
    both_use_the_shop(&shop, IN_FIREFOX, |page, input| {
        browser.goto(page)?;
        browser.run(&format!("async input => {{ {FETCH} }}"), input)
    })
}
