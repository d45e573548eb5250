//! Stores with one fault each, which the suite must detect.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::*;
use crate::store::{
    Cas, CreateFamily, CreateSession, CutOff, Family, LeasePermits, LimitKey, ListSessions, Loaded,
    MemoryStore, NewsFeed, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch,
    RevokeUser, Revoked, RotateSession, SessionCreated, Summary, TakeRate, TakenRate, Ticket,
    TokenHash, TouchSession, UpdateSession, passing::pass_on,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    UpdateInserts,
    UpdateIsNotAtomic,
    DeleteForgets,
    TouchMovesBack,
    EpochStays,
    RevocationMisses,
    RotateIsNotAtomic,
    GraceIsEndless,
    LimitIsNotAtomic,
    ForeignHandleEnds,
    ForeignHandleLives,
    HandleHasNoRights,
    HandleOutlivesDeletion,
    EndIsNotTold,
    RevocationIsNotTold,
    PurgeTakesAll,
    RefreshIsNotAtomic,
    ReuseIsIgnored,
    GraceEndsWithTheSuccessor,
    SuccessorIsGivenThoughUsed,
    StepsAreUnbounded,
    LogoutIsUndone,
    FamiliesAreUnbounded,
    RefreshesAreUnbounded,
    TicketHasTwoTakers,
    CutOffMovesBack,
    SequenceSkips,
    CutOffIsIgnored,
    CutOffIsIgnoredByRotation,
    CutOffOfNobodyIsForgotten,
    CutOffMissesNewUsers,
    RightsComeBack,
    FamilyIgnoresCutOff,
    FamilyOutlivesSession,
    AccessOutlivesFamily,
    AccessEndsLater,
    SecondCutOffHasNoPosition,
    RateIsPerInstance,
    RateIgnoresTime,
    WaitIsWrong,
    RatesArePurged,
    ClientsAreOne,
    PermitsAreNotBounded,
    PermitsAreNotGivenBack,
    LeasesNeverEnd,
    LeasesEndAtOnce,
    UnknownNumberGrants,
    TenantIsDropped,
    TenantOfTicketIsDropped,
    TenantStays,
    TenantIsNotSet,
}

