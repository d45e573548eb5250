//! The life of a session as clients see it: what changes its id, what ends it, and what remains.

mod cookies;
mod ends;
mod races;

use std::collections::BTreeSet;

use policy_server::{
    session::{Handle, days, minutes},
    store::LimitPolicy,
};
use policy_tests::handlers::{elevate, revoke_all};

use super::*;

#[post("/anonymous")]
#[auth(public)]
async fn anonymous(session: Session) -> Result<(), Problem> {
    session.set("cart", 3)?;
    Ok(())
}

#[get("/cart")]
#[auth(public)]
async fn cart(session: Session) -> Result<Json<Value>, Problem> {
    Ok(Json(session.get("cart")?.unwrap_or_default()))
}

/// Logs out and responds with a status of the client's choice.
#[post("/logout/{status}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn logout_with(status: u16, session: Session) -> Result<StatusCode, Problem> {
    session.logout();
    StatusCode::from_u16(status).map_err(Problem::internal)
}

#[post("/revoke-others/{status}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn revoke_others(status: u16, sessions: Sessions) -> Result<(StatusCode, String), Problem> {
    let ended = sessions.revoke_others().await?;
    Ok((StatusCode::from_u16(status).map_err(Problem::internal)?, ended.to_string()))
}

#[post("/revoke/{handle}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn revoke(handle: String, sessions: Sessions) -> Result<String, Problem> {
    let handle = Handle::parse(&handle).ok_or_else(Problem::not_found)?;
    Ok(sessions.revoke(handle).await?.to_string())
}

#[post("/remember/{user}")]
#[auth(public)]
async fn remember(user: String, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login_remembered(user.as_str()).await?)
}

#[get("/sessions")]
#[auth(session)]
async fn list(sessions: Sessions) -> Result<String, Problem> {
    let list = sessions.list().await?;
    Ok(list.iter().map(|one| one.handle.to_string()).collect::<Vec<_>>().join(" "))
}

/// Waits for the test between reading and writing.
#[post("/slow/{key}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn slow(key: String, session: Session, State(shared): State<All>) -> Result<(), Problem> {
    session.increment("count", 1)?;
    shared.wait().await;
    Ok(session.set(&key, 1)?)
}

#[post("/count")]
#[auth(session)]
async fn count(session: Session) -> Result<(), Problem> {
    session.increment("count", 1)?;
    tokio::task::yield_now().await;
    Ok(())
}

#[post("/planted")]
#[auth(public)]
async fn planted(session: Session) -> Result<impl IntoResponse, Problem> {
    session.set("a", 1)?;
    let evil = format!("__Host-sid={}; Path=/; Secure", "A".repeat(43));
    Ok([("set-cookie", evil)])
}

#[get("/planted")]
#[auth(public)]
async fn planted_alone() -> impl IntoResponse {
    let mut headers = policy_server::http::HeaderMap::new();
    let lines = [
        "__Host-sid=x",
        " __Host-sid = x; Path=/",
        // Browsers send it back as `__Host-sid=x`.
        "=__Host-sid=x",
        " = __Host-sid=x; Path=/",
        "other=1; Path=/",
        "__Host-sid2=1",
    ];
    for line in lines {
        headers.append("set-cookie", line.parse().unwrap());
    }
    headers
}

fn all() -> Vec<Route<All>> {
    routes![
        anonymous,
        cart,
        elevate,
        logout_with,
        revoke_others,
        revoke_all,
        revoke,
        remember,
        list,
        slow,
        slow_elevate,
        slow_login,
        count,
        planted,
        planted_alone,
    ]
}

/// Session fixation: whatever id an attacker sets, a login draws a new one.
#[tokio::test]
async fn the_id_after_a_login_is_none_that_was_presented_before() {
    let scenario = Scenario::new(all()).await;
    let unknown = format!("__Host-sid={}", "A".repeat(43));
    let anonymous = cookie_of(&scenario.client.post("/anonymous").origin(OWN).send().await);
    let eve = scenario.login("eve").await;
    let ada = scenario.login("ada").await;
    let mut seen: BTreeSet<String> =
        [&unknown, &anonymous, &eve.cookie, &ada.cookie].map(String::clone).into();
    for presented in seen.clone() {
        let csrf = scenario.client.get("/csrf").header("cookie", &presented).send().await;
        let csrf = csrf.json::<Value>()["token"].as_str().unwrap_or_default().to_owned();
        let login = scenario.client.post("/login/ada").origin(OWN).header("cookie", &presented);
        let login = login.header("x-csrf-token", csrf).send().await;
        let new = cookie_of(&login);
        assert!(seen.insert(new.clone()), "{presented} gave {new}");
        // The old id is invalid.
        let old = Visitor { cookie: presented, ..ada.clone() };
        assert_eq!(old.who().await, None);
        let new = Visitor { cookie: new, ..ada.clone() };
        assert_eq!(new.who().await.as_deref(), Some("ada"));
    }
    assert_eq!(seen.len(), 8);
}

