//! Receives the news of other instances.

use std::{sync::Arc, time::Duration};

use tokio_postgres::{AsyncMessage, Client};

use super::connection::{Database, Failure};
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

/// How often the connection is checked.
const PULSE: Duration = Duration::from_secs(5);

/// A connection that is subscribed to the news.
pub(super) struct Subscription {
    client: Client,
    _task: BackgroundTask,
}

/// Subscribes to the news, which are passed on from then on.
pub(super) async fn subscribe(
    database: &Database,
    news: &NewsFeed,
) -> Result<Subscription, Failure> {
    let (feed, channel) = (news.clone(), database.channel());
    let hear = move |message| {
        if let AsyncMessage::Notification(notification) = message
            && notification.channel() == channel
            && let Some(news) = notification::read(notification.payload())
        {
            feed.tell(news);
        }
    };
    let (client, task) = database.connect(hear).await?;
    let subscription = Subscription { client, _task: BackgroundTask::new(task.abort_handle()) };
    call(&subscription.client, &format!("LISTEN \"{}\"", database.channel())).await?;
    Ok(subscription)
}

/// Listens until the store is dropped. Without a runtime no news are received, and instances depend on
/// polling.
pub(super) fn spawn(
    database: Arc<Database>,
    first: Subscription,
    news: NewsFeed,
) -> BackgroundTask {
    BackgroundTask::spawn(&timers::lasting_runtime(), listen(database, first, news))
}

async fn listen(database: Arc<Database>, first: Subscription, news: NewsFeed) {
    let mut subscription = Some(first);
    let mut pause = MIN_BACKOFF;
    loop {
        if let Some(Subscription { client, _task }) = subscription.take() {
            pause = MIN_BACKOFF;
            while call(&client, "").await.is_ok() {
                timers::sleep(PULSE).await;
            }
        }
        timers::sleep(pause.mul_f64(0.5 + random())).await;
        pause = (pause * 2).min(MAX_BACKOFF);
        if let Ok(again) = subscribe(&database, &news).await {
            // News may have been lost while there was no subscription.
            news.tell(News::Missed);
            subscription = Some(again);
        }
    }
}

/// Runs a statement within the interval of a check.
async fn call(client: &Client, statement: &str) -> Result<(), Failure> {
    tokio::select! {
        done = client.batch_execute(statement) => Ok(done?),
        () = timers::sleep(PULSE) => Err(Failure::NoAnswer),
    }
}
