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

impl<S: SessionStore> SessionStore for Pair<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(async {
            let [one, two] = &self.stores;
            let (one, two) = tokio::join!(SessionStore::open(one), SessionStore::open(two));
            one.and(two)
        })
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        SessionStore::secret(self.next(), fresh)
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        self.next().create(request)
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        self.next().load(key, now)
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        self.next().update(request)
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        self.next().touch(request)
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        self.next().rotate(request)
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        self.next().delete(key)
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        self.next().list(request)
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        self.next().identity(user, handle, now)
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        self.next().delete_by_handle(user, handle)
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        self.next().revoke_user(request)
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        self.next().revoke_everyone(now)
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        self.next().cut_offs()
    }

    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        self.next().time()
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        SessionStore::purge(self.next(), now, limit)
    }

    fn news(&self) -> Option<NewsReader> {
        SessionStore::news(self.next())
    }
}

impl<S: TokenStore> TokenStore for Pair<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(async {
            let [one, two] = &self.stores;
            let (one, two) = tokio::join!(TokenStore::open(one), TokenStore::open(two));
            one.and(two)
        })
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        TokenStore::secret(self.next(), fresh)
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        self.next().create_family(request)
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        self.next().refresh(request)
    }

    fn end_family(&self, token: TokenHash) -> StoreFuture<'_, Option<Family>> {
        self.next().end_family(token)
    }

    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        self.next().end_family_by_id(id)
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        self.next().revoke(revocation)
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        self.next().revocations(since)
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        self.next().put_ticket(hash, ticket)
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        self.next().take_ticket(hash, now)
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        TokenStore::purge(self.next(), now, limit)
    }

    fn news(&self) -> Option<NewsReader> {
        TokenStore::news(self.next())
    }
}

impl<S: LimitStore> LimitStore for Pair<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(async {
            let [one, two] = &self.stores;
            let (one, two) = tokio::join!(LimitStore::open(one), LimitStore::open(two));
            one.and(two)
        })
    }

    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate> {
        self.next().take_rate(request)
    }

    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32> {
        self.next().lease_permits(request)
    }

    fn purge(&self, limit: usize) -> StoreFuture<'_, usize> {
        LimitStore::purge(self.next(), limit)
    }
}
