//! Guessed passwords, and what other users notice meanwhile.

use super::*;

const WRONG: &str = "not the password";

/// Guesses until it has to wait. Returns how many guesses were tried, and the last response.
async fn guesses(visitor: &mut Visitor, name: &str) -> (usize, RawResponse) {
    let mut guesses = 0;
    loop {
        let response = visitor.enter("/login", name, WRONG).await;
        if response.status == 429 {
            return (guesses, response);
        }
        assert_eq!(response.problem(), (403, "accounts.wrong".to_owned()));
        guesses += 1;
    }
}

/// Thirty requests a minute to a route, whatever is in them, and whether the connection is a new one.
#[tokio::test]
async fn an_address_guesses_thirty_passwords_a_minute() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    let mut stranger = Visitor::new(&accounts);
    // None of them waits for a core, so that they fit into a minute on every machine.
    let mut passed = 0;
    let refused = loop {
        let response = stranger.post("/token", &json!({})).await;
        if response.status == 429 {
            break response;
        }
        passed += 1;
        assert!(passed < 1000, "nothing is refused");
    };
    assert!(passed >= 30, "{passed}");
    assert_eq!(refused.problem().1, "limit.rate");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(ada.get("/profile").await.status, 200, "who is logged in stays so");
}

#[tokio::test]
async fn a_guesser_slows_new_devices_and_locks_out_no_user() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut stranger = Visitor::from(&accounts, 0, 2);
    let (tried, refused) = guesses(&mut stranger, "ada").await;
    // One more, if the test takes minutes.
    assert!((21..=22).contains(&tried), "{tried}");
    assert_eq!(refused.problem().1, "passwords.too-many-attempts");
    let wait: u64 = refused.header("retry-after").and_then(|it| it.parse().ok()).expect("seconds");
    assert!((1..=300).contains(&wait), "{wait}");
    for path in ["/login", "/token"] {
        let lucky = stranger.enter(path, "ada", PASSWORD).await;
        assert_eq!(lucky.status, 429, "{path}: what is refused is not judged");
    }

    // The sessions and the device of the user do not notice, nor do other accounts.
    assert_eq!(ada.post("/confirm", &json!({ "password": WRONG })).await.status, 403);
    assert_eq!(ada.post("/confirm", &json!({ "password": PASSWORD })).await.status, 204);
    ada.renew_csrf().await;
    assert_eq!(ada.post("/logout", &Value::Null).await.status, 204);
    (ada.cookie, ada.csrf) = (None, None);
    assert_eq!(ada.enter("/login", "ada", WRONG).await.status, 403);
    assert_eq!(ada.enter("/login", "ada", PASSWORD).await.status, 200);
    assert_eq!(stranger.enter("/login", "bob", WRONG).await.status, 403);

    // On a new device she has one attempt in five minutes, and so has every other network.
    for (host, password, status) in [(3, PASSWORD, 200), (4, WRONG, 403)] {
        let mut device = Visitor::from(&accounts, 0, host);
        assert_eq!(device.enter("/login", "ada", password).await.status, status);
        (device.cookie, device.device) = (None, None);
        assert_eq!(device.enter("/login", "ada", password).await.status, 429);
    }
}

#[tokio::test]
async fn a_known_device_may_guess_ten_times_and_slows_no_other() {
    let (_folder, accounts) = start();
    let mut thief = Visitor::signed_up(&accounts, "ada").await;
    thief.cookie = None;
    let (tried, _) = guesses(&mut thief, "ada").await;
    assert!((10..=11).contains(&tried), "{tried}");
    let mut ada = Visitor::from(&accounts, 0, 2);
    assert_eq!(ada.enter("/login", "ada", PASSWORD).await.status, 200);
}

