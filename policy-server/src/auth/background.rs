//! Background tasks: they remove expired sessions, read revocations of other processes, and fetch
//! keys of external issuers.

use std::{sync::Arc, time::Duration};

use tokio::runtime::Handle;

use super::AuthService;
#[cfg(feature = "metrics")]
use crate::base::event::count::{Count, count};
use crate::{
    auth::session::SessionService,
    base::{event::log, task::BackgroundTask, timers},
    store::{NewsReader, news::HINT_INTERVAL},
};

/// How often expired sessions are removed, and how many per step.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;

/// How often the session store is queried for cut-offs of other processes.
const LEARN_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of notifications that one query of the store handles.
const HEARD_AT_ONCE: usize = 1024;

impl AuthService {
    /// Starts the background tasks that the app needs, if a runtime is running.
    pub(crate) fn start_background_tasks(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let tasks = &mut self.background_tasks;
        if let Some(sessions) = &self.sessions {
            tasks.push(BackgroundTask::spawn(&runtime, purge(Arc::clone(sessions))));
            tasks.push(BackgroundTask::spawn(&runtime, learn_cut_offs(Arc::clone(sessions))));
            if let Some(news) = sessions.store.news() {
                tasks.push(BackgroundTask::spawn(&runtime, hear(Arc::clone(sessions), news)));
            }
        }
        if let Some(tokens) = &self.tokens {
            #[cfg(feature = "asym")]
            tasks.extend(tokens.keep_keys().map(|keys| BackgroundTask::spawn(&runtime, keys)));
            let following = tokens.follow_keys();
            tasks.extend(following.map(|following| BackgroundTask::spawn(&runtime, following)));
            let tokens = Arc::clone(tokens);
            tasks.push(BackgroundTask::spawn(&runtime, async move { tokens.run().await }));
        }
    }
}

/// A failure is not logged: until the next success, a cut-off of another process refuses the first
/// login of its user.
async fn learn_cut_offs(sessions: Arc<SessionService>) {
    loop {
        sessions.clock.sleep(LEARN_INTERVAL).await;
        let _ = sessions.learn_cut_offs().await;
    }
}

async fn hear(sessions: Arc<SessionService>, mut news: NewsReader) {
    while let Some(first) = news.next().await {
        let mut heard = vec![first];
        while heard.len() < HEARD_AT_ONCE
            && let Some(next) = news.try_next().await
        {
            heard.push(next);
        }
        if sessions.hear(heard).await {
            timers::sleep(HINT_INTERVAL).await;
        }
    }
}

async fn purge(sessions: Arc<SessionService>) {
    let clock = &sessions.clock;
    loop {
        clock.sleep(PURGE_INTERVAL).await;
        // In small steps, so that requests run in between.
        loop {
            match sessions.store.purge(clock.steady(), PURGED_AT_ONCE).await {
                Ok(purged) if purged >= PURGED_AT_ONCE => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    log!(SessionsNotPurged, %error);
                    break;
                }
            }
        }
        #[cfg(feature = "metrics")]
        if let Ok(Some(alive)) = sessions.store.count(clock.steady()).await {
            count(Count::Sessions(alive));
        }
    }
}
