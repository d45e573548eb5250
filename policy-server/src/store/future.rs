//! The future of a store call.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::StoreError;

/// The future of a store call. A store in this process returns one that is ready, without a box.
///
/// ```
/// use policy_server::store::StoreFuture;
///
/// let ready: StoreFuture<'_, u32> = StoreFuture::ready(Ok(1));
/// let boxed: StoreFuture<'_, u32> = StoreFuture::new(async { Ok(2) });
/// ```
pub struct StoreFuture<'a, T>(State<'a, T>);

enum State<'a, T> {
    Ready(Option<Result<T, StoreError>>),
    Boxed(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>),
}

impl<'a, T> StoreFuture<'a, T> {
    /// A future that is ready with this result.
    pub fn ready(result: Result<T, StoreError>) -> Self {
        Self(State::Ready(Some(result)))
    }

    /// Boxes a future.
    pub fn new(future: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Self {
        Self(State::Boxed(Box::pin(future)))
    }

    /// The result if it is ready, or else the future itself.
    pub(crate) fn into_ready(self) -> Result<Result<T, StoreError>, Self> {
        match self.0 {
            State::Ready(Some(result)) => Ok(result),
            state => Err(Self(state)),
        }
    }
}

impl<T: Unpin> Future for StoreFuture<'_, T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => result.take().map_or(Poll::Pending, Poll::Ready),
            State::Boxed(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for StoreFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreFuture")
    }
}