#[tokio::test]
async fn a_change_of_rights_changes_the_id_and_the_anti_forgery_token() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let elevated = ada.post("/elevate").send().await;
    let new = Visitor { cookie: cookie_of(&elevated), ..ada.clone() };
    assert_ne!(new.cookie, ada.cookie);
    assert_eq!(ada.who().await, None);
    // The CSRF token from before the login is invalid.
    assert_problem(&new.post("/set/a/1").send().await, 403, "csrf.token");
    let new = Visitor { csrf: new.token().await, ..new };
    assert_eq!(new.post("/set/a/1").send().await.status(), 200);
}

#[tokio::test]
async fn a_login_keeps_anonymous_data_and_no_data_of_another_user() {
    let scenario = Scenario::new(all()).await;
    let response = scenario.client.post("/anonymous").origin(OWN).send().await;
    let visitor = Visitor::with_session_of(&scenario.client, &response).await;
    assert_eq!(visitor.who().await, None);
    assert_eq!(visitor.get("/cart").send().await.text(), "3");
    let ada = visitor.post("/login/ada").send().await;
    let ada = Visitor::with_session_of(&scenario.client, &ada).await;
    assert_eq!(ada.value("cart").await, 3);
    let eve = ada.post("/login/eve").send().await;
    let eve = Visitor { cookie: cookie_of(&eve), ..ada.clone() };
    assert_eq!(eve.value("cart").await, Value::Null);
    assert_eq!((ada.who().await, eve.who().await.as_deref()), (None, Some("eve")));
}

#[tokio::test]
async fn a_renewal_changes_the_id_and_nothing_else() {
    let scenario = Scenario::with(all(), |app| {
        app.sessions(Sessions::memory().same_site(SameSite::None).renewal(minutes(5)))
    })
    .await;
    let ada = scenario.login("ada").await;
    scenario.advance(299);
    assert!(leaves_cookie(&ada.get("/me").send().await));
    scenario.advance(1);
    // Simultaneous requests get the same new id.
    let first = ada.get("/me").send().await;
    let second = ada.get("/me").send().await;
    assert_eq!((first.text(), second.text()), ("ada".to_owned(), "ada".to_owned()));
    assert_eq!(cookie_of(&first), cookie_of(&second));
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let new = Visitor { cookie: cookie_of(&first), ..ada.clone() };
    assert_ne!(new.cookie, ada.cookie);
    // A form that was open stays valid.
    assert_eq!(new.post("/set/a/1").send().await.status(), 200);
    assert_eq!(ada.post("/set/b/1").send().await.status(), 200);
    assert_eq!((new.value("a").await, new.value("b").await), (1.into(), 1.into()));
    scenario.advance(10);
    assert_eq!((ada.who().await, new.who().await.as_deref()), (None, Some("ada")));
}

/// Login CSRF by an address that any page can load.
#[tokio::test]
async fn a_link_logs_in_by_navigation_and_not_as_a_subresource() {
    #[get("/link/{user}")]
    #[auth(public)]
    async fn link(user: String, sessions: Sessions) -> Result<(), Problem> {
        Ok(sessions.login(user.as_str()).await?)
    }

    #[get("/link/remembered/{user}")]
    #[auth(public)]
    async fn remembered(user: String, sessions: Sessions) -> Result<(), Problem> {
        Ok(sessions.login_remembered(user.as_str()).await?)
    }

    /// A link that confirms something: the session becomes fresh.
    #[get("/link/elevated/{user}")]
    #[auth(session)]
    #[object(none = "a test of something else")]
    async fn elevated(user: String, session: Session) -> Result<(), Problem> {
        Ok(session.elevate_as(user.as_str())?)
    }

    let scenario = Scenario::new(routes![link, remembered, elevated]).await;
    for path in ["/link/ada", "/link/remembered/ada", "/link/elevated/ada"] {
        for (fields, is_admitted) in [
            // The request of a program, or of a browser without Fetch Metadata.
            (&[][..], true),
            (&[("mode", "navigate"), ("dest", "document"), ("site", "none")], true),
            (&[("mode", "navigate"), ("dest", "document"), ("site", "cross-site")], true),
            (&[("mode", "navigate"), ("dest", "iframe"), ("site", "cross-site")], false),
            (&[("mode", "no-cors"), ("dest", "image"), ("site", "cross-site")], false),
            (&[("mode", "cors"), ("dest", "empty"), ("site", "same-origin")], false),
        ] {
            let mut request = scenario.client.get(path);
            if path.contains("elevated") {
                request = request.header("cookie", scenario.login("ada").await.cookie);
            }
            for (name, value) in fields {
                request = request.header(format!("sec-fetch-{name}"), *value);
            }
            let response = request.send().await;
            if is_admitted {
                assert_eq!(response.header_all("set-cookie").len(), 1, "{fields:?} {response:?}");
            } else {
                assert_problem(&response, 403, "csrf.login-navigation");
                assert!(leaves_cookie(&response), "{fields:?}");
            }
        }
    }
    // A form is judged by its origin.
    let form =
        scenario.client.post("/login/ada").origin(OWN).header("sec-fetch-site", "same-origin");
    let response = form.header("sec-fetch-mode", "cors").send().await;
    assert!(set_cookie(&response).is_some());
}
