//! Requests whose client disconnects. Rights are still taken away, and nothing else happens.

use std::pin::Pin;

use http::{Connection, Running, StoppedTime, settle, soon, until};
use policy_server::ServerSettings;
use tokio::task::JoinHandle;

use super::*;
use crate::http;

/// Does something with the session and then waits.
#[post("/lost/{deed}")]
#[auth(public)]
async fn lost(
    deed: String,
    sessions: Sessions,
    session: Session,
    State(shared): State<All>,
) -> Result<(), Problem> {
    match &*deed {
        "login" => sessions.login("mallory").await?,
        "elevate" => session.elevate()?,
        "set" => session.set("a", 1)?,
        "logout" => session.logout(),
        "logout-and-login" => {
            session.logout();
            sessions.login("mallory").await?;
        }
        "revoke-others" => drop(sessions.revoke_others().await?),
        "revoke-all" => drop(sessions.revoke_all().await?),
        other => panic!("{other}"),
    }
    shared.wait().await;
    Ok(())
}

/// Actions, and whether the user is still logged in afterwards: here, and on another device.
const DEEDS: [(&str, bool, bool); 7] = [
    ("login", true, true),
    ("elevate", true, true),
    ("set", true, true),
    ("logout", false, true),
    ("logout-and-login", false, true),
    ("revoke-others", true, false),
    ("revoke-all", false, false),
];

async fn assert_left(deed: &str, ada: &Visitor, other: &Visitor) {
    let (_, here, there) = *DEEDS.iter().find(|known| known.0 == deed).expect("a deed");
    let left = (ada.who().await.is_some(), other.who().await.is_some());
    assert_eq!(left, (here, there), "{deed}");
    if here {
        assert_eq!(ada.value("a").await, Value::Null, "{deed}");
    }
}

/// The future of a request is dropped while its handler waits, as when the client disconnects.
#[tokio::test]
async fn a_client_that_goes_away_undoes_no_logout_and_gets_nothing() {
    let scenario = Scenario::new(routes![lost]).await;
    for (deed, ..) in DEEDS {
        let (ada, other) = (scenario.login("ada").await, scenario.login("ada").await);
        let request: JoinHandle<_> = tokio::spawn(ada.post(&format!("/lost/{deed}")).send());
        scenario.shared.waiting.pass().await;
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        // The rest is done by a background task.
        tokio::task::yield_now().await;
        assert_left(deed, &ada, &other).await;
        for one in [ada, other] {
            one.post("/logout").send().await;
        }
    }
}

/// The future is dropped at each point at which the request waits for the store.
#[tokio::test]
async fn a_logout_is_done_wherever_its_client_goes_away() {
    let mut cut = [0, 0];
    for (deed, is_down) in [("/logout", false), ("/set/a/1", true)] {
        for waits in 0.. {
            let scenario = Scenario::new(Vec::new()).await;
            let ada = scenario.login("ada").await;
            scenario.store.hold();
            let request = tokio::spawn(ada.post(deed).send());
            let mut held = 0;
            loop {
                if request.is_finished() || held > waits {
                    break;
                }
                http::soon(scenario.store.is_held()).await;
                if held < waits {
                    scenario.store.step();
                }
                held += 1;
                settle().await;
            }
            let is_cut = !request.is_finished();
            request.abort();
            let _ = request.await;
            scenario.store.release();
            settle().await;
            if !is_cut {
                break;
            }
            cut[usize::from(is_down)] += 1;
            // Before the session was found, the handler had not run.
            let was_asked_for = waits > 0;
            match deed {
                "/logout" => assert_eq!(ada.who().await.is_none(), was_asked_for, "{waits}"),
                _ => {
                    let stored = ada.value("a").await == 1;
                    assert!(!stored || was_asked_for, "{waits}");
                }
            }
        }
    }
    assert!(cut.iter().all(|cuts| *cuts >= 2), "{cut:?}");
}

/// Sends a request over a socket whose handler then waits. Returns the connection, and the header
/// line with the cookie of its user.
async fn send_lost(server: &Running, shared: &All, deed: &str) -> (Connection, String) {
    let own = "origin: https://api.example";
    let login = server.response(raw("POST /login/ada", &[own, "content-length: 0"])).await;
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let cookie = format!("cookie: {cookie}");
    let token = server.response(raw("GET /csrf", &[&cookie])).await;
    let token: Value = serde_json::from_str(token.text()).unwrap();
    let token = format!("x-csrf-token: {}", token["token"].as_str().unwrap());
    let mut connection = server.connect().await;
    let fields = [own, &cookie, &token, "content-length: 0"];
    connection.send(raw(&format!("POST /lost/{deed}"), &fields)).await;
    shared.waiting.pass().await;
    (connection, cookie)
}

/// The same over a socket: the connection breaks off in the middle of a request.
#[tokio::test]
async fn a_connection_that_breaks_undoes_no_logout() {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let (app, shared) = app(&store, &clock, routes![lost]);
    let server = Running::start(app).await;
    for (deed, lives) in [("logout", false), ("set", true), ("login", true)] {
        let (connection, cookie) = send_lost(&server, &shared, deed).await;
        let before = Arc::strong_count(&shared);
        drop(connection);
        // The handler holds the state until it is dropped.
        until(async || Arc::strong_count(&shared) < before).await;
        let me = server.response(raw("GET /me", &[&cookie])).await;
        assert_eq!(me.status, if lives { 200 } else { 401 }, "{deed}");
        if lives {
            assert_eq!(me.text(), "ada");
            let value = server.response(raw("GET /value/a", &[&cookie])).await;
            assert_eq!(value.text(), "null", "{deed}");
        }
    }
}

/// A process may end as soon as its server has, and its tasks with it.
#[tokio::test]
async fn the_end_of_a_server_waits_for_the_logout_of_a_request_that_it_cuts_off() {
    let time = StoppedTime::begin();
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let (slow, shared) = app(&store, &clock, routes![lost]);
    let settings = ServerSettings::default().shutdown_timeout(Duration::from_secs(5));
    let server = Running::start(slow.settings(settings)).await;
    let (_connection, cookie) = send_lost(&server, &shared, "logout").await;
    store.hold();
    let stopped = server.stop();
    time.until(store.is_held()).await;
    settle().await;
    assert!(!stopped.is_finished());
    store.release();
    soon(stopped).await.unwrap();
    let (next, _shared) = app(&store, &clock, Vec::new());
    let me = Running::start(next).await.response(raw("GET /me", &[&cookie])).await;
    assert_eq!(me.status, 401);
}

/// The handler's time-out does not interrupt a commit that has begun.
#[tokio::test]
async fn a_slow_store_has_the_time_that_it_takes_to_commit() {
    let scenario = Scenario::with(Vec::new(), |app| {
        app.policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(1))))
    })
    .await;
    let ada = scenario.login("ada").await;
    let mut request: Pin<Box<dyn Future<Output = TestResponse>>> =
        Box::pin(scenario.client.post("/login/eve").origin(OWN).send());
    scenario.store.hold();
    let is_held = async {
        http::soon(scenario.store.is_held()).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        scenario.store.release();
    };
    let (response, ()) = tokio::join!(&mut request, is_held);
    assert!(set_cookie(&response).is_some(), "{response:?}");
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
}
