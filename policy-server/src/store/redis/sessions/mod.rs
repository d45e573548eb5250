//! The calls of sessions.

mod row;

use std::sync::Arc;

use self::row::ReadRows;
use super::{
    DEADLINE, OpenStore, RedisStore,
    connection::{Call, Database},
    failure::Failure,
    reply::{Items, as_array, as_bool, as_number, list, number, time},
};
use crate::store::{
    AnonymousLimit, Cas, CreateSession, CutOff, Limit, LimitPolicy, ListSessions, Loaded,
    NewsReader, RevokeUser, RotateSession, SessionCreated, SessionStore, StoreError, StoreFuture,
    Summary, TouchSession, UpdateSession,
    history::{MarkedNumber, Numbers},
    shared::{
        loads::{LoadMany, Stored, follow},
        outcome::{cas, created},
    },
};
use futures_util::FutureExt;
use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

/// Maximum keys that a purge examines in one script.
pub(super) const STEP: usize = 100;

impl SessionStore for RedisStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        let call = move || Call::sessions("secret").confirmed().arg(&fresh[..]);
        StoreFuture::new(async move {
            as_array(self.require_open()?.database.run_until_copied(call).await?)
        })
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        StoreFuture::new(async move {
            let CreateSession { key, record, limit, began, now } = request;
            let call = new_row(Call::sessions("create").confirmed(), &key, &record);
            let call = self.bound(call, limit, began, now);
            let (outcome, evicted) = self.outcome(self.with_limit(call)).await?;
            created(&outcome, evicted)
        })
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::new(follow(key, now, |key| self.look_up(key)))
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(async move {
            let UpdateSession { key, expected, data, now } = request;
            let call = Call::sessions("update").confirmed().arg(&key.0[..]).arg(number(expected));
            let call = self.with_limit(call.arg(&data[..]).arg(time(now)));
            let (outcome, evicted) = self.outcome(call).await?;
            cas(&outcome, expected, evicted)
        })
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        StoreFuture::new(async move {
            let TouchSession { key, idle_deadline, now } = request;
            let call = Call::sessions("touch").arg(&key.0[..]);
            as_bool(&self.call(call.arg(time(idle_deadline)).arg(time(now))).await?)
        })
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(async move {
            let RotateSession { old, new, expected, record, grace, ends, limit, began, now } =
                request;
            let call = new_row(Call::sessions("rotate").confirmed(), &new, &record);
            let call = call.arg(&old.0[..]).arg(number(expected)).arg(u8::from(ends.is_some()));
            let call = self.bound(optional(call, grace.map(time)), limit, began, now);
            let rotated = self.outcome(self.with_limit(call)).await;
            if ends.is_some() {
                self.0.endings.record_end();
            }
            let (outcome, evicted) = rotated?;
            cas(&outcome, expected, evicted)
        })
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        let call = Call::to_end_sessions("delete").arg(&key.0[..]);
        StoreFuture::new(self.end(call))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        StoreFuture::new(async move {
            let ListSessions { user, limit, now } = request;
            let call = Call::sessions("list").arg(user).arg(number(limit as u64));
            let rows = Items::new(self.call(call.arg(time(now))).await?)?.rest();
            rows.map(|row| Items::new(row)?.summary()).collect()
        })
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        let call = Call::sessions("identity").arg(user).arg(&handle.0[..]).arg(time(now));
        StoreFuture::new(async move {
            match Items::new_or_nil(self.call(call).await?)? {
                Some(mut fields) => fields.identity(),
                None => Ok(None),
            }
        })
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        let call = Call::to_end_sessions("delete_by_handle").arg(user).arg(&handle.0[..]);
        StoreFuture::new(self.end(call))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        StoreFuture::new(async move {
            let RevokeUser { user, keep, rights, now } = request;
            let call = Call::to_end_sessions("revoke_user").arg(user);
            let call = optional(call, keep.as_ref().map(|key| &key.0[..]));
            let call = optional(call, rights.map(|rights| list(&rights.roles)));
            let call = optional(call, rights.map(|rights| list(&rights.scopes)));
            let call = optional(call, rights.and_then(|rights| rights.tenant.as_deref()));
            self.cut_off(call.arg(time(now))).await
        })
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        let call = Call::to_end_sessions("revoke_everyone").arg(time(now));
        StoreFuture::new(self.cut_off(call))
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        StoreFuture::new(self.poll())
    }

    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        let call = Call::sessions("time");
        StoreFuture::new(async move {
            Ok(Some(Timestamp::from_millis(as_number(&self.call(call).await?)?)))
        })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(self.purge_in_steps(now, limit, || Call::sessions("purge")))
    }

    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        let call = Call::sessions("count").arg(time(now));
        StoreFuture::new(async move { as_number(&self.call(call).await?).map(Some) })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    fn is_writable(&self) -> bool {
        self.is_there()
    }
}

/// Loads sessions over the connection of a store.
pub(super) struct Loader {
    database: Arc<Database>,
    cut_offs: Arc<Numbers>,
    read_rows: ReadRows,
}

impl Loader {
    pub(super) fn new(database: Arc<Database>, cut_offs: Arc<Numbers>) -> Self {
        let read_rows = ReadRows::new(&database.address().prefix());
        Self { database, cut_offs, read_rows }
    }
}

impl LoadMany for Loader {
    /// The inner error is of one row that could not be read.
    type Found = Result<Result<Stored, StoreError>, Failure>;

