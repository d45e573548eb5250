//! The life of a session as clients see it: what changes its id, what ends it, and what remains.

use std::collections::BTreeSet;

use policy_server::{
    session::{Handle, minutes},
    store::LimitPolicy,
};

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

#[post("/elevate")]
#[auth(session)]
async fn elevate(session: Session) -> Result<(), Problem> {
    Ok(session.elevate()?)
}

/// Logs in and responds with a status of the client's choice.
#[post("/login/{user}/{status}")]
#[auth(public)]
async fn login_with(user: String, status: u16, sessions: Sessions) -> Result<StatusCode, Problem> {
    sessions.login(user.as_str()).await?;
    StatusCode::from_u16(status).map_err(Problem::internal)
}

#[post("/logout/{status}")]
#[auth(session)]
async fn logout_with(status: u16, session: Session) -> Result<StatusCode, Problem> {
    session.logout();
    StatusCode::from_u16(status).map_err(Problem::internal)
}

#[post("/set-with/{key}/{status}")]
#[auth(session)]
async fn set_with(key: String, status: u16, session: Session) -> Result<StatusCode, Problem> {
    session.set(&key, 1)?;
    StatusCode::from_u16(status).map_err(Problem::internal)
}

#[post("/elevate/{status}")]
#[auth(session)]
async fn elevate_with(status: u16, session: Session) -> Result<StatusCode, Problem> {
    session.elevate()?;
    StatusCode::from_u16(status).map_err(Problem::internal)
}

#[post("/revoke-others/{status}")]
#[auth(session)]
async fn revoke_others(status: u16, sessions: Sessions) -> Result<(StatusCode, String), Problem> {
    let ended = sessions.revoke_others().await?;
    Ok((StatusCode::from_u16(status).map_err(Problem::internal)?, ended.to_string()))
}

#[post("/revoke-all")]
#[auth(session)]
async fn revoke_all(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_all().await?.to_string())
}

#[post("/revoke/{handle}")]
#[auth(session)]
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
async fn slow(key: String, session: Session, State(shared): State<All>) -> Result<(), Problem> {
    session.incr("count", 1)?;
    shared.wait().await;
    Ok(session.set(&key, 1)?)
}

