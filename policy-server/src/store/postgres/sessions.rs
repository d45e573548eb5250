//! The calls of sessions.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::FutureExt;
use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use tokio_postgres::types::ToSql;

use super::{
    DEADLINE, Inner, OpenStore, PostgresStore,
    connection::{Database, Failure},
    rows::{Columns, number, time},
};
use crate::store::{
    Cas, CreateSession, CutOff, Limit, LimitPolicy, ListSessions, Loaded, NewsReader, RevokeUser,
    RotateSession, SessionCreated, SessionStore, StoreError, StoreFuture, Summary, TouchSession,
    UpdateSession,
    history::{LOST, MarkedNumber, Numbers},
    shared::{
        loads::{LoadMany, Stored, follow},
        outcome::{cas, created},
    },
};

const SECRET: &str = "UPDATE policy.meta SET session_secret = coalesce(session_secret, $1)
    RETURNING session_secret";

/// Whether this database has the newest number that the instance knows, and the rows. Deadlines are checked
/// later, since each of the loads has its own time.
const LOAD: &str = "SELECT h.is_known, s.* FROM (
        SELECT $3::bigint IS NULL OR EXISTS (
            SELECT FROM policy.marks WHERE area = 'cut_off' AND number = $2 AND mark = $3
        ) AS is_known
    ) h CROSS JOIN policy.meta m LEFT JOIN policy.sessions s
    ON key = ANY($1) AND (user_id IS NULL OR epoch >= m.everyone OR moved_to IS NOT NULL)";

/// A new row. Other parameters follow it.
const ROW: &str = "ROW($1, $2, $3, $4, $5, 0, 1, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    NULL, NULL, $16)::policy.sessions";

/// The cut-off that a request knows.
const BEGAN: &str = "policy.known('cut_off', $19, $20, $21, $22)";

const UPDATE: &str = "SELECT * FROM policy.update_session($1, $2, $3, $4)";
const TOUCH: &str = "SELECT policy.touch_session($1, $2, $3)";
const DELETE: &str = "SELECT policy.delete_session($1)";
const DELETE_BY_HANDLE: &str = "SELECT policy.delete_by_handle($1, $2)";

const LIST: &str = "SELECT s.* FROM policy.sessions s, policy.meta m
    WHERE user_id = $1 AND moved_to IS NULL AND idle_deadline > $2 AND absolute_deadline > $2
        AND epoch >= m.everyone
    ORDER BY last_seen DESC, created DESC, handle DESC LIMIT $3";

const IDENTITY: &str = "SELECT roles, scopes, tenant FROM policy.sessions s, policy.meta m
    WHERE user_id = $1 AND handle = $2 AND moved_to IS NULL AND idle_deadline > $3
        AND absolute_deadline > $3 AND epoch >= m.everyone LIMIT 1";

const REVOKE_USER: &str = "SELECT * FROM policy.revoke_user($1, $2, $3, $4, $5, $6, $7, $8)";
const REVOKE_EVERYONE: &str = "SELECT * FROM policy.revoke_everyone($1, $2)";

/// Counts the sessions that a cut-off of everyone ended, after it was committed, so that no lock is held
/// meanwhile.
const ENDED: &str = "SELECT count(*) FROM policy.sessions
    WHERE user_id IS NOT NULL AND moved_to IS NULL AND epoch >= $1 AND epoch < $2
        AND idle_deadline > $3 AND absolute_deadline > $3";

const CUT_OFFS: &str = "SELECT * FROM policy.cut_offs($1, $2, $3, $4, $5)";

/// For a large table, the estimate of its last vacuum, since a count reads the whole table.
const COUNT: &str = "SELECT CASE WHEN c.reltuples > 100000 THEN c.reltuples::bigint ELSE (
        SELECT count(*) FROM policy.sessions s, policy.meta m
        WHERE moved_to IS NULL AND idle_deadline > $1 AND absolute_deadline > $1
            AND (user_id IS NULL OR epoch >= m.everyone)
    ) END AS count
    FROM pg_class c WHERE c.oid = 'policy.sessions'::regclass";
const TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";
const PURGE: &str = "SELECT * FROM policy.purge_part_of_sessions($1, $2, $3, $4)";
const TRIM: &str = "SELECT policy.trim_anonymous($1, $2::bigint)";

