//! The session cookie is the app's own, as it declares it.

use policy_server::session::{SameSite, SessionSettings};

use super::*;

/// Changes responses, and expects words of the law about the cookie.
fn baked(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::Cookies, Law::ResponseIntegrity], words);
}

type Rewrite = fn(&str) -> String;

/// Rewrites the cookie of a login.
fn app_with(sessions: SessionSettings, rewrite: Rewrite) -> App<()> {
    responding(app().sessions(sessions).routes(routes![login]), move |_, response| {
        let line = text(response.headers(), "set-cookie").to_owned();
        if line.contains("-sid=") {
            set(response.headers_mut(), "set-cookie", &rewrite(&line));
        }
    })
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
fn finds_changed_cookies() {
    let rows: &[(&str, Rewrite, &str)] = &[
        (
            "another name",
            |line| line.replace("__Host-sid=", "__Host-visitor="),
            "one cookie, that of the session",
        ),
        ("scripts read it", |line| line.replace("; HttpOnly", ""), ATTRIBUTES),
        ("it is sent without TLS", |line| line.replace("; Secure", ""), ATTRIBUTES),
        ("another path", |line| line.replace("; Path=/", "; Path=/login"), ATTRIBUTES),
        ("no sites", |line| line.replace("; SameSite=Lax", ""), ATTRIBUTES),
        ("every site", |line| line.replace("SameSite=Lax", "SameSite=None"), ATTRIBUTES),
        ("a year", |line| line.to_owned() + "; Max-Age=31536000", ATTRIBUTES),
        (
            "a year by its end",
            |line| line.to_owned() + "; Expires=Fri, 31 Dec 2027 23:59:59 GMT",
            ATTRIBUTES,
        ),
        (
            // Browsers ignore a cookie that is too long (RFC 6265bis 5.6).
            "browsers do not keep it",
            |line| line.replacen('=', &format!("={}", "a".repeat(5000)), 1),
            "a cookie that a browser keeps and sends back",
        ),
    ];
    for (row, rewrite, words) in rows {
        let app = app_with(Sessions::memory(), *rewrite);
        breaks_in(row, app, &[Law::Cookies, Law::ResponseIntegrity], words);
    }
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

#[test]
fn caches_keep_it() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.headers().contains_key("set-cookie") {
            set(response.headers_mut(), "cache-control", "private");
        }
    };
    baked(with_sessions().routes(routes![login]), edit, "`Cache-Control: no-store`");
}