#[post("/count")]
#[auth(session)]
async fn count(session: Session) -> Result<(), Problem> {
    session.incr("count", 1)?;
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
        // Sent back as `__Host-sid=x`.
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
        login_with,
        logout_with,
        set_with,
        elevate_with,
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
async fn a_login_keeps_what_an_anonymous_visitor_left_and_nothing_of_another_user() {
    let scenario = Scenario::new(all()).await;
    let response = scenario.client.post("/anonymous").origin(OWN).send().await;
    let visitor = Visitor {
        client: scenario.client.clone(),
        cookie: cookie_of(&response),
        csrf: String::new(),
    };
    let visitor = Visitor { csrf: visitor.token().await, ..visitor };
    assert_eq!(visitor.who().await, None);
    assert_eq!(visitor.get("/cart").send().await.text(), "3");
    let ada = visitor.post("/login/ada").send().await;
    let ada = Visitor { cookie: cookie_of(&ada), ..visitor };
    assert_eq!(ada.value("cart").await, 3);
    let ada = Visitor { csrf: ada.token().await, ..ada };
    let eve = ada.post("/login/eve").send().await;
    let eve = Visitor { cookie: cookie_of(&eve), ..ada.clone() };
    assert_eq!(eve.value("cart").await, Value::Null);
    assert_eq!((ada.who().await, eve.who().await.as_deref()), (None, Some("eve")));
}

/// Logins are kept below status 400, values below 500, and logouts always.
#[tokio::test]
async fn the_status_decides_what_is_stored() {
    let scenario = Scenario::new(all()).await;
    for status in [200, 204, 302, 399, 400, 401, 403, 404, 422, 499, 500, 503, 599] {
        let login = scenario.client.post(&format!("/login/ada/{status}")).origin(OWN).send().await;
        assert_eq!(login.status(), status);
        assert_eq!(set_cookie(&login).is_some(), status < 400, "{status}");
        assert!(status < 400 || leaves_cookie(&login), "{login:?}");

        let ada = scenario.login("ada").await;
        assert!(leaves_cookie(&ada.post(&format!("/set-with/a/{status}")).send().await));
        assert_eq!(ada.value("a").await == 1, status < 500, "{status}");
        let elevated = ada.post(&format!("/elevate/{status}")).send().await;
        assert_eq!(set_cookie(&elevated).is_some(), status < 400, "{status}");

        let ada = scenario.login("ada").await;
        let logout = ada.post(&format!("/logout/{status}")).send().await;
        assert_eq!(logout.status(), status);
        assert!(removes_cookie(&logout), "{status}");
        assert_eq!(ada.who().await, None, "{status}");

        let (ada, other) = (scenario.login("bob").await, scenario.login("bob").await);
        let revoked = ada.post(&format!("/revoke-others/{status}")).send().await;
        assert_eq!(revoked.status(), status);
        assert_eq!((ada.who().await.as_deref(), other.who().await), (Some("bob"), None));
        assert_eq!(ada.post("/revoke-all").send().await.text(), "1");
    }
}

#[tokio::test]
async fn a_user_lists_and_ends_their_own_sessions_and_no_others() {
    let scenario = Scenario::new(all()).await;
    let (ada, phone, eve) =
        (scenario.login("ada").await, scenario.login("ada").await, scenario.login("eve").await);
    let handles = async |who: &Visitor| -> Vec<String> {
        let text = who.get("/sessions").send().await.text();
        text.split(' ').map(str::to_owned).collect()
    };
    assert_eq!((handles(&ada).await.len(), handles(&eve).await.len()), (2, 1));
    // The public handles are not valid as ids.
    for handle in handles(&ada).await {
        assert!(!ada.cookie.contains(&handle) && !phone.cookie.contains(&handle));
        let cookie = format!("__Host-sid={handle}");
        assert_eq!(scenario.client.get("/me").header("cookie", cookie).send().await.status(), 401);
        assert_eq!(eve.post(&format!("/revoke/{handle}")).send().await.text(), "false");
    }
    assert_eq!((ada.who().await.is_some(), phone.who().await.is_some()), (true, true));

    let own = handles(&eve).await.remove(0);
    let ended = eve.post(&format!("/revoke/{own}")).send().await;
    assert_eq!(ended.text(), "true");
    assert!(removes_cookie(&ended));
    assert_eq!(eve.who().await, None);

    scenario.advance(60);
    let third = scenario.login("ada").await;
    let list = handles(&third).await;
    // The most recently used session comes first.
    for handle in list.iter().rev() {
        third.post(&format!("/revoke/{handle}")).send().await;
    }
    assert_eq!(list.len(), 3);
    for one in [&ada, &phone, &third] {
        assert_eq!(one.who().await, None);
    }
}

#[tokio::test]
async fn all_sessions_of_a_user_end_at_once() {
    let scenario = Scenario::new(all()).await;
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(scenario.login("ada").await);
    }
    let eve = scenario.login("eve").await;
    assert_eq!(all[3].post("/revoke-others/200").send().await.text(), "19");
    for (index, one) in all.iter().enumerate() {
        assert_eq!(one.who().await.is_some(), index == 3);
    }
    let again = scenario.login("ada").await;
    let ended = again.post("/revoke-all").send().await;
    assert_eq!(ended.text(), "2");
    assert!(removes_cookie(&ended));
    for one in [&all[3], &again] {
        assert_eq!(one.who().await, None);
    }
    assert_eq!(eve.who().await.as_deref(), Some("eve"));
    // Later logins work.
    assert_eq!(scenario.login("ada").await.who().await.as_deref(), Some("ada"));
}