/// Pages that one statement of a purge reads (16 MiB), and statements of one purge. The next purge continues
/// where this one stopped.
const PAGES: i64 = 2048;
const PARTS: u64 = 8;

impl SessionStore for PostgresStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        StoreFuture::new(
            async move { self.row(SECRET, &[&&fresh[..]]).await?.bytes("session_secret") },
        )
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        StoreFuture::new(self.create_session(request))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::new(follow(key, now, |key| self.look_up(key)))
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(async move {
            let UpdateSession { key, expected, data, now } = request;
            let parameters: [&(dyn ToSql + Sync); 4] =
                [&&key.0[..], &number(expected), &&data[..], &time(now)];
            let row = self.row(UPDATE, &parameters).await?;
            let changed = cas(row.get("outcome")?, expected, Vec::new())?;
            if row.get::<Option<bool>>("was_anonymous")? == Some(true) {
                self.count_anonymous(0, data.len()).await;
            }
            Ok(changed)
        })
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        StoreFuture::new(async move {
            let TouchSession { key, idle_deadline, now } = request;
            let parameters: [&(dyn ToSql + Sync); 3] =
                [&&key.0[..], &time(idle_deadline), &time(now)];
            self.row(TOUCH, &parameters).await?.get("touch_session")
        })
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(self.rotate_session(request))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        StoreFuture::new(async move {
            let row = self.row(DELETE, &[&&key.0[..]]).await;
            self.0.endings.record_end();
            row?.get("delete_session")
        })
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        StoreFuture::new(async move {
            let ListSessions { user, limit, now } = request;
            let rows = self.rows(LIST, &[&user, &time(now), &number(limit as u64)]).await?;
            rows.iter().map(Columns::summary).collect()
        })
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        StoreFuture::new(async move {
            let rows = self.rows(IDENTITY, &[&user, &&handle.0[..], &time(now)]).await?;
            rows.first().map(|row| row.identity(user)).transpose()
        })
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        StoreFuture::new(async move {
            let row = self.row(DELETE_BY_HANDLE, &[&user, &&handle.0[..]]).await;
            self.0.endings.record_end();
            row?.get("delete_by_handle")
        })
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        StoreFuture::new(async move {
            let RevokeUser { user, keep, rights, now } = request;
            let keep = keep.as_ref().map(|key| &key.0[..]);
            let (roles, scopes, tenant) = (
                rights.map(|rights| texts(&rights.roles)),
                rights.map(|rights| texts(&rights.scopes)),
                rights.and_then(|rights| rights.tenant.as_deref()),
            );
            let numbers = &self.0.cut_offs;
            let known = numbers.newest();
            let parameters: [&(dyn ToSql + Sync); 8] = [
                &user,
                &keep,
                &roles,
                &scopes,
                &tenant,
                &time(now),
                &number(known.number),
                &known.mark,
            ];
            let row = self.row(REVOKE_USER, &parameters).await?;
            let cut_off = row.marked_number("number")?;
            numbers.record(cut_off);
            Ok(CutOff::new(row.number("sessions")?, row.number("before")?, cut_off.number))
        })
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        StoreFuture::new(async move {
            let numbers = &self.0.cut_offs;
            let known = numbers.newest();
            let row = self.row(REVOKE_EVERYONE, &[&number(known.number), &known.mark]).await?;
            numbers.record(row.marked_number("number")?);
            let (before, cut_off) = (row.number("before")?, row.number("number")?);
            let last = row.get::<i64>("last_of_everyone")?;
            // The cut-off is committed even if the count fails.
            let ended = self.row(ENDED, &[&last, &number(cut_off), &time(now)]).await;
            let ended = ended.and_then(|row| row.number("count")).unwrap_or_default();
            Ok(CutOff::new(ended, before, cut_off))
        })
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        StoreFuture::new(async {
            let numbers = &self.0.cut_offs;
            let (known, poll) = (numbers.newest(), self.0.endings.poll()?);
            let parameters: [&(dyn ToSql + Sync); 5] = [
                &number(known.number),
                &known.mark,
                &poll.instance,
                &number(poll.count),
                &poll.is_new,
            ];
            let row = self.row(CUT_OFFS, &parameters).await?;
            poll.record(row.number("endings")?);
            let last = row.marked_number("cut_off")?;
            numbers.record(last);
            Ok(last.number)
        })
    }

    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        StoreFuture::new(async { self.row(TIME, &[]).await?.time("now").map(Some) })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let (mut purged, mut parts) = (0, 0);
            while purged < limit && parts < PARTS {
                let page = self.0.purge_from.load(Ordering::Relaxed);
                let most = number((limit - purged) as u64);
                let row = self.row(PURGE, &[&time(now), &most, &number(page), &PAGES]).await?;
                purged += row.number("purged")? as usize;
                let Some(next) = row.get::<Option<i64>>("next_page")? else { break };
                let next = next.unsigned_abs();
                self.0.purge_from.store(next, Ordering::Relaxed);
                if next == 0 {
                    break;
                }
                parts += u64::from(next != page);
            }
            Ok(purged)
        })
    }

    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        StoreFuture::new(
            async move { self.row(COUNT, &[&time(now)]).await?.number("count").map(Some) },
        )
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    fn is_writable(&self) -> bool {
        self.is_there()
    }
}

