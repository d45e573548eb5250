//! Two instances of a store, whose calls alternate.

use std::sync::atomic::{AtomicUsize, Ordering};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};
use policy_server::store::{
    Cas, CreateFamily, CreateSession, CutOff, Family, LeasePermits, LimitStore, ListSessions,
    Loaded, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch, RevokeUser, Revoked,
    RotateSession, SessionCreated, SessionStore, StoreFuture, Summary, TakeRate, TakenRate, Ticket,
    TokenHash, TokenStore, TouchSession, UpdateSession,
};

#[derive(Debug)]
pub(crate) struct Pair<S> {
    stores: [S; 2],
    calls: AtomicUsize,
}

impl<S> Pair<S> {
    pub(crate) fn new(stores: [S; 2]) -> Self {
        Self { stores, calls: AtomicUsize::new(0) }
    }

    fn next(&self) -> &S {
        &self.stores[self.calls.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

/// Implements a trait: `open` opens both stores, and each other call goes to the next one.
macro_rules! in_turn {
    ($store:ident:
        $(fn $call:ident$(<$of_call:lifetime>)?(
            &$($of_self:lifetime)? $self:ident $(, $argument:ident: $type:ty)*
        ) -> $result:ty;)*
    ) => {
        impl<S: $store> $store for Pair<S> {
            fn open(&self) -> StoreFuture<'_, ()> {
                StoreFuture::new(async {
                    let [one, two] = &self.stores;
                    let (one, two) = tokio::join!(S::open(one), S::open(two));
                    one.and(two)
                })
            }

            $(fn $call$(<$of_call>)?(&$($of_self)? $self $(, $argument: $type)*) -> $result {
                S::$call($self.next() $(, $argument)*)
            })*
        }
    };
}

in_turn! { SessionStore:
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
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
    fn cut_offs(&self) -> StoreFuture<'_, u64>;
    fn time(&self) -> StoreFuture<'_, Option<Timestamp>>;
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    fn news(&self) -> Option<NewsReader>;
}

in_turn! { TokenStore:
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool>;
    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome>;
    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>>;
    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()>;
    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked>;
    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch>;
    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()>;
    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>>;
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    fn news(&self) -> Option<NewsReader>;
}

in_turn! { LimitStore:
    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate>;
    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32>;
    fn purge(&self, limit: usize) -> StoreFuture<'_, usize>;
}