#[tokio::test]
async fn writes_of_requests_at_the_same_time_merge() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let keys = ["a", "b", "c"];
    let requests = keys.map(|key| tokio::spawn(ada.post(&format!("/slow/{key}")).send()));
    for _ in &keys {
        scenario.shared.waiting.pass().await;
    }
    for _ in &keys {
        scenario.shared.gate.open();
    }
    for request in requests {
        assert_eq!(request.await.unwrap().status(), 200);
    }
    for key in keys {
        assert_eq!(ada.value(key).await, 1);
    }
    assert_eq!(ada.value("count").await, 3);
}

/// A logout during another request is final: neither the values nor the rights of that request
/// bring the session back, and its response leaves the cookie alone.
#[tokio::test]
async fn nothing_that_ends_later_brings_a_session_back() {
    let scenario = Scenario::new(all()).await;
    for (path, status) in [("/slow/a", 200), ("/slow-elevate", 409)] {
        let ada = scenario.login("ada").await;
        let request = tokio::spawn(ada.post(path).send());
        scenario.shared.waiting.pass().await;
        assert!(removes_cookie(&ada.post("/logout").send().await));
        scenario.shared.gate.open();
        let response = request.await.unwrap();
        assert_eq!(response.status(), status, "{response:?}");
        assert!(leaves_cookie(&response), "{response:?}");
        assert_eq!(ada.who().await, None);
    }
}

#[tokio::test]
async fn many_requests_that_count_at_once_lose_nothing_or_say_so() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let requests = (0..200).map(|_| ada.post("/count").send());
    let responses = futures_util::future::join_all(requests).await;
    let stored = responses.iter().filter(|response| response.status() == 200).count();
    for response in responses.iter().filter(|response| response.status() != 200) {
        assert_problem(response, 503, "session.busy");
        assert_eq!(response.header("retry-after"), Some("1"));
    }
    assert_eq!(ada.value("count").await, stored);
    assert!(stored > 1, "{stored}");
}

#[tokio::test]
async fn a_session_ends_unused_and_in_any_case() {
    let scenario = Scenario::new(all()).await;
    let (ada, bob) = (scenario.login("ada").await, scenario.login("bob").await);
    // Used every 14 minutes, up to its limit of 8 hours.
    for _ in 0..34 {
        scenario.advance(14 * 60);
        assert_eq!(ada.who().await.as_deref(), Some("ada"));
    }
    assert_eq!(bob.who().await, None);
    scenario.advance(4 * 60 - 1);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    scenario.advance(1);
    let response = ada.get("/me").send().await;
    assert_problem(&response, 401, "auth.credentials-missing");
}

