//! Requests of one session at the same time.

use super::*;

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
async fn an_ended_session_gets_no_more_rights() {
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
