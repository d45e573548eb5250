//! Listens for what other instances tell.

use std::{sync::Arc, time::Duration};

use tokio_postgres::{AsyncMessage, Client};

use super::connection::{Database, Failure};
use crate::{
    base::{task::BackgroundTask, timers},
    store::{News, NewsFeed, circuit::random, notification},
};

/// The shortest and the longest time until the next connection. It doubles with each attempt that
/// fails, and is random by half.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// How often the server is asked whether it is still there.
const PULSE: Duration = Duration::from_secs(5);

/// A connection that hears what is told.
pub(super) struct Subscription {
    client: Client,
    _task: BackgroundTask,
}

/// Begins to listen. What is told from then on is passed on.
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

/// Listens until the store is dropped. Without a runtime nothing is heard, and the looks at the store
/// remain.
pub(super) fn spawn(
    database: Arc<Database>,
    first: Subscription,
    news: NewsFeed,
) -> BackgroundTask {
    BackgroundTask::spawn(&timers::lasting_runtime(), listen(database, first, news))
}

async fn listen(database: Arc<Database>, first: Subscription, news: NewsFeed) {
    let mut subscription = Some(first);
    let mut pause = SHORTEST;
    loop {
        if let Some(Subscription { client, _task }) = subscription.take() {
            pause = SHORTEST;
            while call(&client, "").await.is_ok() {
                timers::sleep(PULSE).await;
            }
        }
        timers::sleep(pause.mul_f64(0.5 + random())).await;
        pause = (pause * 2).min(LONGEST);
        if let Ok(again) = subscribe(&database, &news).await {
            // Of what was told until now.
            news.tell(News::Missed);
            subscription = Some(again);
        }
    }
}

/// Asks for this, within the time of a pulse.
async fn call(client: &Client, statement: &str) -> Result<(), Failure> {
    tokio::select! {
        done = client.batch_execute(statement) => Ok(done?),
        () = timers::sleep(PULSE) => Err(Failure::NoAnswer),
    }
}
