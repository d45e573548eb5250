//! Laws of refresh tokens and revocations, for any order of operations.

use std::{collections::HashSet, sync::mpsc};

use policy_core_tests::law::{Precondition, holds};
use proptest::prelude::*;

use super::*;

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