/// The memory store with one fault.
#[derive(Debug)]
struct Broken {
    store: MemoryStore,
    /// A second part that the first does not know of.
    rest: MemoryStore,
    fault: Fault,
    touched: Mutex<HashMap<SessionKey, Timestamp>>,
    records: Mutex<HashMap<SessionKey, Record>>,
    tickets: Mutex<HashMap<TokenHash, Ticket>>,
    families: Mutex<HashMap<TokenHash, Family>>,
    /// The names of families that ended, and whether the revocations of their access tokens are hidden.
    ended: Mutex<HashMap<String, bool>>,
    inside: AtomicUsize,
    have_rights_changed: AtomicBool,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        Self {
            store: MemoryStore::new(),
            rest: MemoryStore::new(),
            fault,
            touched: Mutex::default(),
            records: Mutex::default(),
            tickets: Mutex::default(),
            families: Mutex::default(),
            ended: Mutex::default(),
            inside: AtomicUsize::new(0),
            have_rights_changed: AtomicBool::new(false),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The newest cut-off of the store, which never waits.
    fn newest_cut_off(&self) -> u64 {
        self.store.cut_offs().into_ready().ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Gives another call the time to reach the same point.
    fn meet(&self) {
        let others = self.inside.fetch_add(1, Ordering::SeqCst);
        for _ in 0..1000 {
            if self.inside.load(Ordering::SeqCst) > others + 1 {
                break;
            }
            std::thread::yield_now();
        }
    }
}

impl SessionStore for Broken {
    pass_on! { (to store)
        fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>>;
        fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff>;
        fn cut_offs(&self) -> StoreFuture<'_, u64>;
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        SessionStore::secret(&self.store, fresh)
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        let CreateSession { key, record, limit, began, now } = request.clone();
        if self.has(Fault::CutOffIsIgnored) {
            return self.store.create(request.began(None));
        }
        if self.has(Fault::UnknownNumberGrants) {
            return self
                .store
                .create(request.began(began.map(|began| began.min(self.newest_cut_off()))));
        }
        let request = match record.user() {
            // As a store does that keeps the epoch in the rows of the sessions.
            Some("ada") if self.has(Fault::CutOffOfNobodyIsForgotten) => request.began(None),
            Some("eve") if self.has(Fault::CutOffMissesNewUsers) => request.began(None),
            _ => request,
        };
        if self.has(Fault::TenantIsDropped) {
            let mut request = request;
            request.record.identity.iter_mut().for_each(|identity| identity.tenant = None);
            return self.store.create(request);
        }
        self.records.lock().unwrap().insert(key, record.clone());
        let user = record.user().map(str::to_owned);
        if let (Fault::LimitIsNotAtomic, Some(limit), Some(user)) = (self.fault, limit, user) {
            return StoreFuture::new(async move {
                let listed = self.store.list(ListSessions::new(&user, 100, now)).await?;
                self.meet();
                let limit = (listed.len() >= limit.sessions as usize).then_some(limit);
                self.store.create(request.limit(limit)).await
            });
        }
        self.store.create(request)
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::new(async move {
            let mut loaded = self.store.load(key, now).await?;
            if self.has(Fault::GraceIsEndless) && loaded.is_none() {
                loaded = self.store.load(key, NOW).await?.filter(|one| one.successor.is_some());
            }
            if let (Some(loaded), Some(deadline)) =
                (&mut loaded, self.touched.lock().unwrap().get(key))
            {
                Arc::make_mut(&mut loaded.record).idle_deadline = *deadline;
            }
            Ok(loaded)
        })
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        let UpdateSession { key, expected, data, now } = request;
        StoreFuture::new(async move {
            if self.has(Fault::UpdateIsNotAtomic)
                && let Some(loaded) = self.store.load(&key, now).await?
                && loaded.record.version == expected
            {
                self.meet();
                let version = self.store.load(&key, now).await?.map_or(0, |now| now.record.version);
                return self.store.update(UpdateSession::new(key, version, data, now)).await;
            }
            let result = self.store.update(UpdateSession::new(key, expected, data, now)).await?;
            if self.has(Fault::UpdateInserts) && result == Cas::Gone {
                let record = self.records.lock().unwrap().get(&key).cloned();
                let record = record.unwrap_or_else(|| super::record(1000, None));
                self.store.create(CreateSession::new(key, record, now)).await?;
            }
            Ok(result)
        })
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        if self.has(Fault::TouchMovesBack) {
            self.touched.lock().unwrap().insert(request.key, request.idle_deadline);
        }
        self.store.touch(request)
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        let RotateSession { old, new, expected, record, grace, limit, now, .. } = request.clone();
        if self.has(Fault::CutOffIsIgnoredByRotation) {
            return self.store.rotate(request.began(None));
        }
        if self.has(Fault::RightsComeBack) && self.have_rights_changed.load(Ordering::SeqCst) {
            return StoreFuture::new(async move {
                let loaded = self.store.load(&old, now).await?;
                let version = loaded.map_or(expected, |loaded| loaded.record.version);
                let is_changed = version == expected + 1 && grace.is_none();
                let expected = if is_changed { version } else { expected };
                self.store.rotate(RotateSession { expected, ..request }).await
            });
        }
        if self.has(Fault::RotateIsNotAtomic) && grace.is_none() && limit.is_none() {
            return StoreFuture::new(async move {
                let version = |loaded: Loaded| (loaded.successor, loaded.record.version);
                match self.store.load(&old, now).await?.map(version) {
                    Some((None, version)) if version == expected => {}
                    _ => return self.store.rotate(request).await,
                }
                self.meet();
                self.store.create(CreateSession::new(new, record, now)).await?;
                self.store.delete(&old).await?;
                Ok(Cas::Done { version: expected + 1, evicted: vec![] })
            });
        }
        self.store.rotate(request)
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        if self.has(Fault::DeleteForgets) {
            return StoreFuture::ready(Ok(true));
        }
        self.store.delete(key)
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        StoreFuture::new(async move {
            if self.has(Fault::HandleOutlivesDeletion) {
                let records = self.records.lock().unwrap();
                let mut of_user = records.values().filter(|record| record.user() == Some(user));
                let found = of_user.find(|one| one.handle == handle && !one.is_expired(now));
                if let Some(found) = found {
                    return Ok(found.identity.clone());
                }
            }
            let own = self.store.identity(user, handle, now).await?;
            if own.is_none() && self.has(Fault::ForeignHandleLives) {
                return self.store.identity("bob", handle, now).await;
            }
            if self.has(Fault::HandleHasNoRights) {
                return Ok(own.map(|own| Identity::new(own.subject)));
            }
            Ok(own)
        })
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        StoreFuture::new(async move {
            let own = self.store.delete_by_handle(user, handle).await?;
            let foreign = self.has(Fault::ForeignHandleEnds)
                && self.store.delete_by_handle("bob", handle).await?;
            Ok(own || foreign)
        })
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        let RevokeUser { user, keep, rights, now, .. } = request;
        self.have_rights_changed.store(rights.is_some(), Ordering::SeqCst);
        StoreFuture::new(async move {
            match self.fault {
                // Ends the listed sessions one after the other.
                Fault::EpochStays => {
                    let kept = match keep {
                        Some(keep) => self.store.load(&keep, now).await?,
                        None => None,
                    };
                    let kept = kept.map(|kept| kept.record.handle);
                    let mut ended = 0;
                    for one in self.store.list(ListSessions::new(user, 100, now)).await? {
                        if Some(one.handle) != kept {
                            ended +=
                                u64::from(self.store.delete_by_handle(user, one.handle).await?);
                        }
                    }
                    Ok(CutOff::new(ended, 0, 0))
                }
                Fault::RevocationMisses if keep.is_none() => Ok(CutOff::new(0, 0, 0)),
                Fault::TenantStays | Fault::TenantIsNotSet if rights.is_some() => {
                    let mut rights = Identity::clone(rights.unwrap());
                    rights.tenant = self.has(Fault::TenantStays).then(|| "acme".into());
                    self.store.revoke_user(request.rights(&rights)).await
                }
                _ => self.store.revoke_user(request).await,
            }
        })
    }

    fn news(&self) -> Option<NewsReader> {
        if self.has(Fault::EndIsNotTold) {
            return Some(NewsFeed::new().reader());
        }
        SessionStore::news(&self.store)
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        let now = if self.has(Fault::PurgeTakesAll) { Timestamp::MAX } else { now };
        SessionStore::purge(&self.store, now, limit)
    }
}

impl TokenStore for Broken {
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        TokenStore::secret(&self.store, fresh)
    }

    fn create_family(&self, mut request: CreateFamily) -> StoreFuture<'_, bool> {
        self.families.lock().unwrap().insert(request.token, request.family.clone());
        let last = self.store.revocations(0).into_ready().ok().and_then(Result::ok);
        let last = last.map_or(0, |last| last.sequence);
        if self.has(Fault::FamilyIgnoresCutOff) {
            // The request counts as begun now.
            request.began = last;
        }
        if self.has(Fault::UnknownNumberGrants) {
            request.began = request.began.min(last);
        }
        if self.has(Fault::FamilyOutlivesSession) {
            request.family.session = None;
        }
        if self.has(Fault::TenantIsDropped) {
            request.family.identity.tenant = None;
        }
        if self.has(Fault::FamiliesAreUnbounded) && request.family.id[0] >= 60 {
            return self.rest.create_family(request);
        }
        self.store.create_family(request)
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        let Refresh { token, now, .. } = request;
        let request = match self.fault {
            Fault::RefreshesAreUnbounded => request.limit(None),
            _ => request,
        };
        StoreFuture::new(async move {
            let mut result = self.store.refresh(request).await?;
            if result == RefreshOutcome::Unknown {
                result = self.rest.refresh(request).await?;
            }
            let family = self.families.lock().unwrap().get(&token).cloned();
            Ok(match (self.fault, result, family) {
                (Fault::RefreshIsNotAtomic, RefreshOutcome::Again { family, .. }, _) => {
                    RefreshOutcome::Done(family)
                }
                (Fault::ReuseIsIgnored, RefreshOutcome::Reused(family), _) => {
                    RefreshOutcome::Again { family, steps: 1 }
                }
                (
                    Fault::GraceEndsWithTheSuccessor,
                    RefreshOutcome::Again { family, steps: 2.. },
                    _,
                ) => {
                    self.store.end_family(token, now).await?;
                    RefreshOutcome::Reused(family)
                }
                (Fault::SuccessorIsGivenThoughUsed, RefreshOutcome::Again { family, .. }, _) => {
                    RefreshOutcome::Again { family, steps: 1 }
                }
                (Fault::StepsAreUnbounded, RefreshOutcome::Overtaken, Some(family)) => {
                    RefreshOutcome::Again { family, steps: RefreshOutcome::MAX_STEPS + 1 }
                }
                (Fault::LogoutIsUndone, RefreshOutcome::Dead, Some(family))
                    if now < family.expires =>
                {
                    RefreshOutcome::Done(family)
                }
                (_, result, _) => result,
            })
        })
    }

    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>> {
        let family = self.families.lock().unwrap().get(&token).cloned();
        let name = family.map(|family| Handle(family.id).to_string()).unwrap_or_default();
        if self.has(Fault::AccessOutlivesFamily) || self.has(Fault::AccessEndsLater) {
            self.ended.lock().unwrap().entry(name.clone()).or_insert(true);
        }
        StoreFuture::new(async move {
            let ended = self.store.end_family(token, until).await?;
            if self.has(Fault::AccessEndsLater) && ended.is_some() {
                self.meet();
                self.ended.lock().unwrap().insert(name, false);
            }
            Ok(ended)
        })
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        if self.has(Fault::SecondCutOffHasNoPosition)
            && let Revocation::User { user, before } = &revocation
        {
            let (user, before) = (user.clone(), *before);
            return StoreFuture::new(async move {
                for (position, known) in self.store.revocations(0).await?.revocations {
                    if matches!(&known, Revocation::User { user: of, before: known }
                        if *of == user && *known >= before)
                    {
                        return Ok(Revoked::new(position, position, vec![]));
                    }
                }
                self.store.revoke(revocation).await
            });
        }
        if self.has(Fault::CutOffMovesBack)
            && let Revocation::User { user, before: 50 } = &revocation
        {
            // As a store does that replaces a row without comparing.
            let later = Revocation::User { user: user.clone(), before: 120 };
            drop(self.store.revoke(later));
        }
        self.store.revoke(revocation)
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        let since = if self.has(Fault::SequenceSkips) && since > 0 { since + 1 } else { since };
        StoreFuture::new(async move {
            let mut batch = self.store.revocations(since).await?;
            let ended = self.ended.lock().unwrap();
            batch.revocations.retain(|(_, revocation)| match revocation {
                Revocation::Token { id, .. } => ended.get(&**id) != Some(&true),
                _ => true,
            });
            Ok(batch)
        })
    }

