use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};

use super::*;

const LONGEST: Duration = Duration::from_secs(100);
const LEEWAY: Duration = Duration::from_secs(30);

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn fresh() -> RevocationSet {
    let mut set = RevocationSet::new(LONGEST, Duration::from_secs(5));
    set.caught_up(since(0));
    set
}

fn since(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn cut(before: u64) -> TokenCutOff {
    TokenCutOff { before, number: 0 }
}

/// The status of the token `j` of user `u`, issued at 0.
fn status(set: &RevocationSet, session: Option<&str>, now: Duration) -> RevocationStatus {
    set.status(at(0), now, || TokenNames { id: "j", session, user: "u", cut_offs: None })
}

#[test]
fn a_set_that_never_caught_up_is_stale() {
    let mut set = RevocationSet::new(LONGEST, Duration::from_secs(5));
    assert_eq!(status(&set, None, since(0)), RevocationStatus::Stale);
    set.caught_up(since(10));
    assert_eq!(status(&set, None, since(15)), RevocationStatus::Good);
    assert_eq!(status(&set, None, Duration::from_millis(15_001)), RevocationStatus::Stale);
    set.caught_up(since(9));
    assert!(!set.is_stale(since(15)), "an answer that came late sets nothing back");
}

#[test]
fn a_stale_set_still_reports_its_revocations() {
    let mut set = fresh();
    set.revoke_token("j", at(300));
    assert_eq!(status(&set, None, since(200)), RevocationStatus::Revoked);
}

#[test]
fn tokens_of_one_login_are_revoked_together() {
    let mut set = fresh();
    set.revoke_token("s", at(300));
    assert_eq!(status(&set, Some("s"), since(1)), RevocationStatus::Revoked);
    assert_eq!(status(&set, Some("t"), since(1)), RevocationStatus::Good);
}

#[test]
fn entries_are_kept_until_their_end_and_not_longer() {
    let mut set = fresh();
    assert!(set.revoke_token("j", at(300)));
    assert!(!set.revoke_token("j", at(200)), "an end does not move forward");
    assert!(!set.revoke_token("j", at(330)), "and a later one is no news");
    assert!(set.revoke_user("u", cut(230)));
    set.expire(at(329), 10);
    assert_eq!(set.len(), 2);
    set.expire(at(330), 10);
    assert!(set.is_empty());
}

#[test]
fn expiring_stops_at_its_limit() {
    let mut set = fresh();
    (0..10).for_each(|n| assert!(set.revoke_token(&n.to_string(), at(n))));
    assert!(set.expire(at(20), 4));
    assert_eq!(set.len(), 6);
    assert!(!set.expire(at(20), 7));
}

/// Also while the filter is rebuilt for more of them, and while others end.
#[test]
fn many_are_revoked_each_until_its_end() {
    let mut set = fresh();
    let status = |set: &RevocationSet, id: u64, user: u64| {
        let (id, user) = (format!("t{id}"), format!("u{user}"));
        let names = TokenNames { id: &id, session: None, user: &user, cut_offs: None };
        set.status(at(0), since(0), || names)
    };
    for number in 0..2000 {
        set.revoke_token(&format!("t{number}"), at(number));
        set.revoke_token(&format!("t{number}"), at(number + 1));
        set.revoke_user(&format!("u{number}"), cut(number + 1));
    }
    for now in (0..2000).step_by(100) {
        set.expire(at(now), usize::MAX);
        for number in 0..2000 {
            let expected = |ends| match now < ends {
                true => RevocationStatus::Revoked,
                false => RevocationStatus::Good,
            };
            assert_eq!(status(&set, number, 9999), expected(number + 1), "{number} {now}");
            assert_eq!(status(&set, 9999, number), expected(number + 101), "{number} {now}");
        }
    }
}

/// The number decides if the second does not, and the second if there is no number.
#[test]
fn a_cut_off_covers_credentials_issued_before_it_by_number_or_time() {
    let mut set = fresh();
    assert!(set.revoke_user("u", TokenCutOff { before: 100, number: 7 }));
    let status = |set: &RevocationSet, issued, cut_offs| {
        let names = TokenNames { id: "j", session: None, user: "u", cut_offs };
        set.status(at(issued), since(0), || names)
    };
    for (issued, number, expected) in [
        (99, Some(7), RevocationStatus::Revoked),
        (99, None, RevocationStatus::Revoked),
        (100, Some(7), RevocationStatus::Good),
        (100, None, RevocationStatus::Good),
        (5000, Some(6), RevocationStatus::Revoked),
    ] {
        assert_eq!(status(&set, issued, number), expected, "{issued} {number:?}");
    }
    assert!(!set.revoke_user("u", TokenCutOff { before: 50, number: 6 }), "it moves back");
    assert!(set.revoke_all(TokenCutOff { before: 0, number: 9 }));
    assert_eq!(status(&set, 5000, Some(8)), RevocationStatus::Revoked);
    assert_eq!(status(&set, 5000, Some(9)), RevocationStatus::Good);
    assert!(
        set.revoke_user("u", TokenCutOff { before: 50, number: 10 }),
        "a second one in its second"
    );
    assert_eq!(status(&set, 5000, Some(9)), RevocationStatus::Revoked);
}

#[test]
fn all_cut_offs_of_one_second_name_the_next_second() {
    let mut set = fresh();
    for number in 1..=100 {
        set.revoke_user("u", TokenCutOff { before: set.cut_off("u", at(50)), number });
        set.revoke_all(TokenCutOff { before: set.cut_off_of_all(at(50)), number });
    }
    assert_eq!(set.issue_time("u", at(50)), at(51));
    let status = |known| {
        let cut_offs = Some(known);
        let names = || TokenNames { id: "j", session: None, user: "u", cut_offs };
        set.status(at(51), since(0), names)
    };
    assert_eq!([99, 100].map(status), [RevocationStatus::Revoked, RevocationStatus::Good]);
}

/// A request may begin before a cut-off and issue after its entry was dropped.
#[test]
fn a_dropped_cut_off_is_remembered_by_its_number() {
    let mut set = fresh();
    set.revoke_user("u", TokenCutOff { before: 1, number: 7 });
    assert_eq!([6, 7].map(|known| set.is_cut_off("u", known)), [true, false]);
    assert!(!set.is_cut_off("other", 6));
    set.expire(at(1000), 10);
    assert!(set.is_empty());
    assert_eq!([6, 7].map(|known| set.is_cut_off("u", known)), [true, false]);
    set.revoke_all(TokenCutOff { before: 1, number: 9 });
    assert!(set.is_cut_off("other", 8));
}

#[derive(Clone, Debug)]
enum Step {
    Token { id: u8, life: u64 },
    User { user: u8 },
    All,
    Expire,
    Wait { seconds: u64 },
    Issue { id: u8, user: u8, life: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6_u8, 1..70_u64).prop_map(|(id, life)| Step::Token { id, life }),
        2 => (0..3_u8).prop_map(|user| Step::User { user }),
        1 => Just(Step::All),
        2 => Just(Step::Expire),
        4 => (0..40_u64).prop_map(|seconds| Step::Wait { seconds }),
        4 => (0..6_u8, 0..3_u8, 1..70_u64)
            .prop_map(|(id, user, life)| Step::Issue { id, user, life }),
    ];
    prop::collection::vec(step, 1..60)
}

