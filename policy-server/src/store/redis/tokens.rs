//! The calls of refresh tokens, revocations and tickets.

use policy_core::time::Timestamp;
use redis::Value;

use super::{
    RedisStore,
    connection::Call,
    reply::{Items, as_array, as_bool, as_bytes, list, number, time},
    sessions::optional,
    ticket,
};
use crate::store::{
    CreateFamily, Family, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch,
    Revoked, StoreError, StoreFuture, Ticket, TokenHash, TokenStore,
    history::{LOST, MarkedNumber},
    shared::{notification::hex, outcome::unknown, revocation::parts},
};

impl TokenStore for RedisStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        let call = move || Call::tokens("secret").confirmed().arg(&fresh[..]);
        StoreFuture::new(async move {
            as_array(self.require_open()?.database.run_until_copied(call).await?)
        })
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        StoreFuture::new(async move {
            let CreateFamily { family, token, began } = request;
            let call = Call::tokens("create_family")
                .confirmed()
                .arg(&family.id[..])
                .arg(&*family.identity.subject)
                .arg(list(&family.identity.roles))
                .arg(list(&family.identity.scopes));
            let call = optional(call, family.identity.tenant.as_deref())
                .arg(time(family.authenticated))
                .arg(time(family.expires));
            let call = optional(call, family.session.as_ref().map(|session| &session.0[..]));
            let call = optional(call, family.session.map(hex));
            let began = self.0.revocations.with_mark(began);
            let call = call
                .arg(&token.0[..])
                .marked_number(began)
                .arg(Family::MAX_PER_USER)
                .marked_number(self.0.revocations.newest());
            as_bool(&self.call(call).await?)
        })
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        StoreFuture::new(async move {
            let Refresh { token, successor, grace, limit, now, until } = request;
            let grace = number(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
            let call = Call::tokens("refresh").confirmed().arg(&token.0[..]).arg(&successor.0[..]);
            let call = optional(call.arg(grace), limit);
            let call = call.arg(u64::from(RefreshOutcome::MAX_STEPS));
            let call = call.arg(time(now)).arg(time(until));
            let numbers = &self.0.revocations;
            let (reply, mark) = self.call_with(call, numbers.newest()).await?;
            let mut reply = Items::new(reply)?;
            let (outcome, position) = (reply.text()?, reply.number()?);
            if position > 0 {
                numbers.record(MarkedNumber { number: position, mark: Some(mark) });
            }
            if outcome == "lost" {
                return Err(StoreError::new(LOST));
            }
            let mut family = || Items::new(reply.next()?)?.family();
            Ok(match &*outcome {
                "done" => RefreshOutcome::Done(family()?),
                "again" => {
                    let family = Items::new(reply.next()?)?.family()?;
                    let steps = u32::try_from(reply.number()?).map_err(StoreError::new)?;
                    RefreshOutcome::Again { family, steps }
                }
                "overtaken" => RefreshOutcome::Overtaken,
                "reused" => RefreshOutcome::Reused(family()?),
                "dead" => RefreshOutcome::Dead,
                "unknown" => RefreshOutcome::Unknown,
                other => return Err(unknown(other)),
            })
        })
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>> {
        StoreFuture::new(async move {
            let call = Call::to_end_tokens("end_family").arg(&token.0[..]).arg(time(until));
            let numbers = &self.0.revocations;
            let (reply, mark) = self.call_with(call, numbers.newest()).await?;
            let Some(mut reply) = Items::new_or_nil(reply)? else { return Ok(None) };
            numbers.record(MarkedNumber { number: reply.number()?, mark: Some(mark) });
            Items::new(reply.next()?)?.family().map(Some)
        })
    }

    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        let call = Call::to_end_tokens("end_family_by_id").arg(&id[..]);
        StoreFuture::new(async move { self.call(call).await.map(drop) })
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        StoreFuture::new(async move {
            let (kind, subject, user, value) = parts(&revocation);
            let call = Call::to_end_tokens("revoke").arg(kind).arg(subject).arg(user);
            let call = call.arg(number(value));
            let numbers = &self.0.revocations;
            let (reply, mark) = self.call_with(call, numbers.newest()).await?;
            let mut reply = Items::new(reply)?;
            let (position, before, ended) = (reply.number()?, reply.number()?, reply.number()?);
            numbers.record(MarkedNumber { number: position, mark: Some(mark) });
            let families = reply.handles()?.into_iter().map(|id| id.0).collect();
            Ok(Revoked { position, before, ended, families })
        })
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        StoreFuture::new(async move {
            let numbers = &self.0.revocations;
            let call = Call::tokens("revocations").arg(number(since));
            let (reply, _) = self.call_with(call, numbers.newest()).await?;
            let mut reply = Items::new(reply)?;
            let last = reply.marked_number()?;
            let mut batch = RevocationBatch::new(Vec::new(), last.number);
            while !reply.is_empty() {
                batch.revocations.push((reply.number()?, reply.revocation()?));
            }
            numbers.record(last);
            Ok(batch)
        })
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        StoreFuture::new(async move {
            let call =
                Call::tokens("put_ticket").confirmed().arg(&hash.0[..]).arg(time(ticket.expires));
            self.call(call.arg(ticket::write(&ticket)?)).await.map(drop)
        })
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        StoreFuture::new(async move {
            let taken = self.call(Call::tokens("take_ticket").confirmed().arg(&hash.0[..])).await?;
            if taken == Value::Nil {
                return Ok(None);
            }
            let ticket = ticket::read(&as_bytes(taken)?)?;
            Ok(Some(ticket).filter(|ticket| now < ticket.expires))
        })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(self.purge_in_steps(now, limit, || Call::tokens("purge")))
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    fn is_writable(&self) -> bool {
        self.is_there()
    }
}
