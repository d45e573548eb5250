//! Concurrent requests of one session, in whatever order they end.

use std::collections::BTreeMap;

use policy_core::session::HandlerOutcome;
use policy_core_tests::law::{Precondition, holds};
use proptest::prelude::*;

use super::{World, session, wait};
use crate::auth::session::Session;

/// Concurrent requests that write different keys do not undo each other, in whatever order they
/// end.
#[test]
fn concurrent_writes_to_different_keys_merge() {
    let order = Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle();
    holds("merged writes", 100, (order, prop::collection::vec(0..4_u8, 6)), |(order, kinds)| {
        let world = World::new(|sessions| sessions);
        let id = world.login(None, "ada");
        let requests: Vec<_> = (0..6).map(|_| world.request(Some(&id))).collect();
        let sessions: Vec<Session> = requests.iter().map(session).collect();
        let mut expected = BTreeMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            let (session, key) = (&sessions[number], format!("k{number}"));
            let value = match kind {
                0 => session.set(&key, 7).map(|()| serde_json::json!(7)),
                1 => session.increment(&key, 2).map(Into::into),
                2 => session.push(&key, 3, 9).map(|()| serde_json::json!([3])),
                _ => {
                    let of = key.clone();
                    let update = move |values: &mut serde_json::Map<_, _>| {
                        values.insert(of.clone(), "x".into());
                    };
                    session.update_with(update).map(|()| serde_json::json!("x"))
                }
            };
            expected.insert(key, value.unwrap());
            session.increment("all", 1).unwrap();
        }
        expected.insert("all".to_owned(), 6.into());
        world.store.take_calls();
        for number in order {
            let committed =
                wait(requests[number].commit(HandlerOutcome::Answered(http::StatusCode::OK)));
            prop_assert!(committed.is_ok());
        }
        let calls = world.store.take_calls();
        let conflicts = calls.iter().filter(|call| **call == "load").count();
        prop_assert_eq!(conflicts, 5, "each request but the first meets one");
        let request = world.request(Some(&id));
        let record = wait(request.load()).unwrap().unwrap();
        let stored: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&record.data).unwrap();
        prop_assert_eq!(stored, expected);
        Ok(Precondition::Met)
    });
}
