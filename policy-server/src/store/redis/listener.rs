//! Listens for what other instances tell.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use redis::{Msg, Value};
use tokio::select;

use super::connection::{Database, Subscription};
use crate::{
    base::{task::BackgroundTask, timers},
    store::{News, NewsFeed, circuit::random, notification},
};

/// The shortest and the longest time until the next connection. It doubles with each attempt that
/// fails, and is random by half.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// How often the server is asked whether it is still there, and the sentinels whether it is still the
/// primary.
const PULSE: Duration = Duration::from_secs(5);

/// Listens until the store is dropped, over this connection at first. Without a runtime nothing is
/// heard, and the looks at the store remain.
pub(super) fn spawn(
    database: Arc<Database>,
    first: Subscription,
    news: NewsFeed,
) -> BackgroundTask {
    BackgroundTask::spawn(&timers::lasting_runtime(), listen(database, first, news))
}

async fn listen(database: Arc<Database>, first: Subscription, news: NewsFeed) {
    hear(&database, first, &news).await;
    let mut pause = SHORTEST;
    loop {
        timers::sleep(pause.mul_f64(0.5 + random())).await;
        pause = (pause * 2).min(LONGEST);
        if let Ok(subscription) = database.subscribe().await {
            // Of what was told until now.
            news.tell(News::Missed);
            hear(&database, subscription, &news).await;
            pause = SHORTEST;
        }
    }
}

/// Passes on what is heard, until the connection ends or another server is the primary.
async fn hear(database: &Database, subscription: Subscription, news: &NewsFeed) {
    let (mut sink, mut messages) = subscription.connection.split();
    let pulse = async {
        loop {
            timers::sleep(PULSE).await;
            let answers = select! {
                answer = sink.ping::<Value>() => answer.is_ok(),
                () = timers::sleep(PULSE) => false,
            };
            database.look_again().await;
            if !answers || !database.is_at(&subscription.host) {
                break;
            }
        }
    };
    let pass_on = async {
        while let Some(message) = messages.next().await {
            if let Some(one) = read(&message) {
                news.tell(one);
            }
        }
    };
    select! {
        () = pulse => (),
        () = pass_on => (),
    }
}

fn read(message: &Msg) -> Option<News> {
    notification::read(str::from_utf8(message.get_payload_bytes()).ok()?)
}
