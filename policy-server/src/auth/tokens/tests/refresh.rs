//! The section `refresh_scenario` of the shared cases.

use std::collections::HashMap;

use axum_core::response::IntoResponse;
use http::header::SET_COOKIE;

use super::*;

#[test]
fn every_scenario_of_refresh_tokens_goes_as_it_says() {
    let mut steps = 0;
    for case in section("refresh_scenario", 9) {
        assert_eq!(case["config"]["grace_s"], 10, "the default");
        assert_eq!(case["config"]["family_max_s"], 30 * 86_400, "the default");
        steps += run(&case);
    }
    assert_eq!(steps, 26);
}

/// Tab 1 refreshes, tab 3 already has the successor and refreshes that, and the request of tab 2
/// was slower: within the grace period, all tabs get the one valid token, in whatever order they
/// refresh.
#[test]
fn three_tabs_that_refresh_in_any_order_stay_signed_in() {
    for tabs in [[0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]] {
        for waits in [[0, 0, 9], [0, 9, 0], [5, 4, 0]] {
            let (instance, _) = on_faulty_store();
            let login = wait(instance.tokens().login(ada())).unwrap();
            let mut issued = vec![login.refresh_token.unwrap()];
            let mut access = login.access_token;
            for (age, wait_before) in tabs.into_iter().zip(waits) {
                instance.clock.advance(Duration::from_secs(wait_before));
                let tokens = instance.tokens();
                let response = wait(tokens.refresh(&issued[age]));
                let response =
                    response.unwrap_or_else(|error| panic!("{tabs:?} {waits:?}: {error}"));
                let valid = response.refresh_token.unwrap();
                if !issued.contains(&valid) {
                    issued.push(valid.clone());
                }
                assert_eq!(Some(&valid), issued.last(), "{tabs:?} {waits:?}");
                access = response.access_token;
            }
            assert!(instance.verify(&access).is_ok(), "{tabs:?} {waits:?}");
            let last = wait(instance.tokens().refresh(issued.last().unwrap()));
            assert!(last.is_ok(), "{tabs:?} {waits:?}: the valid token");
        }
    }
}

fn run(case: &Value) -> usize {
    let name = case["id"].as_str().unwrap();
    let clock = Clock::at(START);
    let store = FaultyStore::new(MemoryStore::new());
    let instances = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
    instances.iter().for_each(|instance| wait(instance.service.open()).unwrap());
    let mut named: HashMap<String, String> = HashMap::new();
    let steps = case["steps"].as_array().unwrap();
    let mut held = None;
    for step in steps {
        move_to(&clock, time_of(step));
        let instance = &instances[step["instance"].as_u64().unwrap_or(1) as usize - 1];
        let tokens = instance.tokens();
        let text = || match step["token"].as_str().unwrap() {
            "<access jwt>" => named["access"].clone(),
            name => named[name].clone(),
        };
        let expect = &step["expect"];
        let mut news = instance.news();
        match step["do"].as_str().unwrap() {
            "issue" => {
                let issued = wait(tokens.login(ada())).unwrap();
                named.insert("access".to_owned(), issued.access_token);
                let first = issued.refresh_token.unwrap();
                named.insert(expect.as_str().unwrap().to_owned(), first);
            }
            "refresh" => {
                store.take_calls();
                let outcome = wait(tokens.refresh(&text()));
                let was_asked = store.take_calls().contains(&"refresh");
                let has_ended = news.try_recv().is_ok();
                check(name, expect, outcome, was_asked, has_ended, &mut named);
            }
            "refresh_parallel" => {
                let (text, count) = (text(), step["n"].as_u64().unwrap());
                let responses: Vec<IssuedTokens> = thread::scope(|scope| {
                    let calls: Vec<_> = (0..count)
                        .map(|_| scope.spawn(|| wait(instance.tokens().refresh(&text))))
                        .collect();
                    calls.into_iter().filter_map(|call| call.join().unwrap().ok()).collect()
                });
                assert_eq!(responses.len() as u64, count, "{name}: errors");
                let mut successors: Vec<_> = responses
                    .iter()
                    .filter_map(|response| response.refresh_token.as_ref())
                    .collect();
                successors.dedup();
                assert_eq!(successors.len(), 1, "{name}");
                assert_eq!(expect.get("distinct_successors").unwrap_or(&1.into()), 1);
                assert_eq!(expect.get("errors").unwrap_or(&0.into()), 0);
                let with_cookies = responses
                    .into_iter()
                    .map(IntoResponse::into_response)
                    .filter(|response| response.headers().contains_key(SET_COOKIE));
                assert_eq!(with_cookies.count(), 0, "{name}");
                assert_eq!(expect.get("responses_with_cookie_removal").unwrap_or(&0.into()), 0);
            }
            "refresh_begin" => {
                store.hold();
                held = Some((text(), instance.tokens()));
            }
            // The refresh waits for the store while the family ends.
            "logout" => match &held {
                Some((text, tokens)) => {
                    let mut refresh = pin!(tokens.refresh(text));
                    assert!(refresh.as_mut().now_or_never().is_none());
                    assert_eq!(expect["family_revoked"], true);
                    store.release();
                    assert!(wait(instance.tokens().logout(&named["R1"])).unwrap());
                    let outcome = wait(refresh);
                    let committed = &steps.last().unwrap()["expect"];
                    check(name, committed, outcome, true, false, &mut named);
                }
                None => assert!(wait(tokens.logout(&named["R1"])).unwrap(), "{name}"),
            },
            // Checked where it was released.
            "refresh_commit" => {
                let calls = store.take_calls();
                assert_eq!(calls.iter().filter(|call| **call == "refresh").count(), 1);
            }
            other => panic!("{name}: {other}"),
        }
    }
    steps.len()
}

fn check(
    name: &str,
    expect: &Value,
    outcome: Result<IssuedTokens, CredentialError>,
    was_asked: bool,
    has_ended: bool,
    named: &mut HashMap<String, String>,
) {
    match (outcome, expect["error"].as_str()) {
        (Ok(issued), None) => {
            let token = issued.refresh_token.unwrap();
            let known = named.entry(expect["refresh"].as_str().unwrap().to_owned());
            assert_eq!(*known.or_insert_with(|| token.clone()), token, "{name}");
            assert!(!issued.access_token.is_empty());
        }
        // All failures get the same response; the reason is internal.
        (Err(refused), Some(error)) => {
            let problem = Problem::from(refused);
            assert_eq!(
                problem.to_string(),
                "401 The refresh token is not valid (token.refresh-refused)"
            );
            assert!(!problem.into_response().headers().contains_key(SET_COOKIE));
            let actual = match (was_asked, has_ended) {
                (false, false) => "malformed",
                (true, false) => "revoked",
                (_, true) => "reuse",
            };
            assert_eq!(actual, error, "{name}");
            assert_eq!(expect.get("family_revoked").is_some(), has_ended, "{name}");
        }
        (outcome, _) => panic!("{name}: {outcome:?}"),
    }
}
