//! The store of refresh tokens, revocations and tickets.

use super::{
    EmbeddedStore,
    codec::Row,
    deadlines::Purge,
    endings::Ending,
    token_tables::{REVOCATIONS, SEQUENCE},
};
use crate::store::{
    CreateFamily, Family, Refresh, RefreshOutcome, Revocation, RevocationBatch, Revoked,
    StoreError, StoreFuture, Ticket, TokenHash, TokenStore,
};
use policy_core::time::Timestamp;

impl TokenStore for EmbeddedStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(self.open_file())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.stored_secret("token_secret", fresh)
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        new_token(self.write(move |tables| tables.tokens()?.create_family(&request)))
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        new_token(self.write(move |tables| tables.tokens()?.refresh(request)))
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>> {
        self.end(Ending::Family(token), move |tables| tables.tokens()?.end_family(token, |_| until))
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        let ending = Ending::Revoked(revocation.clone());
        self.end(ending, move |tables| tables.tokens()?.revoke(revocation))
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        StoreFuture::ready(self.read(|transaction, ended| {
            let sequence =
                transaction.open_table(SEQUENCE)?.get(0)?.map_or(since, |last| last.value());
            let rows = transaction.open_table(REVOCATIONS)?;
            let mut revocations = vec![];
            for row in rows.range(since.saturating_add(1)..)? {
                let (place, row) = row?;
                let revocation = Revocation::decode(row.value());
                revocations.extend(revocation.map(|revocation| (place.value(), revocation)));
            }
            // These have no position yet: each read returns them with the next one.
            let next = sequence.saturating_add(1);
            revocations.extend(ended.revocations().iter().map(|one| (next, one.clone())));
            Ok(RevocationBatch { revocations, sequence })
        }))
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        self.write(move |tables| tables.tokens()?.put_ticket(hash, &ticket))
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        self.write(move |tables| tables.tokens()?.take_ticket(hash, now))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        self.purge_in_steps(now, limit, |tables, now, limit| {
            let step = tables.step;
            tables.tokens()?.purge(now, limit, step)
        })
    }

    fn is_writable(&self) -> bool {
        self.can_write()
    }
}

/// The result of an operation that does nothing if its new token exists.
fn new_token<T: Send + Unpin + 'static>(
    response: StoreFuture<'_, Option<T>>,
) -> StoreFuture<'_, T> {
    StoreFuture::new(async {
        response.await?.ok_or_else(|| StoreError::new("a refresh token with this hash exists"))
    })
}