    async fn load_many(&self, keys: &[SessionKey]) -> Vec<Self::Found> {
        let newest = self.cut_offs.newest();
        let write = |commands: &mut Vec<u8>| self.read_rows.write(keys, newest, commands);
        match self.database.read(ReadRows::replies(keys), write).await {
            Ok(replies) => row::read(keys.len(), newest, &replies).into_iter().map(Ok).collect(),
            Err(failure) => keys.iter().map(|_| Err(failure.clone())).collect(),
        }
    }
}

impl RedisStore {
    async fn look_up(&self, key: SessionKey) -> Result<Stored, StoreError> {
        let OpenStore { database, loads, .. } = self.require_open()?;
        let found = loads.load(&key, DEADLINE).map(|found| found.unwrap_or(Err(Failure::NoAnswer)));
        database.guard(found).await?
    }

    /// Adds the limit of anonymous sessions.
    fn with_limit(&self, call: Call) -> Call {
        let AnonymousLimit { sessions, bytes, .. } = self.0.anonymous;
        call.arg(number(sessions)).arg(number(bytes))
    }

    /// Adds the limit of the user's sessions, the cut-off that the request knows and the newest one.
    fn bound(&self, call: Call, limit: Option<Limit>, began: Option<u64>, now: Timestamp) -> Call {
        let call = optional(call, limit.map(|limit| limit.sessions));
        let denies = limit.is_some_and(|limit| limit.policy == LimitPolicy::Deny);
        let call = call.arg(u8::from(denies));
        let call = match began {
            Some(began) => call.marked_number(self.0.cut_offs.with_mark(began)),
            None => call.arg("").arg(""),
        };
        call.marked_number(self.0.cut_offs.newest()).arg(time(now))
    }

    /// Reads the newest cut-off, and increments the count of this instance if it ended sessions before. The
    /// count is confirmed by as many replicas as their ends, so a replica that takes over has both. The poll
    /// succeeds even if the count could not be written.
    async fn poll(&self) -> Result<u64, StoreError> {
        let (numbers, endings) = (&self.0.cut_offs, &self.0.endings);
        let poll = endings.poll()?;
        let poll_call = |name| Call::sessions(name).arg(poll.instance).arg(number(poll.count));
        let known = self.call_with(poll_call("cut_offs"), numbers.newest()).await;
        let known = known.and_then(|(reply, _)| Items::new(reply)?.marked_number())?;
        if poll.is_new {
            let left = self.call(poll_call("leave_mark").confirmed()).await;
            if let Ok(count) = left.and_then(|left| as_number(&left)) {
                poll.record(count);
            }
        }
        numbers.record(known);
        Ok(known.number)
    }

    /// Ends single sessions.
    async fn end(&self, call: Call) -> Result<bool, StoreError> {
        let reply = self.call(call).await;
        self.0.endings.record_end();
        as_bool(&reply?)
    }

    /// Makes a cut-off.
    async fn cut_off(&self, call: Call) -> Result<CutOff, StoreError> {
        let numbers = &self.0.cut_offs;
        let (reply, mark) = self.call_with(call, numbers.newest()).await?;
        let mut reply = Items::new(reply)?;
        let cut = CutOff::new(reply.number()?, reply.number()?, reply.number()?);
        numbers.record(MarkedNumber { number: cut.number, mark: Some(mark) });
        Ok(cut)
    }

    /// The outcome of a change, and the handles of the sessions that were evicted.
    async fn outcome(&self, call: Call) -> Result<(String, Vec<Handle>), StoreError> {
        let mut reply = Items::new(self.call(call).await?)?;
        Ok((reply.text()?, reply.handles()?))
    }

    /// Purges in small steps, so that other calls run between them.
    pub(super) async fn purge_in_steps(
        &self,
        now: Timestamp,
        limit: usize,
        call: impl Fn() -> Call + Send,
    ) -> Result<usize, StoreError> {
        let mut purged = 0;
        while purged < limit {
            let step = STEP.min(limit - purged);
            let mut reply = Items::new(self.call(call().arg(time(now)).arg(step)).await?)?;
            let (removed, seen) = (reply.number()?, reply.number()?);
            purged += removed as usize;
            if seen < step as u64 {
                break;
            }
        }
        Ok(purged)
    }
}

/// Adds a value, or an empty argument.
pub(super) fn optional(call: Call, value: Option<impl redis::ToRedisArgs>) -> Call {
    match value {
        Some(value) => call.arg(value),
        None => call.arg(""),
    }
}

/// Adds the fields of a new row. The script sets the others.
fn new_row(call: Call, key: &SessionKey, record: &Record) -> Call {
    let identity = record.identity.as_ref();
    let call = call.arg(&key.0[..]).arg(&record.handle.0[..]);
    // With a prefix, since the name may be empty.
    let call = optional(call, identity.map(|identity| format!("={}", identity.subject)));
    let call = optional(call, identity.map(|identity| list(&identity.roles)));
    let call = optional(call, identity.map(|identity| list(&identity.scopes)));
    let call = optional(call, identity.and_then(|identity| identity.tenant.as_deref()));
    let call = optional(call.arg(time(record.created)), record.authenticated.map(time));
    call.arg(time(record.rotated))
        .arg(time(record.last_seen))
        .arg(time(record.idle_deadline))
        .arg(time(record.absolute_deadline))
        .arg(number(u64::try_from(record.idle.as_millis()).unwrap_or(u64::MAX)))
        .arg(u8::from(record.is_remembered))
        .arg(&record.binding[..])
        .arg(&record.data[..])
}
