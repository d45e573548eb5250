//! Background tasks: they remove expired sessions, learn revocations of other processes, and fetch
//! keys of external issuers.

use std::{sync::Arc, time::Duration};

use tokio::runtime::Handle;

use super::AuthService;
use crate::{
    auth::session::SessionService,
    base::{event::log, task::BackgroundTask},
    store::NewsReader,
};

/// How often expired sessions are removed, and how many per step.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;

/// How often the session store is queried for cut-offs of other processes.
const LEARN_INTERVAL: Duration = Duration::from_secs(1);

impl AuthService {
    /// Starts the background tasks that the app needs, if a runtime is running.
    pub(crate) fn start_background_tasks(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if let Some(sessions) = &self.sessions {
            let task = runtime.spawn(purge(Arc::clone(sessions)));
            self.background_tasks.push(BackgroundTask::new(task.abort_handle()));
            let task = runtime.spawn(learn_cut_offs(Arc::clone(sessions)));
            self.background_tasks.push(BackgroundTask::new(task.abort_handle()));
            if let Some(news) = sessions.store().news() {
                let task = runtime.spawn(hear(Arc::clone(sessions), news));
                self.background_tasks.push(BackgroundTask::new(task.abort_handle()));
            }
        }
        if let Some(tokens) = &self.tokens {
            #[cfg(feature = "asym")]
            for keys in tokens.keep_keys() {
                self.background_tasks.push(BackgroundTask::new(runtime.spawn(keys).abort_handle()));
            }
            if let Some(following) = tokens.follow_keys() {
                let task = runtime.spawn(following);
                self.background_tasks.push(BackgroundTask::new(task.abort_handle()));
            }
            let tokens = Arc::clone(tokens);
            let task = runtime.spawn(async move { tokens.run().await });
            self.background_tasks.push(BackgroundTask::new(task.abort_handle()));
        }
    }
}

/// A failure is not logged: until the next success, a cut-off of another process refuses the first
/// login of its user.
async fn learn_cut_offs(sessions: Arc<SessionService>) {
    loop {
        sessions.clock().sleep(LEARN_INTERVAL).await;
        let _ = sessions.learn_cut_offs().await;
    }
}

async fn hear(sessions: Arc<SessionService>, mut news: NewsReader) {
    while let Some(news) = news.next().await {
        sessions.hear(news).await;
    }
}

async fn purge(sessions: Arc<SessionService>) {
    let clock = sessions.clock();
    loop {
        clock.sleep(PURGE_INTERVAL).await;
        // In small steps, so that requests run in between.
        loop {
            match sessions.store().purge(clock.steady(), PURGED_AT_ONCE).await {
                Ok(purged) if purged >= PURGED_AT_ONCE => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    log!(SessionsNotPurged, %error);
                    break;
                }
            }
        }
    }
}
