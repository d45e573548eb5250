//! Events of an account, sent to the open pages of its user.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tokio::sync::broadcast::{self, error::RecvError};

/// Sends events to all subscribers. Events without a subscriber are dropped.
#[derive(Clone)]
pub(crate) struct News(broadcast::Sender<(String, String)>);

impl News {
    pub(crate) fn tell(&self, user: &str, text: impl Into<String>) {
        // Sending fails only without a subscriber.
        let _ = self.0.send((user.to_owned(), text.into()));
    }

    /// The events of one user from now on. The stream does not end by itself: the server ends it
    /// with the session that requested it.
    pub(crate) fn stream(
        &self,
        user: &str,
    ) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let start = (self.0.subscribe(), user.to_owned());
        let news = stream::unfold(start, async |(mut news, user)| {
            loop {
                match news.recv().await {
                    Ok((whose, text)) if whose == user => {
                        return Some((Ok(Event::default().data(text)), (news, user)));
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => (),
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        Sse::new(news).keep_alive(KeepAlive::default())
    }
}

impl Default for News {
    fn default() -> Self {
        Self(broadcast::Sender::new(100))
    }
}
