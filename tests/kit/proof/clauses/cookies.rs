//! The session cookie is the app's own, as it declares it.

use policy_server::session::{SameSite, SessionSettings};

use super::*;

#[post("/login")]
#[auth(public)]
async fn login(_sessions: Sessions) {}

#[get("/orders")]
#[auth(session)]
async fn orders() {}

/// Changes responses, and expects words of the law about the cookie.
fn baked(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::Cookies, Law::ResponseIntegrity], words);
}

/// Rewrites the cookie of a login.
fn app_with(sessions: SessionSettings, rewrite: fn(&str) -> String) -> App<()> {
    let app = app().sessions(sessions).routes(routes![login]);
    app.layer(tower::util::MapResponseLayer::new(move |mut response: Response| {
        let line = text(response.headers(), "set-cookie").to_owned();
        if line.contains("-sid=") {
            set(response.headers_mut(), "set-cookie", &rewrite(&line));
        }
        response
    }))
}

fn rewritten(rewrite: fn(&str) -> String, words: &str) {
    let app = app_with(Sessions::memory(), rewrite);
    breaks(app, &[Law::Cookies, Law::ResponseIntegrity], words);
}

const ATTRIBUTES: &str = "the attributes that the app declares, and no others: httponly; path=/; \
                          samesite=lax; secure";

#[test]
fn another_sets_it() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 200 {
            set(response.headers_mut(), "set-cookie", "__Host-sid=planted; Secure; Path=/");
        }
    };
    baked(with_sessions().routes(routes![orders]), edit, "that of the handler");
}

#[test]
fn there_is_none() {
    let edit = |_: &Parts, response: &mut Response| {
        response.headers_mut().remove("set-cookie");
    };
    baked(with_sessions().routes(routes![login]), edit, "no `Set-Cookie`");
}

#[test]
fn there_is_another_one() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("set-cookie") {
            response.headers_mut().append("set-cookie", HeaderValue::from_static("visitor=1"));
        }
    };
    let app = responding(with_sessions().routes(routes![login]), edit);
    // It is not one that the policy writes.
    breaks(app, &[Law::Cookies], "one cookie, that of the session");
}

#[test]
fn it_has_another_name() {
    let edit = |line: &str| line.replace("__Host-sid=", "__Host-visitor=");
    rewritten(edit, "one cookie, that of the session");
}

#[test]
fn scripts_read_it() {
    rewritten(|line| line.replace("; HttpOnly", ""), ATTRIBUTES);
}

#[test]
fn it_is_sent_without_tls() {
    rewritten(|line| line.replace("; Secure", ""), ATTRIBUTES);
}

#[test]
fn it_has_another_path() {
    rewritten(|line| line.replace("; Path=/", "; Path=/login"), ATTRIBUTES);
}

#[test]
fn it_does_not_say_to_which_sites_it_is_sent() {
    rewritten(|line| line.replace("; SameSite=Lax", ""), ATTRIBUTES);
}

#[test]
fn it_is_sent_to_every_site() {
    rewritten(|line| line.replace("SameSite=Lax", "SameSite=None"), ATTRIBUTES);
}

#[test]
fn it_lasts_a_year() {
    rewritten(|line| line.to_owned() + "; Max-Age=31536000", ATTRIBUTES);
    rewritten(|line| line.to_owned() + "; Expires=Fri, 31 Dec 2027 23:59:59 GMT", ATTRIBUTES);
}

#[test]
fn it_is_another_one_below_each_site() {
    let own = "the attributes that the app declares, and no others: httponly; partitioned; path=/; \
               samesite=none; secure";
    let sessions = Sessions::memory().same_site(SameSite::None).partitioned();
    let app = app().sessions(sessions).routes(routes![login]);
    prove(app).check(Law::Cookies);
    let sessions = Sessions::memory().same_site(SameSite::None).partitioned();
    let app = app_with(sessions, |line| line.replace("; Partitioned", ""));
    breaks(app, &[Law::Cookies, Law::ResponseIntegrity], own);
}

#[test]
fn it_is_sent_to_hosts_below_as_declared() {
    let sessions = || Sessions::memory().domain("shop.example");
    prove(app().sessions(sessions()).routes(routes![login])).check(Law::Cookies);
    let app = app_with(sessions(), |line| line.replace("; Domain=shop.example", ""));
    breaks(app, &[Law::Cookies, Law::ResponseIntegrity], "domain=shop.example; httponly");
}

/// Browsers ignore a cookie that is too long (RFC 6265bis 5.6).
#[test]
fn browsers_do_not_keep_it() {
    rewritten(
        |line| line.replacen('=', &format!("={}", "a".repeat(5000)), 1),
        "a cookie that a browser keeps and sends back",
    );
}

#[test]
fn caches_keep_it() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("set-cookie") {
            set(response.headers_mut(), "cache-control", "private");
        }
    };
    baked(with_sessions().routes(routes![login]), edit, "`Cache-Control: no-store`");
}
