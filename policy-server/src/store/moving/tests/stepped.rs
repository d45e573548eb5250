//! A store whose calls a test executes one by one, or lets fail.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};

use crate::store::{
    Cas, CreateSession, CutOff, ListSessions, Loaded, MemoryStore, RevokeUser, RotateSession,
    SessionCreated, SessionStore, StoreError, StoreFuture, Summary, TouchSession, UpdateSession,
    passing::pass_on,
};

/// A call is pending once, and is made when it is polled again.
#[derive(Clone, Debug, Default)]
pub(super) struct SteppedStore {
    store: MemoryStore,
    /// The number of the next call that fails, with all after it; 0 for none.
    failing: Arc<AtomicUsize>,
}

impl SteppedStore {
    /// Fails this call, counted from 1, and all after it; none for 0.
    pub(super) fn fail_from(&self, call: usize) {
        self.failing.store(call, Ordering::Relaxed);
    }

    fn step<'a, T: Unpin + Send + 'a>(
        &'a self,
        _name: &str,
        call: impl FnOnce(&'a MemoryStore) -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        StoreFuture::new(async move {
            let mut was_polled = false;
            poll_fn(|_| {
                let ready = if was_polled { Poll::Ready(()) } else { Poll::Pending };
                was_polled = true;
                ready
            })
            .await;
            match self.failing.load(Ordering::Relaxed) {
                0 => {}
                1 => return Err(StoreError::new("the store is away")),
                more => self.failing.store(more - 1, Ordering::Relaxed),
            }
            call(&self.store).await
        })
    }
}

/// Polls once, and returns the result if it is ready.
pub(super) fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Polls until it is done.
pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future: Pin<Box<dyn Future<Output = T>>> = Box::pin(future);
    loop {
        if let Some(result) = poll(&mut future) {
            return result;
        }
    }
}

impl SessionStore for SteppedStore {
    pass_on! { (to store)
        fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
        fn cut_offs(&self) -> StoreFuture<'_, u64>;
        fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    }

    pass_on! { (by step())
        fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated>;
        fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>>;
        fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas>;
        fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool>;
        fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas>;
        fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool>;
        fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>>;
        fn identity<'a>(
            &'a self,
            user: &'a str,
            handle: Handle,
            now: Timestamp
        ) -> StoreFuture<'a, Option<Identity>>;
        fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool>;
        fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff>;
        fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff>;
    }
}
