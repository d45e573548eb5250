//! Messages about mistakes in a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use policy_server::{App, testing::*};

use super::{app, net};

/// The panic message of a closure.
fn words<T>(of: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(of)).err().expect("a panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("words")).to_owned(),
    }
}

#[test]
fn addresses_have_a_scheme() {
    for text in ["app.shop.example", "localhost:3000", "/page", ""] {
        let words = words(|| Browser::chromium().open(text));
        assert_eq!(
            words,
            format!(
                "`{text}` is not an address of a page: write it with its scheme, such as \
                 `https://app.shop.example`"
            )
        );
    }
}

#[test]
fn a_host_is_an_origin_and_there_once() {
    for text in ["api.shop.example", "https://api.shop.example/v1", "wss://api.shop.example"] {
        let words = words(|| Network::new().host(text, app().into_service()));
        assert!(words.starts_with(&format!("`{text}` is no origin of a server")), "{words}");
    }
    let words = words(|| net().host("https://api.shop.example:443/", app().into_service()));
    assert!(words.contains("has a server already"), "{words}");
}

#[test]
fn an_app_with_problems_names_all_of_them() {
    let words = words(|| App::new(()).public_origin("http://a.example").into_service());
    assert!(words.starts_with("the app does not start: 1 problem\n- "), "{words}");
}

#[tokio::test]
async fn unreadable_responses_are_not_shown() {
    let net = net();
    let page = Browser::chromium().open("https://partner.example");
    let blocked = page.fetch(&net, Fetch::get("https://api.shop.example/me")).await;
    let found = words(|| blocked.status());
    assert!(found.starts_with("the browser blocked it\n"), "{found}");
    assert!(found.contains("Access-Control-Allow-Origin"), "{found}");
    let script = page.fetch(&net, Fetch::script("https://api.shop.example/prices?cb=a")).await;
    let expected = "the page got no response but a script, which ran: ask for `script()`";
    assert_eq!(words(|| script.status()), expected);
    let hidden = Fetch::get("https://api.shop.example/catalogue").mode(Mode::NoCors);
    let hidden = page.fetch(&net, hidden).await;
    let expected = "the browser hides the status from the page, which sees 0: ask for \
                    `response().status`";
    assert_eq!(words(|| hidden.status()), expected);
    let lamps = page.fetch(&net, Fetch::get("https://api.shop.example/catalogue")).await;
    assert_eq!(words(|| lamps.tab()), "the page got no document but a response of status 200");
    let found = words(|| lamps.json::<u8>());
    assert!(found.starts_with("the content is not the expected JSON: "), "{found}");
}
