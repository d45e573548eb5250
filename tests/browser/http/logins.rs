//! Logins in several apps on the ports of one host, as during development.

use super::*;
use policy_tests::handlers::{login_as, me};

#[get("/")]
#[auth(public)]
async fn index() -> axum::response::Html<&'static str> {
    axum::response::Html("<!doctype html><title>app</title>")
}

fn app() -> App<()> {
    App::new(()).sessions(Sessions::memory()).routes(routes![index, login_as, me])
}

fn fetch(browser: &Browser, method: &str, path: &str) -> Result<Value, Failure> {
    const FETCH: &str = "
        const response = await fetch(input.path, { method: input.method });
        return [response.status, await response.text()];";
    browser.run(FETCH, &json!({ "method": method, "path": path }))
}

/// Browsers send a cookie to every port of a host.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn two_apps_on_one_host_do_not_end_each_others_logins() -> Result<(), Failure> {
    let sites = [Site::open(app())?, Site::open(app())?];
    let browser = Browser::start()?;
    for (site, user) in sites.iter().zip(["ada", "ben"]) {
        browser.goto(&site.origin())?;
        assert_eq!(fetch(&browser, "POST", &format!("/login/{user}"))?, json!([200, user]));
    }
    for (site, user) in sites.iter().zip(["ada", "ben"]) {
        browser.goto(&site.origin())?;
        assert_eq!(fetch(&browser, "GET", "/me")?, json!([200, user]));
    }
    assert_eq!(browser.cookies()?.len(), 2);
    Ok(())
}

/// The response states the cause if another app has replaced the cookie.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_cookie_of_another_app_is_named_where_it_is_refused() -> Result<(), Failure> {
    let shared = || App::new(()).sessions(Sessions::memory().cookie_name("shared"));
    let shared = || Site::open(shared().routes(routes![index, login_as, me]));
    let sites = [shared()?, shared()?];
    let browser = Browser::start()?;
    for site in &sites {
        browser.goto(&site.origin())?;
        assert_eq!(fetch(&browser, "POST", "/login/ada")?, json!([200, "ada"]));
    }
    browser.goto(&sites[0].origin())?;
    let refused = fetch(&browser, "GET", "/me")?;
    assert_eq!(refused[0], 401);
    let words = refused[1].as_str().unwrap_or_default();
    assert!(
        words.contains("the cookie `shared` was sent, but it names no login of this app"),
        "{words}"
    );
    Ok(())
}
