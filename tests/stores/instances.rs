//! Three instances of an app on one store.

use std::{net::SocketAddr, time::Duration};

use policy_server::{
    Clock, Sessions,
    extract::PeerAddr,
    store::{ListSessions, SessionStore},
};
use policy_tests::http::soon;
use serde_json::Value;
use tokio::task::JoinSet;

use super::site::{Counted, Instance, is_away, until};

pub(crate) async fn a_login_holds_at_all_instances_until_a_logout_at_any(store: &str) {
    const VISITORS: usize = 16;
    const ROUNDS: usize = 5;
    let instances = Instance::three(store).await;
    let mut visits = JoinSet::new();
    for visitor in 0..VISITORS {
        let instances = instances.clone();
        visits.spawn(async move {
            let user = format!("user-{}", visitor % 8);
            for round in 0..ROUNDS {
                let at = |step: usize| &instances[(visitor + round + step) % 3];
                let session = at(0).login(&user).await;
                assert_eq!(session.status(at(1)).await, 200);
                // No change is lost, whichever instance makes it.
                let mut counted = Counted::default();
                for step in 1..=6 {
                    counted.on(&session, at(step)).await;
                }
                session.logs_out(at(2)).await;
                for step in 0..3 {
                    assert_eq!(session.status(at(step)).await, 401);
                }
            }
        });
    }
    visits.join_all().await;
}

/// The changes of one session race at three instances.
pub(crate) async fn no_change_is_lost_that_was_made_at_the_same_time(store: &str) {
    let instances = Instance::three(store).await;
    let ada = instances[0].login("ada").await;
    let mut done = 0;
    for round in 0..20 {
        let mut changes = JoinSet::new();
        for (number, instance) in instances.iter().enumerate() {
            let (ada, instance) = (ada.clone(), instance.clone());
            changes.spawn(async move {
                let key = format!("key-{round}-{number}");
                let status = ada.post(&instance, &format!("/set/{key}")).await.status();
                (key, status.as_u16())
            });
        }
        for (key, status) in changes.join_all().await {
            // An instance that finds the session busy responds with 503.
            assert!(status == 200 || status == 503, "{status}");
            if status == 200 {
                done += 1;
                let has = ada.get(&instances[round % 3], &format!("/has/{key}")).await;
                assert_eq!(has.text(), "true", "{key}");
            }
        }
    }
    assert!(done >= 20, "{done}");
}

pub(crate) async fn refreshes_at_the_same_time_give_one_successor_and_end_nothing(store: &str) {
    let instances = Instance::three(store).await;
    let issued: Value = instances[0].client.post("/issue/ada").send().await.json();
    let mut token = issued["refresh_token"].as_str().unwrap().to_owned();
    for _ in 0..10 {
        let mut refreshes = JoinSet::new();
        for number in 0..9 {
            let client = instances[number % 3].client.clone();
            let token = token.clone();
            refreshes.spawn(async move { client.post("/refresh").body(token).send().await });
        }
        let responses = refreshes.join_all().await;
        let successors: Vec<String> = responses
            .iter()
            .map(|response| {
                assert_eq!(response.status(), 200, "{response:?}");
                response.json::<Value>()["refresh_token"].as_str().unwrap().to_owned()
            })
            .collect();
        assert!(successors.iter().all(|one| *one == successors[0]));
        token.clone_from(&successors[0]);
    }
}

pub(crate) async fn a_ticket_is_good_once_whichever_instances_see_it(store: &str) {
    let instances = Instance::three(store).await;
    let ada = instances[0].login("ada").await;
    for _ in 0..10 {
        let ticket = ada.post(&instances[1], "/ticket").await.text();
        let path = format!("/by-ticket?ticket={ticket}");
        let [one, two, three] = &instances;
        let statuses = tokio::join!(one.status(&path), two.status(&path), three.status(&path));
        let mut statuses: [u16; 3] = statuses.into();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 401, 401]);
    }
}

