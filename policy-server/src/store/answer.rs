//! The result of a store call, at once or later.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::StoreError;

/// The result of a store call: a future that a store in this process need not box.
///
/// ```
/// use policy_server::store::Answer;
///
/// let at_once: Answer<'_, u32> = Answer::ready(Ok(1));
/// let later: Answer<'_, u32> = Answer::later(async { Ok(2) });
/// ```
pub struct Answer<'a, T>(State<'a, T>);

enum State<'a, T> {
    Ready(Option<Result<T, StoreError>>),
    Later(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>),
}

impl<'a, T> Answer<'a, T> {
    /// A result that is known already.
    pub fn ready(result: Result<T, StoreError>) -> Self {
        Self(State::Ready(Some(result)))
    }

    /// A result that has to be awaited.
    pub fn later(future: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Self {
        Self(State::Later(Box::pin(future)))
    }

    /// The result if it is known already, or the future itself.
    pub(crate) fn now(self) -> Result<Result<T, StoreError>, Self> {
        match self.0 {
            State::Ready(Some(result)) => Ok(result),
            state => Err(Self(state)),
        }
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => result.take().map_or(Poll::Pending, Poll::Ready),
            State::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}