    fn news(&self) -> Option<NewsReader> {
        if self.has(Fault::RevocationIsNotTold) {
            return Some(NewsFeed::new().reader());
        }
        TokenStore::news(&self.store)
    }

    fn put_ticket(&self, hash: TokenHash, mut ticket: Ticket) -> StoreFuture<'_, ()> {
        if self.has(Fault::TenantOfTicketIsDropped) {
            ticket.identity.tenant = None;
        }
        self.tickets.lock().unwrap().insert(hash, ticket.clone());
        self.store.put_ticket(hash, ticket)
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        if self.has(Fault::TicketHasTwoTakers) {
            let ticket = self.tickets.lock().unwrap().get(&hash).cloned();
            self.meet();
            self.tickets.lock().unwrap().remove(&hash);
            return StoreFuture::ready(Ok(ticket.filter(|ticket| now < ticket.expires)));
        }
        self.store.take_ticket(hash, now)
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let now = if self.has(Fault::PurgeTakesAll) { Timestamp::MAX } else { now };
            let purged = TokenStore::purge(&self.store, now, limit).await?;
            self.tickets.lock().unwrap().retain(|_, ticket| now < ticket.expires);
            Ok(purged)
        })
    }
}

impl LimitStore for Broken {
    fn take_rate(&self, mut request: TakeRate) -> StoreFuture<'_, TakenRate> {
        if self.has(Fault::ClientsAreOne) {
            request.key = LimitKey([0; 16]);
        }
        if self.has(Fault::RateIgnoresTime) {
            request.rate.per *= 2;
        }
        let is_of_the_other = self.has(Fault::RateIsPerInstance)
            && self.inside.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        let is_purged = self.have_rights_changed.load(Ordering::SeqCst);
        let store = if is_of_the_other || is_purged { &self.rest } else { &self.store };
        StoreFuture::new(async move {
            let mut taken = store.take_rate(request).await?;
            taken.wait *= if self.has(Fault::WaitIsWrong) { 2 } else { 1 };
            Ok(taken)
        })
    }

    fn lease_permits(&self, mut request: LeasePermits) -> StoreFuture<'_, u32> {
        if self.has(Fault::PermitsAreNotBounded) {
            return StoreFuture::ready(Ok(request.wish));
        }
        if self.has(Fault::PermitsAreNotGivenBack) && request.wish < 2 {
            return StoreFuture::ready(Ok(request.wish));
        }
        if self.has(Fault::LeasesNeverEnd) {
            request.lifetime *= 1000;
        }
        if self.has(Fault::LeasesEndAtOnce) && request.wish == 2 {
            request.lifetime = Duration::ZERO;
        }
        self.store.lease_permits(request)
    }

    fn purge(&self, limit: usize) -> StoreFuture<'_, usize> {
        if self.has(Fault::RatesArePurged) {
            self.have_rights_changed.store(true, Ordering::SeqCst);
        }
        LimitStore::purge(&self.store, limit)
    }
}

