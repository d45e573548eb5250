//! The calls of refresh tokens, revocations and tickets.

use policy_core::time::Timestamp;
use tokio_postgres::types::ToSql;

use super::{
    PostgresStore,
    rows::{Columns, number, time},
    sessions::texts,
};
use crate::store::{
    CreateFamily, Family, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch,
    Revoked, StoreError, StoreFuture, Ticket, TokenHash, TokenStore,
    history::LOST,
    shared::{outcome::unknown, revocation::parts},
};

const SECRET: &str = "UPDATE policy.meta SET token_secret = coalesce(token_secret, $1)
    RETURNING token_secret";

const CREATE_FAMILY: &str = "SELECT policy.create_family(
    ROW($1, $2, $3, $4, $5, $6, $7, 0, false, $14, 0)::policy.families, $8,
    policy.known('revocation', $9, $11, $12, $13), $10)";

const REFRESH: &str = "SELECT outcome, steps, (family).*, place, mark
    FROM policy.refresh($1, $2, $3, $4, $5, $6, $7, $8)";
const END_FAMILY: &str = "SELECT (family).*, place, mark FROM policy.end_family($1, $2, $3, $4)
    WHERE place IS NOT NULL";
const END_FAMILY_BY_ID: &str = "UPDATE policy.families SET is_ended = true
    WHERE id = $1 AND NOT is_ended";

/// With the cut-off of everyone before it.
const REVOKE: &str = "SELECT r.*, m.family_cut
    FROM policy.meta m, policy.revoke_with_access($1, $2, $3, $4, $5, $6) r";

/// Counts the families that a cut-off of everyone ended, after it was committed, so that no lock is held
/// meanwhile.
const ENDED: &str = "SELECT count(*) FROM policy.families
    WHERE NOT is_ended AND began >= $1 AND began < $2";

/// One statement, so that the rows and the number are of one snapshot.
const REVOCATIONS: &str = "SELECT * FROM policy.revocations_after($1, $2, $3)";

const PUT_TICKET: &str = "INSERT INTO policy.tickets
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const TAKE_TICKET: &str = "DELETE FROM policy.tickets WHERE hash = $1 RETURNING *";
const PURGE: &str = "SELECT policy.purge_tokens($1, $2)";

