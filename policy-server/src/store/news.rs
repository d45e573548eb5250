//! News: what a store passes on to the instances that share it as soon as it happens.

use std::time::{Duration, Instant};

use policy_core::session::Handle;
use tokio::sync::broadcast;

use crate::base::timers;

/// What ended. Open streams of ended sessions and tokens end with it.
///
/// News arrive sooner than the next poll of the store, and may be lost or forged: they decide only how soon
/// another instance polls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// One session ended.
    Session(Handle),
    /// A user was cut off: all their sessions ended or got other rights, except one.
    SessionsOf {
        /// The user.
        user: Box<str>,
        /// The session that was kept.
        keep: Option<Handle>,
    },
    /// The sessions of all users ended.
    AllSessions,
    /// There are revocations that were not read yet.
    Revocation,
    /// A value of this name was stored.
    Value(Box<str>),
    /// Some news may have been lost.
    Missed,
}

/// Passes news on to all readers in this process.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use policy_server::store::{News, NewsFeed};
///
/// let feed = NewsFeed::new();
/// let mut reader = feed.reader();
/// feed.tell(News::AllSessions);
/// assert_eq!(reader.next().await, Some(News::AllSessions));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct NewsFeed(broadcast::Sender<News>);

impl NewsFeed {
    /// A feed without readers.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(1024))
    }

    /// Tells all readers. It never waits.
    pub fn tell(&self, news: News) {
        // Sending fails only without a reader.
        let _ = self.0.send(news);
    }

    /// A reader of the news from now on.
    pub fn reader(&self) -> NewsReader {
        NewsReader(self.0.subscribe(), None)
    }
}

impl Default for NewsFeed {
    fn default() -> Self {
        Self::new()
    }
}

/// A reader of a [`NewsFeed`].
#[derive(Debug)]
pub struct NewsReader(broadcast::Receiver<News>, Option<broadcast::Receiver<News>>);

impl NewsReader {
    /// Reads two feeds.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0, Some(other.0))
    }

    /// The next news if there are any now.
    pub(crate) async fn try_next(&mut self) -> Option<News> {
        tokio::select! {
            biased;
            heard = self.next() => heard,
            () = std::future::ready(()) => None,
        }
    }

    /// Waits for the next news; `None` when a feed is gone. A reader that is 1,024 news behind gets
    /// [`News::Missed`] in place of those that it did not read.
    pub async fn next(&mut self) -> Option<News> {
        let heard = match &mut self.1 {
            None => self.0.recv().await,
            Some(other) => tokio::select! {
                heard = self.0.recv() => heard,
                heard = other.recv() => heard,
            },
        };
        match heard {
            Ok(news) => Some(news),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(News::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The shortest time between two polls because of news, so that a flood of news is no flood of reads.
pub(crate) const HINT_INTERVAL: Duration = Duration::from_millis(50);

/// Turns the news of a store into polls.
#[derive(Debug)]
pub(crate) struct Hints {
    news: Option<NewsReader>,
    /// The time of the last hint.
    last: Option<Instant>,
}

impl Hints {
    /// The hints of a store; none for a store without news.
    pub(crate) fn new(news: Option<NewsReader>) -> Self {
        Self { news, last: None }
    }

    /// Waits for news that match, or may have been lost; for ever without a feed. One hint stands for all
    /// pending news, and at most one comes in each [`HINT_INTERVAL`].
    pub(crate) async fn next(&mut self, matches: impl Fn(&News) -> bool) {
        if let Some(last) = self.last {
            timers::sleep(HINT_INTERVAL.saturating_sub(last.elapsed())).await;
            self.last = None;
        }
        while let Some(reader) = &mut self.news {
            match reader.next().await {
                Some(news) if news == News::Missed || matches(&news) => {
                    while reader.try_next().await.is_some() {}
                    self.last = Some(Instant::now());
                    return;
                }
                Some(_) => (),
                None => self.news = None,
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forged or not: what it costs the store does not depend on how many news there are.
    #[tokio::test]
    async fn a_flood_of_news_causes_few_checks() {
        let feed = NewsFeed::new();
        let mut hints = Hints::new(Some(feed.reader()));
        let (began, mut looks) = (Instant::now(), 0_u32);
        for _ in 0..5 {
            for _ in 0..5000 {
                feed.tell(News::Revocation);
                feed.tell(News::AllSessions);
            }
            hints.next(|news| *news == News::Revocation).await;
            looks += 1;
        }
        assert!(began.elapsed() >= HINT_INTERVAL * (looks - 1));
        let other = hints.next(|news| *news == News::Revocation);
        assert!(tokio::time::timeout(HINT_INTERVAL * 3, other).await.is_err(), "one more look");
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_learns_that_it_missed_news() {
        let feed = NewsFeed::new();
        let mut reader = feed.reader();
        for number in 0..2000_u128 {
            feed.tell(News::Session(Handle(number.to_le_bytes())));
        }
        assert_eq!(reader.next().await, Some(News::Missed));
        let oldest = Handle((2000_u128 - 1024).to_le_bytes());
        assert_eq!(reader.next().await, Some(News::Session(oldest)));
        drop(feed);
        while reader.next().await.is_some() {}
    }
}