/// The result of the suite for a store.
fn verdict(suite: impl Future<Output = ()>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(suite))).map_err(|panic| {
        panic.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text)
    })
}

#[test]
fn a_wrapper_without_a_fault_keeps_all_rules() {
    assert_eq!(verdict(sessions(|| Broken::new(Fault::None))), Ok(()));
    assert_eq!(verdict(tokens(|| Broken::new(Fault::None))), Ok(()));
    assert_eq!(verdict(limits(|| Broken::new(Fault::None))), Ok(()));
}

#[test]
fn each_fault_of_a_store_of_sessions_is_found() {
    for (fault, rule) in [
        (Fault::UpdateInserts, "`update` never inserts"),
        (Fault::UpdateIsNotAtomic, "no change is lost"),
        (Fault::DeleteForgets, "a deleted session is dead"),
        (Fault::TouchMovesBack, "`touch` moves no deadline"),
        (Fault::EpochStays, "`revoke_user` increments the epoch"),
        (Fault::RevocationMisses, "`revoke_user` finds sessions of concurrent logins"),
        (Fault::RotateIsNotAtomic, "`rotate`"),
        (Fault::GraceIsEndless, "at the end of its grace a key is dead"),
        (Fault::LimitIsNotAtomic, "a limit holds for concurrent logins"),
        (Fault::ForeignHandleEnds, "`delete_by_handle` ends no session that is not the user's"),
        (Fault::ForeignHandleLives, "`identity` finds no session that is not the user's"),
        (Fault::HandleHasNoRights, "`identity` returns the present rights"),
        (Fault::HandleOutlivesDeletion, "for `identity`, a session that a login replaced is dead"),
        (Fault::PurgeTakesAll, "`purge` removes no living session"),
        (Fault::EndIsNotTold, "news report a deleted session"),
        (Fault::CutOffIsIgnored, "a login that began before a cut-off of its user is `CutOff`"),
        (Fault::CutOffIsIgnoredByRotation, "rights requested before a cut-off"),
        (Fault::CutOffOfNobodyIsForgotten, "a login that began before a cut-off of its user"),
        (Fault::CutOffMissesNewUsers, "applies to users without sessions"),
        (
            Fault::RightsComeBack,
            "a request does not write back the rights that it read before the change",
        ),
        (Fault::UnknownNumberGrants, "a number that the store has not issued grants nothing"),
        (Fault::TenantIsDropped, "a session loads as it was created"),
        (Fault::TenantStays, "`revoke_user` with rights sets them on all sessions"),
        (Fault::TenantIsNotSet, "`revoke_user` with rights sets the tenant"),
    ] {
        let failure = verdict(sessions(|| Broken::new(fault))).unwrap_err();
        assert!(failure.contains(rule), "{fault:?}: {failure}");
    }
}

