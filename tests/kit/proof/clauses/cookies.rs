//! The session cookie is the app's own, as it declares it.

use super::*;

#[post("/login")]
#[auth(public)]
async fn login(_sessions: Sessions) {}

#[get("/orders")]
#[auth(session)]
async fn orders() {}

/// Changes responses, and expects words of the law about the cookie.
fn baked(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::Cookies], words);
}

/// Rewrites the cookie of a login.
fn rewritten(rewrite: fn(&str) -> String, words: &str) {
    let app = with_sessions().routes(routes![login]);
    let app = app.layer(tower::util::MapResponseLayer::new(move |mut response: Response| {
        let line = text(response.headers(), "set-cookie").to_owned();
        if line.starts_with("__Host-sid=") {
            set(response.headers_mut(), "set-cookie", &rewrite(&line));
        }
        response
    }));
    breaks(app, &[Law::Cookies], words);
}

const ATTRIBUTES: &str = "the attributes Secure, HttpOnly, Path=/ and SameSite";

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
    baked(with_sessions().routes(routes![login]), edit, "one cookie, that of the session");
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
fn browsers_do_not_keep_it() {
    rewritten(
        |line| line.to_owned() + "; Max-Age=0",
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