/// A revoked token, by its id or by a cut-off, is refused at every later time until its
/// lifetime and the leeway are over, regardless of other revocations and dropped entries; and
/// no other token is refused.
#[test]
fn revoked_is_revoked_until_the_end() {
    struct Issued {
        id: String,
        user: String,
        iat: u64,
        exp: u64,
        /// The number of the newest cut-off.
        known: u64,
        is_revoked: bool,
    }
    let refused = Cell::new(0);
    let forgotten = Cell::new(0);
    let config = Config::default();
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(()),
    };
    println!("PROPTEST_RNG_SEED={seed}");
    let config = Config { rng_seed: RngSeed::Fixed(seed), ..config };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            let mut set = fresh();
            let mut issued: Vec<Issued> = Vec::new();
            let (mut now, mut number) = (1000, 0);
            for step in steps {
                match step {
                    Step::Wait { seconds } => now += seconds,
                    Step::Issue { id, user, life } => {
                        // Ids are unique, as 16 random bytes are.
                        let id = format!("{id}-{}", issued.len());
                        let user = user.to_string();
                        let iat = set.issue_time(&user, at(now)).seconds();
                        issued.push(Issued {
                            id,
                            user,
                            iat,
                            exp: iat + life,
                            known: number,
                            is_revoked: false,
                        });
                    }
                    Step::Token { id, life } => {
                        let mut of_id = issued.iter_mut().rev();
                        let named = format!("{id}-");
                        match of_id.find(|token| token.id.starts_with(&named)) {
                            Some(token) => {
                                set.revoke_token(&token.id, at(token.exp).after(LEEWAY));
                                token.is_revoked = true;
                            }
                            None => _ = set.revoke_token(&named, at(now + life)),
                        }
                    }
                    Step::User { user } => {
                        let user = user.to_string();
                        number += 1;
                        let before = set.cut_off(&user, at(now));
                        set.revoke_user(&user, TokenCutOff { before, number });
                        issued
                            .iter_mut()
                            .filter(|token| token.user == user)
                            .for_each(|token| token.is_revoked = true);
                    }
                    Step::All => {
                        number += 1;
                        let before = set.cut_off_of_all(at(now));
                        set.revoke_all(TokenCutOff { before, number });
                        issued.iter_mut().for_each(|token| token.is_revoked = true);
                    }
                    Step::Expire => {
                        let before = set.len();
                        set.expire(at(now), 100);
                        forgotten.set(forgotten.get() + before - set.len());
                    }
                }
                set.caught_up(since(now));
                for token in issued.iter().filter(|token| at(now) < at(token.exp).after(LEEWAY)) {
                    let status = set.status(at(token.iat), since(now), || TokenNames {
                        id: &token.id,
                        session: None,
                        user: &token.user,
                        cut_offs: Some(token.known),
                    });
                    let wanted = if token.is_revoked {
                        RevocationStatus::Revoked
                    } else {
                        RevocationStatus::Good
                    };
                    prop_assert_eq!(status, wanted, "{} at {}", &token.id, now);
                    refused.set(refused.get() + usize::from(token.is_revoked));
                }
            }
            Ok(())
        })
        .unwrap();
    assert!(refused.get() > 1000 && forgotten.get() > 100, "{refused:?} {forgotten:?}");
}