/// Loads sessions over the connections of a store.
pub(super) struct Loader {
    database: Arc<Database>,
    cut_offs: Arc<Numbers>,
    statement: String,
}

impl Loader {
    pub(super) fn new(database: Arc<Database>, cut_offs: Arc<Numbers>) -> Self {
        let statement = database.statement(LOAD);
        Self { database, cut_offs, statement }
    }
}

impl LoadMany for Loader {
    /// The inner error is of one row that could not be read.
    type Found = Result<Result<Stored, StoreError>, Failure>;

    async fn load_many(&self, keys: &[SessionKey]) -> Vec<Self::Found> {
        let parameter: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
        let MarkedNumber { number: newest, mark } = self.cut_offs.newest();
        let parameters: [&(dyn ToSql + Sync); 3] = [&parameter, &number(newest), &mark];
        let rows = self.database.query(&self.statement, &parameters).await;
        let found = rows.and_then(|rows| {
            let rows: Vec<_> = rows.into_iter().map(Columns).collect();
            let mut is_known = false;
            let mut by_key = HashMap::new();
            for row in &rows {
                is_known = row.0.try_get("is_known")?;
                by_key.insert(row.0.try_get::<_, Option<&[u8]>>("key")?, row);
            }
            let found = keys.iter().map(|key| match by_key.get(&Some(&key.0[..])) {
                _ if !is_known => Err(StoreError::new(LOST)),
                Some(row) => row.stored_session(),
                None => Ok(Stored::Nothing),
            });
            Ok(found.map(Ok).collect())
        });
        found.unwrap_or_else(|failure| keys.iter().map(|_| Err(failure.clone())).collect())
    }
}

impl PostgresStore {
    async fn look_up(&self, key: SessionKey) -> Result<Stored, StoreError> {
        let OpenStore { database, loads, .. } = self.require_open()?;
        let found = loads.load(&key, DEADLINE).map(|found| found.unwrap_or(Err(Failure::NoAnswer)));
        database.call(found).await?
    }

    async fn create_session(&self, request: CreateSession) -> Result<SessionCreated, StoreError> {
        let CreateSession { key, record, limit, began, now } = request;
        let statement =
            format!("SELECT * FROM policy.create_session({ROW}, $17, $18, {BEGAN}, $23)");
        let (most, denies) = bound(limit);
        let ((began, mark), now) = (self.began(began), time(now));
        let known = self.0.cut_offs.newest();
        let by_now = number(known.number);
        let rest: [&(dyn ToSql + Sync); 7] =
            [&most, &denies, &began, &mark, &by_now, &known.mark, &now];
        let done = self.row_with_session(&statement, &key, &record, &rest).await?;
        let created = created(done.get("outcome")?, done.handles("evicted")?)?;
        if record.identity.is_none() {
            self.count_anonymous(1, record.data.len()).await;
        }
        Ok(created)
    }