#[tokio::test]
async fn a_renewal_changes_the_id_and_nothing_else() {
    let scenario =
        Scenario::with(all(), |app| app.sessions(Sessions::memory().renewal(minutes(5)))).await;
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

#[tokio::test]
async fn more_sessions_than_allowed_end_the_oldest_or_are_refused() {
    let limited =
        |policy| move |app: App<All>| app.sessions(Sessions::memory().limit_per_user(2, policy));
    let scenario = Scenario::with(all(), limited(LimitPolicy::EvictOldest)).await;
    let mut visitors = Vec::new();
    for _ in 0..4 {
        visitors.push(scenario.login("ada").await);
        scenario.advance(1);
    }
    let alive = futures_util::future::join_all(visitors.iter().map(Visitor::who)).await;
    let alive: Vec<bool> = alive.iter().map(Option::is_some).collect();
    assert_eq!(alive, [false, false, true, true]);

    let scenario = Scenario::with(all(), limited(LimitPolicy::Deny)).await;
    let (first, second) = (scenario.login("ada").await, scenario.login("ada").await);
    let third = scenario.client.post("/login/ada").origin(OWN).send().await;
    assert_problem(&third, 409, "session.limit-reached");
    assert!(leaves_cookie(&third));
    // A user who is logged in may log in again, without effect on other users.
    let again = first.post("/login/ada").send().await;
    assert!(set_cookie(&again).is_some(), "{again:?}");
    assert_eq!(scenario.login("eve").await.who().await.as_deref(), Some("eve"));
    assert_eq!(second.post("/logout").send().await.status(), 200);
    assert_eq!(scenario.login("ada").await.who().await.as_deref(), Some("ada"));
}

/// The cookie name is reserved for sessions: a handler that set it could fix an id.
#[tokio::test]
async fn a_handler_does_not_set_the_cookie_of_the_session_itself() {
    let scenario = Scenario::new(all()).await;
    let response = scenario.client.post("/planted").origin(OWN).send().await;
    assert_ne!(cookie_of(&response), format!("__Host-sid={}", "A".repeat(43)));
    let alone = scenario.client.get("/planted").send().await;
    assert_eq!(alone.header_all("set-cookie"), ["other=1; Path=/", "__Host-sid2=1"]);
}

#[tokio::test]
async fn who_asks_to_stay_logged_in_keeps_the_cookie() {
    let scenario = Scenario::new(all()).await;
    let login = scenario.client.post("/remember/ada").origin(OWN).send().await;
    let line = login.header("set-cookie").unwrap();
    let (pair, attributes) = line.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=2592000; Secure; HttpOnly; SameSite=Lax");
    let me = || scenario.client.get("/me").header("cookie", pair).send();
    // Unused for less than 14 days, and 30 days in all.
    for _ in 0..2 {
        scenario.advance(14 * 86_400 - 1);
        assert_eq!(me().await.text(), "ada");
    }
    scenario.advance(2 * 86_400 + 1);
    assert_eq!(me().await.text(), "ada");
    scenario.advance(1);
    assert_problem(&me().await, 401, "auth.credentials-missing");
}

#[tokio::test]
async fn a_logout_clears_what_the_browser_keeps_if_the_settings_say_so() {
    const NAME: &str = "clear-site-data";
    let off = Scenario::new(all()).await;
    let ada = off.login("ada").await;
    assert_eq!(ada.post("/logout").send().await.header(NAME), None);

    let settings = || Sessions::memory().clear_site_data();
    let scenario = Scenario::with(all(), |app| app.sessions(settings())).await;
    let cleared = Some("\"cache\", \"storage\"");
    // Also where the handler fails after it.
    for status in [200, 404, 500] {
        let ada = scenario.login("ada").await;
        assert_eq!(ada.get("/me").send().await.header(NAME), None);
        assert_eq!(ada.post("/set/a/1").send().await.header(NAME), None);
        let logout = ada.post(&format!("/logout/{status}")).send().await;
        assert_eq!((logout.status().as_u16(), logout.header(NAME)), (status, cleared));
        assert_eq!(ada.get("/me").send().await.header(NAME), None);
    }
    let ada = scenario.login("ada").await;
    assert_eq!(ada.post("/revoke-others/200").send().await.header(NAME), None);
    assert_eq!(ada.post("/revoke-all").send().await.header(NAME), cleared);
}

/// Login CSRF by an address that any page can load.
#[tokio::test]
async fn a_link_logs_in_who_navigates_to_it_and_no_page_that_loads_it() {
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

    let scenario = Scenario::new(routes![link, remembered]).await;
    for path in ["/link/ada", "/link/remembered/ada"] {
        for (fields, is_admitted) in [
            // A program, or a browser that states nothing.
            (&[][..], true),
            (&[("mode", "navigate"), ("dest", "document"), ("site", "none")], true),
            (&[("mode", "navigate"), ("dest", "document"), ("site", "cross-site")], true),
            (&[("mode", "navigate"), ("dest", "iframe"), ("site", "cross-site")], false),
            (&[("mode", "no-cors"), ("dest", "image"), ("site", "cross-site")], false),
            (&[("mode", "cors"), ("dest", "empty"), ("site", "same-origin")], false),
        ] {
            let mut request = scenario.client.get(path);
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

/// A request that was sent with the old cookie may be answered after a login.
#[tokio::test]
async fn no_response_removes_a_cookie_but_that_of_a_logout() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    ada.post("/logout").send().await;
    let unknown = format!("__Host-sid={}", "A".repeat(43));
    for cookie in [&*ada.cookie, &*unknown, "__Host-sid=x", "__Host-sid=a; __Host-sid=b"] {
        for path in ["/me", "/csrf"] {
            let response = scenario.client.get(path).header("cookie", cookie).send().await;
            assert!(leaves_cookie(&response), "{path} {cookie} {response:?}");
        }
    }
}

/// Two logins with the same cookie each get a session of their own, and the old one ends.
#[tokio::test]
async fn two_logins_at_once_with_one_cookie_are_two_sessions() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let logins = ["ada", "eve"]
        .map(|user| (user, tokio::spawn(ada.post(&format!("/slow-login/{user}")).send())));
    for _ in &logins {
        scenario.shared.waiting.pass().await;
    }
    for _ in &logins {
        scenario.shared.gate.open();
    }
    let mut cookies = BTreeSet::from([ada.cookie.clone()]);
    for (user, login) in logins {
        let new = Visitor { cookie: cookie_of(&login.await.unwrap()), ..ada.clone() };
        assert_eq!(new.who().await.as_deref(), Some(user));
        assert!(cookies.insert(new.cookie));
    }
    assert_eq!(ada.who().await, None);
}

/// Another device ends the session while a request elevates it or writes to it.
#[tokio::test]
async fn what_another_device_ended_gets_no_more_rights() {
    let scenario = Scenario::new(all()).await;
    for (path, status) in [("/slow-elevate", 409), ("/slow/a", 200)] {
        let (ada, phone) = (scenario.login("ada").await, scenario.login("ada").await);
        let request = tokio::spawn(ada.post(path).send());
        scenario.shared.waiting.pass().await;
        assert_eq!(phone.post("/revoke-others/200").send().await.text(), "1");
        scenario.shared.gate.open();
        let response = request.await.unwrap();
        assert_eq!(response.status(), status);
        assert!(leaves_cookie(&response), "{response:?}");
        assert_eq!((ada.who().await, phone.who().await.as_deref()), (None, Some("ada")));
        phone.post("/logout").send().await;
    }
}

#[post("/end-all")]
#[auth(public)]
async fn end_all(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_all().await?;
    Ok(())
}

#[tokio::test]
async fn somebody_who_is_not_logged_in_has_no_sessions_to_end() {
    let scenario = Scenario::new(routes![end_all]).await;
    let response = scenario.client.post("/end-all").origin(OWN).send().await;
    assert_problem(&response, 401, "session.anonymous");
}

#[get("/fresh")]
#[auth(session, fresh = "5m")]
async fn fresh() {}

/// An administrator or a time server sets the clock back by hours. Sessions end as if it had not
/// been.
#[tokio::test]
async fn a_clock_that_is_set_back_lengthens_no_session() {
    let scenario = Scenario::new(routes![fresh]).await;
    let back = || scenario.clock.turn_back(Duration::from_secs(5 * 3600));
    let ada = scenario.login("ada").await;
    back();
    assert_eq!(ada.get("/fresh").send().await.status(), 200);
    scenario.advance(5 * 60);
    assert_eq!(ada.get("/fresh").send().await.status(), 401);
    back();
    scenario.advance(15 * 60);
    assert_eq!(ada.who().await, None, "idle");

    let ada = scenario.login("ada").await;
    for _ in 0..8 * 6 - 1 {
        scenario.advance(10 * 60);
        back();
        assert_eq!(ada.who().await.as_deref(), Some("ada"));
    }
    scenario.advance(10 * 60);
    assert_eq!(ada.who().await, None, "eight hours");
}