pub(crate) async fn endings_apply_at_all_instances(store: &str) {
    let instances = Instance::three(store).await;
    let issued: Value = instances[0].client.post("/issue/ada").send().await.json();
    let token = issued["access_token"].as_str().unwrap();
    for instance in &instances {
        assert_eq!(instance.bearer("/token", token).send().await.status(), 200);
    }
    let field = format!("Bearer {token}");
    let revoke = instances[0].client.post("/revoke").header("authorization", &field).send();
    assert_eq!(revoke.await.status(), 200);
    for instance in &instances {
        until(async || instance.bearer("/token", token).send().await.status() == 401).await;
    }

    for path in ["/logout", "/revoke-all"] {
        let (ada, other) = (instances[0].login("ada").await, instances[0].login("eve").await);
        let (stream, lasting) = (ada.open(&instances[1]).await, other.open(&instances[1]).await);
        assert_eq!(ada.post(&instances[2], path).await.status(), 200);
        assert!(policy_tests::http::soon(stream).await.unwrap(), "{path}");
        assert!(!lasting.is_finished());
    }
}

/// A client that may only publish on the channel of the store sends forged messages, a thousand
/// times: no stream ends while the store has its session, and genuine messages still arrive.
pub(crate) async fn forged_news_end_no_stream(
    store: &str,
    reader: impl SessionStore,
    forge: impl AsyncFn(&str),
) {
    let instances = Instance::three(store).await;
    let (ada, eve) = (instances[0].login("ada").await, instances[0].login("eve").await);
    let (stream, other) = (ada.open(&instances[1]).await, eve.open(&instances[1]).await);
    reader.open().await.unwrap();
    let now = reader.time().await.unwrap().unwrap();
    let listed = reader.list(ListSessions::new("ada", 9, now)).await.unwrap();
    let handle: String = listed[0].handle.0.iter().map(|byte| format!("{byte:02x}")).collect();
    for payload in ["a", "m", "r", "u- ada", &format!("s{handle}")] {
        for _ in 0..200 {
            forge(payload).await;
        }
    }
    // This message follows them on the same channel.
    assert_eq!(eve.post(&instances[2], "/logout").await.status(), 200);
    assert!(soon(other).await.unwrap());
    assert!(!stream.is_finished(), "the session is good");
    assert_eq!(ada.status(&instances[1]).await, 200);
    assert_eq!(ada.post(&instances[2], "/logout").await.status(), 200);
    assert!(soon(stream).await.unwrap());
}

/// A cut-off races logins at the other instances: none of those that were admitted before it is
/// left.
pub(crate) async fn a_cut_off_wins_against_logins_that_are_under_way(store: &str) {
    let instances = Instance::three(store).await;
    let mut done = 0;
    for round in 0..20 {
        let user = format!("user-{round}");
        let first = instances[0].login(&user).await;
        let mut logins = JoinSet::new();
        for number in 0..6 {
            let (instance, user) = (instances[1 + number % 2].clone(), user.clone());
            logins.spawn(async move { instance.try_to_login(&user).await });
        }
        let cut = first.post(&instances[0], "/revoke-all").await;
        if is_away(&cut) {
            // Which sessions it ended is unknown.
            logins.join_all().await;
            continue;
        }
        assert_eq!(cut.status(), 200);
        let cut: u64 = cut.text().parse().unwrap();
        done += 1;
        let mut alive = 0;
        for login in logins.join_all().await {
            match login {
                Ok(visitor) => alive += u64::from(visitor.status(&instances[0]).await == 200),
                Err(status) => assert!((400..=503).contains(&status), "{status}"),
            }
        }
        // The cut-off counted what it ended; what is left began after it.
        assert!(cut >= 1 && cut + alive <= 7, "{cut} ended, {alive} are left");
        assert_eq!(first.status(&instances[2]).await, 401);
    }
    assert!(done > 0, "no cut-off was acknowledged");
}

