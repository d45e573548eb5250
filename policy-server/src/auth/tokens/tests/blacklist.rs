//! The section `blacklist_scenario` of the shared cases.

use std::collections::HashMap;

use super::*;
use crate::auth::tokens::OnStale;

#[test]
fn every_scenario_of_revocation_goes_as_it_says() {
    let mut ran = 0;
    for case in section("blacklist_scenario", 9) {
        // BLK-012 is about the eviction policy of Redis. The stores here evict nothing.
        if case["id"] != "BLK-012" {
            run(&case);
            ran += 1;
        }
    }
    assert_eq!(ran, 8);
}

fn run(case: &Value) {
    let name = case["id"].as_str().unwrap();
    let config = &case["config"];
    let seconds = |key: &str| Duration::from_secs(config[key].as_u64().unwrap());
    let on_stale = match config["on_stale"].as_str() {
        Some("allow") => OnStale::Allow,
        Some("deny") | None => OnStale::Deny,
        Some(other) => panic!("{other}"),
    };
    assert_eq!(seconds("sync_interval_s"), Duration::from_secs(1), "the constant");
    let settings = || {
        settings()
            .leeway(seconds("leeway"))
            .max_staleness(seconds("max_staleness_s"))
            .on_stale(on_stale)
    };
    let clock = Clock::at(START);
    // One store, to which the connection of the second instance can be cut.
    let store = MemoryStore::new();
    let remote = FaultyStore::new(store.clone());
    let instances = [
        Instance::new(settings(), store.clone(), &clock),
        Instance::new(settings(), remote.clone(), &clock),
    ];
    instances.iter().for_each(|instance| wait(instance.service.open()).unwrap());

    let mut issued: HashMap<String, IssuedTokens> = HashMap::new();
    let mut synced = clock.now();
    for step in case["steps"].as_array().unwrap() {
        move_to(&clock, time_of(step));
        // As the background task of an app does it; an instance without its store cannot.
        if clock.now().since(synced) >= seconds("sync_interval_s") {
            instances.iter().for_each(|instance| drop(wait(instance.service.sync())));
            synced = clock.now();
        }
        let text = |key: &str| step[key].as_str().unwrap();
        let at = |key: &str| step[key].as_u64().map(|seconds| START + seconds);
        let number = step["instance"].as_u64().unwrap_or(1) as usize;
        let instance = &instances[number - 1];
        let tokens = instance.tokens();
        match text("do") {
            "revoke" => {
                let expires = Timestamp::from_seconds(at("exp").unwrap());
                wait(tokens.revoke_token(text("jti"), expires)).unwrap();
            }
            "revoke_by_token" => {
                let token = wait(tokens.login(ada())).unwrap();
                wait(tokens.revoke_token(&token.id, token.expires)).unwrap();
                issued.insert(text("token").to_owned(), token);
            }
            "revoke_user" => {
                let mut news = instance.news();
                wait(tokens.revoke_user(text("user"))).unwrap();
                let before = START + step["expect"]["cut"].as_u64().unwrap();
                let user: Box<str> = text("user").into();
                let RevocationEvent::TokensOf { user: of, cut } = news.try_recv().unwrap() else {
                    panic!("{name}");
                };
                assert_eq!((of, cut.before), (user, before), "{name}");
            }
            "issue" => {
                let token = tokens.issue(&Identity::new(text("sub"))).unwrap();
                let iat = START + step["expect"]["iat"].as_u64().unwrap();
                assert_eq!(token.issued.seconds(), iat, "{name}");
                issued.insert(text("jti").to_owned(), token);
            }
            "size" => {
                wait(instance.service.sync()).unwrap();
                wait(instance.service.forget(clock.now()));
                wait(instance.service.purge(clock.now()));
                assert_eq!(instance.service.revocations(), 0, "{name}: in the process");
                let kept = wait(store.revocations(0)).unwrap();
                assert_eq!(step["expect"], kept.revocations.len(), "{name}: in the store");
            }
            "partition" => remote.fail(),
            "verify" => {
                let id = step["jti"].as_str().unwrap_or("J0");
                let token = issued.get(id).map_or_else(
                    || {
                        let now = clock.now().seconds();
                        let exp = at("token_exp").unwrap_or(now + 300);
                        let iat = at("iat").unwrap_or(exp - 300);
                        let user = step["sub"].as_str().unwrap_or("user-1");
                        instance.sign(id, user, iat, exp)
                    },
                    |token| {
                        assert_eq!(token.issued.seconds(), at("iat").unwrap(), "{name}");
                        token.access_token.clone()
                    },
                );
                let outcome = instance.verify(&token).err().map_or("ok", TokenError::detail);
                assert_eq!(outcome, text("expect"), "{name}");
            }
            "verify_malleated" => {
                assert_eq!(text("expect"), "revoked or malformed");
                let token = &issued[text("of")].access_token;
                assert_eq!(instance.verify(token), Err(TokenError::Revoked));
                for other in other_texts(token) {
                    let outcome = instance.verify(&other);
                    let fine = [Err(TokenError::Revoked), Err(TokenError::Malformed)];
                    assert!(fine.contains(&outcome), "{name}: {outcome:?} for {other}");
                }
            }
            other => panic!("{name}: {other}"),
        }
    }
}

/// The clock of the instance that issued the token is ahead by almost the leeway.
#[test]
fn a_cut_off_is_known_as_long_as_a_token_of_any_instance_is_accepted() {
    let (clock, ahead) = (Clock::at(START), Clock::at(START + 29));
    let (store, hour) = (MemoryStore::new(), Duration::from_secs(3600));
    let one = Instance::new(settings().lifetime(hour), store.clone(), &clock);
    let other = Instance::new(settings().lifetime(hour), store, &ahead);
    for instance in [&one, &other] {
        wait(instance.service.open()).unwrap();
    }
    let token = other.tokens().issue(&ada()).unwrap().access_token;
    wait(one.tokens().revoke_user("ada")).unwrap();
    clock.advance(hour + Duration::from_secs(40));
    wait(one.service.sync()).unwrap();
    wait(one.service.forget(clock.now()));
    assert_eq!(one.verify(&token), Err(TokenError::Revoked));
}

/// All expired revocations are dropped: otherwise the memory of a busy service grows without end.
#[test]
fn every_revocation_that_is_over_is_dropped() {
    let clock = Clock::at(START);
    let instance = Instance::new(settings(), MemoryStore::new(), &clock);
    let tokens = instance.tokens();
    for number in 0..2500 {
        wait(tokens.revoke_token(&number.to_string(), clock.now())).unwrap();
    }
    wait(tokens.revoke_user("ada")).unwrap();
    assert_eq!(instance.service.revocations(), 2501);
    clock.advance(Duration::from_secs(60));
    wait(instance.service.forget(clock.now()));
    assert_eq!(instance.service.revocations(), 1, "the cut-off is still needed");
}

/// Texts that a lenient decoder treats as the same token: other unused bits at the end of the
/// signature, padding, white space.
fn other_texts(token: &str) -> Vec<String> {
    const SIGNS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (rest, last) = token.split_at(token.len() - 1);
    // Four characters stand for the same last four bits.
    let same = SIGNS.chars().skip(SIGNS.find(last).unwrap() / 4 * 4).take(4);
    let others = same.map(|sign| format!("{rest}{sign}")).filter(|other| other != token);
    others.chain([format!("{token}="), format!("{token}\n"), format!(" {token}")]).collect()
}