#[test]
fn each_fault_of_a_store_of_tokens_is_found() {
    for (fault, rule) in [
        (Fault::RefreshIsNotAtomic, "gets its successor again"),
        (Fault::ReuseIsIgnored, "a used token is `Reused`"),
        (Fault::GraceEndsWithTheSuccessor, "also once its successors were used"),
        (Fault::SuccessorIsGivenThoughUsed, "is the valid one"),
        (Fault::StepsAreUnbounded, "more than `MAX_STEPS` tokens ago is `Overtaken`"),
        (Fault::LogoutIsUndone, "a reuse ends its family"),
        (Fault::FamiliesAreUnbounded, "if a user has too many families, the oldest ends"),
        (Fault::RefreshesAreUnbounded, "above its limit a refresh ends the family"),
        (Fault::TicketHasTwoTakers, "of concurrent `take_ticket` calls"),
        (Fault::CutOffMovesBack, "a cut-off never moves back"),
        (Fault::PurgeTakesAll, "`purge` removes nothing of a living family"),
        (Fault::FamilyIgnoresCutOff, "a family that began before a cut-off is refused"),
        (Fault::FamilyOutlivesSession, "the end of a session ends the families"),
        (Fault::AccessOutlivesFamily, "`end_family` revokes the access tokens of the family"),
        (Fault::AccessEndsLater, "are revoked when it ends, and no later"),
        (Fault::SecondCutOffHasNoPosition, "every cut-off has its own position"),
        (Fault::RevocationIsNotTold, "news report a revocation"),
        (Fault::SequenceSkips, "`revocations` returns the revocations after a position"),
        (Fault::UnknownNumberGrants, "a position that the store has not issued begins no family"),
        (Fault::TenantIsDropped, "the family is returned"),
        (Fault::TenantOfTicketIsDropped, "a ticket is taken as it was put"),
    ] {
        let failure = verdict(tokens(|| Broken::new(fault))).unwrap_err();
        assert!(failure.contains(rule), "{fault:?}: {failure}");
    }
}

