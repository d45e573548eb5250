//! Receives the news of other instances.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use redis::{Msg, Value};
use tokio::select;

use super::connection::{Database, Subscription};
use crate::{
    base::{task::BackgroundTask, timers},
    store::{
        News, NewsFeed,
        shared::{circuit::random, notification},
    },
};

/// Backoff of reconnection: exponential with 50 % jitter.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How often the connection is checked, and the sentinels are asked for the primary.
const PULSE: Duration = Duration::from_secs(5);

/// Listens until the store is dropped, first over this connection. Without a runtime no news are received,
/// and instances depend on polling.
pub(super) fn spawn(
    database: Arc<Database>,
    first: Subscription,
    news: NewsFeed,
) -> BackgroundTask {
    BackgroundTask::spawn(&timers::lasting_runtime(), listen(database, first, news))
}

async fn listen(database: Arc<Database>, first: Subscription, news: NewsFeed) {
    hear(&database, first, &news).await;
    let mut pause = MIN_BACKOFF;
    loop {
        timers::sleep(pause.mul_f64(0.5 + random())).await;
        pause = (pause * 2).min(MAX_BACKOFF);
        if let Ok(subscription) = database.subscribe().await {
            // News may have been lost while there was no subscription.
            news.tell(News::Missed);
            hear(&database, subscription, &news).await;
            pause = MIN_BACKOFF;
        }
    }
}

/// Passes on news until the connection ends or another server is the primary.
async fn hear(database: &Database, subscription: Subscription, news: &NewsFeed) {
    let (mut sink, mut messages) = subscription.connection.split();
    let pulse = async {
        loop {
            timers::sleep(PULSE).await;
            let answers = select! {
                answer = sink.ping::<Value>() => answer.is_ok(),
                () = timers::sleep(PULSE) => false,
            };
            database.follow_sentinels().await;
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
