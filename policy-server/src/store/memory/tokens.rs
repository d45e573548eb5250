//! The token tables.
//!
//! Lock order: `families`, then the chain of a family, then `revocations` or `tokens`.

use std::sync::{Arc, MutexGuard};

use policy_core::time::Timestamp;

use super::{
    Inner, MemoryStore,
    families::{Chain, FamilyRow},
    first,
    shards::Shard,
};
use crate::{
    base::locks::lock,
    store::{
        CreateFamily, Family, News, NewsReader, Refresh, RefreshOutcome, Revocation,
        RevocationBatch, Revoked, StoreError, StoreFuture, Ticket, TokenHash, TokenStore,
    },
};

/// How many revocations one step of a purge examines.
const STEP: usize = 1000;

impl TokenStore for MemoryStore {
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        StoreFuture::ready(Ok(first(&self.0.token_secret, fresh)))
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        StoreFuture::ready(self.0.create_family(request))
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        StoreFuture::ready(self.0.refresh(request))
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>> {
        StoreFuture::ready(Ok(self.0.end_family(token, until)))
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        let revoked = self.0.revoke(revocation);
        self.0.news.tell(News::Revocation);
        StoreFuture::ready(Ok(revoked))
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        StoreFuture::ready(Ok(lock(&self.0.revocations).since(since)))
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        self.0.tickets.lock(&hash).insert(hash, ticket);
        StoreFuture::ready(Ok(()))
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        let ticket = self.0.tickets.lock(&hash).remove(&hash);
        StoreFuture::ready(Ok(ticket.filter(|ticket| now < ticket.expires)))
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    /// Scans all rows, a small part at a time, and yields in between.
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(self.0.purge_tokens(now, limit))
    }
}

impl Inner {
    fn create_family(&self, request: CreateFamily) -> Result<bool, StoreError> {
        let CreateFamily { family, token, began } = request;
        let user = family.identity.subject.clone();
        let mut families = self.families.lock(&*user);
        {
            let revocations = lock(&self.revocations);
            let ended = family.session.map_or(0, |session| revocations.end_of(session));
            let is_known = began <= revocations.sequence();
            if began < revocations.cut_off(&user).max(ended) || !is_known {
                return Ok(false);
            }
        }
        let row = Arc::new(FamilyRow::new(family, token));
        self.insert_token(token, Arc::clone(&row))?;
        let rows = families.entry(user).or_default();
        Self::make_room_for_family(rows);
        rows.push(row);
        Ok(true)
    }

    fn revoke(&self, revocation: Revocation) -> Revoked {
        let add = |revocation, families: Vec<[u8; 16]>| {
            let mut revocations = lock(&self.revocations);
            let before = match &revocation {
                Revocation::User { user, .. } => revocations.cut_off(user),
                Revocation::Everyone { .. } | Revocation::All { .. } => revocations.sequence(),
                _ => 0,
            };
            if let Revocation::Session { until, .. } = &revocation {
                for family in &families {
                    revocations.add(Revocation::access_tokens(*family, *until));
                }
            }
            Revoked::new(revocations.add(revocation), before, families)
        };
        // The shard of the user is locked, so that no family begins in between.
        match &revocation {
            Revocation::User { user, .. } => {
                let families = self.families.lock(&**user);
                let ended = families.get(user).map(|rows| end(rows, |_| true));
                let (ended, _locked) = ended.unwrap_or_default();
                add(revocation, ended)
            }
            Revocation::Session { user, session, .. } => {
                let families = self.families.lock(&**user);
                let is_of_it = |row: &FamilyRow| row.family.session == Some(*session);
                let ended = families.get(user).map(|rows| end(rows, is_of_it));
                let (ended, _locked) = ended.unwrap_or_default();
                add(revocation, ended)
            }
            Revocation::Everyone { .. } => {
                let mut revoked = add(revocation, Vec::new());
                self.families.each(|families| {
                    let ended = families.values().map(|rows| end(rows, |_| true).0.len() as u64);
                    revoked.ended += ended.sum::<u64>();
                });
                revoked
            }
            Revocation::Token { .. } | Revocation::All { .. } => add(revocation, Vec::new()),
        }
    }