impl TokenStore for PostgresStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        StoreFuture::new(
            async move { self.row(SECRET, &[&&fresh[..]]).await?.bytes("token_secret") },
        )
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        StoreFuture::new(async move {
            let CreateFamily { family, token, began } = request;
            let session = family.session.as_ref().map(|session| &session.0[..]);
            let (began, known) = (self.0.revocations.with_mark(began), self.0.revocations.newest());
            let parameters: [&(dyn ToSql + Sync); 14] = [
                &&family.id[..],
                &&*family.identity.subject,
                &texts(&family.identity.roles),
                &texts(&family.identity.scopes),
                &time(family.authenticated),
                &time(family.expires),
                &session,
                &&token.0[..],
                &number(began.number),
                &number(Family::MAX_PER_USER as u64),
                &began.mark,
                &number(known.number),
                &known.mark,
                &family.identity.tenant.as_deref(),
            ];
            self.row(CREATE_FAMILY, &parameters).await?.get("create_family")
        })
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        StoreFuture::new(async move {
            let Refresh { token, successor, grace, limit, now, until } = request;
            let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
            let numbers = &self.0.revocations;
            let known = numbers.newest();
            let parameters: [&(dyn ToSql + Sync); 8] = [
                &&token.0[..],
                &&successor.0[..],
                &grace,
                &limit.map(i64::from),
                &time(now),
                &time(until),
                &number(known.number),
                &known.mark,
            ];
            let row = self.row(REFRESH, &parameters).await?;
            if row.get::<Option<i64>>("place")?.is_some() {
                numbers.record(row.marked_number("place")?);
            }
            Ok(match row.get::<&str>("outcome")? {
                "done" => RefreshOutcome::Done(row.family()?),
                "again" => RefreshOutcome::Again {
                    family: row.family()?,
                    steps: row.get::<i32>("steps")?.unsigned_abs(),
                },
                "overtaken" => RefreshOutcome::Overtaken,
                "reused" => RefreshOutcome::Reused(row.family()?),
                "dead" => RefreshOutcome::Dead,
                "unknown" => RefreshOutcome::Unknown,
                "lost" => return Err(StoreError::new(LOST)),
                other => return Err(unknown(other)),
            })
        })
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>> {
        StoreFuture::new(async move {
            let numbers = &self.0.revocations;
            let known = numbers.newest();
            let parameters: [&(dyn ToSql + Sync); 4] =
                [&&token.0[..], &time(until), &number(known.number), &known.mark];
            let rows = self.rows(END_FAMILY, &parameters).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            numbers.record(row.marked_number("place")?);
            row.family().map(Some)
        })
    }

    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        StoreFuture::new(async move { self.rows(END_FAMILY_BY_ID, &[&&id[..]]).await.map(drop) })
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        StoreFuture::new(async move {
            let (kind, subject, user, value) = parts(&revocation);
            let numbers = &self.0.revocations;
            let known = numbers.newest();
            let parameters: [&(dyn ToSql + Sync); 6] =
                [&kind, &subject, &user, &number(value), &number(known.number), &known.mark];
            let row = self.row(REVOKE, &parameters).await?;
            numbers.record(row.marked_number("place")?);
            let families = row.handles("ended")?.into_iter().map(|id| id.0).collect();
            let mut revoked = Revoked::new(row.number("place")?, row.number("earlier")?, families);
            if matches!(revocation, Revocation::Everyone { .. }) {
                let last = row.get::<i64>("family_cut")?;
                // The cut-off is committed even if the count fails.
                let ended = self.row(ENDED, &[&last, &number(revoked.position)]).await;
                revoked.ended = ended.and_then(|row| row.number("count")).unwrap_or_default();
            }
            Ok(revoked)
        })
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        StoreFuture::new(async move {
            let numbers = &self.0.revocations;
            let known = numbers.newest();
            let parameters: [&(dyn ToSql + Sync); 3] =
                [&number(since), &number(known.number), &known.mark];
            let rows = self.rows(REVOCATIONS, &parameters).await?;
            let mut batch = RevocationBatch::default();
            for row in rows {
                let last = row.marked_number("revocation")?;
                batch.sequence = last.number;
                numbers.record(last);
                if row.get::<Option<i64>>("position")?.is_some() {
                    batch.revocations.push((row.number("position")?, row.revocation()?));
                }
            }
            Ok(batch)
        })
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        StoreFuture::new(async move {
            let session = ticket.session.as_ref().map(|session| &session.0[..]);
            let (token, token_expires) = match &ticket.token {
                Some((token, expires)) => (Some(&**token), Some(time(*expires))),
                None => (None, None),
            };
            let parameters: [&(dyn ToSql + Sync); 11] = [
                &&hash.0[..],
                &&*ticket.identity.subject,
                &texts(&ticket.identity.roles),
                &texts(&ticket.identity.scopes),
                &ticket.authenticated.map(time),
                &session,
                &token,
                &token_expires,
                &number(ticket.cut_offs),
                &time(ticket.expires),
                &ticket.identity.tenant.as_deref(),
            ];
            self.rows(PUT_TICKET, &parameters).await.map(drop)
        })
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        StoreFuture::new(async move {
            let rows = self.rows(TAKE_TICKET, &[&&hash.0[..]]).await?;
            let ticket = rows.first().map(Columns::ticket).transpose()?;
            Ok(ticket.filter(|ticket| now < ticket.expires))
        })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let row = self.row(PURGE, &[&time(now), &number(limit as u64)]).await?;
            Ok(row.number("purge_tokens")? as usize)
        })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    fn is_writable(&self) -> bool {
        self.is_there()
    }
}