/// The limit of a session, in case of a person at an open browser.
#[tokio::test]
async fn a_session_guesses_its_password_ten_times() {
    let (_folder, accounts) = start();
    let mut thief = Visitor::signed_up(&accounts, "ada").await;
    thief.renew_csrf().await;
    let mut phone = Visitor::logged_in(&accounts, "ada").await;
    phone.renew_csrf().await;
    for tried in 0..12 {
        // Both routes count.
        let response = match tried % 2 {
            0 => thief.post("/confirm", &json!({ "password": WRONG })).await,
            _ => {
                let change = json!({ "current": WRONG, "password": "battery staple" });
                thief.post("/password", &change).await
            }
        };
        assert_eq!(response.status, if tried < 10 { 403 } else { 429 }, "{tried}");
    }
    assert_eq!(phone.post("/confirm", &json!({ "password": PASSWORD })).await.status, 204);
}

#[tokio::test]
async fn a_device_is_known_only_for_the_user_who_logged_in_on_it() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    let mut eve = Visitor::signed_up(&accounts, "eve").await;
    let known = ada.device.clone().expect("a cookie");
    // The cookie of another user, and hers with another signature.
    let (payload, signature) = known.rsplit_once('.').expect("a signature");
    let forged = format!("{payload}.{}", "A".repeat(signature.len()));
    eve.cookie = None;
    let (tried, _) = guesses(&mut eve, "ada").await;
    assert!((21..=22).contains(&tried), "{tried}");
    eve.device = Some(forged);
    assert_eq!(eve.enter("/login", "ada", WRONG).await.status, 429);
    ada.cookie = None;
    assert_eq!(ada.enter("/login", "ada", PASSWORD).await.status, 200);
}

#[tokio::test]
async fn unknown_names_are_slowed_like_existing_ones() {
    let (_folder, accounts) = start();
    Visitor::signed_up(&accounts, "ada").await;
    let (known, response) = guesses(&mut Visitor::from(&accounts, 0, 2), "ada").await;
    let (unknown, other_response) = guesses(&mut Visitor::from(&accounts, 0, 3), "nobody").await;
    assert!(known.abs_diff(unknown) <= 1, "{known} {unknown}");
    assert_eq!(response.text(), other_response.text());
}

/// Each from another address and for another name, so that no rate stops it. Strangers wait in a
/// queue of their own, and are refused at once where it is full.
#[tokio::test]
async fn a_flood_of_wrong_passwords_does_not_slow_known_devices() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let flood = (0..250_u8).map(|host| {
        let mut stranger = Visitor::from(&accounts, 1, host);
        let guess = async move { stranger.enter("/login", &format!("name{host}"), WRONG).await };
        tokio::spawn(guess)
    });
    let flood: Vec<_> = flood.collect();
    let mut phone = Visitor { device: ada.device.clone(), ..Visitor::new(&accounts) };
    assert_eq!(phone.enter("/login", "ada", PASSWORD).await.status, 200);
    assert_eq!(ada.post("/confirm", &json!({ "password": PASSWORD })).await.status, 204);
    for running in flood {
        let response = running.await.expect("a response");
        match response.problem() {
            (403, code) => assert_eq!(code, "accounts.wrong"),
            refused => {
                assert_eq!(refused, (503, "limit.concurrency".to_owned()));
                assert_eq!(response.header("retry-after"), Some("1"));
            }
        }
    }
    // The flood is over as soon as its requests are answered.
    assert_eq!(Visitor::new(&accounts).enter("/login", "ada", PASSWORD).await.status, 200);
}

/// A request waits for a core only once it is complete: a body that does not arrive takes no place.
#[tokio::test]
async fn slow_senders_do_not_prevent_logins() {
    let (_folder, accounts) = start();
    Visitor::signed_up(&accounts, "ada").await;
    let mut waiting = Vec::new();
    for host in 0..250 {
        let slow = Visitor::from(&accounts, 1, host);
        let credentials = json!({ "name": "ada", "password": WRONG });
        let request = slow.request("POST", "/login", &[], &credentials);
        let mut connection = slow.connect().await;
        connection.send(request.strip_suffix('}').expect("JSON")).await;
        waiting.push(connection);
    }
    Visitor::logged_in(&accounts, "ada").await;
    assert_eq!(waiting.len(), 250);
}
