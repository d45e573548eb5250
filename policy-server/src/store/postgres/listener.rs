//! Listens for what other instances tell.

use std::{sync::Arc, time::Duration};

use tokio_postgres::{AsyncMessage, Client};

use super::connection::Database;
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

/// Listens until the store is dropped. Without a runtime nothing is heard, and the looks at the store
/// remain.
pub(super) fn spawn(database: Arc<Database>, news: NewsFeed) -> BackgroundTask {
    let listen = listen(database, news);
    let task = match timers::runtime() {
        Ok(runtime) => runtime.spawn(listen),
        Err(_) => tokio::spawn(listen),
    };
    BackgroundTask::new(task.abort_handle())
}

async fn listen(database: Arc<Database>, news: NewsFeed) {
    let mut pause = SHORTEST;
    loop {
        let (feed, channel) = (news.clone(), database.channel());
        let hear = move |message| {
            if let AsyncMessage::Notification(notification) = message
                && notification.channel() == channel
                && let Some(news) = notification::read(notification.payload())
            {
                feed.tell(news);
            }
        };
        if let Ok((client, task)) = database.connect(hear).await {
            let _ends_with_this = BackgroundTask::new(task.abort_handle());
            if call(&client, &format!("LISTEN \"{}\"", database.channel())).await {
                // Of what was told until now.
                news.tell(News::Missed);
                pause = SHORTEST;
                while call(&client, "").await {
                    timers::sleep(PULSE).await;
                }
            }
        }
        timers::sleep(pause.mul_f64(0.5 + random())).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// Whether the server does this within the time of a pulse.
async fn call(client: &Client, statement: &str) -> bool {
    tokio::select! {
        done = client.batch_execute(statement) => done.is_ok(),
        () = timers::sleep(PULSE) => false,
    }
}