/// Sessions end by the clock of the store, whatever the clocks of the instances show, and however
/// these are set meanwhile.
pub(crate) async fn clocks_that_are_wrong_by_an_hour_end_no_session(store: &str) {
    const HOUR: Duration = Duration::from_secs(3600);
    let now = Clock::system().now().seconds();
    let ahead = Clock::at(now + HOUR.as_secs());
    let behind = Clock::at(now - HOUR.as_secs());
    let at = async |clock: &Clock| {
        let sessions = Sessions::from_url(store);
        Instance::open_at(sessions, None, clock.clone()).await.unwrap()
    };
    let instances = [Instance::start(store).await, at(&ahead).await, at(&behind).await];
    for _ in 0..2 {
        for (number, instance) in instances.iter().enumerate() {
            let visitor = instance.login(&format!("visitor-{number}")).await;
            let mut counted = Counted::default();
            for other in &instances {
                counted.on(&visitor, other).await;
            }
            visitor.logs_out(instance).await;
            for other in &instances {
                assert_eq!(visitor.status(other).await, 401);
            }
        }
        ahead.turn_back(2 * HOUR);
    }
}

pub(crate) async fn a_rate_is_granted_once_whichever_instances_are_asked(store: &str) {
    let instances = Instance::three(store).await;
    let mut wrong = Vec::new();
    // A store that is too slow counts as unavailable, and each instance then counts separately: the
    // test is repeated with another visitor.
    for visitor in 1..=5 {
        let peer = PeerAddr(SocketAddr::from(([192, 0, 2, visitor], 1000)));
        let ask = async |instance: &Instance| {
            instance.client.get("/rated").extension(peer).send().await.status().as_u16()
        };
        let mut all = Vec::new();
        for _ in 0..10 {
            let requests = [0, 1, 2, 0, 1, 2].map(|number| ask(&instances[number]));
            all.extend(futures_util::future::join_all(requests).await);
        }
        let count = |status| all.iter().filter(|one| **one == status).count();
        // An instance that starts later knows of them.
        let later = ask(&Instance::start(store).await).await;
        if (count(200), count(429), later) == (20, 40, 429) {
            return;
        }
        wrong.push((count(200), count(429), later));
    }
    panic!("{wrong:?}");
}

pub(crate) async fn permits_are_those_of_all_instances(store: &str) {
    let instances = Instance::three(store).await;
    let mut waiting = JoinSet::new();
    for number in 0..12 {
        let instance = instances[number % 3].clone();
        waiting.spawn(async move { instance.status("/crowded/waits").await });
    }
    // Three are in, and the others are refused.
    for _ in 0..9 {
        let refused = soon(waiting.join_next()).await.unwrap().unwrap();
        assert_eq!(refused, 503);
    }
    for instance in &instances {
        assert_eq!(instance.status("/crowded/no").await, 503);
    }
    waiting.shutdown().await;
    for instance in &instances {
        until(async || instance.status("/crowded/no").await == 200).await;
    }
}

/// The tests of this module, on one store each.
macro_rules! on {
    ($reason:literal, $store:expr) => {
        $crate::instances::on! { $reason, $store;
            a_login_holds_at_all_instances_until_a_logout_at_any,
            no_change_is_lost_that_was_made_at_the_same_time,
            refreshes_at_the_same_time_give_one_successor_and_end_nothing,
            a_ticket_is_good_once_whichever_instances_see_it,
            endings_apply_at_all_instances,
            a_cut_off_wins_against_logins_that_are_under_way,
            a_rate_is_granted_once_whichever_instances_are_asked,
            permits_are_those_of_all_instances,
        }
    };
    ($reason:literal, $store:expr; $($test:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = $reason]
        async fn $test() {
            $crate::instances::$test(&$store).await;
        }
    )*};
}
pub(crate) use on;
