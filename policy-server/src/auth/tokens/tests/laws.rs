//! Laws of refresh tokens and revocations, for any order of operations.

use std::{cell::Cell, collections::HashSet, sync::mpsc};

use policy_core_tests::law::{Precondition, assert_usual, holds};
use proptest::prelude::*;

use super::*;

/// A step of two clients with the tokens of one login: its owner, and a thief of one token. Both
/// continue with the tokens that they get.
#[derive(Clone, Debug)]
enum Step {
    /// A client uses its latest token, or an older one.
    Refresh {
        thief: bool,
        age: usize,
    },
    /// The thief obtains the owner's latest token.
    Steal,
    Logout {
        age: usize,
    },
    RevokeUser,
    Wait {
        seconds: u64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        16 => (any::<bool>(), 0..3_usize).prop_map(|(thief, age)| Step::Refresh { thief, age }),
        5 => Just(Step::Steal),
        1 => (0..3_usize).prop_map(|age| Step::Logout { age }),
        1 => Just(Step::RevokeUser),
        8 => (0..15_u64).prop_map(|seconds| Step::Wait { seconds }),
    ];
    prop::collection::vec(step, 1..24)
}

/// The state after some steps.
struct HandlerOutcome {
    instance: Instance,
    clock: Clock,
    /// All refresh tokens that were issued, in the order of their family.
    chain: Vec<String>,
    access: Vec<String>,
    has_reuse: bool,
    is_ended: bool,
    repeated: usize,
}

fn play(steps: &[Step]) -> HandlerOutcome {
    let clock = Clock::at(START);
    let instance = Instance::new(settings(), MemoryStore::new(), &clock);
    let tokens = instance.tokens();
    let mut news = instance.news();
    let first = wait(tokens.login(ada())).unwrap();
    let mut chain = vec![first.refresh_token.unwrap()];
    let mut access = vec![first.access_token];
    let mut held = [vec![chain[0].clone()], Vec::new()];
    let (mut has_reuse, mut is_ended, mut repeated) = (false, false, 0);
    for step in steps {
        match *step {
            Step::Wait { seconds } => clock.advance(Duration::from_secs(seconds)),
            Step::Steal => {
                let stolen = held[0].last().unwrap().clone();
                held[1].push(stolen);
            }
            Step::Logout { age } => {
                let text = held[0].iter().rev().nth(age).unwrap_or(&chain[0]).clone();
                assert_eq!(wait(tokens.logout(&text)).unwrap(), !is_ended);
                is_ended = true;
            }
            Step::RevokeUser => {
                assert_eq!(wait(tokens.revoke_user("ada")).unwrap(), u64::from(!is_ended));
                is_ended = true;
            }
            Step::Refresh { thief, age } => {
                let Some(text) = held[usize::from(thief)].iter().rev().nth(age).cloned() else {
                    continue;
                };
                while news.try_recv().is_ok() {}
                match wait(tokens.refresh(&text)) {
                    Ok(issued) => {
                        assert!(!is_ended, "a family that ended gave a token");
                        let token = issued.refresh_token.unwrap();
                        let place = chain.iter().position(|known| *known == text).unwrap();
                        if place + 1 < chain.len() {
                            assert_eq!(chain.last(), Some(&token), "the family forked");
                            repeated += 1;
                        } else {
                            chain.push(token.clone());
                        }
                        access.push(issued.access_token);
                        held[usize::from(thief)].push(token);
                    }
                    Err(_) if is_ended => (),
                    Err(_) => {
                        assert!(news.try_recv().is_ok(), "its access tokens end with it");
                        (is_ended, has_reuse) = (true, true);
                    }
                }
            }
        }
    }
    HandlerOutcome { instance, clock, chain, access, has_reuse, is_ended, repeated }
}

/// Any order of refreshes, thefts and logouts by two clients leaves at most one valid refresh token
/// in the family once the grace is over. A logout, a revocation or a reuse leaves none, and no
/// access token of the family works later.
#[test]
fn a_family_has_one_living_token_or_none() {
    let [tried, reused, alive, repeated] = [const { Cell::new(0_u64) }; 4];
    let count = |cell: &Cell<u64>, is_one: bool| cell.set(cell.get() + u64::from(is_one));
    holds("one living token: ended", 63, steps(), |steps| {
        let known = play(&steps).chain.len();
        // Using a token changes the family, so each token is tried on a copy.
        let mut living = 0;
        for place in 0..known {
            let after = play(&steps);
            after.clock.advance(Duration::from_secs(10));
            let text = &after.chain[place];
            let lives = wait(after.instance.tokens().refresh(text)).is_ok();
            prop_assert!(!(lives && after.is_ended));
            living += usize::from(lives);
        }
        let after = play(&steps);
        prop_assert_eq!(living, usize::from(!after.is_ended));
        count(&tried, true);
        count(&alive, living > 0);
        count(&reused, after.has_reuse);
        count(&repeated, after.repeated > 0);
        if after.is_ended {
            // Until the last of them has expired: 300 s, and 30 s of leeway.
            for _ in 0..12 {
                for token in &after.access {
                    let outcome = after.instance.verify(token);
                    let refused = [TokenError::Revoked, TokenError::Expired];
                    prop_assert!(outcome.is_err_and(|error| refused.contains(&error)));
                }
                after.clock.advance(Duration::from_secs(30));
                wait(after.instance.service.sync()).unwrap();
            }
        }
        Ok(Precondition::met_if(after.is_ended))
    });
    let tried = tried.get();
    assert_usual("one living token: alive", alive.get(), tried, 38);
    assert_usual("one living token: reused", reused.get(), tried, 16);
    assert_usual("one living token: given twice", repeated.get(), tried, 21);
}