/// As one that several instances share, which notices no loss.
#[test]
fn a_store_without_eras_does_not_keep_the_rules_after_a_loss() {
    let store = MemoryStore::new();
    let failure =
        verdict(sessions_after_loss(|| store.clone(), async || (), async || ())).unwrap_err();
    assert!(failure.contains("a lost number grants nothing"), "{failure}");
    let failure =
        verdict(tokens_after_loss(|| store.clone(), async || (), async || ())).unwrap_err();
    assert!(failure.contains("a lost position begins no family"), "{failure}");
}

#[test]
fn each_fault_of_a_store_of_limits_is_found() {
    for (fault, rule) in [
        (
            Fault::RateIsPerInstance,
            "`take_rate` grants as many requests as an account of the rate does",
        ),
        (Fault::RateIgnoresTime, "`take_rate`"),
        (Fault::WaitIsWrong, "`take_rate` says how long to wait"),
        (Fault::RatesArePurged, "`purge` leaves accounts that still count"),
        (
            Fault::ClientsAreOne,
            "`take_rate` grants as many requests as an account of the rate does",
        ),
        (Fault::PermitsAreNotBounded, "an instance gets the permits that others leave"),
        (Fault::PermitsAreNotGivenBack, "returned permits are free for others"),
        (Fault::LeasesNeverEnd, "permits end with the lifetime of their lease"),
        (Fault::LeasesEndAtOnce, "permits are held as long as their lease lasts"),
    ] {
        let failure = verdict(limits(|| Broken::new(fault))).unwrap_err();
        assert!(failure.contains(rule), "{fault:?}: {failure}");
    }
}
