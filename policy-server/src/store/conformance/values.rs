//! Named values.

use std::sync::Arc;

use super::{ROUNDS, answer, news::hears, race, rule};
use crate::store::{News, StoredValue, ValueStore};

pub(super) async fn run<S: ValueStore>(make: &impl Fn() -> S) {
    let store = Arc::new(make());
    answer(store.open()).await;
    versions(&*store).await;
    changes_at_once(&store).await;
    sends_news(&*store).await;
}

fn value(text: &str) -> Box<[u8]> {
    text.as_bytes().into()
}

async fn versions<S: ValueStore>(store: &S) {
    rule(answer(store.value("a")).await.is_none(), "a value that was not stored is none");
    rule(
        !answer(store.set_value("a", 1, value("x"))).await,
        "a value that does not exist has no version",
    );
    rule(answer(store.value("a")).await.is_none(), "a refused `set_value` stores nothing");
    rule(answer(store.set_value("a", 0, value("x"))).await, "version 0 stores a new value");
    rule(!answer(store.set_value("a", 0, value("y"))).await, "version 0 does not replace a value");
    rule(answer(store.set_value("a", 1, value(""))).await, "a value is replaced at its version");
    rule(!answer(store.set_value("a", 1, value("y"))).await, "an older version replaces nothing");
    let stored = Some(StoredValue::new(2, value("")));
    rule(
        answer(store.value("a")).await == stored,
        "the last stored value counts, and may be empty",
    );
    let odd = "a b'\"\\ä:{}";
    rule(answer(store.value(odd)).await.is_none(), "names are distinguished");
    rule(answer(store.set_value(odd, 0, [0, 255, 7].into())).await, "a name may be any text");
    let stored = Some(StoredValue::new(1, [0, 255, 7].into()));
    rule(answer(store.value(odd)).await == stored, "a value may be any bytes");
    rule(answer(store.value("a")).await.is_some_and(|a| a.version == 2), "names are distinguished");
}

async fn changes_at_once<S: ValueStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let expected = u64::from(round);
        let done = race(store, |store, racer| async move {
            answer(store.set_value("counted", expected, [racer as u8].into())).await
        })
        .await;
        rule(
            done.iter().filter(|done| **done).count() == 1,
            "of concurrent `set_value` calls at one version, one succeeds",
        );
        let winner = done.iter().position(|done| *done).map(|racer| [racer as u8]);
        let stored = answer(store.value("counted")).await;
        rule(
            stored.is_some_and(|stored| {
                stored.version == expected + 1 && winner.is_some_and(|value| *stored.value == value)
            }),
            "the stored value is that of the successful call",
        );
    }
}

async fn sends_news<S: ValueStore>(store: &S) {
    let Some(mut news) = store.news() else { return };
    answer(store.set_value("told: a b", 0, value("x"))).await;
    rule(hears(&mut news, &News::Value("told: a b".into())).await, "news report a value");
}