    async fn rotate_session(&self, request: RotateSession) -> Result<Cas, StoreError> {
        let RotateSession { old, new, expected, record, grace, ends, limit, began, now } = request;
        let statement = format!(
            "SELECT r.*, CASE WHEN r.outcome = 'done' AND $27::bytea IS NOT NULL
                THEN policy.tell('s' || encode($27::bytea, 'hex')) END
            FROM policy.rotate_session($23, $24, {ROW}, $25, $17, $18, {BEGAN}, $26) r"
        );
        let (most, denies) = bound(limit);
        let (old, version, grace) = (&old.0[..], number(expected), grace.map(time));
        let ((began, mark), now) = (self.began(began), time(now));
        let known = self.0.cut_offs.newest();
        let by_now = number(known.number);
        let ended = ends.as_ref().map(|handle| &handle.0[..]);
        let rest: [&(dyn ToSql + Sync); 11] = [
            &most,
            &denies,
            &began,
            &mark,
            &by_now,
            &known.mark,
            &old,
            &version,
            &grace,
            &now,
            &ended,
        ];
        let done = self.row_with_session(&statement, &new, &record, &rest).await;
        if ends.is_some() {
            self.0.endings.record_end();
        }
        let done = done?;
        cas(done.get("outcome")?, expected, done.handles("evicted")?)
    }

    /// The one row of a statement. Its parameters are the columns of a new session in the order of the table,
    /// without those that the database sets, and then the rest.
    async fn row_with_session(
        &self,
        statement: &str,
        key: &SessionKey,
        record: &Record,
        rest: &[&(dyn ToSql + Sync)],
    ) -> Result<Columns, StoreError> {
        let identity = record.identity.as_ref();
        let columns: [&(dyn ToSql + Sync); 16] = [
            &&key.0[..],
            &&record.handle.0[..],
            &identity.map(|identity| &*identity.subject),
            &identity.map(|identity| texts(&identity.roles)).unwrap_or_default(),
            &identity.map(|identity| texts(&identity.scopes)).unwrap_or_default(),
            &time(record.created),
            &record.authenticated.map(time),
            &time(record.rotated),
            &time(record.last_seen),
            &time(record.idle_deadline),
            &time(record.absolute_deadline),
            &number(u64::try_from(record.idle.as_millis()).unwrap_or(u64::MAX)),
            &record.is_remembered,
            &&record.binding[..],
            &&record.data[..],
            &identity.and_then(|identity| identity.tenant.as_deref()),
        ];
        self.row(statement, &[&columns[..], rest].concat()).await
    }

    /// The cut-off that a request knows, with its mark.
    fn began(&self, began: Option<u64>) -> (Option<i64>, Option<i64>) {
        let known = began.map(|began| self.0.cut_offs.with_mark(began));
        (known.map(|known| number(known.number)), known.and_then(|known| known.mark))
    }

    /// Counts anonymous writes, and trims the oldest sessions after each hundredth of the limit. So each
    /// instance exceeds the limit by at most a hundredth.
    async fn count_anonymous(&self, sessions: u64, bytes: usize) {
        let Inner { anonymous: limit, new_sessions, new_bytes, .. } = &*self.0;
        let reaches = |counter: &AtomicU64, new: u64, limit: u64| {
            counter.fetch_add(new, Ordering::Relaxed).saturating_add(new) >= (limit / 100).max(1)
        };
        let is_due = reaches(new_sessions, sessions, limit.sessions)
            | reaches(new_bytes, bytes as u64, limit.bytes);
        if is_due {
            new_sessions.store(0, Ordering::Relaxed);
            new_bytes.store(0, Ordering::Relaxed);
            let parameters: [&(dyn ToSql + Sync); 2] =
                [&number(limit.sessions), &number(limit.bytes)];
            // The write is committed even if the trim fails. Then the next write trims.
            if self.row(TRIM, &parameters).await.is_err() {
                new_sessions.fetch_max(limit.sessions.max(1), Ordering::Relaxed);
            }
        }
    }
}

pub(super) fn texts(all: &[Box<str>]) -> Vec<&str> {
    all.iter().map(|text| &**text).collect()
}

fn bound(limit: Option<Limit>) -> (Option<i64>, bool) {
    let most = limit.map(|limit| i64::from(limit.sessions));
    (most, limit.is_some_and(|limit| limit.policy == LimitPolicy::Deny))
}
