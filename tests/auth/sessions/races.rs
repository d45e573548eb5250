//! Requests of one session at the same time.

use super::*;

/// The end of a session during another request is final, by itself and by another device: neither the
/// values nor the rights of that request bring the session back, and its response leaves the cookie
/// alone.
#[tokio::test]
async fn nothing_that_ends_later_brings_a_session_back() {
    let scenario = Scenario::new(all()).await;
    for (path, status) in [("/slow/a", 200), ("/slow-elevate", 409)] {
        for (end, says) in [("/logout", ""), ("/revoke-others/200", "1")] {
            let (ada, phone) = (scenario.login("ada").await, scenario.login("ada").await);
            let request = tokio::spawn(ada.post(path).send());
            scenario.shared.waiting.pass().await;
            let by = if end == "/logout" { &ada } else { &phone };
            let ended = by.post(end).send().await;
            assert_eq!((ended.status().as_u16(), &*ended.text()), (200, says), "{end}");
            assert_eq!(removes_cookie(&ended), end == "/logout", "{ended:?}");
            scenario.shared.gate.open();
            let response = request.await.unwrap();
            assert_eq!(response.status(), status, "{end} {response:?}");
            assert!(leaves_cookie(&response), "{end} {response:?}");
            assert_eq!((ada.who().await, phone.who().await.as_deref()), (None, Some("ada")));
            phone.post("/logout").send().await;
        }
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
