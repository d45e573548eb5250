//! Sessions: reads on the calling thread, writes on the writer thread.

use std::{cmp::Reverse, sync::Arc};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};
use redb::ReadableTableMetadata;

use super::{
    EmbeddedStore,
    deadlines::Purge,
    endings::Ending,
    owned_rows::keys_of,
    session_cut_offs::{NEWEST, NUMBERS},
    session_rows::{
        HANDLES, SESSIONS, SUCCESSORS, USERS, by_handle, living, living_head, successor,
    },
};
use crate::store::{
    Cas, CreateSession, CutOff, ListSessions, Loaded, RevokeUser, RotateSession, SessionCreated,
    SessionStore, StoreFuture, Summary, TouchSession, UpdateSession,
};

impl SessionStore for EmbeddedStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(self.open_file())
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.stored_secret("session_secret", fresh)
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        self.write(move |tables| tables.sessions()?.create(request))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::ready(self.read(|transaction, ended| {
            let sessions = transaction.open_table(SESSIONS)?;
            if let Some(record) = living(&sessions, key, now)? {
                let record = ended.living(record).map(Arc::new);
                return Ok(record.map(|record| Loaded { record, successor: None }));
            }
            let successors = transaction.open_table(SUCCESSORS)?;
            let Some(key) = successor(&sessions, &successors, key, Some(now))? else {
                return Ok(None);
            };
            let record = living(&sessions, &key, now)?.and_then(|record| ended.living(record));
            Ok(record.map(|record| Loaded { record: Arc::new(record), successor: Some(key) }))
        }))
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        self.write(move |tables| tables.sessions()?.update(request))
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        self.write(move |tables| tables.sessions()?.touch(request))
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        self.write(move |tables| tables.sessions()?.rotate(request))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        let key = *key;
        self.end(Ending::Session(key), move |tables| tables.sessions()?.delete(&key))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        let ListSessions { user, limit, now } = request;
        StoreFuture::ready(self.read(|transaction, ended| {
            let sessions = transaction.open_table(SESSIONS)?;
            let users = transaction.open_multimap_table(USERS)?;
            let mut latest = vec![];
            for key in keys_of(&users, user)? {
                let key = SessionKey(key);
                if let Some(record) = living_head(&sessions, &key, now)?
                    && !ended.includes(&record)
                {
                    latest.push((record.last_seen, record.created, record.handle, key));
                }
            }
            latest.sort_unstable_by_key(|(seen, created, handle, _)| {
                Reverse((*seen, *created, *handle))
            });
            let mut summaries = vec![];
            for (.., key) in latest.iter().take(limit) {
                summaries.extend(living(&sessions, key, now)?.as_ref().map(Summary::from));
            }
            Ok(summaries)
        }))
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        StoreFuture::ready(self.read(|transaction, ended| {
            let sessions = transaction.open_table(SESSIONS)?;
            let handles = transaction.open_table(HANDLES)?;
            let found = by_handle(&sessions, &handles, user, handle)?;
            let record = found.map(|(_, record)| record).filter(|record| !record.is_expired(now));
            Ok(record.and_then(|record| ended.living(record)?.identity))
        }))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        let user: Box<str> = user.into();
        let ending = Ending::OfHandle { user: user.clone(), handle };
        self.end(ending, move |tables| tables.sessions()?.delete_by_handle(&user, handle))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        let RevokeUser { user, keep, rights, now } = request;
        let user: Box<str> = user.into();
        if let Some(rights) = rights.cloned() {
            return self.end(Ending::Rights(rights.clone()), move |tables| {
                let request = RevokeUser::new(&user, now).rights(&rights);
                tables.sessions()?.revoke_user(request)
            });
        }
        self.end(Ending::Sessions { user: user.clone(), keep }, move |tables| {
            tables.sessions()?.revoke_user(RevokeUser::new(&user, now).keep(keep))
        })
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        self.end(Ending::Everyone, move |tables| tables.sessions()?.revoke_everyone(now))
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        StoreFuture::ready(self.read(|transaction, _ended| {
            let newest = transaction.open_table(NUMBERS)?.get(NEWEST)?;
            Ok(newest.map_or(0, |newest| newest.value()))
        }))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        self.purge_in_steps(now, limit, |tables, now, limit| {
            let step = tables.step;
            tables.sessions()?.purge(now, limit, step)
        })
    }

    fn count(&self, _now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        StoreFuture::ready(
            self.read(|transaction, _ended| Ok(Some(transaction.open_table(SESSIONS)?.len()?))),
        )
    }

    fn is_writable(&self) -> bool {
        self.can_write()
    }
}