    fn refresh(&self, request: Refresh) -> Result<RefreshOutcome, StoreError> {
        let Refresh { token, successor, grace, limit, now, until } = request;
        let Some(row) = self.family(token) else { return Ok(RefreshOutcome::Unknown) };
        let family = &row.family;
        let mut chain = lock(&row.chain);
        if chain.is_ended || now >= family.expires {
            return Ok(RefreshOutcome::Dead);
        }
        if token == chain.unused {
            if limit.is_some_and(|limit| chain.refreshes >= limit) {
                self.end_with_access(family, &mut chain, until);
                return Ok(RefreshOutcome::Dead);
            }
            self.insert_token(successor, Arc::clone(&row))?;
            chain.step(successor, grace, now);
            return Ok(RefreshOutcome::Done(family.clone()));
        }
        Ok(match chain.steps(token, grace, now) {
            Some(steps) if steps <= RefreshOutcome::MAX_STEPS => {
                RefreshOutcome::Again { family: family.clone(), steps }
            }
            Some(_) => RefreshOutcome::Overtaken,
            None => {
                self.end_with_access(family, &mut chain, until);
                RefreshOutcome::Reused(family.clone())
            }
        })
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> Option<Family> {
        let row = self.family(token)?;
        let mut chain = lock(&row.chain);
        if chain.is_ended {
            return None;
        }
        self.end_with_access(&row.family, &mut chain, until);
        Some(row.family.clone())
    }

    /// Ends a family, whose chain is locked, and revokes its access tokens.
    fn end_with_access(&self, family: &Family, chain: &mut Chain, until: Timestamp) {
        chain.is_ended = true;
        lock(&self.revocations).add(Revocation::access_tokens(family.id, until));
        self.news.tell(News::Revocation);
    }

    async fn purge_tokens(&self, now: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let tickets = |mut tickets: MutexGuard<'_, Shard<_, Ticket>>, most| {
            let mut purged = 0;
            tickets.retain(|_, ticket| is_kept(ticket.expires > now, &mut purged, most));
            purged
        };
        let mut purged = self.tickets.sweep(limit, tickets).await;
        let tokens = |mut tokens: MutexGuard<'_, Shard<_, Arc<FamilyRow>>>, most| {
            let mut purged = 0;
            tokens.retain(|_, row| is_kept(!row.is_over(now), &mut purged, most));
            purged
        };
        purged += self.tokens.sweep(limit - purged, tokens).await;
        // The entries of users are not counted as rows.
        let families = self.families.sweep(usize::MAX, |mut families, most| {
            let mut purged = 0;
            families.retain(|_, rows| {
                rows.retain(|row| is_kept(!row.is_over(now), &mut purged, most));
                !rows.is_empty()
            });
            purged
        });
        families.await;
        let mut from = Some(0);
        while let Some(place) = from.filter(|_| purged < limit) {
            let step = STEP.min(limit - purged);
            let (dead, next) = lock(&self.revocations).purge(place, step, now);
            purged += dead;
            from = next;
            tokio::task::yield_now().await;
        }
        Ok(purged)
    }

    /// Ends the oldest families of a user, until there is room for one more.
    fn make_room_for_family(rows: &mut Vec<Arc<FamilyRow>>) {
        if rows.len() < Family::MAX_PER_USER {
            return;
        }
        rows.retain(|row| !lock(&row.chain).is_ended);
        rows.sort_by_key(|row| (row.family.authenticated, row.family.id));
        let excess = (rows.len() + 1).saturating_sub(Family::MAX_PER_USER);
        for row in rows.drain(..excess) {
            lock(&row.chain).is_ended = true;
        }
    }

    /// The family of a token, used or not.
    fn family(&self, token: TokenHash) -> Option<Arc<FamilyRow>> {
        self.tokens.lock(&token).get(&token).map(Arc::clone)
    }

    fn insert_token(&self, token: TokenHash, row: Arc<FamilyRow>) -> Result<(), StoreError> {
        let mut tokens = self.tokens.lock(&token);
        if tokens.contains_key(&token) {
            return Err(StoreError::new("a refresh token with this hash exists"));
        }
        tokens.insert(token, row);
        Ok(())
    }
}

/// Ends families of one user, whose shard is locked. Returns the ids of those that were live, and the
/// chains of all: for others the families end when these are dropped.
fn end(
    rows: &[Arc<FamilyRow>],
    is_ended: impl Fn(&FamilyRow) -> bool,
) -> (Vec<[u8; 16]>, Vec<MutexGuard<'_, Chain>>) {
    let rows = rows.iter().filter(|row| is_ended(row));
    // All chains are locked before the first one ends. No other call locks two, since the shard of
    // the user is locked.
    let (ids, mut chains): (Vec<_>, Vec<_>) =
        rows.map(|row| (row.family.id, lock(&row.chain))).unzip();
    let were_ended = chains.iter_mut().map(|chain| std::mem::replace(&mut chain.is_ended, true));
    let ended = ids.into_iter().zip(were_ended).filter(|(_, was_ended)| !was_ended);
    (ended.map(|(id, _)| id).collect(), chains)
}

/// Whether a row is kept: it is still needed, or enough were purged.
fn is_kept(matters: bool, purged: &mut usize, limit: usize) -> bool {
    let is_purged = !matters && *purged < limit;
    *purged += usize::from(is_purged);
    !is_purged
}