/// A revoked token is refused at all later times, by every instance that has polled the store.
#[test]
fn revoked_tokens_are_refused_for_good() {
    #[derive(Clone, Debug)]
    enum Step {
        Issue { user: u8 },
        Token { pick: usize },
        User { user: u8 },
        All,
        Wait { millis: u64 },
    }
    let step = prop_oneof![
        6 => (0..3_u8).prop_map(|user| Step::Issue { user }),
        2 => any::<usize>().prop_map(|pick| Step::Token { pick }),
        1 => (0..3_u8).prop_map(|user| Step::User { user }),
        1 => Just(Step::All),
        4 => (0..40_000_u64).prop_map(|millis| Step::Wait { millis }),
    ];
    let steps = prop::collection::vec(step, 1..30);
    holds("revoked for good: good and refused tokens", 81, steps, |steps| {
        let (mut refused, mut good) = (0, 0);
        let clock = Clock::at(START);
        let store = MemoryStore::new();
        let [one, two] = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
        let mut issued: Vec<(u8, IssuedTokens)> = Vec::new();
        let mut revoked: HashSet<Box<str>> = HashSet::new();
        for step in steps {
            let tokens = one.tokens();
            match step {
                Step::Wait { millis } => clock.advance(Duration::from_millis(millis)),
                Step::Issue { user } => {
                    let token = tokens.issue(&Identity::new(user)).unwrap();
                    issued.push((user, token));
                }
                Step::Token { pick } if !issued.is_empty() => {
                    let (_, token) = &issued[pick % issued.len()];
                    wait(tokens.revoke_token(&token.id, token.expires)).unwrap();
                    revoked.insert(token.id.clone());
                }
                Step::Token { .. } => (),
                Step::User { user } => {
                    wait(tokens.revoke_user(&user.to_string())).unwrap();
                    let theirs = issued.iter().filter(|(whose, _)| *whose == user);
                    revoked.extend(theirs.map(|(_, token)| token.id.clone()));
                }
                Step::All => {
                    wait(tokens.revoke_all()).unwrap();
                    revoked.extend(issued.iter().map(|(_, token)| token.id.clone()));
                }
            }
            wait(two.service.sync()).unwrap();
            for (_, token) in &issued {
                let is_over = clock.now() >= token.expires.after(Duration::from_secs(30));
                let wanted = match revoked.contains(&token.id) {
                    _ if is_over => Err(TokenError::Expired),
                    true => Err(TokenError::Revoked),
                    false => Ok(()),
                };
                let counted = if wanted.is_ok() { &mut good } else { &mut refused };
                *counted += usize::from(!is_over);
                prop_assert_eq!(one.verify(&token.access_token), wanted);
                prop_assert_eq!(two.verify(&token.access_token), wanted);
            }
        }
        Ok(Precondition::met_if(refused > 0 && good > 0))
    });
}

/// A refresh that races the end of its family returns nothing that stays valid.
#[test]
fn nothing_slips_through_while_a_family_ends() {
    for round in 0..100 {
        let clock = Clock::at(START);
        let instance = Instance::new(settings(), MemoryStore::new(), &clock);
        let first = wait(instance.tokens().login(ada())).unwrap().refresh_token.unwrap();
        let (begin, has_begun) = mpsc::channel();
        let refresh_on = || {
            let mut gained: Vec<IssuedTokens> = Vec::new();
            let mut text = first.clone();
            while let Ok(issued) = wait(instance.tokens().refresh(&text)) {
                text = issued.refresh_token.clone().unwrap();
                gained.push(issued);
                // Only the first one is waited for.
                let _ = begin.send(());
            }
            gained
        };
        let gained = thread::scope(|scope| {
            let refreshes = [(); 2].map(|()| scope.spawn(refresh_on));
            has_begun.recv_timeout(PATIENCE).expect("a first refresh within a minute");
            let tokens = instance.tokens();
            match round % 2 {
                0 => _ = wait(tokens.logout(&first)).unwrap(),
                _ => _ = wait(tokens.revoke_user("ada")).unwrap(),
            }
            refreshes.map(|thread| thread.join().unwrap()).concat()
        });
        assert!(!gained.is_empty());
        for issued in gained {
            assert_eq!(instance.verify(&issued.access_token), Err(TokenError::Revoked));
            assert!(wait(instance.tokens().refresh(&issued.refresh_token.unwrap())).is_err());
        }
    }
}
