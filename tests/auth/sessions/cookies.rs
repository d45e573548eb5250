//! The cookie of a session: who sets it, how long it stays, and what removes it.

use super::*;

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
async fn remembered_sessions_keep_their_cookie() {
    const DAY: u64 = 86_400;
    let settings = || Sessions::memory().same_site(SameSite::None);
    let own = settings().remembered_idle(days(2)).remembered_absolute(days(5));
    for (settings, max_age, idle, absolute) in
        [(settings(), "2592000", 14, 30), (own, "432000", 2, 5)]
    {
        let scenario = Scenario::with(all(), |app| app.sessions(settings)).await;
        let remember = || scenario.client.post("/remember/ada").origin(OWN).send();
        let me = |pair: &str| scenario.client.get("/me").header("cookie", pair).send();
        let expected = format!("Path=/; Max-Age={max_age}; Secure; HttpOnly; SameSite=None");
        let cookie = |login: &TestResponse| {
            let (pair, attributes) = login.header("set-cookie").unwrap().split_once("; ").unwrap();
            assert_eq!(attributes, expected);
            pair.to_owned()
        };
        let pair = &cookie(&remember().await);
        // Unused for less than `idle` days, and `absolute` days in all.
        for _ in 0..2 {
            scenario.advance(idle * DAY - 1);
            assert_eq!(me(pair).await.text(), "ada", "{idle} days");
        }
        scenario.advance((absolute - 2 * idle) * DAY + 1);
        assert_eq!(me(pair).await.text(), "ada", "{absolute} days");
        scenario.advance(1);
        assert_problem(&me(pair).await, 401, "auth.credentials-missing");

        let unused = cookie(&remember().await);
        scenario.advance(idle * DAY);
        assert_problem(&me(&unused).await, 401, "auth.credentials-missing");
    }
}

#[tokio::test]
async fn a_logout_clears_site_data_if_enabled() {
    const NAME: &str = "clear-site-data";
    let off = Scenario::new(all()).await;
    let ada = off.login("ada").await;
    assert_eq!(ada.post("/logout").send().await.header(NAME), None);

    let settings = || Sessions::memory().same_site(SameSite::None).clear_site_data();
    let scenario = Scenario::with(all(), |app| app.sessions(settings())).await;
    let cleared = Some("\"cache\", \"storage\"");
    // The field is sent even if the handler fails afterwards.
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
