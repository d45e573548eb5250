//! What ends sessions: their users, their times, their number.

use super::*;

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
async fn more_sessions_than_allowed_end_the_oldest_or_are_refused() {
    let limited = |policy| {
        move |app: App<All>| {
            app.sessions(Sessions::memory().same_site(SameSite::None).limit_per_user(2, policy))
        }
    };
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

#[post("/end-all")]
#[auth(public)]
async fn end_all(sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke_all().await?;
    Ok(())
}

#[tokio::test]
async fn ending_sessions_needs_a_login() {
    let scenario = Scenario::new(routes![end_all]).await;
    let response = scenario.client.post("/end-all").origin(OWN).send().await;
    assert_problem(&response, 401, "session.anonymous");
}

#[get("/fresh")]
#[auth(session, fresh = "5m")]
async fn fresh() {}

/// An administrator or a time server sets the clock back by hours. Sessions end as if it had not
/// been set back.
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
