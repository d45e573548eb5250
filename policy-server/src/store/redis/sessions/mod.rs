//! The calls of sessions.

mod row;

use std::sync::Arc;

use self::row::ReadRows;
use super::{
    DEADLINE, Opened, RedisStore,
    connection::{Call, Database},
    failure::Failure,
    reply::{Items, as_array, as_bool, as_number, list, number, time},
};
use crate::store::{
    AnonymousLimit, Answer, Cas, CreateSession, Created, CutOff, Limit, LimitPolicy, ListSessions,
    Loaded, NewsReader, RevokeUser, RotateSession, SessionStore, StoreError, Summary, TouchSession,
    UpdateSession,
    history::{Known, Numbers},
    loads::{LoadMany, Stored, follow},
    outcome::{cas, created},
};
use futures_util::FutureExt;
use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};
use redis::Value;

/// How many keys a purge looks at in one script.
pub(super) const STEP: usize = 100;

impl SessionStore for RedisStore {
    fn open(&self) -> Answer<'_, ()> {
        Answer::later(self.open_once())
    }

    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        let call = move || Call::of_sessions("secret").confirmed().arg(&fresh[..]);
        Answer::later(
            async move { as_array(self.opened()?.database.run_until_copied(call).await?) },
        )
    }

    fn create(&self, request: CreateSession) -> Answer<'_, Created> {
        Answer::later(async move {
            let CreateSession { key, record, limit, began, now } = request;
            let call = new_row(Call::of_sessions("create").confirmed(), &key, &record);
            let call = self.bound(call, limit, began, now);
            let (outcome, evicted) = self.outcome(self.with_limit(call)).await?;
            created(&outcome, evicted)
        })
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>> {
        Answer::later(follow(key, now, |key| self.stored(key)))
    }

    fn update(&self, request: UpdateSession) -> Answer<'_, Cas> {
        Answer::later(async move {
            let UpdateSession { key, expected, data, now } = request;
            let call =
                Call::of_sessions("update").confirmed().arg(&key.0[..]).arg(number(expected));
            let call = self.with_limit(call.arg(&data[..]).arg(time(now)));
            let (outcome, evicted) = self.outcome(call).await?;
            cas(&outcome, expected, evicted)
        })
    }

    fn touch(&self, request: TouchSession) -> Answer<'_, bool> {
        Answer::later(async move {
            let TouchSession { key, idle_deadline, now } = request;
            let call = Call::of_sessions("touch").arg(&key.0[..]);
            as_bool(&self.call(call.arg(time(idle_deadline)).arg(time(now))).await?)
        })
    }

    fn rotate(&self, request: RotateSession) -> Answer<'_, Cas> {
        Answer::later(async move {
            let RotateSession { old, new, expected, record, grace, limit, began, now } = request;
            let call = new_row(Call::of_sessions("rotate").confirmed(), &new, &record);
            let call = call.arg(&old.0[..]).arg(number(expected));
            let call = self.bound(optional(call, grace.map(time)), limit, began, now);
            let (outcome, evicted) = self.outcome(self.with_limit(call)).await?;
            cas(&outcome, expected, evicted)
        })
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool> {
        let call = Call::to_end_sessions("delete").arg(&key.0[..]);
        Answer::later(self.ended(call))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> Answer<'a, Vec<Summary>> {
        Answer::later(async move {
            let ListSessions { user, limit, now } = request;
            let call = Call::of_sessions("list").arg(user).arg(number(limit as u64));
            let rows = Items::of(self.call(call.arg(time(now))).await?)?.rest();
            rows.map(|row| Items::of(row)?.summary()).collect()
        })
    }

    fn lives<'a>(&'a self, user: &'a str, handle: Handle, now: Timestamp) -> Answer<'a, bool> {
        let call = Call::of_sessions("lives").arg(user).arg(&handle.0[..]).arg(time(now));
        Answer::later(async move { as_bool(&self.call(call).await?) })
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool> {
        let call = Call::to_end_sessions("delete_by_handle").arg(user).arg(&handle.0[..]);
        Answer::later(self.ended(call))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> Answer<'a, CutOff> {
        Answer::later(async move {
            let RevokeUser { user, keep, rights, now } = request;
            let call = Call::to_end_sessions("revoke_user").arg(user);
            let call = optional(call, keep.as_ref().map(|key| &key.0[..]));
            let call = optional(call, rights.map(|rights| list(&rights.roles)));
            let call = optional(call, rights.map(|rights| list(&rights.scopes)));
            self.cut_off(call.arg(time(now))).await
        })
    }

    fn revoke_everyone(&self, now: Timestamp) -> Answer<'_, CutOff> {
        let call = Call::to_end_sessions("revoke_everyone").arg(time(now));
        Answer::later(self.cut_off(call))
    }

    fn cut_offs(&self) -> Answer<'_, u64> {
        Answer::later(self.look())
    }

    fn time(&self) -> Answer<'_, Option<Timestamp>> {
        let call = Call::of_sessions("time");
        Answer::later(async move {
            Ok(Some(Timestamp::from_millis(as_number(&self.call(call).await?)?)))
        })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        Answer::later(self.purged(now, limit, || Call::of_sessions("purge")))
    }

    fn count(&self, now: Timestamp) -> Answer<'_, Option<u64>> {
        let call = Call::of_sessions("count").arg(time(now));
        Answer::later(async move { as_number(&self.call(call).await?).map(Some) })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.reader())
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
    /// The server answered: then a row may still be a strange one.
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
    async fn stored(&self, key: SessionKey) -> Result<Stored, StoreError> {
        let Opened { database, loads } = self.opened()?;
        let found = loads.load(&key, DEADLINE).map(|found| found.unwrap_or(Err(Failure::NoAnswer)));
        database.counted(found).await?
    }

    /// Adds how many anonymous sessions there may be.
    fn with_limit(&self, call: Call) -> Call {
        let AnonymousLimit { sessions, bytes, .. } = self.limit_of_anonymous();
        call.arg(number(sessions)).arg(number(bytes))
    }

    /// Adds what a new session is subject to.
    fn bound(&self, call: Call, limit: Option<Limit>, began: Option<u64>, now: Timestamp) -> Call {
        let call = optional(call, limit.map(|limit| limit.sessions));
        let denies = limit.is_some_and(|limit| limit.policy == LimitPolicy::Deny);
        let call = call.arg(u8::from(denies));
        let call = match began {
            Some(began) => call.known(self.0.cut_offs.known(began)),
            None => call.arg("").arg(""),
        };
        call.known(self.0.cut_offs.newest()).arg(time(now))
    }

    /// Looks for cut-offs, and leaves a mark if this instance ended sessions before. That is confirmed as their
    /// end is: a replica that takes over has both. The look does not depend on it.
    async fn look(&self) -> Result<u64, StoreError> {
        let (numbers, endings) = (&self.0.cut_offs, &self.0.endings);
        let look = endings.look()?;
        let of_look = |name| Call::of_sessions(name).arg(look.instance).arg(number(look.count));
        let known = self.call_with(of_look("cut_offs"), numbers.newest()).await;
        let known = known.and_then(|(reply, _)| Items::of(reply)?.known());
        let left = match &known {
            Ok(_) if look.is_new => self.call(of_look("leave_mark").confirmed()).await,
            _ => Ok(Value::Nil),
        };
        endings.left(&look, left.and_then(|left| as_number(&left)).ok());
        let known = known?;
        numbers.note(known);
        Ok(known.number)
    }

    /// Ends single sessions.
    async fn ended(&self, call: Call) -> Result<bool, StoreError> {
        let reply = self.call(call).await;
        self.0.endings.note();
        as_bool(&reply?)
    }

    /// Makes a cut-off.
    async fn cut_off(&self, call: Call) -> Result<CutOff, StoreError> {
        let numbers = &self.0.cut_offs;
        let (reply, mark) = self.call_with(call, numbers.newest()).await?;
        let mut reply = Items::of(reply)?;
        let cut = CutOff::new(reply.number()?, reply.number()?, reply.number()?);
        numbers.note(Known { number: cut.number, mark: Some(mark) });
        Ok(cut)
    }

    /// How a change ended, and whose sessions made room for it.
    async fn outcome(&self, call: Call) -> Result<(String, Vec<Handle>), StoreError> {
        let mut reply = Items::of(self.call(call).await?)?;
        Ok((reply.text()?, reply.handles()?))
    }

    /// Purges in small steps, so that other calls run in between.
    pub(super) async fn purged(
        &self,
        now: Timestamp,
        limit: usize,
        call: impl Fn() -> Call + Send,
    ) -> Result<usize, StoreError> {
        let mut purged = 0;
        while purged < limit {
            let step = STEP.min(limit - purged);
            let mut reply = Items::of(self.call(call().arg(time(now)).arg(step)).await?)?;
            let (removed, seen) = (reply.number()?, reply.number()?);
            purged += removed as usize;
            if seen < step as u64 {
                break;
            }
        }
        Ok(purged)
    }
}

/// Adds a value, or that there is none.
pub(super) fn optional(call: Call, value: Option<impl redis::ToRedisArgs>) -> Call {
    match value {
        Some(value) => call.arg(value),
        None => call.arg(""),
    }
}

/// Adds the fields of a new row that the caller decides.
fn new_row(call: Call, key: &SessionKey, record: &Record) -> Call {
    let identity = record.identity.as_ref();
    let call = call.arg(&key.0[..]).arg(&record.handle.0[..]);
    // Behind a sign that there is one: its name may be empty.
    let call = optional(call, identity.map(|identity| format!("={}", identity.subject)));
    let call = optional(call, identity.map(|identity| list(&identity.roles)));
    let call = optional(call, identity.map(|identity| list(&identity.scopes)));
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
